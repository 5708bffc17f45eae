"""Where a bundled workbench starts."""

import multiprocessing
import os
import sys

if sys.platform.startswith("linux"):
    # The bundle's libraries come first for this process, and have been found. A file manager or an editor that is
    # opened from here has its own, often newer ones; a child that is this program looks for them afresh.
    former = os.environ.pop("LD_LIBRARY_PATH_ORIG", None)
    os.environ.pop("LD_LIBRARY_PATH", None)
    if former is not None:
        os.environ["LD_LIBRARY_PATH"] = former
    os.environ["PYINSTALLER_RESET_ENVIRONMENT"] = "1"

# Before anything else is imported: a process that multiprocessing starts is this program, called with its own words,
# and does not return from here.
multiprocessing.freeze_support()

from workbench.__main__ import entry  # noqa: E402

sys.exit(entry())
