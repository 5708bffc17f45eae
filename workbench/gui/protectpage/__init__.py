"""The parts of the Protect page."""
