"""The same plans without a window: one file per command, listed here."""

from workbench.cli.main import main

__all__ = ["main"]
