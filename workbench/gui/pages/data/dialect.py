"""How the file was read: the guess in words, its doubts, the lines that could not be read, and a form."""

from __future__ import annotations

import dataclasses
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QComboBox, QFrame, QGridLayout, QLineEdit, QScrollArea, QSizePolicy, QWidget

from workbench.data.csv.options import Dialect, ReadOptions
from workbench.data.reading import doubted, options_of
from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.session.session import OpenTable
from workbench.gui.style.language import tr, tr_later, tr_number
from workbench.gui.widgets.basic import Card, Elided, badge, button, empty, label, look, named, once, row, say, stack
from workbench.gui.widgets.choice_box import ChoiceBox
from workbench.gui.widgets.parameter_form import Form
from workbench.jobs import CancelToken, Job
from workbench.params import WorkbenchError
from workbench.params.errors import one_line
from workbench.params.remedies import REPLACE_INVALID

if TYPE_CHECKING:
    from workbench.data.table import Candidate, Doubt, Table

HELP = tr_later(
    "Correct the marked line in an editor, save the file, and press Read again. Where every line "
    "looks wrong, state below how the file is written."
)
REPLACE = tr_later(
    "Open the file with each row that has not the right number of cells as an empty row, and let "
    "the plan replace all other invalid values too: what is missing is kept as ‘missing’, what "
    "is outside the bounds becomes the nearest bound"
)

LINE = 22

CONTEXT = 2
"""Lines before and after the one in question."""

LONGEST = 400
BAD_LINES_KEY = "bad-lines"


@dataclass(frozen=True)
class FileLine:
    """One line of a text file. Private."""

    number: int
    text: str
    bad: bool


def show_lines(
    source: str, error: BaseException, encoding: str | None, jobs: JobCenter, apply: Callable[[list[FileLine]], None]
) -> JobHandle | None:
    """Read the lines around the one that ``error`` names; ``None`` where it names none."""
    number = error.line if isinstance(error, WorkbenchError) else None
    if number is None:
        return None
    job = Job(tr("Looking at the file"), lambda emit, cancel: lines_near(Path(source), number, encoding, cancel))
    # Where even that fails, the error itself has been shown: there is nothing to add to it.
    return jobs.start(job, key=BAD_LINES_KEY, shown=False, on_result=apply, on_failure=lambda failure: apply([]))


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
    """Some lines of the file with their numbers; hidden while there are none.

    Signals:
        replace_asked: the person wants rows with another number of cells to count as empty.
    """

    replace_asked = Signal()

    def __init__(self) -> None:
        super().__init__(spacing=8)
        named(self, "bad_lines", tr("Lines of the file that could not be read"))
        self._source = ""
        self._grid = QGridLayout()
        self._grid.setContentsMargins(8, 8, 8, 8)
        self._grid.setHorizontalSpacing(12)
        self._grid.setVerticalSpacing(4)
        self._grid.setColumnStretch(2, 1)
        self._lines = look(QWidget(), "clear")
        self._lines.setLayout(self._grid)
        self._area = area = QScrollArea()
        area.setWidget(self._lines)
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        edit = button(
            tr("Open the file"), "bad_lines_open", tip=tr("Open it in the program that this computer uses for it")
        )
        edit.clicked.connect(lambda: QDesktopServices.openUrl(QUrl.fromLocalFile(self._source)))
        self._replace = once(button(tr("Replace invalid values"), "bad_lines_replace", tip=tr(REPLACE)))
        self._replace.clicked.connect(self.replace_asked)
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
            text.setAccessibleName(
                tr("Line {number}, the one that is wrong: {text}", number=number, text=line.text)
                if line.bad
                else tr("Line {number}: {text}", number=number, text=line.text)
            )
            text.setTextInteractionFlags(Qt.TextInteractionFlag.NoTextInteraction)
            sign = label("✕" if line.bad else "", kind)
            for column, part in enumerate((sign, label(tr("line {number}", number=number), kind), text)):
                self._grid.addWidget(part, at, column, Qt.AlignmentFlag.AlignTop)
        self._grid.setRowStretch(len(lines), 1)
        self._area.setFixedHeight(LINE * len(lines) + 28)  # with room for the bar below long lines
        self.setVisible(bool(lines))


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
    """For each doubt its candidates, one a line: a button that states it, and some cells as it reads them.

    Signals:
        chosen: (attribute of the options, value)
    """

    chosen = Signal(str, str)

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("reading_candidates")
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(12)
        self._grid.setVerticalSpacing(4)
        self._grid.setColumnStretch(2, 1)

    def show_doubts(self, doubts: Sequence[Doubt]) -> None:
        """Show the candidates of ``doubts`` in place of the former ones."""
        empty(self._grid)
        listed = [(doubt, candidate) for doubt in doubts for candidate in doubt.candidates]
        for line, (doubt, candidate) in enumerate(listed):
            guessed = candidate is doubt.candidates[0]
            if guessed:
                self._grid.addWidget(label(tr(TITLES.get(doubt.name, doubt.name))), line, 0)
            self._add(line, doubt, candidate, guessed=guessed)
        self.setVisible(bool(doubts))

    def _add(self, line: int, doubt: Doubt, candidate: Candidate, *, guessed: bool) -> None:
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


CHOOSERS = {"sheet": tr_later("Sheet"), "member": tr_later("Member")}
"""What chooses between the tables of one file, and what it is called."""
LEFT_OPEN = {
    **dict.fromkeys(ReadOptions.declared(), tr_later("automatic")),
    "comment": tr_later("none"),
    "names": tr_later("as in the file"),
    "missing": tr_later("NA, N/A, NaN, null, none"),
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
    return ", ".join(stated_words(name, value) for name, value in doubted(table).items())


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
        named(self, "dialect_form", tr("How the file is written"))
        self.form = Form("dialect", ReadOptions, titles=TITLES, given=dict.fromkeys(CHOOSERS), across=2)
        tip = tr("The file holds several tables: choose the one to read")
        self.part = named(ChoiceBox(), "dialect_part", tip=tip)
        self.part.activated.connect(self._choose_part)
        self._part_title = label("", name="dialect_part_title")
        self._part_title.setBuddy(self.part)
        self._chooser = ""
        self.candidates = ReadingCandidates()
        self.candidates.chosen.connect(self._choose)
        self._again = button(tr("Read again"), "dialect_read_again", tip=tr("Read the file as stated here"))
        self._again.clicked.connect(self._ask)
        self._leave = button(tr("Leave as it is"), "dialect_leave", press=self.left)
        self._opened: OpenTable | None = None
        self._doubts = label("", "warn", wrap=True, name="dialect_doubts")
        self.form.changed.connect(lambda: self._again.setEnabled(self.form.value() is not None))
        about = tr("What is left open is guessed. What you declared about columns of the same name stays.")
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
        self._show_fields(facts.options if facts is not None else ())
        self._show_parts(facts.option if facts else "", facts.parts if facts else (), facts.part if facts else "")
        self._show_options(opened.options if opened is not None else None)
        doubts = doubts_in_words(opened.table) if opened is not None else ""
        by_a_row = opened is not None and any(doubt.by_a_row for doubt in opened.table.doubts)
        say(self._doubts, tr(BY_A_ROW if by_a_row else BY_THE_FILE, doubts=doubts) if doubts else "")
        self.candidates.show_doubts(opened.table.doubts if opened is not None else ())
        self._leave.setVisible(not doubts)
        self._show_guess(opened)

    def _show_fields(self, options: tuple[str, ...]) -> None:
        """Show the fields that mean something for the file; all of a text file where that is not known."""
        self.form.show_only(options or TEXT)

    def _show_parts(self, option: str, parts: Sequence[str], part: str) -> None:
        """Offer the tables of a file, where there are several."""
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
        assert self._opened is not None
        stated: dict[str, Any] = {name: value}
        so_far = self.options() or self._opened.options or ReadOptions()
        self.read_again.emit(dataclasses.replace(so_far, **stated))

    def show_failure(
        self, source: str, options: ReadOptions | None, error: BaseException, opened: OpenTable | None
    ) -> None:
        """Show what was stated when the file at ``source`` was refused, and the lines that were in the way.

        Where another of its tables is ``opened``, those can still be chosen.
        """
        self.show_table(None)
        self._show_fields(options_by_name(source))
        self._show_options(options)
        facts = opened.table.facts if opened is not None and opened.source == source else None
        if facts is not None and facts.option:
            self._show_parts(facts.option, facts.parts, getattr(options, facts.option, None) or "")
        elif isinstance(error, WorkbenchError) and error.code == "member":
            job = Job(tr("Looking at the file"), lambda emit, cancel: members(source))
            self._jobs.start(
                job,
                key="members",
                shown=False,
                on_result=lambda found: self._show_parts("member", found, ""),
                on_failure=lambda failure: None,  # the error itself has been shown
            )
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
