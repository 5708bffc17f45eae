"""Find privately: a release of values, bounds and rows of a person, whose findings go into the plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QCheckBox, QFormLayout, QLineEdit, QWidget

from workbench.gui.gauges.cap_entry import raise_cap
from workbench.gui.pages.data.facts import found_by_release
from workbench.gui.pages.release_account import both_words, left_words, release_hindrance
from workbench.gui.pages.release_page import last_word
from workbench.gui.pages.release_tasks import (
    Asked,
    BeforeRelease,
    Chosen,
    Foreseen,
    foresee,
    look_before_release,
    release_plan,
)
from workbench.gui.session.draft import DraftColumn, DraftPlan
from workbench.gui.session.draft_edits import of_all
from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.session.session import OpenTable, Session
from workbench.gui.style.language import as_sentence, tr, tr_later, tr_number, tr_sentence, typed
from workbench.gui.widgets.basic import hold, label, look, mark_wrong, named, row, say
from workbench.gui.widgets.dialogs import Entry, ask_where_to_save, choose
from workbench.gui.widgets.formatting import count, listed
from workbench.gui.widgets.output_name import path_in, remember_folder, suggest
from workbench.gui.widgets.path_field import PathField
from workbench.jobs import CancelToken, Emit, Job
from workbench.params import BudgetRefusedError, ParameterError
from workbench.params.field import RealField
from workbench.privacy.accounting.event import exact
from workbench.release.ledger.records import COMMITS
from workbench.sanitize.plan import Column, Plan

if TYPE_CHECKING:
    from workbench.data.columns.values_file import FoundValue
    from workbench.release.values_work import ValuesOptions as Request

KIND = "values"
TITLE = tr_later("Find privately?")
FIELDS = {"epsilon": RealField(symbol="ε", above=0, upto=1e6), "delta": RealField(symbol="δ", above=0, below=1)}
FIRST = Decimal("0.2")
WORDS = {
    "epsilon": tr_later("ε of one row, shared by what is found"),
    "delta": tr_later("δ, the chance that a value that only one row has is shown"),
}
ABOUT = {
    "category": tr_later("For {columns}, the values that enough rows have are found; the others count as ‘other’."),
    "number": tr_later("For {columns}, bounds are found: powers of two around the numbers that enough rows have."),
}
PAID = tr_later(
    "This is a release like any other: charged, certified and written to a file. Nothing else about the rows is "
    "shown, and ε covers what the plan takes from it."
)
PERSONS = tr_later("how many rows of each {unit} to keep; then one row of each is read")


@dataclass(frozen=True)
class Wanted:
    """What can be found of the columns that are selected."""

    category: tuple[str, ...]  # columns of names
    number: tuple[str, ...]  # columns of numbers
    unit: str = ""  # the column that identifies a person; empty where none does

    @classmethod
    def of(cls, columns: Sequence[DraftColumn], plan: DraftPlan) -> Wanted:
        released = [column for column in columns if column.protected]
        named_so = tuple(c.name for c in released if c.kind == "category")
        numbers = tuple(c.name for c in released if c.kind in ("integer", "real"))
        return cls(named_so, numbers, plan.unit)

    def request(self, *, persons: bool) -> Request:
        from workbench.release.values_work import ValuesOptions as Request

        return Request(
            category=self.category or None, number=self.number or None, person=self.unit if persons else None
        )


def plan_of(draft: DraftPlan, request: Request) -> Plan:
    """Return the plan by which values are found: every column is read as text, whatever is declared of it so far."""
    from workbench.release.kinds import kind

    made = Plan(
        epsilon=1.0,
        account=draft.account or None,
        rows_per_person=draft.rows_per_person,
        unit=draft.unit or None,
        join=draft.join,
        invalid=draft.invalid,
        columns=tuple(Column(name=column.name, action="drop") for column in draft.columns),
    )
    return kind(KIND).planned(made, request)


class FindEntry(Entry):
    """ε, and δ where names are looked for; whether rows of a person are, too; and where it is written."""

    def __init__(self, session: Session, jobs: JobCenter, wanted: Wanted) -> None:
        super().__init__()
        self._session, self._wanted = session, wanted
        self._rows = session.open_table.rows_under(session.plan)
        least = Decimal(1).scaleb(-len(str(self._rows)) - 2)  # below 1/rows for a few rows of a person, too
        self._fields = {"epsilon": self._field("epsilon", FIRST)}
        if wanted.category:
            self._fields["delta"] = self._field("delta", least)
        self.persons = named(QCheckBox(tr(PERSONS, unit=wanted.unit)), "found_persons")
        self.persons.setVisible(bool(wanted.unit))
        self.persons.setChecked(not (wanted.category or wanted.number))
        self.persons.setEnabled(not self.persons.isChecked())
        self.persons.toggled.connect(self._edited)
        self.output = PathField("found_output", tr("File to release into"), tr("What is found, with its certificate"))
        suggest(session, jobs, self.output, "values", ".csv")
        self.output.textChanged.connect(self._edited)
        self._told = label("", wrap=True, name="found_told")
        self._problem = label("", "problem", wrap=True, name="found_problem")
        self._arrange()
        self._edited()

    def _arrange(self) -> None:
        chosen = self.output.chooser(
            lambda: ask_where_to_save(self, tr("Release into"), self.output.text(), tr("CSV (*.csv)")),
            tr("Choose the file to release into"),
            name="found_choose",
            text=tr("Choose…"),
        )
        form = QFormLayout(self)
        form.setContentsMargins(0, 8, 0, 8)
        for key, field in self._fields.items():
            form.addRow(tr(WORDS[key]), field)
        form.addRow(self.persons)
        form.addRow(row(label(tr("Release into")), (self.output, 1), chosen))
        form.addRow(self._told)
        form.addRow(self._problem)

    def _field(self, key: str, value: Decimal) -> QLineEdit:
        made = named(QLineEdit(tr_number(float(value), "g")), f"found_{key}", FIELDS[key].symbol, tr(WORDS[key]))
        hold(made, 120)
        made.textEdited.connect(self._edited)
        return made

    def chosen(self) -> Chosen:
        """Return what is asked for and what it may spend.

        Raises:
            ParameterError: a number is none.
        """
        texts = {key: typed(field.text()) for key, field in self._fields.items()}
        spent = {key: exact(float(FIELDS[key].parse(text, FIELDS[key].symbol))) for key, text in texts.items()}
        request = self._wanted.request(persons=self.persons.isChecked())
        return Chosen(request, spent["epsilon"], spent.get("delta", Decimal(0)))

    def foreseen(self) -> Foreseen:
        """Return what it would be charged.

        Raises:
            ParameterError: it cannot be found at that ε and δ.
        """
        chosen = self.chosen()
        plan = plan_of(self._session.plan, chosen.request)
        return foresee(_work_of(chosen, plan, self._rows), chosen, plan, self._rows, None)

    def problem(self) -> str:
        try:
            self.foreseen()
        except ParameterError as error:
            return as_sentence(tr_sentence(error.what))
        return "" if self.output.text().strip() else tr("Name a file.")

    def _edited(self) -> None:
        problem = self.problem()
        say(self._problem, problem)
        for field in self._fields.values():
            mark_wrong(field, wrong=bool(problem))
        if not problem:
            found = self.foreseen()
            left, style = left_words(self._session, found.epsilon, found.delta)
            cost = both_words(found.epsilon, found.delta)
            charged = tr("It charges {cost}; after it: {left}.", cost=cost, left=left)
            commits = tr_sentence(COMMITS) if self.persons.isChecked() else ""
            self._told.setText(f"{charged} {commits}".rstrip())
            look(self._told, style)
        self._told.setVisible(not problem)
        self.changed.emit()


def _work_of(chosen: Chosen, plan: Plan, rows: int) -> Any:
    from workbench.release.kinds import kind

    assert chosen.request is not None
    return kind(KIND).work_of(plan, chosen.request, chosen.epsilon, chosen.delta, rows, "csv")


class FindValues:
    """Asks, releases and puts what was found into the plan."""

    def __init__(self, page: QWidget, session: Session, jobs: JobCenter) -> None:
        self._page, self._session, self._jobs = page, session, jobs
        self._handle: JobHandle | None = None

    def ask(self, columns: Sequence[DraftColumn]) -> None:
        """Ask what it may cost to find the values or bounds of ``columns``, then release them."""
        session, wanted = self._session, Wanted.of(columns, self._session.plan)
        hindered, page = release_hindrance(session)
        if hindered and page != "data":  # what is guessed of columns is not read
            session.notify("warning", hindered)
            return
        if session.opened is None or wanted == Wanted((), ()) or (self._handle is not None and self._handle.running):
            return
        entry = FindEntry(session, self._jobs, wanted)
        about = [tr(ABOUT[key], columns=listed(names, 4)) for key in ABOUT if (names := getattr(wanted, key))]
        text = " ".join([*about, tr(PAID)])
        verbs, moot = {"yes": tr("Find…")}, session.table_changed
        if choose(self._page, tr(TITLE), text, verbs, entry=entry, moot=moot) != "yes":
            return
        chosen = entry.chosen()
        plan = plan_of(session.plan, chosen.request)
        unit = [wanted.unit] if wanted.unit else []
        title = tr("values and bounds of {columns}", columns=listed([*wanted.category, *wanted.number] or unit))
        asked = Asked(title, lambda _plan, rows, _form: _work_of(chosen, plan, rows), {".csv": "csv"}, plan=plan)
        target = path_in(entry.output)
        self._handle = look_before_release(session, self._jobs, target, self._looked, self._failed, asked)

    def _looked(self, outlook: BeforeRelease) -> None:
        # A question that is asked from within the job's end would keep the job in the list until it is answered.
        QTimer.singleShot(0, self._page, lambda: self._decide(outlook))

    def _decide(self, outlook: BeforeRelease) -> None:
        if not outlook.is_current(self._session):
            return
        free = tr("Take what it found")
        said, cap = last_word(self._page, tr("Find it at this ε?"), outlook, self._session.account, free)
        if said == "refused":
            assert outlook.verdict.refusal is not None
            self._failed(outlook.verdict.refusal)
        elif said == "copy":
            assert outlook.verdict.earlier is not None
            self._read(outlook.opened, outlook.verdict.earlier.output)
        elif said == "yes" and outlook.is_current(self._session):
            remember_folder(outlook.target.parent)
            self._handle = release_plan(self._session, self._jobs, outlook, self._failed, cap)
            self._handle.finished.connect(lambda done: self._read(outlook.opened, done.output))

    def _failed(self, error: BaseException) -> None:
        self._session.report(error)
        if isinstance(error, BudgetRefusedError):
            raise_cap(self._page, self._session, self._jobs, error)

    def _read(self, opened: OpenTable, path: Path) -> None:
        def work(emit: Emit, cancel: CancelToken) -> list[FoundValue]:
            from workbench.release.values_work import released_values

            return released_values(path, cancel)[0]

        def apply(found: list[FoundValue]) -> None:
            if self._session.opened is opened:
                self._take(found)

        self._jobs.start(Job(tr("Reading what was found"), work, about=opened.title), on_result=apply)

    def _take(self, found: list[FoundValue]) -> None:
        """Put what was found into the plan, as one step, and say of which columns nothing was."""
        from workbench.data.columns.values_file import found_attributes, person_limit

        session, draft = self._session, self._session.plan
        kinds = {column.name: column.kind for column in draft.columns}
        taken = {a.name: found_by_release(a) for a in found_attributes(found, kinds) if kinds.get(a.name) == a.kind}
        plan, whose = draft.with_columns(taken), person_limit(found)
        if whose is not None and whose[0] == draft.unit:
            plan = plan.with_(rows_per_person=whose[1])
        words = of_all([draft.column(name) for name in taken]) if taken else draft.unit
        session.edit(tr("use what was found of {columns}", columns=words), plan)
        said = [tr("What was found is in the plan: {columns}.", columns=count(len(taken), "column"))] if taken else []
        if whose is not None:
            said.append(tr("Rows of each {unit} to keep: {n}.", unit=whose[0], n=tr_number(whose[1], ",")))
        session.notify("info", " ".join(said) or tr("Nothing was found: too few rows have a value in common."))
