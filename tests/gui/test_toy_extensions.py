"""A mechanism or a page that is only a line in its list appears in the window, and works there."""

from decimal import Decimal

import lopsided
import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QApplication, QComboBox, QLabel

from workbench.gui import pages
from workbench.gui.app import main_window
from workbench.gui.pages.base import Page, PageFrame
from workbench.gui.pages.protect.share_model import ERROR, MECHANISM
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import Session
from workbench.gui.widgets.basic import label

SEX = 3
CTRL = Qt.KeyboardModifier.ControlModifier


class ToyPage(PageFrame):
    """A page with one sentence and a button that edits the plan."""

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__(session, jobs, TOY)
        self.body.addWidget(label("A toy.", name="toy_text"))
        self.set_primary("Four", "toy_go", lambda: session.set_epsilon(Decimal(4)))


TOY = Page(
    name="toy",
    title="Toy",
    room="released",
    help="A page of the tests",
    make=f"{__name__}:ToyPage",
    state=lambda session: "ready",
    about="This page shows that a page is a folder and a line in a list.",
    keys="Ctrl+Return sets ε to 4.",
)


@pytest.fixture
def with_toy(monkeypatch, qtbot):
    """A window made while the list has one page more."""
    monkeypatch.setattr(pages, "PAGES", (*pages.PAGES, TOY))
    made = main_window()
    made.show()
    qtbot.waitExposed(made)
    yield made
    made.jobs.shut_down()
    made.session.may_leave = lambda then: True
    made.close()
    made.deleteLater()
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


def test_a_page_of_the_list_is_a_tab_of_its_room_in_the_menu_and_the_help(with_toy, press, qtbot):
    assert with_toy.menus.actions["page_toy"].text() == "Released: Toy"
    assert with_toy.rail.buttons["released"].accessibleName() == "Released, ready"
    press(with_toy, "rail_released")
    press(with_toy, "tab_toy")
    assert isinstance(with_toy.page, ToyPage)
    assert with_toy.findChild(QLabel, "toy_text").isVisible()
    assert with_toy.rail.buttons["released"].isChecked()
    with_toy.rail.buttons["released"].setFocus()
    qtbot.keyClick(with_toy, Qt.Key.Key_F1)
    assert with_toy.findChild(QLabel, "help_what").text() == TOY.about
    assert with_toy.findChild(QLabel, "help_how").text() == TOY.keys
    press(with_toy, "tab_data")
    press(with_toy, "tab_toy")
    assert isinstance(with_toy.page, ToyPage)


def test_a_page_of_the_list_has_the_keys_of_every_page(with_toy, finish, press, qtbot):
    finish(with_toy, "sample_people")
    press(with_toy, "tab_toy")
    qtbot.keyClick(with_toy, Qt.Key.Key_Return, CTRL)
    assert with_toy.session.plan.epsilon == 4


def test_a_mechanism_of_the_list_is_offered_chosen_and_forecast(monkeypatch, window, finish, press, idle):
    lopsided.register(monkeypatch)
    finish(window, "sample_people")
    near = window.session.plan.with_columns({"sex": {"purpose": "values"}})
    window.session.edit("say what sex is for", near)
    finish(window, "tab_protect")
    shares = window.page.shares
    (words,) = [words for words, name in shares.choices_at(SEX) if name == "toy"]
    assert shares.setData(shares.index(SEX, MECHANISM), words)
    idle(window)
    assert window.session.plan.column("sex").mechanism == "toy"
    assert shares.index(SEX, MECHANISM).data().startswith("lopsided response")
    used = shares.outlook_at(SEX).used
    assert used.title == "lopsided response"
    assert shares.index(SEX, ERROR).data().startswith(f"{round(100 * used.error, 1):g} % changed")
    press(window, "tab_utility")
    offered = window.findChild(QComboBox, "regime_mechanism")
    assert offered.findData("toy") >= 0
