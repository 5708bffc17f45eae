import itertools
import os
import pickle
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from unittest import mock
from xml.etree import ElementTree

import numpy as np
import pytest
from PySide6.QtGui import QImage

from workbench.params import InputError, ParameterError, WorkbenchError
from workbench.render import offscreen
from workbench.render.offscreen import write_figure
from workbench.render.palette import THEMES
from workbench.render.values import FIGURES, Baseline, CurveFigure, Series

EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)


def line(name: str, style: str, start: float, spread: float = 0.05) -> Series:
    mean = tuple(start + 0.05 * i for i in range(5))
    return Series(name, style, EPSILONS, mean, tuple(m - spread for m in mean), tuple(m + spread for m in mean))


FIGURE = CurveFigure(
    title="Accuracy against ε",
    subtitle="made up",
    x_label="ε for a whole row (log scale)",
    y_label="accuracy on held-out rows (share correct)",
    series=(line("private model", "private", 0.55), line("sanitised, then trained", "sanitized", 0.5449)),
    baselines=(Baseline("no privacy", "no-privacy", 0.755), Baseline("always the majority", "majority", 0.65)),
)


def pixels(path: Path) -> np.ndarray:
    """Return the colours of a PNG, shape (height, width, 3)."""
    image = QImage(str(path), "PNG").convertToFormat(QImage.Format.Format_RGBX8888)
    assert not image.isNull()
    raw = np.frombuffer(image.constBits(), np.uint8)
    return raw.reshape(image.height(), image.width(), 4)[..., :3].astype(np.int64)


def rgb(colour: str) -> np.ndarray:
    return np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)])


def count(image: np.ndarray, colour: str) -> int:
    return int((np.abs(image - rgb(colour)).max(axis=2) <= 2).sum())


@pytest.mark.parametrize(("theme", "scale"), [("light", 1.0), ("dark", 1.5)])
def test_a_png_has_its_size_its_colours_and_its_badge(tmp_path, theme, scale):
    path = tmp_path / "curve.png"
    write_figure(FIGURE, path, width=640, height=400, scale=scale, theme=theme)
    image = pixels(path)
    assert image.shape == (round(400 * scale), round(640 * scale), 3)
    colours = THEMES[theme]
    assert count(image, colours.surface) > image[..., 0].size / 2
    from workbench.render.palette import STYLES

    for role in ("private", "sanitized"):
        assert count(image, colours.series(STYLES[role])) > 100 * scale
    top_right = image[: image.shape[0] // 5, image.shape[1] * 2 // 3 :]
    assert count(top_right, colours.danger) > 50
    assert count(image[image.shape[0] // 5 :], colours.danger) == 0
    # Nothing is cut off at an edge.
    for edge in (image[:8], image[-8:], image[:, :8], image[:, -8:]):
        assert count(edge, colours.surface) == edge[..., 0].size
    assert [p.name for p in tmp_path.iterdir()] == ["curve.png"]


def test_the_same_figure_is_the_same_file(tmp_path):
    for name in ("a.svg", "b.svg"):
        write_figure(FIGURE, tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def svg_texts(path: Path) -> dict[str, tuple[float, float]]:
    """Return where each text of an SVG begins, (x, y) in logical pixels."""
    root = ElementTree.parse(path).getroot()
    out = {}
    for group in root.iter("{http://www.w3.org/2000/svg}g"):
        nodes = group.findall("{http://www.w3.org/2000/svg}text")
        if not nodes:
            continue
        matrix = re.search(r"matrix\(([^)]*)\)", group.get("transform", "matrix(1,0,0,1,0,0)"))
        assert matrix is not None
        dx, dy = (float(v) for v in matrix[1].split(",")[4:])
        # A font without Greek letters hands them to another one: one text then comes in pieces.
        for y, pieces in itertools.groupby(nodes, key=lambda node: node.get("y", "0")):
            line = list(pieces)
            out["".join(node.text or "" for node in line).strip()] = (float(line[0].get("x", "0")) + dx, float(y) + dy)
    return out


def test_a_line_far_below_the_others_leaves_them_their_room(tmp_path):
    useless = replace(FIGURE.series[1], mean=(-9.0,) * 5, low=(-9.5,) * 5, high=(-8.5,) * 5)
    write_figure(replace(FIGURE, series=(FIGURE.series[0], useless)), tmp_path / "curve.svg")
    found = svg_texts(tmp_path / "curve.svg")
    assert {"−9.000 ↓", "−1.0"} <= set(found)
    assert not {"−5", "−8"} & set(found)


def test_figures_of_the_vertical_axis_stand_apart_in_a_low_picture(tmp_path):
    write_figure(FIGURE, tmp_path / "low.svg", width=640, height=230)
    at = sorted(place[1] for text, place in svg_texts(tmp_path / "low.svg").items() if re.fullmatch(r"0\.\d\d", text))
    assert len(at) >= 2
    assert min(b - a for a, b in itertools.pairwise(at)) >= 14


def test_an_svg_says_everything_in_its_place(tmp_path):
    path = tmp_path / "curve.svg"
    write_figure(FIGURE, path, width=1000, height=600)
    at = svg_texts(path)
    assert set(at) >= {
        "Accuracy against ε", "ε for a whole row (log scale)",
        "made up", "PRIVATE – NOT FOR RELEASE",
        "accuracy on held-out rows (share correct)", "0.1", "0.3", "1", "3", "10",
        "private model", "sanitised, then trained", "no privacy", "always the majority", "0.755", "0.650", "0.750",
    }  # fmt: skip
    assert [at[t][0] for t in ("0.1", "0.3", "1", "3", "10")] == sorted(
        at[t][0] for t in ("0.1", "0.3", "1", "3", "10")
    )
    assert at["PRIVATE – NOT FOR RELEASE"][0] > 700
    # The three lines end within a hundredth of each other; their labels stand apart, in the same order.
    ends = [at[t][1] for t in ("no privacy", "private model", "sanitised, then trained", "always the majority")]
    assert ends == sorted(ends)
    assert min(b - a for a, b in itertools.pairwise(ends)) >= 14


def test_a_single_point_and_a_long_name_can_be_drawn(tmp_path):
    point = Series("x" * 200, "private", (1.0,), (0.5,), (0.5,), (0.5,))
    write_figure(CurveFigure("t", "x", "y", (point,), badge=""), tmp_path / "p.svg", width=500, height=300)
    shown = [t for t in svg_texts(tmp_path / "p.svg") if t.startswith("xxx")]
    assert len(shown) == 1
    assert shown[0].endswith("…")


@pytest.mark.parametrize(
    "make",
    [
        lambda: Series("s", "private", (), (), (), ()),
        lambda: Series("s", "private", (1.0,), (float("nan"),), (0.0,), (0.0,)),
        lambda: Series("s", "private", (2.0, 1.0), (0.0, 0.0), (0.0, 0.0), (0.0, 0.0)),
        lambda: Series("s", "mauve", (1.0,), (0.0,), (0.0,), (0.0,)),
        lambda: Baseline("b", "majority", float("inf")),
        lambda: replace(FIGURE, series=()),
        lambda: replace(FIGURE, series=(Series("s", "private", (0.0,), (0.0,), (0.0,), (0.0,)),)),
    ],
)
def test_what_cannot_be_drawn_is_refused(make):
    with pytest.raises(ParameterError):
        make()


def test_another_suffix_is_refused_before_any_work(tmp_path):
    with mock.patch.object(subprocess, "run") as run, pytest.raises(InputError, match=r"\.png or a?\.?svg"):
        write_figure(FIGURE, tmp_path / "curve.jpg")
    run.assert_not_called()


def test_an_impossible_place_is_refused_before_any_work(tmp_path):
    (tmp_path / "folder.svg").mkdir()
    with mock.patch.object(subprocess, "run") as run:
        for path in (tmp_path / "no" / "curve.svg", tmp_path / "folder.svg"):
            with pytest.raises(InputError, match="cannot be written there"):
                write_figure(FIGURE, path)
    run.assert_not_called()


def test_a_failing_write_is_one_sentence_and_leaves_nothing(tmp_path):
    with pytest.raises(InputError, match="cannot be written: File name too long"):
        write_figure(FIGURE, tmp_path / ("x" * 300 + ".svg"))
    assert list(tmp_path.iterdir()) == []


def blocked(folder: Path, text: str) -> dict[str, str]:
    """An environment in which importing PySide6 fails as a missing system library makes it fail."""
    (folder / "PySide6").mkdir()
    (folder / "PySide6" / "__init__.py").write_text(text)
    return {"PYTHONPATH": str(folder)}


def test_a_missing_qt_library_is_one_sentence_with_the_mend(tmp_path):
    text = "raise ImportError('libEGL.so.1: cannot open shared object file: No such file or directory')"
    with (
        mock.patch.dict(os.environ, blocked(tmp_path, text)),
        pytest.raises(WorkbenchError, match="libEGL") as caught,
    ):
        write_figure(FIGURE, tmp_path / "curve.png")
    assert "apt install" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_crash_of_the_drawing_is_told_and_leaves_nothing(tmp_path):
    with (
        mock.patch.dict(os.environ, blocked(tmp_path, "import os; os.abort()")),
        pytest.raises(WorkbenchError, match="could not be drawn"),
    ):
        write_figure(FIGURE, tmp_path / "curve.png")
    assert not (tmp_path / "curve.png").exists()


def test_every_module_that_draws_a_figure_is_listed():
    listed = {kind.module.rpartition(".")[2] for kind in FIGURES}
    folder = Path(offscreen.__file__).parent
    drawing = {path.stem for path in folder.glob("*.py") if "\nview = " in path.read_text("utf-8")}
    assert drawing == listed


def test_the_command_lines_side_loads_no_qt():
    code = "import sys, workbench.render.offscreen, workbench.render.curve_figure; print('PySide6' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout.strip() == "False"


WINDOW = """
import dataclasses, itertools, pickle, sys
from PySide6.QtWidgets import QApplication
from workbench.render.curve import view
from workbench.render.palette import THEMES

application = QApplication([])
figure = pickle.load(sys.stdin.buffer)
for theme in THEMES.values():
    widget = view(figure, theme)
    widget.show()
    for width, height in ((1280, 800), (640, 400), (420, 260), (2000, 300), (1280, 800)):
        widget.resize(width, height)
        application.processEvents()
        boxes = widget.label_boxes()
        assert not any(a.intersects(b) for a, b in itertools.combinations(boxes, 2)), (width, height)
        assert all(0 <= b.top() and b.right() <= width and b.bottom() <= height for b in boxes), (width, height)
        plot = widget.plot
        assert all(plot.right() <= b.left() for b in boxes), (width, height)
    widget.close()
    del widget
    application.processEvents()

# Other lines in a view, and in a fresh one, are the same picture.
theme = THEMES["light"]
moved = view(figure, theme)
series = [dataclasses.replace(s, mean=s.low, low=s.mean) for s in figure.series]
other = dataclasses.replace(figure, series=tuple(series), baselines=(), subtitle="later")
pictures = []
new = view(other, theme)
for widget in (moved, new, moved):
    widget.show()
    widget.resize(640, 400)
    application.processEvents()
    pictures.append(widget.grab().toImage())
    if widget is moved:
        widget.show_figure(other, theme)
        application.processEvents()
before, fresh, after = pictures
assert before != fresh
assert after == fresh
for widget in (moved, new):
    widget.close()
del widget, moved, new
application.processEvents()
print("closed")
"""


def test_in_a_window_labels_stand_apart_at_every_size_lines_move_and_closing_is_safe():
    done = subprocess.run(
        [sys.executable, "-c", WINDOW],
        input=pickle.dumps(FIGURE),
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
        capture_output=True,
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stdout.strip()) == (0, b"closed"), done.stderr
