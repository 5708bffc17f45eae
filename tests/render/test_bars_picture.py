"""Bars are drawn where their shares are, with their intervals, and refuse what is no share."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtGui import QColor, QImage

from workbench.params import ParameterError
from workbench.render.offscreen import write_figure
from workbench.render.palette import LIGHT
from workbench.render.values import Bar, BarsFigure, BarsRow

FIGURE = BarsFigure(
    title="How often attacks were right",
    groups=(("a guess", "majority"), ("with the release", "private")),
    rows=(BarsRow("one", (Bar.alone(0.5), Bar(1.0, 0.9, 1.0)), 0.25), BarsRow("other", (None, Bar.alone(0.0)))),
    mark="allowed",
)


def test_it_survives_json() -> None:
    assert BarsFigure.from_plain(FIGURE.to_plain()) == FIGURE


def test_a_share_of_one_is_twice_as_long_as_one_half(tmp_path: Path) -> None:
    path = tmp_path / "bars.png"
    write_figure(FIGURE, path, width=720, height=300, scale=1.0)
    image = QImage(str(path))
    lengths = []
    for style in ("#566070", "#0072B2"):
        ink, paper = QColor(style), QColor(LIGHT.surface)
        pale = [round(0.6 * a + 0.4 * b) for a, b in zip(ink.getRgb()[:3], paper.getRgb()[:3], strict=True)]
        longest = 0
        for y in range(80, 260):
            row = [image.pixelColor(x, y).getRgb()[:3] for x in range(720)]
            longest = max(longest, sum(max(abs(a - b) for a, b in zip(cell, pale, strict=True)) < 4 for cell in row))
        lengths.append(longest)
    assert lengths[0] > 100
    assert lengths[1] == pytest.approx(2 * lengths[0], abs=4)


def test_what_is_no_share_is_refused() -> None:
    with pytest.raises(ParameterError, match="not shares"):
        BarsRow("one", (Bar(0.5, 0.4, 1.2),))
    with pytest.raises(ParameterError, match="not shares"):
        BarsRow("one", (Bar.alone(float("nan")),))
    with pytest.raises(ParameterError, match="style"):
        BarsFigure("t", (("a", "mauve"),), (BarsRow("one", (None,)),))
    with pytest.raises(ParameterError, match="every group"):
        BarsFigure("t", (("a", "private"),), (BarsRow("one", ()),))
