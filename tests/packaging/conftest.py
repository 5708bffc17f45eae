"""The set-up's own modules stand beside ``dev.py``, which is how it finds them; so do these tests."""

import sys
from pathlib import Path

PACKAGING = Path(__file__).resolve().parents[2] / "packaging"
sys.path.insert(0, str(PACKAGING))
