"""A kind of figure that is only a line in the list is drawn into a file like any other."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import toy_figure
from PySide6.QtGui import QColor, QImage

from workbench.render import values
from workbench.render.offscreen import write_figure


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_a_figure_of_the_list_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str) -> None:
    kind = values.FigureKind("bar", toy_figure.Bar, "toy_figure")
    monkeypatch.setattr(values, "FIGURES", (*values.FIGURES, kind))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent), prepend=os.pathsep)
    path = tmp_path / f"bar{suffix}"
    write_figure(toy_figure.Bar("a bar", 0.5), path, width=320, height=200, scale=1.0)
    if suffix == ".svg":
        assert "#ff0000" in path.read_text("utf-8")
        return
    image = QImage(str(path))
    assert (image.width(), image.height()) == (320, 200)
    assert any(image.pixelColor(x, 150) == QColor("#ff0000") for x in range(320))
