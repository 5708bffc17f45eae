import itertools
import os
from pathlib import Path

import pytest
import toy_figure
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtGui import QColor, QImage

from workbench.render import values
from workbench.render.figure_layout import linear_ticks, log_ticks, nice_step, plain_number, spread_labels
from workbench.render.offscreen import write_figure
from workbench.render.palette import FREE_STYLES, STYLES, THEMES


def texts(ticks: list[tuple[float, str]]) -> list[str]:
    return [text for _, text in ticks]


def test_a_log_axis_reads_as_people_write_epsilon():
    assert texts(log_ticks(0.1, 10)) == ["0.1", "0.3", "1", "3", "10"]
    assert texts(log_ticks(0.08, 120)) == ["0.1", "0.3", "1", "3", "10", "30", "100"]
    assert texts(log_ticks(0.4, 9)) == ["0.5", "1", "2", "5"]
    assert texts(log_ticks(1, 3)) == ["1", "2", "3"]
    assert texts(log_ticks(0.5, 3)) == ["0.5", "1", "2", "3"]
    assert texts(log_ticks(1e-4, 1e4)) == ["0.0001", "0.001", "0.01", "0.1", "1", "10", "100", "1000", "10000"]


@given(low=st.floats(1e-6, 1e5), ratio=st.floats(1.01, 1e10))
def test_log_ticks_are_few_inside_and_different(low, ratio):
    ticks = log_ticks(low, low * ratio)
    assert 2 <= len(ticks) <= 9
    assert all(low * (1 - 1e-6) <= value <= low * ratio * (1 + 1e-6) for value, _ in ticks)
    assert [v for v, _ in ticks] == sorted({v for v, _ in ticks})


@given(low=st.floats(-1, 1), span=st.floats(1e-3, 100))
def test_linear_ticks_are_few_inside_and_even(low, span):
    ticks = linear_ticks(low, low + span)
    assert 2 <= len(ticks) <= 10
    steps = [b - a for (a, _), (b, _) in itertools.pairwise(ticks)]
    assert max(steps) - min(steps) < 1e-9 + 1e-9 * span
    assert all(low - 1e-6 <= value <= low + span + 1e-6 for value, _ in ticks)
    assert len(set(texts(ticks))) == len(ticks)
    assert all(float(text) == pytest.approx(value, abs=1e-9) for value, text in ticks)


def test_numbers_are_plain():
    assert [plain_number(v) for v in (0.1, 3.0, 1000.0, 0.177827941, 1e6, 2.5e-7)] == [
        "0.1", "3", "1000", "0.178", "1e6", "2.5e-7",
    ]  # fmt: skip
    assert nice_step(0.046) == pytest.approx(0.05)
    assert nice_step(7) == 10


labels = st.lists(st.tuples(st.floats(0, 100), st.floats(1, 8)), min_size=1, max_size=10)


@given(labels)
def test_labels_never_overlap_and_stay_inside(wanted):
    centres = spread_labels([w for w, _ in wanted], [h for _, h in wanted], 0, 100)
    boxes = sorted((c - h / 2, c + h / 2) for c, (_, h) in zip(centres, wanted, strict=True))
    assert all(a[1] <= b[0] + 1e-9 for a, b in itertools.pairwise(boxes))
    assert boxes[0][0] >= -1e-9
    assert boxes[-1][1] <= 100 + 1e-9
    assert [w for _, (w, _) in sorted(zip(centres, wanted, strict=True))] == sorted(w for w, _ in wanted)


@given(st.lists(st.floats(20, 80), min_size=2, max_size=5))
def test_labels_move_only_where_they_must_and_evenly(wanted):
    centres = spread_labels(wanted, [4.0] * len(wanted), 0, 100)
    gaps = [b - a for a, b in itertools.pairwise(sorted(wanted))]
    if all(gap >= 4 for gap in gaps):
        assert centres == pytest.approx(wanted)
    # A cluster spreads about its own centre.
    assert sum(centres) == pytest.approx(sum(wanted))


def contrast(one: str, two: str) -> float:
    """The contrast ratio of WCAG 2.1."""

    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((luminance(one), luminance(two)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
def test_text_and_the_main_series_can_be_read_on_the_surface(theme):
    for colour in (theme.text, theme.muted, theme.danger, theme.warn, theme.accent):
        assert contrast(colour, theme.surface) >= 4.5
    for role in ("no-privacy", "majority", "sanitized", "private", "third"):
        assert contrast(theme.series(STYLES[role]), theme.surface) >= 3


def test_no_two_series_differ_by_colour_alone():
    signs = [(style.marker, style.dash) for style in STYLES.values()]
    assert len(set(signs)) == len(signs)
    assert set(FREE_STYLES) < set(STYLES)


# -- A kind of figure that is only a line in the list is drawn into a file like any other -----------------------------


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_a_figure_of_the_list_is_drawn(tmp_path, monkeypatch, suffix):
    kind = values.FigureKind(toy_figure.Bar, "toy_figure")
    monkeypatch.setattr(values, "FIGURES", (*values.FIGURES, kind))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent), prepend=os.pathsep)
    path = tmp_path / f"bar{suffix}"
    write_figure(toy_figure.Bar("a bar", 0.5), path, width=320, height=200, scale=1.0)
    if suffix == ".svg":
        assert "#ff0000" in path.read_text("utf-8")
        return
    image = QImage(str(path))
    assert (image.width(), image.height()) == (320, 200)
    assert any(image.pixelColor(160, y) == QColor("#ff0000") for y in range(200))
