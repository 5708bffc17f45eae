"""Whoever starts work by the keyboard keeps the keyboard: first on Cancel, then on what leads on from the result."""

import threading
from decimal import Decimal

import pytest
from mishaps import retype
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QApplication, QPushButton, QWidget

from workbench.gui.pages.base import Page, PageFrame
from workbench.gui.session.account_task import read_account
from workbench.gui.session.job_center import Job, JobCenter
from workbench.gui.session.session import Session
from workbench.gui.widgets.basic import button
from workbench.release.ledger.ledger import Ledger


class Toy(PageFrame):
    """A page that follows its job as others do, and says nothing of keys."""

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        page = Page(name="toy", title="Toy", room="data", help="", about="", keys="", make="")
        super().__init__(session, jobs, page)
        self.goes_on = threading.Event()
        self.field = QPushButton("a field")
        self.body.addWidget(self.field)
        self.add_cancel(button("Cancel", "toy_cancel"))
        self.start = self.set_primary("Start", "toy_start", self._start)

    def _start(self) -> None:
        def work(emit, cancel):
            while not self.goes_on.wait(0.01):
                cancel.check()

        self.follow(self.jobs.start(Job("Toying", work)))

    def refresh(self) -> None:
        self.start.setVisible(not self.running)
        self.field.setEnabled(not self.running)
        self.show_cancel()


@pytest.fixture
def toy(qtbot, qapp):
    jobs = JobCenter()
    made = Toy(Session(), jobs)
    qtbot.addWidget(made)
    made.show()
    made.activateWindow()
    qtbot.waitUntil(made.isActiveWindow)
    yield made
    made.goes_on.set()
    jobs.shut_down()


@pytest.mark.parametrize("pressed", ["start", "field"])
@pytest.mark.parametrize("stopped", [False, True])
def test_a_page_has_the_keys_where_its_buttons_go_or_grey(toy, qtbot, pressed, stopped):
    getattr(toy, pressed).setFocus()
    toy.start.click()
    cancel = toy.findChild(QPushButton, "toy_cancel")
    assert toy.focusWidget() is cancel
    assert cancel.isVisible()
    if stopped:
        qtbot.keyClick(cancel, Qt.Key.Key_Space)
    else:
        toy.goes_on.set()
    qtbot.waitUntil(lambda: not toy.running)
    assert toy.focusWidget() is toy.start


def test_keys_that_are_elsewhere_stay_there(toy, qtbot):
    other = QPushButton("other", toy)
    other.show()
    other.setFocus()
    toy.start.click()
    assert toy.focusWidget() is other
    toy.goes_on.set()
    qtbot.waitUntil(lambda: not toy.running)
    assert toy.focusWidget() is other


STARTS = {
    "risk_run": "risk",
    "ways_truth": "ways",
    "another_draw": "preview",
    "generalise_run": "generalise",
    "curve_standard": "utility",
    "curve_run": "utility",
    "why_run": "why",
    "memory_run": "memory",
    "rappor_simulate": "rappor",
    "ledger_verify": "ledger",
    "train_start": "train",
    "synthetic_preview_start": "release",
    "release_now": "release",
    "estimate_run": "estimate",
    "attack_run": "attack",
    "predict_run": "predict",
}
ASKING = {"train_start": "train_folder", "release_now": "release_target"}
"""What asks before it starts, and where its output is named."""
LONG = {"curve_standard", "curve_run", "why_run", "memory_run"}
"""What is stopped by the key that started it: it is on Cancel then."""


def test_every_start_of_the_window_by_keys_alone(people, idle, qtbot, answer, tmp_path):
    people.activateWindow()
    qtbot.waitUntil(people.isActiveWindow)
    with Ledger.open() as book:  # for a model and a release
        book.set_cap(people.session.account.dataset, Decimal(9))
    read_account(people.session, people.jobs)
    idle(people)
    seen = {}
    for name, page in STARTS.items():
        people.session.choose_way("synthetic" if name.startswith("synthetic") else "rows")
        people.show_page(page)
        idle(people)
        seen[name] = started(people, name, idle, qtbot, answer, tmp_path)
    assert {name: lost for name, lost in seen.items() if lost} == {}


def started(people, name, idle, qtbot, answer, tmp_path) -> set[str]:
    """Press a button by the space bar; return where the keyboard was while no usable part of the page had it."""
    if name == "estimate_run":
        retype(people, qtbot, "estimate_release", tmp_path / "release_now" / "out.csv")
    if name in ASKING:
        (tmp_path / name).mkdir()
        retype(people, qtbot, ASKING[name], tmp_path / name / ("model" if name == "train_start" else "out.csv"))
    start = people.findChild(QAbstractButton, name)
    idle(people)
    assert start.isVisible(), name
    for _ in range(100):
        if not start.isEnabled():
            qtbot.wait(50)
    assert start.isEnabled(), name
    start.setFocus()
    if name in ASKING:
        answer("yes")
    lost: set[str] = set()
    qtbot.keyClick(start, Qt.Key.Key_Space)
    if name in LONG:
        assert looked(people, lost)
        assert people.focusWidget().objectName().endswith("_cancel"), name
        qtbot.keyClick(people.focusWidget(), Qt.Key.Key_Space)
    qtbot.waitUntil(lambda: looked(people, lost) and not people.jobs.running)
    idle(people)
    looked(people, lost)
    return lost


def looked(people: QWidget, lost: set[str]) -> bool:
    """Note where the keyboard is if no usable part of the page has it; a question that is open has it."""
    held, page = people.focusWidget(), people.page
    if QApplication.activeModalWidget() is not None:
        return False
    if held is None or not (held.isVisible() and held.isEnabled() and (held is page or page.isAncestorOf(held))):
        lost.add("nothing" if held is None else held.objectName() or type(held).__name__)
    elif page.running and not page.stopping and page._cancel.isVisible() and held is not page._cancel:
        lost.add(f"{held.objectName()} in place of Cancel")
    return True
