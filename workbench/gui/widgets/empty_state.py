"""What a page says while there is nothing to show on it yet."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from workbench.gui.session.session import FOR_TABLES, Session
from workbench.gui.style.language import tr
from workbench.gui.widgets.basic import button, label, row, stack


class EmptyState(QWidget):
    """A sentence in the middle of the page and buttons that lead to the pages that change it."""

    def __init__(self, session: Session, name: str, title: str, why: str = "", **ways: str) -> None:
        """Make it; ``ways`` names pages, each with the text of its button: ``NAME_go``, then ``NAME_go_PAGE``.

        Without any, the one button leads to where a table is opened.
        """
        super().__init__()
        self.setObjectName(name)
        self._session, self._said = session, why
        heading = label(title, "heading")
        heading.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self._why = label("", "muted", wrap=True, name=f"{name}_why")
        self._why.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        if not ways:
            ways = {"data": tr("Open a table →")}
        self._pages = list(ways)
        self.way = button(ways[self._pages[0]], f"{name}_go", "primary", press=lambda: session.go(self._pages[0]))
        buttons = [self.way]
        for page in self._pages[1:]:
            buttons.append(button(ways[page], f"{name}_go_{page}", press=partial(session.go, page)))
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
