"""The settings of the way to release, and the release."""
