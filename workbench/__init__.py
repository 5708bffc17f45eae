"""Privacy workbench: release a sensitive table with differential privacy and see what it costs in accuracy."""

__version__ = "0.1.0"
