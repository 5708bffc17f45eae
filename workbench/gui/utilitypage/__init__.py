"""The parts of the Utility page."""
