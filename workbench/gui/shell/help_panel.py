"""What a page is for and what its keys are, in a few sentences beside it: what F1 shows."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from workbench.gui.pages.base import Page
from workbench.gui.style.language import tr, tr_later
from workbench.gui.widgets.basic import Card, Elided, button, label, row

EVERYWHERE = tr_later(
    "Ctrl+1 to Ctrl+5: the rooms. Ctrl+Page Down: the next tab. Ctrl+Return: the blue button. "
    "Ctrl+Z: undo. Ctrl+E: what ε means. Ctrl+K: any command. Esc: back."
)


class HelpPanel(Card):
    """A panel beside the gauges.

    Signals:
        more_asked: (topic) the person wants to read a topic of the help.
    """

    more_asked = Signal(str)

    def __init__(self) -> None:
        super().__init__(pad=12, spacing=8)
        self.setObjectName("help_panel")
        self.setAccessibleName(tr("Help"))
        self._title = Elided("", "heading")
        close = button(tr("Close"), "help_close", "link", tip=tr("Close this help (Esc)"), press=self.hide)
        head = QWidget()
        line = row(close)
        line.insertWidget(0, self._title, 1)
        head.setLayout(line)
        self._what = label("", wrap=True, name="help_what")
        self._how = label("", wrap=True, name="help_how")
        self._everywhere = label(tr(EVERYWHERE), "muted", wrap=True)
        self._topic = ""
        self._more = button(tr("Read more →"), "help_more", "link", tip=tr("Open this topic of the help"))
        self._more.clicked.connect(lambda: self.more_asked.emit(self._topic))
        for part in (head, self._what, self._how, self._more, self._everywhere):
            self.body.addWidget(part)
        self.hide()

    def show_text(self, title: str, parts: Sequence[tuple[str, str]]) -> None:
        """Show something other than the help of a page: paragraphs, each with the term it is about or without one."""
        self._title.set_whole(title)
        self._what.setText("\n\n".join(f"{term}: {text}" if term else text for term, text in parts))
        self._how.hide()
        self._more.hide()
        self._everywhere.hide()
        self.setAccessibleDescription(self._what.text())
        self.show()

    def show_page(self, page: Page) -> None:
        """Say what ``page`` is for."""
        self._title.set_whole(tr(page.title))
        self._what.setText(tr(page.about) or f"{tr(page.help)}.")
        self._how.setText(tr(page.keys))
        self._how.setVisible(bool(page.keys))
        self._topic = page.topic
        self._more.setVisible(bool(page.topic))
        self._everywhere.show()
        self.setAccessibleDescription(f"{self._what.text()} {tr(page.keys)} {tr(EVERYWHERE)}")
        self.show()
