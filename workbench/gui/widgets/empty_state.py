"""What a page says while there is nothing to show on it yet."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton, QWidget

from workbench.gui.session.session import FOR_TABLES, Session
from workbench.gui.style.language import tr
from workbench.gui.widgets.basic import button, label, row, stack


class NothingYet(QWidget):
    """A sentence in the middle of the page and buttons that lead to the pages that change it."""

    def __init__(self, session: Session, name: str, title: str, why: str = "", **ways: str) -> None:
        """Make it; ``ways`` names pages, each with the text of its button: ``NAME_go``, then ``NAME_go_PAGE``.

        Without any it leads to where a table is opened.
        """
        super().__init__()
        self.setObjectName(name)
        self._session, self._said = session, why
        heading = label(title, "heading")
        heading.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self._why = label("", "muted", wrap=True, name=f"{name}_why")
        self._why.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        buttons: list[QPushButton] = []
        self._pages = list(ways := ways or {"data": tr("Open a table →")})
        for at, (page, text) in enumerate(ways.items()):
            key, kind = (f"{name}_go_{page}", "") if buttons else (f"{name}_go", "primary")
            buttons.append(button(text, key, kind, press=lambda _checked, at=at: session.go(self._pages[at])))
        self.way = buttons[0]  # the first of the buttons, the highlighted one
        whole = stack(None, heading, self._why, row(None, *buttons, None), None, spacing=12, margins=(9, 9, 9, 9))
        whole.setStretch(0, 2)
        whole.setStretch(4, 3)
        self.setLayout(whole)
        session.table_changed.connect(self._show)
        self._show()

    def lead(self, page: str, text: str) -> None:
        """Let the highlighted button lead to another page."""
        self._pages[0] = page
        self.way.setText(text)
        self.way.setAccessibleName(text)

    def say(self, why: str) -> None:
        self._said = why
        self._show()

    def _show(self) -> None:
        needs_table = self._pages[0] == "data"
        if needs_table and self._session.opened is not None:  # what is missing is declared there
            self.lead("data", tr("Columns →"))
        elif needs_table:
            self.lead("data", tr("Open a table →"))
        self._why.setText(tr(FOR_TABLES) if needs_table and self._session.images is not None else self._said)
