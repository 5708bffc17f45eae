"""Risk: tick what an outsider knows, and see at once who could be found, and why."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QMarginsF, QSize, Qt, Signal
from PySide6.QtWidgets import QLineEdit

from workbench.data.columns.missing import codes_of
from workbench.data.schema import QUASI, SENSITIVE
from workbench.data.table_reader import SAMPLE_PREFIX
from workbench.gui.pages import page_called
from workbench.gui.pages.base import PageFrame
from workbench.gui.pages.risk.tasks import MOST_ROWS, Asked, Found, UniqueRow, look, measure, search
from workbench.gui.session.generalise_draft import TITLES, GeneraliseDraft
from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.session.session import Session
from workbench.gui.session.undo import FormSteps
from workbench.gui.style.language import localised, tr, tr_later, tr_number, tr_sentence, typed
from workbench.gui.style.stylesheet import ROW
from workbench.gui.widgets import chart_marks as mark
from workbench.gui.widgets import private_figures
from workbench.gui.widgets.basic import (
    Card,
    badge,
    button,
    hold,
    label,
    mark_wrong,
    named,
    panel,
    reword,
    row,
    say,
    segments,
    stack,
    views,
)
from workbench.gui.widgets.chart import SCALE, Chart, Drawing, range_below, row_ticks
from workbench.gui.widgets.chart_marks import Scale
from workbench.gui.widgets.empty_state import EmptyState
from workbench.gui.widgets.formatting import count, listed, percent
from workbench.gui.widgets.master_detail import MasterDetail, Standing
from workbench.gui.widgets.parameter_form import Form, put_in
from workbench.gui.widgets.report_button import Reported, report_button
from workbench.gui.widgets.settings_table import SettingsTable
from workbench.gui.widgets.table_model import Cell, Column, PlanModel
from workbench.gui.widgets.table_view import LinesTable
from workbench.params import Parameters, declared_by, text
from workbench.release.ledger.study_note import BEFORE
from workbench.risk.distances import HIERARCHICAL
from workbench.risk.measures import RiskOptions
from workbench.signals.events import Cancelled

KNOWN_AT, FIGURE, LONGEST = 1, 72, ("99.9 %",)

HIPAA = {
    **{"A": tr_later("names"), "B": tr_later("places"), "C": tr_later("dates"), "D": tr_later("phone")},
    **{"E": tr_later("fax"), "F": tr_later("e-mail"), "G": tr_later("SSN"), "H": tr_later("records")},
    **{"I": tr_later("policies"), "J": tr_later("accounts"), "K": tr_later("licences"), "L": tr_later("vehicles")},
    **{"M": tr_later("devices"), "N": tr_later("web"), "O": tr_later("IP"), "P": tr_later("biometry")},
    **{"Q": tr_later("photos"), "R": tr_later("codes")},
}
"""The eighteen identifiers in a word each; the tip has them whole."""

SPOKEN = {
    QUASI: (tr_later("known"), tr_later("not known")),
    SENSITIVE: (tr_later("sensitive"), tr_later("not sensitive")),
}
Part = dict[str, Any]


class RiskColumns(PlanModel):
    """The columns. A tick is the column's role in the plan, one step that can be undone.

    A target or an identifier keeps its role: that it is known or sensitive is kept here, until another table is opened.
    """

    ticked = Signal()  # something else is asked

    def __init__(self, session: Session) -> None:
        special = tr("Share of the score of special uniques (SUDA): how often few columns suffice, with this one")
        figures = (
            (tr("Adds"), "needed", tr("Share of the unique rows that are not unique without it")),
            (tr("Special"), "special", special),
            (tr("Distinct"), "distinct", tr("Different values, of all rows")),
            (tr("Separated"), "separated", tr("Share of the pairs of rows in which it differs")),
        )
        columns = (
            Column(tr("Column"), self._name, tr("The column of the table"), width=120, grows=0.3),
            Column(
                tr("Known"),
                partial(self._box, QUASI),
                tr("Whether an outsider may know it about a person (a quasi-identifier): Space ticks what is selected"),
                width=68,
                tick=lambda at, ticked: self._take(at, QUASI, ticked=ticked),
            ),
            Column(
                tr("Sensitive"),
                partial(self._box, SENSITIVE),
                tr("Whether nobody must learn it of a person"),
                width=84,
                tick=lambda at, ticked: self._take(at, SENSITIVE, ticked=ticked),
            ),
            *(
                Column(title, partial(self._share, key), tip, width=FIGURE, right=True, choices=LONGEST)
                for title, key, tip in figures
            ),
            Column(
                tr("HIPAA"),
                self._hipaa,
                tr("Which of HIPAA's eighteen identifiers its name or values suggest: look yourself as well"),
                width=146,
                grows=0.7,
            ),
        )
        super().__init__(session, columns)
        self._own: dict[str, str] = {}
        self._parts: dict[str, Part] = {}
        session.plan_changed.connect(self.refresh)

    def names(self, role: str) -> tuple[str, ...]:
        return tuple(c.name for at, c in enumerate(self.session.plan.columns) if self._role(at) == role)

    def show_parts(self, figures: dict[str, Any]) -> None:
        parts: dict[str, Part] = {c.name: {} for c in self.session.plan.columns}
        for hint in figures.get("hipaa", ()):
            parts[hint["column"]]["hipaa"] = hint
        for one in figures.get("minimal_sets", {}).get("attributes", ()):
            parts[one["name"]]["needed"] = one["contribution"]
        for one in figures.get("special", {}).get("attributes", ()):
            parts[one["name"]]["special"] = one["contribution"]
        for one in figures.get("identifiers", ()):
            if len(one["columns"]) == 1:
                parts[one["columns"][0]] |= {"distinct": one["distinction"], "separated": one["separation"]}
        self._parts = parts
        self.refresh()

    def _role(self, at: int) -> str | None:
        column = self.column_at(at)
        return self._own.get(column.name) or column.role

    def _take(self, at: int, role: str, *, ticked: bool) -> None:
        edited = self.edited_with(at)
        with self.session.one_step(self._words([c.name for c in edited], role, ticked=ticked)):
            for column in edited:
                if column.role in ("target", "identifier"):
                    self._own.pop(column.name, None)
                    if ticked:
                        self._own[column.name] = role
                elif ticked or column.role == role:
                    words = tr("change the role of {name}", name=column.name)
                    self.session.edit_column(column.name, words, role=role if ticked else None)
        self.refresh()
        self.ticked.emit()

    def _words(self, names: list[str], role: str, *, ticked: bool) -> str:
        one = names[0] if len(names) == 1 else count(len(names), "column")
        if not ticked:
            return tr("free {one}", one=one)
        return tr("call {one} known", one=one) if role == QUASI else tr("call {one} sensitive", one=one)

    def start_over(self) -> None:
        self._own, self._parts = {}, {}
        super().start_over()

    # -- cells --------------------------------------------------------------------------------------------------------

    def _name(self, at: int) -> Cell:
        name = self.column_at(at).name
        return Cell(name, "" if self._role(at) in (QUASI, SENSITIVE) else "muted", name, key=name.casefold())

    def _box(self, role: str, at: int) -> Cell:
        on, name, (yes, no) = self._role(at) == role, self.column_at(at).name, SPOKEN[role]
        return Cell(ticked=on, key=not on, spoken=f"{name}: {tr(yes if on else no)}")

    def _share(self, key: str, at: int) -> Cell:
        part = self._parts.get(self.column_at(at).name, {}).get(key)
        if part is None or self._role(at) != QUASI:
            return Cell("")
        return Cell(percent(round(part, 3)), key=part, exact=repr(part))

    def _hipaa(self, at: int) -> Cell:
        hint = self._parts.get(self.column_at(at).name, {}).get("hipaa")
        if hint is None:
            return Cell("")
        whole = f"({hint['letter']}) {tr_sentence(hint['identifier'])}"
        return Cell(f"({hint['letter']}) {tr(HIPAA[hint['letter']])}", "warn", whole, whole, key=hint["letter"])


# -- the page ---------------------------------------------------------------------------------------------------------


_NUMBER = re.compile(r"\d[\d,]*(\.\d+)?")
FIGURES, ROWS, SETS = "figures", "rows", "sets"
FRACTION = "fraction"
OF_FIGURES = (Column(tr_later("Figure"), width=220), Column(tr_later("Value"), width=120, right=True))
OF_ROWS = (
    Column(tr_later("Row"), help=tr_later("Its place in the table, from 1"), width=64, right=True),
    Column(tr_later("Values"), help=tr_later("What an outsider knows of this person"), width=260),
    Column(
        tr_later("Score"), help=tr_later("How special the row is (SUDA): few columns suffice"), width=64, right=True
    ),
    Column(tr_later("Unique on"), help=tr_later("The smallest sets of columns that single the row out"), width=220),
)
OF_SETS = (
    Column(tr_later("Columns"), help=tr_later("A set of columns that makes rows unique"), width=320),
    Column(
        tr_later("Rows"), help=tr_later("Rows that are unique on these and on no fewer of them"), width=72, right=True
    ),
    Column(tr_later("Unique"), help=tr_later("All rows that are unique on these"), width=72, right=True),
)
EMPTY = tr_later("Tick what an outsider may know about a person, such as age, sex and place.")
WHAT = tr_later(
    "Shown here: how many rows are unique or in small classes, how likely an outsider is to find one of these people, "
    "which rows are unique, and which columns make them so."
)
FORMER = tr_later("These figures are for the columns that were ticked before; those for the new choice follow.")
NO_GUARANTEE = tr_later("None of these figures is a guarantee. A release with ε has one, whatever an outsider knows.")


TITLES_OF_MORE = TITLES | {
    "threshold": tr_later("rows above a risk of"),
    "recursive": TITLES["recursive_c"],
}


def _asked(name: str) -> Any:
    """Return the declaration of one of :class:`RiskOptions` for a form: its title is its symbol."""
    return declared_by(replace(RiskOptions.declared()[name], symbol=""), default=getattr(RiskOptions, name))


@dataclass(frozen=True, kw_only=True)
class More(Parameters):
    """The population's file, and the other fields of :class:`RiskOptions` that the heading does not hold."""

    population: str | None = text(
        default=None,
        help=tr_later("a table of the whole population, in place of the sample's share"),
        empty=tr_later("none"),
        file="table",
    )
    threshold: float = _asked("threshold")
    recursive: float = _asked("recursive")
    distance: str = _asked("distance")


class ClassChart(Chart):
    """How many rows are in classes of each size."""

    name = "risk_classes"
    margins = QMarginsF(SCALE + 12, 26, 8, 22)
    usual = QSize(360, 220)
    least = QSize(220, 120)
    highest = 440  # pixels: a higher bar says no more

    def show_found(self, found: Found | None) -> None:
        if found is None:
            self.show_drawing(None)
            return
        bars = found.figures["classes"]["bars"]
        most = max(*(bar["rows"] for bar in bars), 1)
        names = [_range(bar["from"], bar["to"]) for bar in bars]
        parts = [{at: bar["rows"] for at, bar in enumerate(bars) if (at == 0) is alone} for alone in (True, False)]
        self.show_drawing(
            Drawing(
                (mark.bars(parts[0], "danger"), mark.bars(parts[1], "accent", alpha=0.65)),
                x=Scale(0, len(bars)),
                y=Scale(0, most),
                left=row_ticks(most),
                grid=True,
                below=range_below(names),
                labels=names,
                title=tr("Rows by the size of their class"),
                words=lambda x: tr(
                    "{rows} in classes of {size}", rows=count(bars[int(x)]["rows"], "row"), size=names[int(x)]
                ),
                spoken=tr("Rows by the size of their class: {unique} are unique", unique=count(bars[0]["rows"], "row")),
            )
        )


def _range(low: int, high: int | None) -> str:
    return f"{low}+" if high is None else str(low) if low == high else f"{low}–{high}"


class RiskPage(PageFrame):
    """The columns with two ticks each; below, what follows from them."""

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__(session, jobs, page_called("risk"))
        self._found: Found | None = None
        self._asked: Asked | None = None
        self._released = self._unfolded = False
        why = tr("Open a table first: the figures are about its rows.")
        self._nothing = EmptyState(session, "risk_nothing", tr("No table yet"), why)
        self.known = RiskColumns(session)
        spoken = tr("Columns: ticked if an outsider knows them")
        self.columns = SettingsTable(session, self.known, "risk_columns", spoken, private=True)
        self.columns.ticked = KNOWN_AT
        self.columns.set_row_height(ROW - 4)
        tip = tr("The share of the population that is in the table; empty if the table is the whole population")
        self.fraction = named(QLineEdit(), "risk_fraction", tr("Sample of the population, in percent"), tip)
        self.fraction.setPlaceholderText("100")
        hold(self.fraction, 72)
        self.header.addWidget(label(tr("Sample of the population, %"), "muted"))
        self.header.addWidget(self.fraction)
        self.more = Form("risk_more", More, titles=TITLES_OF_MORE, across=2)
        self._fold = button("", "risk_fold", "link", press=self._turn_fold)
        self.header.addWidget(self._fold)
        self._folded = Card(self.more, pad=12)
        self.said = label("", "heading", wrap=True, name="risk_said")
        self._problem = label("", "problem", wrap=True, name="risk_problem")
        self._badge = named(badge(), "risk_badge")
        self.figures = LinesTable(session, "risk_figures", tr("Figures of risk"), OF_FIGURES, private=True)
        self.rows = LinesTable(session, "risk_rows", tr("Rows that are unique"), OF_ROWS, private=True)
        self.sets = LinesTable(session, "risk_sets", tr("Sets of columns that make rows unique"), OF_SETS, private=True)
        for table in (self.figures, self.rows, self.sets):
            table.set_row_height(ROW - 8)
        self.chart = ClassChart(session)
        self.listed = label("", "muted", name="risk_listed")
        self._parts = MasterDetail(Card(self.columns, pad=8), self._card(), heights=(3, 4), widths=(2, 3))
        self.body.addWidget(self._nothing, 1)
        self.body.addWidget(self._folded)
        self.body.addWidget(self._parts, 1)
        self._report = report_button(session, jobs, "risk_report", self._reported)
        self.foot.insertWidget(1, self._report)
        tip = tr("Release, Generalise: make the table k-anonymous, and see it fail")
        self._generalise = button(tr("Generalise →"), "risk_generalise", tip=tip)
        self._generalise.clicked.connect(lambda: session.go("generalise"))
        self.foot.addWidget(self._generalise)
        self._run = self.set_primary(tr("Show the figures"), "risk_run", self._press)
        self._listen()
        self._forget()

    def _listen(self) -> None:
        self.known.ticked.connect(self._ticked)
        self._steps = FormSteps(
            self.session.undo_stack,
            "risk",
            self._state,
            self._restore,
            title=lambda key: tr("sample of the population") if key == FRACTION else self.more.title_of(key),
            written=lambda key: key == FRACTION or isinstance(self.more.field(key), QLineEdit),
        )
        self._steps.begin()
        self.fraction.textChanged.connect(self._written)
        self.more.changed.connect(self._written)
        self.session.table_changed.connect(self._forget)
        self.session.plan_changed.connect(self.in_sight(self._follow))
        self.session.generalise_changed.connect(self.in_sight(self._follow))
        self.session.account_changed.connect(self.in_sight(self.refresh))

    def _card(self) -> Standing:
        self.chart.setMaximumHeight(ClassChart.highest)
        at_the_top = panel(stack((self.chart, 100), None))  # what is below it has what is beyond its greatest height
        figures = panel(row((self.figures, 2), (at_the_top, 1), spacing=16))
        alone = panel(stack(self.listed, self.rows, spacing=4))
        titles = (
            (FIGURES, tr("Figures"), tr("What the ticked columns give away")),
            (ROWS, tr("Who is unique"), tr("The rows that nobody else is like")),
            (SETS, tr("Why"), tr("Which sets of columns make rows unique")),
        )
        self._segments = segments(self, "risk_view_", titles, lambda _key: self._show_view())
        self._segments[FIGURES].setChecked(True)
        blank = label(tr(WHAT), "muted", wrap=True, name="risk_what")
        blank.setAlignment(Qt.AlignmentFlag.AlignTop)
        self._views = views(blank, figures, alone, self.sets)
        head = row(*self._segments.values(), None, self._badge, spacing=4)
        return named(Standing(self.said, self._problem, head, (self._views, 1), pad=12), "risk_result")

    def _show_view(self) -> None:
        chosen = [segment.isChecked() for segment in self._segments.values()].index(True)
        self._views.setCurrentIndex(0 if self._found is None else 1 + chosen)

    def shown(self) -> None:
        if self.session.opened is not None:
            self.columns.setFocus(Qt.FocusReason.OtherFocusReason)

    # -- what is asked ------------------------------------------------------------------------------------------------

    def value(self) -> Asked | None:
        """Return what is asked; ``None`` where nothing is ticked or a field is refused, with the reason."""
        quasi, more = self.known.names(QUASI), self.more.value()
        sensitive = tuple(n for n in self.known.names(SENSITIVE) if n not in quasi)
        chosen = (self.session.generalised or GeneraliseDraft()).hierarchies
        levels = {name: chosen[name] for name in sensitive if name in chosen}
        typed_in, stated, fraction = self.fraction.text().strip(), "", None
        if typed_in:
            try:
                share = float(f"{float(typed(typed_in)) / 100:.12g}")
                fraction = RiskOptions.declared()["sample_fraction"].check(share, "")
            except ValueError:
                stated = tr("The sample is a percentage above 0 and at most 100.")
        asked = {} if more is None else dict(vars(more))
        people = asked.pop("population", None)
        if not stated and people is not None and fraction is not None:
            stated = tr("The population is a table or the sample's share of it: leave one of them out.")
        elif not stated and people is not None and not _is_there(people):  # as long as its name is being typed
            stated = tr("There is no file {path}.", path=people)
        mark_wrong(self.fraction, bool(stated))
        bare = next((name for name in sensitive if name not in levels), "")
        if not stated and bare and asked.get("distance") == HIERARCHICAL:
            stated = tr(
                "The distance hierarchical needs a hierarchy of {column}: make one in Release, Generalise.", column=bare
            )
        say(self._problem, stated)
        if stated or more is None or not quasi:
            return None
        options = RiskOptions(quasi=quasi, sensitive=sensitive, sample_fraction=fraction, **asked)
        return Asked(options, people, levels, codes_of(self.session.plan.columns))

    def _state(self) -> dict[str, Any]:
        return {**self.more.state(), FRACTION: self.fraction.text()}

    def _restore(self, state: Mapping[str, Any]) -> None:
        self.more.restore(state)
        put_in(self.fraction, state[FRACTION])
        self._ticked()

    def _written(self) -> None:
        self._steps.keep()
        self._ticked()

    def _turn_fold(self) -> None:
        self._unfolded = not self._unfolded
        self.refresh()

    @property
    def _agreed(self) -> bool:
        return self._released or not private_figures.is_first(self.session)

    def _press(self) -> None:
        """Go on where the figures are shown; else ask once whether private figures may be shown, then measure."""
        if self._found is not None:
            self.session.go("ways")
        elif self.value() is not None and (self._agreed or private_figures.may_show(self, self.session)):
            self._measure()

    def _reported(self) -> Reported | None:
        opened = self.session.opened
        return None if opened is None else Reported(opened)

    def _ticked(self) -> None:
        if self._agreed:
            self._measure()
        else:
            self.refresh()

    def _follow(self) -> None:
        """Measure anew where an undo, or another page, has changed what is asked, or may have made it possible."""
        if (self._found is not None or not self._problem.isHidden()) and self.value() != self._asked:
            self._ticked()

    def _measure(self) -> None:
        asked = self.value()
        if asked is None:
            self._stop()
            self._take(None)
        elif asked != self._asked:
            self._asked = asked
            self.refresh()
            self.follow(measure(self.session, self.jobs, asked, on_result=self._take, on_failure=self._refused))

    def _stop(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
        self._asked = None

    # -- what is shown ------------------------------------------------------------------------------------------------

    def _forget(self) -> None:
        opened = self.session.opened
        self._nothing.setVisible(opened is None)
        self._parts.setVisible(opened is not None)
        self._stop()
        self._released = False
        self._take(None)
        if opened is not None:
            look(self.jobs, opened, self._looked)

    def _looked(self, released: bool) -> None:
        self._released = released
        self.refresh()

    def _take(self, found: Found | None) -> None:
        if found is not None:
            opened = self.session.opened
            if opened is None or found.subject.table.stored is not opened.table.stored or found.asked != self._asked:
                return  # something else is asked by now
        self._found = found
        self._show()
        if found is not None and not found.whole:
            self.follow(search(self.jobs, found, on_result=self._take, on_failure=self._refused))
        self.refresh()

    def _refused(self, error: BaseException) -> None:
        self._asked = None
        self._take(None)
        say(self._problem, self.session.worded(error))

    def refresh(self) -> None:
        opened = self.session.opened is not None
        shown = opened and (self._unfolded or self.more.value() is None)
        self._fold.setText(f"{tr('More')} {'▾' if shown else '▸'}")
        self._fold.setVisible(opened)
        self._folded.setVisible(shown)
        former = self._found is not None and self._found.asked != self._asked
        self.said.setText(tr(FORMER) if former else self._invitation() if self._found is None else _said(self._found))
        ready = opened and bool(self.known.names(QUASI))
        self._run.setVisible(opened)
        for part in (self._report, self._generalise):
            part.setVisible(self._found is not None)
        self._run.setEnabled(self._found is not None or ready)
        if self._found is None:
            reword(self._run, tr("Show the figures"), tr("Measure the rows (Ctrl+Return)"))
        else:
            reword(self._run, tr("Decide →"), tr("Release, Decide: choose a way to release with ε"))
        if not opened:
            self.set_note("")
        elif self.running:
            self.set_note(tr("Measuring…") if self._found is None else tr("Searching for what makes rows unique…"))
        elif self._found is None:
            self.set_note("" if not ready or self._agreed else tr_sentence(BEFORE))
        else:
            self.set_note(tr(NO_GUARANTEE))

    def retranslate(self) -> None:
        self._show()
        self.refresh()

    def _show(self) -> None:
        found = self._found
        self._badge.setVisible(found is not None and not found.released)
        self._show_view()
        for segment in self._segments.values():
            segment.setVisible(found is not None)
        more = found is not None and found.figures["unique"] > len(found.rows) > 0
        self.listed.setVisible(more)
        self.listed.setText(tr("The {most} with the highest scores.", most=tr_number(MOST_ROWS, ",")))
        self.known.show_parts({} if found is None else found.figures)
        self.chart.show_found(found)
        self.figures.lines.show_lines([] if found is None else _figure_lines(found))
        self.rows.lines.show_lines([_row_cells(one) for one in found.rows] if found is not None else [])
        sets = found.figures.get("minimal_sets", {}).get("sets", ()) if found is not None else ()
        self.sets.lines.show_lines([_set_cells(one["columns"], one["rows"], one["unique"]) for one in sets])

    def _invitation(self) -> str:
        names = self.known.names(QUASI) if self.session.opened is not None else ()
        return tr("Who could be found by {names}?", names=listed(names, 4)) if names else tr(EMPTY)

    def job_ended(self, handle: JobHandle) -> None:
        if isinstance(handle.end, Cancelled) and self._found is None:
            self._asked = None  # the same can be asked for again

    @property
    def job(self) -> JobHandle | None:
        """Return ``None``: the page has no Cancel of its own, so the job's is shown beside it."""
        return None

    def escape(self) -> bool:
        if not self.running:
            return False
        self._stop()
        self.refresh()
        return True


def _is_there(source: str) -> bool:
    """Return whether a file or folder exists; samples and addresses of databases are found out by reading."""
    return "://" in source or source.startswith(SAMPLE_PREFIX) or Path(source).exists()


def _said(found: Found) -> str:
    figures = found.figures
    return tr(
        "{unique} of {rows} are unique by these columns ({share}); the smallest class has {k}.",
        unique=tr_number(figures["unique"], ","),
        rows=count(figures["rows"], "row"),
        share=percent(figures["unique_share"], 4),  # as the table of figures below says it
        k=count(figures["k"], "row"),
    )


def _figure_lines(found: Found) -> list[tuple[Cell, ...]]:
    lines: list[tuple[Cell, ...]] = []
    former = ""
    for title, line in found.lines:
        if title != former:
            lines.append((Cell(tr_sentence(title), "muted"), Cell()))
        tip = tr_sentence(line.help)
        lines.append((Cell(tr_sentence(line.title), tip=tip), Cell(_value(line.value), tip=tip)))
        former = title
    return lines


def _value(stated: str) -> str:
    """Return a value with its numbers as they are written in the language that is shown."""
    said = tr_sentence(stated)
    return said if said != stated else _NUMBER.sub(lambda found: localised(found[0]), stated)


def _row_cells(one: UniqueRow) -> tuple[Cell, ...]:
    values = " · ".join(value or "–" for value in one.values)
    on = "; ".join(" + ".join(names) for names in one.sets)
    return (
        Cell(tr_number(one.at + 1, ","), exact=str(one.at + 1), key=one.at),
        Cell(values, tip=values),
        Cell(tr_number(one.score, ",.0f"), exact=str(one.score), key=one.score),
        Cell(on, tip=on),
    )


def _set_cells(columns: list[str], rows: int, unique: int) -> tuple[Cell, ...]:
    names = " + ".join(columns)
    figures = (Cell(tr_number(n, ","), exact=str(n), key=n) for n in (rows, unique))
    return (Cell(names, tip=names, key=len(columns)), *figures)
