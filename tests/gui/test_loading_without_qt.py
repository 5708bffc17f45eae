"""What is loaded beside the window: nothing that makes types of Qt, which only the GUI thread may."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from workbench.gui.app import LATER

ROOT = Path(__file__).resolve().parents[2]
LOADS = """
import importlib, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
print(*(n for n in sys.modules if n.split(".")[0] in ("PySide6", "shiboken6", "pyqtgraph", "torch")))
"""


def test_what_a_worker_imports_at_the_start_holds_nothing_of_qt():
    """A window was ended by the system, in one start of ten, while a worker imported pyqtgraph."""
    done = subprocess.run([sys.executable, "-c", LOADS, *LATER], capture_output=True, text=True, cwd=ROOT, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == ""
