"""The command line: one file per command, listed here."""

from workbench.cli.main import main

__all__ = ["main"]
