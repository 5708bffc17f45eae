"""The README's pictures can be taken at any time from the window as it is."""

import subprocess
import sys
from pathlib import Path

import pytest

QtGui = pytest.importorskip("PySide6.QtGui", reason="the pictures are of the window, which needs Qt")

TAKE = Path(__file__).parents[2] / "packaging" / "readme_pictures.py"
LEAST_COLOURS = 30
"""A picture of a window that was never painted has one."""


@pytest.mark.slow
def test_the_pictures_show_the_decision_screen_light_and_dark(tmp_path):
    done = subprocess.run(
        [sys.executable, str(TAKE), "--out", str(tmp_path)], capture_output=True, text=True, timeout=400
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lightness = {}
    for theme in ("light", "dark"):
        image = QtGui.QImage(str(tmp_path / f"window-ways-{theme}.png"))
        assert (image.width(), image.height()) == (1280, 800)
        seen = [image.pixelColor(x, y) for x in range(0, 1280, 16) for y in range(0, 800, 16)]
        assert len({colour.rgb() for colour in seen}) >= LEAST_COLOURS, f"{theme}: nearly empty"
        lightness[theme] = sum(colour.lightness() for colour in seen) / len(seen)
    assert lightness["light"] > 200 > 80 > lightness["dark"]
