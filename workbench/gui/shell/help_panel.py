"""What a page is for and what its keys are, in a few sentences beside it: what F1 shows."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal

from workbench.gui.pages.base import Page
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_later
from workbench.gui.widgets.basic import Elided, button, label, panel, row
from workbench.gui.widgets.explain import SidePanel

EVERYWHERE = tr_later(
    "Ctrl+1 to Ctrl+5: the rooms. Ctrl+Page Down: the next tab. Ctrl+Return: the blue button. "
    "Ctrl+Z: undo. Ctrl+E: what ε means. Ctrl+K: any command. Esc: back."
)


class HelpPanel(SidePanel):
    """A panel beside the gauges."""

    def __init__(self, session: Session) -> None:
        super().__init__(pad=12, spacing=8)
        self.setObjectName("help_panel")
        self.setAccessibleName(tr("Help"))
        self._title = Elided("", "heading")
        close = button(tr("Close"), "help_close", "link", tip=tr("Close this help (Esc)"), press=self.hide)
        head = panel(row((self._title, 1), close))
        self._what = label("", wrap=True, name="help_what")
        self._how = label("", wrap=True, name="help_how")
        self._everywhere = label(tr(EVERYWHERE), "muted", wrap=True)
        self._topic = ""
        tip, read = tr("Open this topic of the help"), lambda: session.ask_for_help(self._topic)
        self._more = button(tr("Read more →"), "help_more", "link", tip=tip, press=read)
        self.body.add(head, self._what, self._how, self._more, self._everywhere)
        self.hide()

    def show_text(self, title: str, parts: Sequence[tuple[str, str]]) -> None:
        """Show something other than the help of a page: paragraphs, each with the term it is about or without one."""
        self._title.set_whole(title)
        self._what.setText("\n\n".join(f"{term}: {text}" if term else text for term, text in parts))
        self._how.hide()
        self._more.hide()
        self._everywhere.hide()
        self.setAccessibleDescription(self._what.text())
        self.come()

    def show_page(self, page: Page) -> None:
        self._title.set_whole(tr(page.title))
        self._what.setText(tr(page.about) or f"{tr(page.help)}.")
        self._how.setText(tr(page.keys))
        self._how.setVisible(bool(page.keys))
        self._topic = page.topic
        self._more.setVisible(bool(page.topic))
        self._everywhere.show()
        self.setAccessibleDescription(f"{self._what.text()} {tr(page.keys)} {tr(EVERYWHERE)}")
        self.come()


# -- the tour ---------------------------------------------------------------------------------------------------------


STEPS: tuple[tuple[str, str, str], ...] = (
    (
        "data",
        tr_later("Open a table"),
        tr_later(
            "Drop a file on the window, or press Open sample to learn with invented people. What you open stays on "
            "this computer; nothing is published until you press Release."
        ),
    ),
    (
        "questions",
        tr_later("Say who needs what"),
        tr_later(
            "Three questions: who gets the release, which columns they need, what they will ask of it. A plan follows "
            "from the answers. Columns that nobody needs are not released, which leaves more accuracy for the rest."
        ),
    ),
    (
        "ways",
        tr_later("Decide by what they will see"),
        tr_later(
            "Every question has a ✓ or a ✗ for each way to release, at the ε you choose. ε limits what "
            "anyone can learn about one person: smaller is more private, larger is more accurate."
        ),
    ),
    (
        "ledger",
        tr_later("Know what is spent"),
        tr_later(
            "The gauge on the right shows the privacy budget. A release is charged before anything is drawn, and the "
            "ledger keeps every charge. A release that does not fit below the cap is refused."
        ),
    ),
    (
        "help",
        tr_later("Ask at any time"),
        tr_later(
            "F1 explains the page you are on, Ctrl+E the ε beside it, and Ctrl+K finds any command by "
            "typing. This tour is in the Help menu."
        ),
    ),
)
"""The page of each step, its title and its text."""

REACHED_BY = {"released": "ledger"}  # pages that are about the same as the one of a step: a release leads to its list


class TourPanel(SidePanel):
    """The steps, one at a time."""

    ended = Signal()  # the tour was left, or its last step was read

    def __init__(self, session: Session) -> None:
        super().__init__(pad=12, spacing=8)
        self.setObjectName("tour")
        self._session, self._at = session, 0
        self._title = Elided("", "heading")
        self._count = label("", "muted", name="tour_count")
        head = panel(row((self._title, 1), self._count))
        self._text = label("", wrap=True, name="tour_text")
        self._next = button(tr("Next"), "tour_next", press=lambda: self._show(self._at + 1))
        tip = tr("Leave the tour; Help → Take the Tour shows it again")
        leave = button(tr("Leave"), "tour_leave", tip=tip, press=self.leave)
        foot = panel(row(leave, None, self._next))
        self.body.add(head, self._text, foot)
        self.hide()

    def start(self, *, lead: bool = True) -> None:
        """Show the first step, and its page where ``lead`` says so."""
        self._show(0, lead=lead)
        self.come()

    def reach(self, page: str) -> None:
        """Go on to the step about ``page`` where the person went there by herself; never back."""
        about = REACHED_BY.get(page, page)
        at = next((at for at, step in enumerate(STEPS) if step[0] == about), 0)
        if not self.isHidden() and at > self._at:
            self._show(at, lead=False)

    def leave(self) -> None:
        if not self.isHidden():
            self.hide()
            self.ended.emit()

    def _show(self, at: int, *, lead: bool = True) -> None:
        if at == len(STEPS):
            self.leave()
            return
        self._at = at
        page, title, text = STEPS[at]
        self._title.set_whole(tr(title), wrapped=True)
        self._count.setText(tr("{at} of {steps}", at=at + 1, steps=len(STEPS)))
        self._text.setText(tr(text))
        self._next.setText(tr("Done") if at + 1 == len(STEPS) else tr("Next"))
        self.setAccessibleName(tr("Tour, step {at} of {steps}: {title}", at=at + 1, steps=len(STEPS), title=tr(title)))
        self.setAccessibleDescription(tr(text))
        if lead:
            self._session.go(page)
