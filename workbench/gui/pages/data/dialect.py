"""How the file was read: the guess in words, its doubts, the lines that could not be read, and a form."""

from __future__ import annotations

import dataclasses
import re
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QComboBox, QGridLayout, QLineEdit, QSizePolicy, QWidget

from workbench.data.csv.options import Dialect, ReadOptions
from workbench.data.reading_options import ambiguous_options, options_of
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import OpenTable
from workbench.gui.style.language import as_sentence, tr, tr_later, tr_number, tr_sentence
from workbench.gui.widgets.basic import (
    Card,
    Elided,
    badge,
    button,
    empty,
    label,
    named,
    once,
    row,
    say,
    scrolled,
    stack,
)
from workbench.gui.widgets.choice_box import ChoiceBox
from workbench.gui.widgets.formatting import together
from workbench.gui.widgets.parameter_form import Form
from workbench.jobs import CancelToken, Job
from workbench.params import WorkbenchError
from workbench.params.errors import one_line
from workbench.params.remedies import REPLACE_INVALID
from workbench.render.fonts import scaled

if TYPE_CHECKING:
    from workbench.data.table import Ambiguity, Candidate, Table

HELP = tr_later(
    "Correct the marked line in an editor, save the file, and press Read again. Where every line "
    "looks wrong, state below how the file is written."
)
REPLACE = tr_later(
    "Open the file, count each row with the wrong number of cells as an empty row, and let the plan replace all "
    "other invalid values too: missing ones are kept as ‘missing’, numbers outside the bounds become the nearest "
    "bound"
)

LINE = 22
CONTEXT = 2  # lines before and after the one in question
LONGEST = 400


class FileLine(NamedTuple):
    """One line of a text file. Private."""

    number: int
    text: str
    bad: bool


def lines_near(path: Path, number: int, encoding: str | None, cancel: CancelToken) -> list[FileLine]:
    """Return the lines around ``number``, counted from 1; runs in a worker."""
    out = []
    # Latin-1 keeps every byte, so that lines are separated before anybody knows how letters are written.
    with path.open(encoding="latin-1", newline=None) as file:
        for at, line in enumerate(file, 1):
            if at % 4096 == 0:
                cancel.check()
            if at > number + CONTEXT:
                break
            if at >= number - CONTEXT:
                out.append(FileLine(at, _decoded(line.rstrip("\n"), encoding)[:LONGEST], bad=at == number))
    return out


def _decoded(line: str, encoding: str | None) -> str:
    raw = line.encode("latin-1")
    if encoding is None:
        try:
            return raw.decode("utf-8-sig")
        except UnicodeDecodeError:
            encoding = "cp1252"
    return raw.decode(encoding, errors="replace")


class BadLines(Card):
    """Some lines of the file with their numbers; hidden while there are none."""

    replace_asked = Signal()  # the person wants rows with another number of cells to count as empty

    def __init__(self) -> None:
        super().__init__(spacing=8)
        named(self, "bad_lines", tr("Lines of the file that could not be read"))
        self._source = ""
        self._grid = _listing(8)
        self._area = area = scrolled(self._grid, "bad_lines_area", sideways=True)
        area.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        tip = tr("Open it in the program that this computer uses for it")
        edit = button(tr("Open the file"), "bad_lines_open", tip=tip)
        edit.clicked.connect(lambda: QDesktopServices.openUrl(QUrl.fromLocalFile(self._source)))
        verb = tr("Replace invalid values")
        self._replace = once(button(verb, "bad_lines_replace", tip=tr(REPLACE), press=self.replace_asked))
        self.body.addLayout(row(label(tr("Where it went wrong"), "heading"), None, badge()))
        self.body.addWidget(area)
        self.body.addLayout(row((label(tr(HELP), "muted", wrap=True), 1), self._replace, edit, spacing=12))
        self.hide()

    def show_lines(self, source: str, lines: list[FileLine], *, replaceable: bool = False) -> None:
        """Show some lines of the file at ``source``, and whether they can be read as empty rows instead."""
        self._source = source
        self._replace.setVisible(replaceable)
        empty(self._grid)
        for at, line in enumerate(lines):
            kind, number = "danger" if line.bad else "muted", tr_number(line.number, ",")
            text = label(line.text, "danger" if line.bad else "", name=f"bad_line_{line.number}")
            wrong = tr("Line {number}, the one that is wrong: {text}", number=number, text=line.text)
            text.setAccessibleName(wrong if line.bad else tr("Line {number}: {text}", number=number, text=line.text))
            text.setTextInteractionFlags(Qt.TextInteractionFlag.NoTextInteraction)
            sign = label("✕" if line.bad else "", kind)
            for column, part in enumerate((sign, label(tr("line {number}", number=number), kind), text)):
                self._grid.addWidget(part, at, column, Qt.AlignmentFlag.AlignTop)
        self._grid.setRowStretch(len(lines), 1)
        self._area.setFixedHeight(scaled(LINE) * len(lines) + 28)  # with room for the bar below long lines
        self.setVisible(bool(lines))


def _listing(margin: int) -> QGridLayout:
    """Return a grid for lines of three parts, of which the last takes what is left."""
    grid = QGridLayout()
    grid.setHorizontalSpacing(12)
    grid.setVerticalSpacing(4)
    grid.setContentsMargins(margin, margin, margin, margin)
    grid.setColumnStretch(2, 1)
    return grid


TITLES = {
    "encoding": tr_later("encoding"),
    "delimiter": tr_later("delimiter"),
    "quote": tr_later("quotes"),
    "escape": tr_later("quotes within quotes"),
    "decimal": tr_later("decimal mark"),
    "skip_lines": tr_later("skip lines"),
    "header": tr_later("header row"),
    "comment": tr_later("comment mark"),
    "names": tr_later("column names"),
    "trim": tr_later("trim cells"),
    "missing": tr_later("missing values"),
    "range": tr_later("part of the sheet"),
    "labels": tr_later("labels for codes"),
    "missing_codes": tr_later("codes declared missing, read as"),
}
"""What an option of the reader is called, in the form and where its guess is doubted."""
MARKS = {
    **{",": tr_later("comma"), ";": tr_later("semicolon"), "\t": tr_later("tab"), "|": tr_later("bar")},
    **{" ": tr_later("space"), "": tr_later("none"), "none": tr_later("none"), ".": tr_later("point")},
    **{"doubled": tr_later("doubled"), "backslash": tr_later("backslash"), "bare": tr_later("bare")},
    **{"yes": tr_later("yes"), "no": tr_later("no")},
    **{"missing": tr_later("missing values"), "values": tr_later("values like others")},
}
"""What a mark of a file, or a word of the options, is called."""

_BETWEEN = "   ·   "


def mark_words(mark: str) -> str:
    """Return what a mark is called; an encoding or a rare mark is its own name."""
    return tr(MARKS.get(mark, mark))


def stated_words(name: str, mark: str) -> str:
    """Return an option of the reader with its value: ``decimal mark comma``."""
    return tr("{what} {words}", what=tr(TITLES.get(name, name)), words=mark_words(mark))


class ReadingCandidates(QWidget):
    """For each doubt its candidates, one a line: a button that states it, and some cells as it reads them."""

    chosen = Signal(str, str)  # (attribute of the options, value)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("reading_candidates")
        self._grid = _listing(0)
        self.setLayout(self._grid)

    def show_doubts(self, doubts: Sequence[Ambiguity]) -> None:
        empty(self._grid)
        listed = [(doubt, candidate) for doubt in doubts for candidate in doubt.candidates]
        for line, (doubt, candidate) in enumerate(listed):
            guessed = candidate is doubt.candidates[0]
            if guessed:
                self._grid.addWidget(label(tr(TITLES.get(doubt.name, doubt.name))), line, 0)
            self._add(line, doubt, candidate, guessed=guessed)
        self.setVisible(bool(doubts))

    def _add(self, line: int, doubt: Ambiguity, candidate: Candidate, *, guessed: bool) -> None:
        words = mark_words(candidate.value)
        cells = one_line(_BETWEEN.join(candidate.cells)) if candidate.fits else tr("cannot read the file")
        stated = stated_words(doubt.name, candidate.value)
        press = button(
            tr("{words} (guessed)", words=words) if guessed else words,
            f"candidate_{doubt.name}_{candidate.value}",
            tip=tr("Read the file again with {stated}", stated=stated),
            accessible=f"{stated}: {cells}",
        )
        press.setStyleSheet("min-height: 16px; padding: 2px 12px;")  # a line of a list, not a button of a form
        press.setEnabled(candidate.fits)
        press.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        press.clicked.connect(lambda: self.chosen.emit(doubt.name, candidate.value))
        shown = Elided(cells, "" if candidate.fits else "muted", name=f"cells_{doubt.name}_{candidate.value}")
        self._grid.addWidget(press, line, 1)
        self._grid.addWidget(shown, line, 2)


CHOOSERS = {"sheet": tr_later("Sheet"), "member": tr_later("Member")}  # what chooses between the tables of one file
LEFT_OPEN = {
    **dict.fromkeys(ReadOptions.declared(), tr_later("automatic")),
    "comment": tr_later("none"),
    "names": tr_later("as in the file"),
    "missing": tr_later("NA, null and the like"),
    "range": tr_later("the whole sheet"),
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


def read_in_words(table: Table) -> str:
    """Return how a table was read as one line; empty where there is nothing to say."""
    facts = table.facts
    part = ""
    if len(facts.parts) > 1:
        what, n = tr(CHOOSERS[facts.option]), tr_number(len(facts.parts), ",")
        part = tr("{what}: {part} (one of {n})", what=what, part=facts.part, n=n)
    return "  ·  ".join(filter(None, (part, in_words(table.dialect) if table.dialect is not None else "")))


_OPTION = re.compile(r'--([a-z]+(?:-[a-z]+)*)(?: (yes|no|\d+|"[^"]+")| a,b,c)?')
"""An option of a command in a sentence of the reader, and its value."""


def notices_in_words(table: Table, *, beside: bool = False) -> str:
    """Return what the reader chose for the person, a line each; options of a command are called by their fields.

    Where these are is said unless they are ``beside``.
    """
    found = [_OPTION.subn(_field, tr_sentence(notice)) for notice in (*table.notices, *table.to_check)]
    lines = [f"⚠ {as_sentence(worded)}" for worded, _ in found]
    if not beside and any(options for _, options in found):
        lines[-1] += " " + tr("The fields named here are under “How it is read”.")
    return "\n".join(lines)


def _field(option: re.Match[str]) -> str:
    name, value = option[1].replace("-", "_"), option[2]
    title = tr(TITLES.get(name) or CHOOSERS[name])
    return tr("“{field}”", field=f"{title} {mark_words(value)}" if value else title)


def options_by_name(source: str) -> tuple[str, ...]:
    """Return the reading options of a file that could not be read; none where it has none or is unknown."""
    from workbench.data.sources.catalogue import SOURCES

    return next((found.options for found in SOURCES if source.lower().endswith(found.endings)), ())


def members(source: str) -> list[str]:
    """Return the members of an archive that may be tables; runs in a worker."""
    from workbench.data.sources.compressed import members_of

    with zipfile.ZipFile(source) as archive:
        return sorted(members_of(archive))


def doubts_in_words(table: Table) -> str:
    """Return what was guessed and one row could have turned: ``encoding cp1252, decimal mark comma``."""
    return together([stated_words(name, value) for name, value in ambiguous_options(table).items()])


BY_A_ROW = tr_later(
    "⚠ Guessed from the rows: {doubts}. A single row could change this guess, and with it how "
    "every other row is read; please confirm it before releasing. Below are the same cells as "
    "each candidate reads them: click the one that reads right."
)
BY_THE_FILE = tr_later(
    "⚠ Only the file says so: {doubts}. Please confirm it before releasing. Below are the values in question as "
    "each candidate reads them: click the one that reads right."
)
TEXT = (
    *("encoding", "delimiter", "quote", "escape", "decimal", "skip_lines", "header", "comment", "names", "trim"),
    "missing",
)


class DialectForm(Card):
    """Asks for what the reader should not guess, and has what it guessed confirmed."""

    read_again = Signal(object)  # (ReadOptions)
    left = Signal()  # the person wants to leave it as it is

    def __init__(self, jobs: JobCenter) -> None:
        super().__init__(spacing=12)
        self._jobs = jobs
        self.bad_lines = BadLines()
        named(self, "dialect_form", tr("How the file is written"))
        self.form = Form("dialect", ReadOptions, titles=TITLES, given=dict.fromkeys(CHOOSERS), across=2)
        self.part = named(ChoiceBox(), "dialect_part", tip=tr("The file holds several tables: choose the one to read"))
        self.part.activated.connect(self._choose_part)
        self._part_title = label("", name="dialect_part_title")
        self._part_title.setBuddy(self.part)
        self._chooser = ""
        self.candidates = ReadingCandidates()
        self.candidates.chosen.connect(lambda name, value: self._ask_for(**{name: value}))
        tip = tr("Read the file as stated here")
        self._again = button(tr("Read again"), "dialect_read_again", tip=tip, press=self._ask)
        self._leave = button(tr("Leave as it is"), "dialect_leave", press=self.left)
        self._opened: OpenTable | None = None
        self._doubts = label("", "warn", wrap=True, name="dialect_doubts")
        self.form.changed.connect(lambda: self._again.setEnabled(self.form.value() is not None))
        about = tr("What you leave open is guessed. Declared facts of columns with the same name are kept.")
        parts = row(self._part_title, self.part, None, spacing=12)
        self.body.addWidget(label(tr("How the file is written"), "heading"))
        self.body.addWidget(label(about, "muted", wrap=True))
        self.body.addLayout(stack(parts, self._doubts, self.candidates, self.form, spacing=12))
        self.body.addLayout(row(None, self._leave, self._again))

    def show_table(self, opened: OpenTable | None) -> None:
        """Show what was stated the last time, and what of the guess is to be confirmed."""
        self._opened = opened
        self.bad_lines.hide()
        facts = opened.table.facts if opened is not None else None
        self.form.show_only((facts.options if facts is not None else ()) or TEXT)
        self._show_parts(*((facts.option, facts.parts, facts.part) if facts is not None else ("", (), "")))
        self._show_options(opened.options if opened is not None else None)
        doubts = opened.table.ambiguities if opened is not None else ()
        words = BY_A_ROW if any(doubt.by_a_row for doubt in doubts) else BY_THE_FILE
        say(self._doubts, tr(words, doubts=doubts_in_words(opened.table)) if opened is not None and doubts else "")
        self.candidates.show_doubts(doubts)
        self._leave.setVisible(not doubts)
        self._show_guess(opened)

    def _show_parts(self, option: str, parts: Sequence[str], part: str) -> None:
        self._chooser = option
        for widget in (self.part, self._part_title):
            widget.setVisible(len(parts) > 1)
        if len(parts) > 1:
            self._part_title.setText(tr(CHOOSERS[option]))
            self.part.setAccessibleName(tr(CHOOSERS[option]))
            self.part.clear()
            self.part.addItems(list(parts))
            self.part.setCurrentIndex(parts.index(part) if part in parts else -1)

    def _choose_part(self, at: int) -> None:
        """Read another table of the file: what was stated about the former one need not fit it."""
        stated: dict[str, Any] = {self._chooser: self.part.itemText(at)}
        self.read_again.emit(ReadOptions(**stated))

    def _show_options(self, options: ReadOptions | None) -> None:
        self.form.set_value(options or ReadOptions())
        for name in CHOOSERS:
            self.form.give(name, getattr(options, name, None))
        self._again.setEnabled(True)

    def _show_guess(self, opened: OpenTable | None) -> None:
        """Say in each field what was guessed, for as long as nothing is stated there."""
        dialect = opened.table.dialect if opened is not None else None
        guess = options_of(dialect) if dialect is not None else {}
        for name in TITLES:
            field = self.form.field(name)
            left = tr(LEFT_OPEN.get(name, ""))
            words = tr("guessed: {mark}", mark=mark_words(guess[name])) if name in guess else left
            if isinstance(field, QLineEdit):
                field.setPlaceholderText(words)
            elif isinstance(field, QComboBox):
                field.setItemText(0, words)

    @property
    def unread(self) -> bool:
        """Whether something is stated here by which the table in sight was not read."""
        return self._opened is not None and self.options() != (self._opened.options or ReadOptions())

    def confirm(self) -> None:
        """Read the file as stated here; what is left open is as it was guessed."""
        assert self._opened is not None
        guessed: dict[str, Any] = ambiguous_options(self._opened.table)
        so_far = self._so_far()
        self._ask_for(**{name: mark for name, mark in guessed.items() if getattr(so_far, name) is None})

    def _so_far(self) -> ReadOptions:
        assert self._opened is not None
        return self.options() or self._opened.options or ReadOptions()

    def _ask_for(self, **stated: Any) -> None:
        self.read_again.emit(dataclasses.replace(self._so_far(), **stated))

    def show_failure(
        self, source: str, options: ReadOptions | None, error: BaseException, opened: OpenTable | None
    ) -> None:
        """Show what was stated when the file at ``source`` was refused, and the lines that were in the way.

        Where another of its tables is ``opened``, those can still be chosen.
        """
        self.show_table(None)
        self.form.show_only(options_by_name(source) or TEXT)
        self._show_options(options)
        facts = opened.table.facts if opened is not None and opened.source == source else None
        if facts is not None and facts.option:
            self._show_parts(facts.option, facts.parts, getattr(options, facts.option, None) or "")
        elif isinstance(error, WorkbenchError) and error.code == "member":
            job = Job(tr("Looking at the file"), lambda emit, cancel: members(source))
            self._jobs.start(
                job,
                key="members",
                stoppable=False,
                on_result=lambda found: self._show_parts("member", found, ""),
                on_failure=lambda failure: None,  # the error itself has been shown
            )
        if isinstance(error, WorkbenchError) and error.line is not None:
            self._show_lines(source, error, options.encoding if options is not None else None)

    def _show_lines(self, source: str, error: WorkbenchError, encoding: str | None) -> None:
        number, replaceable = error.line, any(way.kind == REPLACE_INVALID for way in error.remedies)
        assert number is not None

        def show(lines: list[FileLine]) -> None:
            self.bad_lines.show_lines(source, lines, replaceable=replaceable)

        job = Job(tr("Looking at the file"), lambda emit, cancel: lines_near(Path(source), number, encoding, cancel))
        # Where even that fails, the error itself has been shown: there is nothing to add to it.
        self._jobs.start(job, key="bad-lines", stoppable=False, on_result=show, on_failure=lambda failure: show([]))

    def options(self) -> ReadOptions | None:
        value = self.form.value()
        return value if isinstance(value, ReadOptions) else None

    def _ask(self) -> None:
        value = self.options()
        if value is not None:
            self.read_again.emit(value)
