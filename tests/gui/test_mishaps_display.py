"""A small display: every page in every state shows its texts whole and keeps within the window."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import pytest
from fits import misfits
from mishaps import retype
from PySide6.QtWidgets import QCheckBox, QComboBox, QLabel, QLineEdit, QPushButton, QWidget

from workbench import learners
from workbench.deep import networks
from workbench.gui.app import main_window
from workbench.gui.pages.release_tasks import look_before_release, release_plan
from workbench.gui.shell.main_window import PATIENCE_MS, MainWindow
from workbench.gui.widgets.parameter_form import Form
from workbench.jobs import Job

SMALL, LARGE = (1280, 720), (2560, 1440)
"""The first is what is left of a full-HD display where everything is shown at 150 %."""

CROWDED = 800
"""Lines that are needed where a message, an offer and jobs stand there together."""

LONG = "a_rather_long_name_of_a_column_as_exports_of_surveys_have_them"


@pytest.fixture(params=[SMALL, pytest.param(LARGE, marks=pytest.mark.slow)], ids=["1280x720", "2560x1440"])
def sized(request, window) -> MainWindow:
    window.resize(*request.param)
    return window


def check(window: MainWindow, qtbot, state: str, lines: int = SMALL[1]) -> None:
    """Fail with every text and widget that does not fit once the layouts have settled."""
    size = window.size()

    def fits() -> None:
        found = misfits(window)
        assert not found, f"{state}:\n" + "\n".join(found)
        hint = window.minimumSizeHint()
        assert hint.width() <= SMALL[0], f"{state} asks for a width of {hint.width()}"
        assert hint.height() <= lines, f"{state} asks for a height of {hint.height()}"

    # Layouts settle over several turns of the event loop, and the panel of a job goes a moment after the job.
    qtbot.waitUntil(fits, timeout=60_000)
    assert window.size() == size, f"{state}: the window grew to {window.width()}×{window.height()}"


def every_page(window: MainWindow, idle) -> Iterator[str]:
    for name in list(window.rail.pages):
        window.show_page(name)
        idle(window)
        yield name


def test_without_a_table_every_page_fits(sized, idle, qtbot):
    for name in every_page(sized, idle):
        check(sized, qtbot, f"{name}, no table")


def test_with_a_table_every_page_fits(sized, finish, idle, qtbot):
    finish(sized, "sample_people")
    for name in every_page(sized, idle):
        check(sized, qtbot, f"{name}, people")


def test_another_table_is_given_the_room_of_its_own_names(sized, finish, idle, qtbot):
    finish(sized, "sample_people")
    finish(sized, "tab_preview")
    sized.open("sample:iris")  # of longer names
    idle(sized)
    sized.show_page("preview")
    idle(sized)
    check(sized, qtbot, "preview, iris after people")


def test_with_long_names_and_open_facts_every_page_fits(sized, tmp_path, idle, qtbot):
    path = tmp_path / f"{LONG}.csv"
    rows = "".join(f"{i},{i % 5}.25,a quite long answer of group {i % 3},{1 + i % 28}.03.2021\n" for i in range(200))
    path.write_text(f"{LONG}_1,{LONG}_2,{LONG}_3,{LONG}_4\n{rows}", "utf-8")
    sized.open(str(path))
    idle(sized)
    for name in every_page(sized, idle):
        check(sized, qtbot, f"{name}, long names")


def test_the_views_and_attributes_of_the_data_page_fit(sized, tmp_path, press, load, qtbot):
    path = tmp_path / "town.csv"
    path.write_text("age;town\n" + "".join(f"{20 + i % 40};{'ab'[i % 2]}\n" for i in range(300)), "utf-8")
    load(sized, path)
    press(sized, "tab_data")
    for view in ("rows", "dialect", "attributes"):
        press(sized, f"view_{view}")
        check(sized, qtbot, f"data, {view}")
    load(sized, "sample:people")
    press(sized, "tab_data")
    for row in range(len(sized.session.plan.columns)):
        sized.page.table.selectRow(row)
        check(sized, qtbot, f"data, attribute {row}")


def test_after_a_study_a_training_and_a_release_every_page_fits(sized, finish, press, idle, qtbot, answer, tmp_path):
    finish(sized, "sample_iris")
    press(sized, "tab_utility")
    retype(sized, qtbot, "curve_epsilons", "1, 10")
    retype(sized, qtbot, "curve_repeats", "2")
    finish(sized, "curve_run")
    released = lambda seen: release_plan(sized.session, sized.jobs, seen, sized.session.report)  # noqa: E731 - said once
    look_before_release(sized.session, sized.jobs, tmp_path / "released.csv", released)
    idle(sized)
    sized.session.set_epsilon(Decimal("0.125"))
    press(sized, "tab_train")
    for model in (*learners.LEARNERS, *networks.NETWORKS):
        sized.page.forms.choose(model.name)  # also one that does not fit this table
        idle(sized)
        check(sized, qtbot, f"train, {model.title}")
    sized.session.explain(Decimal("0.5"))
    for name in every_page(sized, idle):
        check(sized, qtbot, f"{name}, after everything")


def test_the_longest_explanation_of_a_field_is_in_sight_whole(sized, finish, press, idle, qtbot):
    finish(sized, "sample_people")
    press(sized, "tab_train")
    for model in (*learners.LEARNERS, *networks.NETWORKS):
        sized.page.forms.choose(model.name)  # also one that does not fit this table
        idle(sized)
        form = next(f for f in sized.page.findChildren(Form) if f.isVisible())
        told = sized.findChild(QLabel, "train_help")
        fields = [f for f in form.findChildren(QWidget) if isinstance(f, QLineEdit | QComboBox)]
        fields.append(sized.findChild(QLineEdit, "train_epsilon"))
        sentences = []
        for field in fields:
            field.setFocus()
            qtbot.waitUntil(field.hasFocus)
            sentences.append(told.text())
            # In sight, not only where it could be scrolled to.
            assert told.visibleRegion().boundingRect().size() == told.size(), told.text()
        asked = [form.field(key) for key in form._fields]
        assert len(set(sentences)) == len(fields) > 1
        assert len(fields) == 1 + len([f for f in asked if not isinstance(f, QCheckBox)])
        told.setText(max(sentences, key=told.fontMetrics().horizontalAdvance))
        check(sized, qtbot, f"train, {model.title}, {told.text()}")


def test_messages_offers_and_jobs_fit_together(sized, finish, idle, qtbot):
    sized.resize(sized.width(), max(sized.height(), CROWDED))
    finish(sized, "sample_people")

    def wait(emit, cancel) -> None:
        while not cancel.cancelled:
            cancel._event.wait(0.05)
        cancel.check()

    names = ("Releasing a table with quite a long name.csv", "Accuracy against ε", "Verifying")
    handles = [sized.jobs.start(Job(name, wait)) for name in names]
    sized.session.notify("error", "The ledger cannot be used: database is locked (" + "/a/long/path" * 8 + "); wait.")
    sized.findChild(QLabel, "restore_text").setText("The window ended unexpectedly. " * 3)
    sized.restore_panel.show()
    qtbot.waitUntil(lambda: len(sized.findChildren(QPushButton, "job_cancel")) == 3)
    for name in list(sized.rail.pages):
        sized.show_page(name)
        check(sized, qtbot, f"{name}, with banner, offer and jobs", CROWDED)
    for handle in handles:
        handle.cancel()
    idle(sized)


def test_what_does_not_fit_is_found(window, qtbot):
    """The check itself: a label without room, a button that is cut, and a widget outside."""
    label = QLabel("a text that is much longer than its label", window)
    label.setGeometry(10, 10, 40, 20)
    cut = QPushButton("a long button", window)
    cut.setGeometry(60, 10, 40, 30)
    gone = QLabel("outside", window)
    gone.setGeometry(1270, 10, 100, 20)
    for widget in (label, cut, gone):
        widget.show()
    found = misfits(window)
    assert len(found) == 3
    assert "needs" in found[0]
    assert "needs" in found[1]
    assert "outside" in found[2]


def test_a_window_that_is_closed_waits_only_a_moment():
    assert PATIENCE_MS <= 5000


def test_the_window_remembers_a_size_that_fits_its_display(window, idle):
    """A window that was left on a display that has gone comes back onto the one there is."""
    window.resize(*LARGE)
    window.move(5000, 4000)
    window.close()
    again = main_window()
    again.show()
    available = again.screen().availableGeometry()
    assert available.intersects(again.frameGeometry())
    assert again.findChild(QWidget, "pages").isVisible()
    again.close()
    again.deleteLater()
