"""How the file was read: the guess in words, and a form that corrects it."""

from __future__ import annotations

from PySide6.QtCore import Signal

from workbench.data.dialect import Dialect
from workbench.data.options import ReadOptions
from workbench.gui.actions.bad_lines import show_lines
from workbench.gui.bridge import JobCenter
from workbench.gui.datapage.bad_lines import BadLines
from workbench.gui.form import Form
from workbench.gui.widgets import Card, button, label, row

MARKS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar", " ": "space", "": "none"}


def in_words(dialect: Dialect) -> str:
    """Return the dialect as one line."""
    parts = [dialect.encoding, f"cells parted by {MARKS.get(dialect.delimiter, dialect.delimiter)}"]
    parts.append(f"quotes {dialect.quote}" if dialect.quote else "no quotes")
    parts.append(f"decimal mark {dialect.decimal}")
    parts.append("first row names the columns" if dialect.header else "no header")
    return "  ·  ".join(parts)


class DialectForm(Card):
    """Asks for what the reader should not guess.

    Signals:
        read_again: (ReadOptions)
        left: the person wants to leave it as it is.
    """

    read_again = Signal(object)
    left = Signal()

    def __init__(self, jobs: JobCenter) -> None:
        super().__init__(spacing=12)
        self._jobs = jobs
        self.bad_lines = BadLines()
        self.setObjectName("dialect_form")
        self.setAccessibleName("How the file is written")
        self.form = Form("dialect", ReadOptions, titles={"header": "first row is a header"})
        self._again = button("Read again", "dialect_read_again", tip="Read the file as stated here")
        self._again.clicked.connect(self._ask)
        leave = button("Leave as it is", "dialect_leave")
        leave.clicked.connect(self.left)
        self.form.changed.connect(lambda: self._again.setEnabled(self.form.value() is not None))
        text = label(
            "What is left open is guessed. What you declared about columns of the same name stays.", "muted", wrap=True
        )
        self.body.addWidget(label("How the file is written", "heading"))
        self.body.addWidget(text)
        self.body.addWidget(self.form)
        self.body.addLayout(row(None, leave, self._again))

    def show_options(self, options: ReadOptions | None) -> None:
        """Show what was stated the last time."""
        self.form.set_value(options or ReadOptions())
        self._again.setEnabled(True)

    def show_failure(self, source: str, options: ReadOptions | None, error: BaseException) -> None:
        """Show what was stated when the file at ``source`` was refused, and the lines that were in the way."""
        self.show_options(options)
        self.bad_lines.hide()
        encoding = options.encoding if options is not None else None
        show_lines(source, error, encoding, self._jobs, lambda lines: self.bad_lines.show_lines(source, lines))

    def _ask(self) -> None:
        value = self.form.value()
        if value is not None:
            self.read_again.emit(value)
