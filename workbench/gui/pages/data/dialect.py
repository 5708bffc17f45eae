"""How the file was read: the guess in words, and a form that corrects it."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QComboBox, QLineEdit

from workbench.data.csv.dialect import Dialect
from workbench.data.csv.options import ReadOptions
from workbench.data.reading import doubted, options_of
from workbench.gui.pages.data.bad_lines import BadLines, FileLine, show_lines
from workbench.gui.pages.data.reading_candidates import ReadingCandidates, mark_words, stated_words
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import OpenTable
from workbench.gui.style.language import tr, tr_later
from workbench.gui.widgets.basic import Card, button, label, row
from workbench.gui.widgets.parameter_form import Form
from workbench.params import WorkbenchError
from workbench.params.remedies import REPLACE_INVALID

if TYPE_CHECKING:  # this loads polars, which the first paint does not wait for
    from workbench.data.table import Table

FIELDS = {
    "encoding": tr_later("encoding"),
    "delimiter": tr_later("delimiter"),
    "quote": tr_later("quote"),
    "escape": tr_later("escape"),
    "decimal": tr_later("decimal"),
    "skip_lines": tr_later("skip lines"),
    "header": tr_later("first row is a header"),
    "comment": tr_later("comment mark"),
    "names": tr_later("column names"),
    "trim": tr_later("trim cells"),
    "missing": tr_later("missing values"),
}
LEFT_OPEN = {
    **dict.fromkeys(ReadOptions.declared(), tr_later("guessed")),
    "comment": tr_later("none"),
    "names": tr_later("as in the file"),
    "missing": tr_later("NA, N/A, NaN, null, none"),
}


def in_words(dialect: Dialect) -> str:
    """Return the dialect as one line, which leaves out what nearly every file has in common."""
    parts = [
        dialect.encoding,
        tr("separated by {delimiter}", delimiter=mark_words(dialect.delimiter)),
    ]
    if dialect.quote != '"':
        parts.append(tr("quotes {mark}", mark=dialect.quote) if dialect.quote else tr("no quotes"))
    parts += [tr("decimal mark {mark}", mark=mark_words(dialect.decimal))] if dialect.decimal != "." else []
    parts += [tr("no header")] if not dialect.header else []
    parts += [tr("trimmed")] if dialect.trim else []
    parts += [tr("comments {mark}", mark=dialect.comment)] if dialect.comment else []
    return "  ·  ".join(parts)


def doubts_in_words(table: Table) -> str:
    """Return what was guessed and one row could have turned: ``encoding cp1252, decimal mark comma``."""
    return ", ".join(stated_words(name, value) for name, value in doubted(table).items())


class DialectForm(Card):
    """Asks for what the reader should not guess, and has what it guessed confirmed.

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
        self.setAccessibleName(tr("How the file is written"))
        self.form = Form("dialect", ReadOptions, titles={key: tr(words) for key, words in FIELDS.items()}, across=2)
        self.candidates = ReadingCandidates()
        self.candidates.chosen.connect(self._choose)
        self._again = button(tr("Read again"), "dialect_read_again", tip=tr("Read the file as stated here"))
        self._again.clicked.connect(self._ask)
        self._leave = button(tr("Leave as it is"), "dialect_leave")
        self._leave.clicked.connect(self.left)
        self._opened: OpenTable | None = None
        self._doubts = label("", "warn", wrap=True, name="dialect_doubts")
        self.form.changed.connect(lambda: self._again.setEnabled(self.form.value() is not None))
        text = label(
            tr("What is left open is guessed. What you declared about columns of the same name stays."),
            "muted",
            wrap=True,
        )
        self.body.addWidget(label(tr("How the file is written"), "heading"))
        self.body.addWidget(text)
        self.body.addWidget(self._doubts)
        self.body.addWidget(self.candidates)
        self.body.addWidget(self.form)
        self.body.addLayout(row(None, self._leave, self._again))

    def show_table(self, opened: OpenTable | None) -> None:
        """Show what was stated the last time, and what of the guess is to be confirmed."""
        self._opened = opened
        self.bad_lines.hide()
        self._show_options(opened.options if opened is not None else None)
        doubts = doubts_in_words(opened.table) if opened is not None else ""
        self._doubts.setText(
            tr(
                "⚠ Guessed from the rows: {doubts}. A single row could change this guess, and with it how "
                "every other row is read; please confirm it before releasing. Below are the same cells as "
                "each candidate reads them: click the one that reads right.",
                doubts=doubts,
            )
        )
        self._doubts.setVisible(bool(doubts))
        self.candidates.show_doubts(opened.table.doubts if opened is not None else ())
        self._leave.setVisible(not doubts)
        self._show_guess(opened)

    def _show_options(self, options: ReadOptions | None) -> None:
        self.form.set_value(options or ReadOptions())
        self._again.setEnabled(True)

    def _show_guess(self, opened: OpenTable | None) -> None:
        """Say in each field what was guessed, for as long as nothing is stated there."""
        dialect = opened.table.dialect if opened is not None else None
        guess = options_of(dialect) if dialect is not None else {}
        for name in ReadOptions.declared():
            field = self.form.field(name)
            words = (
                tr("guessed: {mark}", mark=mark_words(guess[name])) if name in guess else tr(LEFT_OPEN.get(name, ""))
            )
            if isinstance(field, QLineEdit):
                field.setPlaceholderText(words)
            elif isinstance(field, QComboBox):
                field.setItemText(0, words)

    def confirm(self) -> None:
        """State what was guessed, as it was guessed."""
        assert self._opened is not None
        stated: dict[str, Any] = doubted(self._opened.table)
        self.read_again.emit(dataclasses.replace(self._opened.options or ReadOptions(), **stated))

    def _choose(self, name: str, value: str) -> None:
        """State one candidate of a doubt, and leave the other doubts open."""
        assert self._opened is not None
        stated: dict[str, Any] = {name: value}
        so_far = self.options() or self._opened.options or ReadOptions()
        self.read_again.emit(dataclasses.replace(so_far, **stated))

    def show_failure(self, source: str, options: ReadOptions | None, error: BaseException) -> None:
        """Show what was stated when the file at ``source`` was refused, and the lines that were in the way."""
        self.show_table(None)
        self._show_options(options)
        encoding = options.encoding if options is not None else None
        ways = error.remedies if isinstance(error, WorkbenchError) else ()
        replaceable = any(way.kind == REPLACE_INVALID for way in ways)

        def show(lines: list[FileLine]) -> None:
            self.bad_lines.show_lines(source, lines, replaceable=replaceable)

        show_lines(source, error, encoding, self._jobs, show)

    def options(self) -> ReadOptions | None:
        """Return what is stated in the form, ``None`` where it is no valid statement."""
        value = self.form.value()
        return value if isinstance(value, ReadOptions) else None

    def _ask(self) -> None:
        value = self.options()
        if value is not None:
            self.read_again.emit(value)
