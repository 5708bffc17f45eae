"""The parts of the Preview page."""
