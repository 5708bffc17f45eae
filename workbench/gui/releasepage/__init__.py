"""The parts of the Release page."""
