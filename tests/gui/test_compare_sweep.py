"""A sweep of DP-SGD on the Compare page: opened by a click, listed and drawn, one line for each setting."""

from __future__ import annotations

import pytest
from comparisons import shown, with_one_study
from mishaps import banner
from PySide6.QtWidgets import QFileDialog

from workbench.deep.plan import DpSgdPlan
from workbench.studies.grid.runs_file import FIGURES, header, row_of


@pytest.fixture
def sweep(tmp_path):
    """The CSV of a sweep with made-up figures: a better learning rate, and ε that helps."""
    lines = [",".join(header()) + "\n"]
    for at, lr in enumerate((0.1, 1.0)):
        for step, epsilon in enumerate((1.0, 3.0)):
            setting = DpSgdPlan(network="mlp", epsilon=epsilon, delta=1e-5, batch=50, epochs=3, lr=lr, clip=1.0)
            for repeat in range(3):
                values = (0.6 + 0.1 * at + 0.05 * step + 0.01 * repeat, 0.5, epsilon - 1e-4, 2.0, 30, 1.0, 1e6)
                figures = dict(zip(FIGURES, values, strict=True))
                lines.append(row_of(f"0123abcd-{at}{step}{repeat}", setting, repeat, figures))
    path = tmp_path / "trial.csv"
    path.write_text("".join(lines), "utf-8")
    return path


def test_a_sweep_is_opened_listed_and_drawn(window, press, idle, monkeypatch, sweep):
    press(window, "tab_compare")
    idle(window)
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(sweep), ""))
    press(window, "compare_sweep")
    idle(window)
    assert shown(window, "Way of training") == ["DP-SGD, lr=1", "DP-SGD, lr=0.1"]
    assert shown(window, "ε") == ["1–3", "1–3"]
    assert shown(window, "Repeats") == ["3", "3"]
    assert shown(window, "Dataset") == ["trial", "trial"]
    figure = window.page.figure
    assert [series.x for series in figure.series] == [(1.0, 3.0)] * 2
    assert figure.series[0].mean == pytest.approx((0.71, 0.76))
    assert [line.value for line in figure.baselines] == [0.5]
    assert figure.badge == "private – not for release"


def test_a_sweep_stands_beside_a_study_and_is_saved_with_it(window, press, idle, monkeypatch, sweep, tmp_path):
    with_one_study(window, press, idle)
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(sweep), ""))
    press(window, "compare_sweep")
    idle(window)
    assert len(shown(window, "Model")) == 5
    out = tmp_path / "lines.csv"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(out), ""))
    press(window, "compare_save")
    idle(window)
    told = out.read_text("utf-8").splitlines()
    assert "private – not for release" in told[0]
    assert sum(line.startswith("trial,mlp,DP-SGD; lr=1,") for line in told) == 6


def test_a_file_that_is_no_sweep_is_refused(window, press, idle, monkeypatch, tmp_path):
    press(window, "tab_compare")
    idle(window)
    path = tmp_path / "table.csv"
    path.write_text("a,b\n1,2\n", "utf-8")
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(path), ""))
    press(window, "compare_sweep")
    idle(window)
    assert "not the CSV of a sweep" in banner(window)
