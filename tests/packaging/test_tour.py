"""The tour of the real window: every step of the main job can still be taken by clicks, and gives its picture."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

QtGui = pytest.importorskip("PySide6.QtGui", reason="the tour drives the window, which needs Qt")

TOUR = Path(__file__).parents[2] / "packaging" / "tour.py"
LEAST_COLOURS = 30
"""A picture of a window that was never painted has one."""


def take(route: str, out: Path, *more: str) -> list[Path]:
    """Take one tour and return its pictures."""
    command = [sys.executable, str(TOUR), "--out", str(out), "--route", route, "--theme", "light", "--size", "1280x800"]
    done = subprocess.run([*command, *more], capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return sorted((out / f"{route}-light-1280x800").glob("*.png"))


def looked_at(pictures: list[Path]) -> list[str]:
    """Check that each picture has the window's size and something on it; return their names without numbers."""
    for path in pictures:
        image = QtGui.QImage(str(path))
        assert (image.width(), image.height()) == (1280, 800), path
        seen = {image.pixel(x, y) for x in range(0, 1280, 16) for y in range(0, 800, 16)}
        assert len(seen) >= LEAST_COLOURS, f"{path} is nearly empty"
    return [path.stem[3:] for path in pictures]


@pytest.mark.slow
def test_the_tour_of_the_people_sample_reaches_a_verified_release(tmp_path):
    names = looked_at(take("people", tmp_path))
    assert names[0] == "start"
    assert names[-3:] == ["released", "verified", "ledger"]


@pytest.mark.slow
def test_the_tour_of_the_diabetes_table_reaches_curve_and_network(tmp_path, shared_data):
    names = looked_at(take("diabetes", tmp_path, "--diabetes", str(shared_data / "diabetes.csv")))
    assert {"curve-grows", "curve-whole", "trained", "training", "network-trained"} <= set(names)


def test_a_tour_without_its_table_is_left_out_and_says_so(tmp_path):
    command = [sys.executable, str(TOUR), "--out", str(tmp_path), "--route", "diabetes", "--diabetes", "nowhere.csv"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0
    assert "left out: diabetes" in done.stdout
    assert list(tmp_path.iterdir()) == []
