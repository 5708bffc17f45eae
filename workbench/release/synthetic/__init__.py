"""The release of a synthetic table: its Work and how it is verified."""
