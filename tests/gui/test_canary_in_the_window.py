"""A canary in one cell, through the window: opened, edited, kept, released, refused, crashed; it is written nowhere."""

import os
from decimal import Decimal
from pathlib import Path

import pytest
from canary import NAME, NUMBER, found_in, hunted, table, watched_processes
from hands import show
from mishaps import banner, retype
from PySide6.QtWidgets import QApplication, QFileDialog

from workbench.data.csv.options import ReadOptions
from workbench.gui.project.open_table import open_table
from workbench.paths import user_log, user_state
from workbench.release import rows_work


def opened(window, idle, folder: Path, **cells: str) -> None:
    """Open the table with the canary and plan it."""
    (folder / "people.csv").unlink(missing_ok=True)
    table(**cells).write_csv(folder / "people.csv")
    open_table(window.session, window.jobs, str(folder / "people.csv"), ReadOptions())
    idle(window)
    session = window.session
    session.edit_column("name", "drop name", action="drop")
    session.edit_column("pay", "bounds of pay", lower=0.0, upper=100_000.0, cells=11)
    session.edit_column("city", "cities", domain=("Graz", "Linz", "Wien"))
    session.edit_column("group", "groups", domain=("a", "b"))
    session.edit("confirm what was guessed", session.plan.confirmed())
    session.set_epsilon(Decimal(8))
    idle(window)


def release(window, qtbot, press, idle, answer, target: Path) -> None:
    window.session.choose_way("rows")
    window.show_page("release")
    idle(window)
    retype(window, qtbot, "release_target", target)
    idle(window)
    told = answer("yes")
    press(window, "release_now")
    qtbot.waitUntil(lambda: bool(told))
    idle(window)
    assert not found_in("\n".join(told).encode())


def test_a_canary_in_a_cell_is_written_nowhere(
    window, qtbot, press, idle, answer, tmp_path, own_temporary_folder, monkeypatch
):
    project, data = tmp_path / "people.workbench.toml", tmp_path / "people.csv"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(project), ""))
    places = (tmp_path, own_temporary_folder, Path(os.environ["HOME"]))
    with watched_processes() as told:
        opened(window, idle, tmp_path)
        qtbot.waitUntil(lambda: list(user_state().glob("unsaved/*.toml")) and not window.jobs.running)
        assert hunted(places, [data]) == []
        for page in ("data", "protect", "preview"):
            show(window, page)
            idle(window)
        release(window, qtbot, press, idle, answer, tmp_path / "out.csv")
        assert (tmp_path / "out.csv").exists()
        window.project.save(lambda: None)
        idle(window)
        assert project.exists()
        assert not found_in((window.windowTitle() + QApplication.applicationDisplayName()).encode())
        assert not found_in("\n".join(window.session.recent.paths).encode())
    assert not any(found_in(arguments.encode()) for arguments in told)
    assert hunted(places, [data]) == []


@pytest.mark.slow
def test_a_cell_that_is_refused_is_written_nowhere(window, qtbot, press, idle, answer, tmp_path, own_temporary_folder):
    opened(window, idle, tmp_path, city=NAME)
    window.session.choose_way("rows")
    window.show_page("release")
    retype(window, qtbot, "release_target", tmp_path / "out.csv")
    idle(window)
    assert not (tmp_path / "out.csv").exists()
    assert hunted((tmp_path, own_temporary_folder, Path(os.environ["HOME"])), [tmp_path / "people.csv"]) == []


@pytest.mark.slow
def test_a_crash_that_holds_the_cell_is_logged_without_it(
    window, qtbot, press, idle, answer, tmp_path, own_temporary_folder, monkeypatch
):
    def crashing(*arguments, **named):
        raise RuntimeError(f"{NAME} has {NUMBER}") from KeyError(NAME)

    opened(window, idle, tmp_path)
    monkeypatch.setattr(rows_work, "draw_prepared", crashing)
    release(window, qtbot, press, idle, answer, tmp_path / "out.csv")
    assert "bug in the program" in banner(window)
    assert not found_in(banner(window).encode())
    assert "crashing" in (user_log() / "workbench.log").read_text("utf-8")
    assert hunted((tmp_path, own_temporary_folder, Path(os.environ["HOME"])), [tmp_path / "people.csv"]) == []
