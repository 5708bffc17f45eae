"""The list of values of a category, one per line: for lists that a cell cannot hold, and values that hold commas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QPlainTextEdit, QWidget

from workbench.gui.pages.data.facts import NAMES
from workbench.gui.session.draft import DraftColumn
from workbench.gui.session.draft_edits import FROM_DATA
from workbench.gui.session.session import Session
from workbench.gui.style.language import as_sentence, tr, tr_later, tr_n, tr_sentence
from workbench.gui.widgets.basic import (
    Card,
    Elided,
    badge,
    button,
    hold,
    label,
    mark_wrong,
    named,
    panel,
    row,
    say,
    stack,
)
from workbench.gui.widgets.formatting import count
from workbench.params import ParameterError

BREAK = "↵"  # shows a line break within a value
SIDE = 288
HELP = tr_later(
    "One value per line, exactly as the table writes it: capital letters and spaces count. A "
    "list can be pasted. Empty lines are left out."
)
PUBLIC = tr_later("This list is public knowledge, whatever these rows contain")


@dataclass(frozen=True)
class Listed:
    """What is in the editor."""

    values: tuple[str, ...]  # the different values in the order of their first line
    twice: tuple[str, ...]  # those that are in more than one line
    spaced: tuple[str, ...]  # those that begin or end with a space
    with_commas: int  # lines that hold a comma, a semicolon or a tab, of which each part may be meant as a value


def listed(text: str) -> Listed:
    """Return what the lines of ``text`` list."""
    lines = [line for line in text.split("\n") if line.strip()]
    seen = Counter(lines)
    values = tuple(line.replace(BREAK, "\n") for line in seen)
    return Listed(
        values=values,
        twice=tuple(line for line, times in seen.items() if times > 1),
        spaced=tuple(v for v in values if v != v.strip()),
        with_commas=sum(any(mark in line for mark in ",;\t") for line in lines),
    )


class DomainEditor(Card):
    """Edits the list of one attribute; nothing is taken before the button is pressed."""

    left = Signal()  # the person is done, or thought better of it

    def __init__(self, session: Session) -> None:
        super().__init__(spacing=8)
        named(self, "domain_editor", tr("List of values"))
        self._session, self._name = session, ""
        self._found: tuple[str, ...] = ()
        self._from_data = False
        self._cleared: frozenset[str] = frozenset()
        self._last: frozenset[str] = frozenset()
        self._title = Elided("", "heading")
        self._help = label(tr(HELP), "muted", wrap=True)
        self.text = named(QPlainTextEdit(), "domain_text", tr("The values, one per line"), tr(HELP))
        self.text.setTabChangesFocus(True)
        self.text.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.text.textChanged.connect(self._look)
        self._count = label("", "heading", name="domain_count")
        self._stated = label("", wrap=True, name="domain_told")
        self._outside = label("", wrap=True, name="domain_outside")
        self._warning = label(f"⚠ {tr(FROM_DATA)}", "warn", wrap=True, name="domain_warning")
        public = tr(PUBLIC)
        tip = tr("{public}. Then the list is declared by you, and the certificate does not name it", public=public)
        self._public = named(QCheckBox(tr("It is public knowledge")), "domain_public", tip=tip)
        self._public.toggled.connect(self._look)
        self._problem = label("", "problem", wrap=True, name="domain_problem")
        self._from = button(tr("Use values found"), "domain_from_data", tip=tr(FROM_DATA), press=self._take_from_data)
        self._tools = {
            key: button(tr(words), f"domain_{key}", tip=tr(tip), press=lambda _on, change=change: self._apply(change))
            for key, (words, tip, change) in TOOLS.items()
        }
        leave = button(tr("Cancel"), "domain_leave", tip=tr("Leave the list as it was (Esc)"), press=self.left)
        tip = tr("Declare these values (Ctrl+Return)")
        self._take = button(tr("Take this list"), "domain_take", "primary", tip=tip, press=self.take)
        self._arrange(leave)

    def _arrange(self, leave: QWidget) -> None:
        said = self._count, self._stated, self._outside, self._problem, self._warning, self._public
        split, keep, trim, order = self._tools.values()
        side = panel(stack(*said, None, row(split, order, None), row(keep, trim, None), row(self._from, None)))
        hold(side, SIDE)
        self.body.addLayout(row((self._title, 1), badge()))
        self.body.addWidget(self._help)
        self.body.addLayout(row((self.text, 1), side, spacing=20), 1)
        self.body.addLayout(row(None, leave, self._take))

    def show_column(self, column: DraftColumn, found: Sequence[str]) -> None:
        """Begin to edit the list of ``column``; ``found`` are the values its rows hold, as far as they are known."""
        self._name, self._found = column.name, tuple(found)
        self._from_data = column.bounds_origin == "data" and column.domain is not None
        self._cleared = frozenset()
        self._last = frozenset(column.domain or ())
        self._public.setChecked(False)
        self._title.set_whole(tr("What {name} can be", name=column.name))
        self._from.setEnabled(bool(found))
        self.text.setPlainText(_lines(column.domain or ()))
        self.text.document().setModified(False)
        self._look()
        self.text.setFocus()

    def take(self) -> None:
        if self._take.isEnabled():
            values, origin = listed(self.text.toPlainText()).values, "data" if self._warned() else "declared"
            words = tr("list the values of {name}", name=self._name)
            self._session.edit_column(self._name, words, domain=values, bounds_origin=origin)
            self.left.emit()

    # -- within ---------------------------------------------------------------------------------------------------

    def _warned(self) -> bool:
        return self._from_data and not self._public.isChecked()

    def _take_from_data(self) -> None:
        self._from_data = True
        self._public.setChecked(False)
        self._put(_lines(self._found))

    def _apply(self, change: Callable[[list[str]], list[str]]) -> None:
        self._put("\n".join(change(self.text.toPlainText().split("\n"))))

    def _put(self, text: str) -> None:
        """Replace the text as one step that Ctrl+Z undoes."""
        cursor = self.text.textCursor()
        cursor.select(cursor.SelectionType.Document)
        cursor.insertText(text)
        self._look()
        self.text.setFocus()

    def _look(self) -> None:
        found = listed(self.text.toPlainText())
        self._follow_origin(frozenset(found.values))
        self._count.setText(count(len(found.values), "value"))
        stated = []
        if found.twice:
            stated.append(tr("Listed more than once: {values}.", values=_some(found.twice)))
        if found.spaced:
            stated.append(tr("With a space at an end: {values}.", values=_some([f"“{v}”" for v in found.spaced])))
        if found.with_commas:
            stated.append(
                tr_n(
                    "{n} line holds a comma, semicolon or tab.",
                    "{n} lines hold a comma, semicolon or tab.",
                    found.with_commas,
                )
            )
        say(self._stated, "\n".join(stated))
        known = set(found.values)
        outside = [v for v in self._found if v not in known]
        unlisted = {"values": _some(outside), "number": count(len(outside), "value")}
        named_so = tr("⚠ In the rows, but not listed: {values} ({number}).", **unlisted)
        say(self._outside, named_so if outside and found.values else "")
        self._warning.setVisible(self._warned())
        self._public.setVisible(self._from_data)
        self._tools["keep"].setEnabled(bool(found.twice))
        self._tools["trim"].setEnabled(bool(found.spaced))
        self._tools["split"].setEnabled(bool(found.with_commas))
        self._tools["sort"].setEnabled(len(found.values) > 1)
        self._say(found)

    def _follow_origin(self, values: frozenset[str]) -> None:
        """Forget that the list is from the data once it is cleared; brought back, by Ctrl+Z or pasted, it is again."""
        if not values and self._from_data:
            self._from_data, self._cleared = False, self._last
        elif values and values == self._cleared:
            self._from_data = True
        self._last = values or self._last

    def _say(self, found: Listed) -> None:
        text, fits = "", True
        try:
            NAMES.check(list(found.values), tr("the values of {name}", name=self._name))
        except ParameterError as error:
            text, fits = f"✕ {as_sentence(tr_sentence(error.what))}" if found.values else "", False
        self._take.setEnabled(fits)
        if len(found.values) == 1:
            text = tr("✕ A single value says nothing about anyone: list at least two, or drop the column.")
        say(self._problem, text)
        mark_wrong(self.text, bool(text))


def _lines(values: Sequence[str]) -> str:
    return "\n".join(v.replace("\r\n", BREAK).replace("\n", BREAK) for v in values)


def _some(values: Sequence[str]) -> str:
    shown = ", ".join(v if len(v) <= 24 else v[:23] + "…" for v in values[:4])
    return shown + (" …" if len(values) > 4 else "")


def _split(lines: list[str]) -> list[str]:
    text = "\n".join(lines)
    for mark in (",", ";", "\t"):
        text = text.replace(mark, "\n")
    return [part.strip() for part in text.split("\n") if part.strip()]


TOOLS: dict[str, tuple[str, str, Callable[[list[str]], list[str]]]] = {
    "split": (
        tr_later("Split at commas"),
        tr_later("Each part between commas, semicolons or tabs becomes a line"),
        _split,
    ),
    "keep": (
        tr_later("Keep each once"),
        tr_later("Leave out the lines that repeat another one"),
        lambda lines: list(dict.fromkeys(line for line in lines if line.strip())),
    ),
    "trim": (
        tr_later("Trim spaces"),
        tr_later("Leave out spaces at the beginning and the end of each line"),
        lambda lines: [line.strip() for line in lines],
    ),
    "sort": (
        tr_later("Sort"),
        tr_later("Sort the lines alphabetically"),
        lambda lines: sorted(line for line in lines if line.strip()),
    ),
}
"""Of each button its words, its tip, and what it makes of the lines."""
