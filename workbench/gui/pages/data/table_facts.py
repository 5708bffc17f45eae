"""Facts about the table as a whole: rows of one person, the order of rows, and what invalid values become."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import QCheckBox, QLineEdit, QSplitter, QWidget

from workbench.data.databases.address import title_of
from workbench.gui.pages.data.facts import Edit
from workbench.gui.session.blocking import codes_in_words, refused_columns
from workbench.gui.session.draft import DraftColumn, DraftPlan
from workbench.gui.session.session import OpenTable, Session
from workbench.gui.style.language import as_sentence, tr, tr_later, tr_n, tr_number, tr_sentence, typed
from workbench.gui.widgets.basic import hold, label, lines, mark_wrong, named, row, say, stack
from workbench.gui.widgets.choice_box import ChoiceBox
from workbench.gui.widgets.formatting import listed
from workbench.params import ParameterError
from workbench.sanitize.writing import shielded

TITLE = tr_later("Rows per person")
PERSON = tr_later(
    "Maximum rows per person. ε covers one row; a person with three rows is covered by three times that ε, and that "
    "is what a release is charged"
)
UNIT = tr_later(
    "The column that identifies a person. For each person only as many rows are read as stated here, chosen at "
    "random, and the others count as empty, so nobody can change more, whatever the table contains. The column is "
    "never released; a row without a value in it counts as a separate person"
)
ORDER = tr_later(
    "Rows are written in random order. Kept in their order, each row's place is published as well: in a file sorted by "
    "name or by date, the place reveals whose row it is, and no ε covers that"
)
FORMULAS = tr_later(
    "Released text gets an apostrophe before =, +, − or @, so that no spreadsheet runs it; the certificate says so"
)
REPLACE = tr_later(
    "No row is refused because of its values. A missing or unreadable value becomes one more value, ‘missing’; a "
    "number outside its bounds becomes the nearest bound; a value that is not listed becomes the declared other value, "
    "or missing; a blank line counts as a row without values. Otherwise the first invalid value stops the release, "
    "which reveals that all others were valid"
)
KEEP_ORDER, DEFUSE = tr_later("keep the order of rows"), tr_later("defuse formulas")
REPLACE_INVALID = tr_later("replace invalid values")
REPLACED_BY = tr_later(
    "Replaced: missing or unreadable → ‘missing’, one more value; outside the bounds → the "
    "nearest bound; not in the list → the value chosen for that, else ‘missing’."
)


class WholeTable(QWidget):
    """One line below the attributes, and a warning under it where there is one."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self.rows = named(QLineEdit(), "rows_per_person", tr("Maximum rows per person"), tr(PERSON))
        hold(self.rows, 64)
        self.unit = named(ChoiceBox(), "unit", tr("Column that identifies a person"), tr(UNIT))
        self.unit.give_way(7)
        self.order = self._box("keep_order", KEEP_ORDER, ORDER, self._with_order)
        self.invalid = self._box("replace_invalid", REPLACE_INVALID, REPLACE, self._with_invalid)
        self.formulas = self._box("defuse_formulas", DEFUSE, FORMULAS, self._with_formulas)
        self._stated = label("", "warn", wrap=True, name="whole_told")
        self._what = label(tr(REPLACED_BY), "muted", wrap=True, name="replaced_by")
        title = label(tr(TITLE), "muted")
        title.setToolTip(tr(PERSON))
        title.setBuddy(self.rows)
        rows = row(title, self.rows, self.unit, None)
        self._line = lines((rows, 1), self.order, self.invalid, self.formulas, spacing=16)
        self.setLayout(stack(self._line, self._stated, self._what, spacing=4, margins=(8, 0, 8, 0)))
        self.rows.editingFinished.connect(self._take_rows)
        self.unit.activated.connect(self._take_unit)
        session.table_changed.connect(self.refresh)
        session.plan_changed.connect(self.refresh)
        self.refresh()

    def _box(self, name: str, words: str, tip: str, edit: Callable[[bool], Edit]) -> QCheckBox:
        box = named(QCheckBox(tr(words)), name, tip=tr(tip))
        box.clicked.connect(lambda ticked: self._session.edit(*edit(ticked)))
        return box

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Keep the height that the sentences take at this width: the table above gives way, or the page is scrolled."""
        super().resizeEvent(event)
        self._keep_height()

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 - Qt's name
        super().showEvent(event)
        QTimer.singleShot(0, self, self._keep_height)

    def _keep_height(self) -> None:
        # Qt's layout gives a line of buttons what it asks for, and leaves the sentences too little.
        parts = [p for p in (self._stated, self._what) if p.isVisible()]
        least = self._line.heightForWidth(self.width() - 16) + sum(4 + p.heightForWidth(p.width()) for p in parts)
        self.setMinimumHeight(max(least, self.minimumSizeHint().height()))
        self._line.invalidate()  # laid out before the style sheet gave its fields their height

    def _share_height(self) -> None:
        # While another table is shown the page is not laid out, and the border below does not learn the new height.
        card = self.parentWidget()
        border = card.parentWidget() if card is not None else None
        if isinstance(border, QSplitter):
            border.setSizes(border.sizes())

    def retranslate(self) -> None:
        self.refresh()

    def ask_for_rows(self) -> None:
        self.rows.setFocus(Qt.FocusReason.OtherFocusReason)
        self.rows.selectAll()

    def refresh(self) -> None:
        plan, opened = self._session.plan, self._session.opened
        self.rows.setText(str(plan.rows_per_person))
        mark_wrong(self.rows, wrong=False)
        self.unit.offer([(tr("as stated"), ""), *((c.name, c.name) for c in plan.columns)], plan.unit)
        self.unit.setEnabled(opened is None or not opened.second)  # the tables are joined on it
        self.order.setChecked(plan.keep_order)
        self.formulas.setChecked(plan.defuses_formulas)
        self.formulas.setVisible(plan.defuses_formulas or any(map(_may_run, plan.columns)))
        self.invalid.setChecked(plan.replaces_invalid)
        self.invalid.setEnabled(not plan.unit)  # rows are emptied, and an empty value is refused otherwise
        say(self._stated, " ".join(_warnings(opened, plan)))
        self._what.setVisible(plan.replaces_invalid or bool(refused_columns(opened, plan)))
        self._keep_height()
        QTimer.singleShot(0, self, self._share_height)

    # -- edits --------------------------------------------------------------------------------------------------------

    def _take_rows(self) -> None:
        from workbench.sanitize.plan import Plan

        try:
            value = Plan.declared()["rows_per_person"].parse(typed(self.rows.text()), tr("maximum rows per person"))
        except ParameterError as error:
            mark_wrong(self.rows, wrong=True)
            say(self._stated, f"✕ {as_sentence(tr_sentence(error.what))}")
            return
        words = tr_n("count {n} row for a person", "count {n} rows for a person", value)
        self._session.edit(words, self._session.plan.with_(rows_per_person=value))
        self.refresh()

    def _take_unit(self) -> None:
        name = self.unit.currentData()
        words = tr("read so many rows of each {unit}", unit=name) if name else tr("name no column of persons")
        self._session.edit(words, self._session.plan.with_unit(name))

    def _with_invalid(self, replaced: bool) -> Edit:
        words = tr(REPLACE_INVALID) if replaced else tr("stop at invalid values")
        return words, self._session.plan.with_(invalid="replace" if replaced else "refuse")

    def _with_formulas(self, defused: bool) -> Edit:
        words = tr(DEFUSE) if defused else tr("leave formulas as they are")
        return words, self._session.plan.with_formulas(defused=defused)

    def _with_order(self, kept: bool) -> Edit:
        return tr(KEEP_ORDER) if kept else tr("shuffle the rows"), self._session.plan.with_(keep_order=kept)


def _may_run(column: DraftColumn) -> bool:
    """Return whether a spreadsheet may take a released value of the column for a formula."""
    return column.action == "keep" or (column.protected and column.domain is not None and _has_formula(column.domain))


@lru_cache(maxsize=1024)
def _has_formula(values: tuple[str, ...]) -> bool:
    return shielded(values) != [*values]


def _warnings(opened: OpenTable | None, plan: DraftPlan) -> Iterator[str]:
    """Return what a release does with the rows that is to be known before it, a sentence each."""
    refused = refused_columns(opened, plan)
    if refused:
        columns = listed(refused)
        yield tr("⚠ Missing or invalid values in {columns}: a release stops there, unless replaced.", columns=columns)
    if coded := codes_in_words(opened, plan):
        yield f"⚠ {coded}"
    yield from (f"✕ {as_sentence(p.text)}" for p in plan.problems() if p.field == "unit")
    if opened is not None and opened.second:
        yield tr_n(
            "Of each {unit} {n} row is read, beside one row of {title}; a release costs its ε for each person.",
            "At most {n} rows of each {unit} are read, and one row of {title}; a release costs {n} times "
            "its ε for each person.",
            plan.rows_per_person,
            unit=plan.unit,
            title=title_of(opened.second),
        )
    elif plan.unit:
        yield tr_n(
            "Of each {unit} {n} row is read; a release costs its ε for each person.",
            "At most {n} rows of each {unit} are read; a release costs {n} times its ε for each person.",
            plan.rows_per_person,
            unit=plan.unit,
        )
    elif plan.rows_per_person > 1:
        yield tr("⚠ A release is charged {times} times its ε.", times=tr_number(plan.rows_per_person, ","))
    if plan.keep_order:
        yield tr("⚠ The order of rows is published as it is.")
    blank = len(opened.table.blank_lines) if opened is not None and plan.replaces_invalid else 0
    if blank:
        yield tr_n("{n} blank line counts as a row.", "{n} blank lines are rows.", blank)
