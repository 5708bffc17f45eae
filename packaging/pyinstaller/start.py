"""Where a bundled workbench starts."""

import multiprocessing
import sys

# Before anything else is imported: a process that multiprocessing starts is this program, called with its own words,
# and does not return from here.
multiprocessing.freeze_support()

from workbench.__main__ import entry  # noqa: E402

sys.exit(entry())
