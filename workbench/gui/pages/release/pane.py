"""What a way to release brings to the settings: its fields, its forecast, and a look into what was released by it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QGridLayout, QLineEdit, QWidget

from workbench.gui.pages.release_page import ReleasedPart, ReleasePage, ReleaseWords
from workbench.gui.pages.release_tasks import Asked, Chosen, Foreseen, foresee
from workbench.gui.session.draft import DraftColumn
from workbench.gui.session.session import Session
from workbench.gui.session.undo import FormSteps
from workbench.gui.style.language import again, as_sentence, tr, tr_later, tr_number, tr_sentence
from workbench.gui.widgets.basic import Card, Elided, button, enable_if, label, look, panel, say, show_if
from workbench.gui.widgets.epsilon_entry import DeltaEntry, DeltaLine
from workbench.gui.widgets.formatting import at_most, count, half_width, in_full, listed, share_half_width
from workbench.gui.widgets.parameter_form import Form, explained, given_in, put_in
from workbench.params import Parameters
from workbench.privacy.local.mechanisms import mechanism
from workbench.release.kinds import TABLES, kind
from workbench.sanitize.calibrated_columns import MEANS_ARE_OF_CLAMPED
from workbench.sanitize.forecast import ColumnForecast, Forecast, forecast
from workbench.sanitize.plan import Plan
from workbench.sanitize.utility_summary import (
    MOST_NAMED,
    RELATIONS_WAYS_OUT,
    UsefulFigure,
    mostly_noise,
    noisy_columns,
    relations_words,
    useful_figures,
)
from workbench.signals.cancel import CancelToken

if TYPE_CHECKING:
    from workbench.sanitize.plan import Plan
    from workbench.work.work import Work


FactOf = tuple[str, str, str, Callable[[Any], str]]
"""Key, words and tip of a line beside the cost, and what it says of a forecast's facts."""


class WayPane(Card):
    """The fields of one way; they follow table, plan and questions until a person chooses another value.

    ε is the plan's, which is chosen by what recipients will see; of the budget a way has δ alone.
    """

    changed = Signal()
    refreshed = Signal()
    facts: tuple[FactOf, ...] = ()  # lines beside the cost
    wide = False  # whether it needs the whole width of a page
    titles: Mapping[str, str] = {"delta": "δ"}  # what a person calls each field, where undo names it

    def __init__(self, session: Session, what: ReleaseWords, kind: str = "", pad: int = 16) -> None:
        super().__init__(pad=pad)
        self.setObjectName(f"pane_{what.name}")
        self.session, self.what, self.kind = session, what, kind
        self._own: set[str] = set()
        self._changes = FormSteps(
            session.undo_stack,
            what.name,
            self._state,
            self._show_state,
            title=lambda key: again(self.titles[key]),
            written=lambda key: isinstance(self.parts[key], QLineEdit),
        )
        self.delta = DeltaEntry(f"{what.name}_delta")
        # The fields by their keys; in one that is typed into, a word is one step, not each of its letters.
        self.parts: dict[str, QWidget] = {"delta": self.delta}
        self._problem = label("", "problem", wrap=True, name=f"{what.name}_field_problem", hidden=True)
        self.below: tuple[QWidget, ...] = ()  # what is shown below fields and cost
        self.others: tuple[QWidget, ...] = ()  # further buttons of the foot
        self.results: ReleasedPart | None = None  # a look into the newest release; `None` where it has none of its own
        self.delta.textEdited.connect(lambda _text: self.chose("delta"))

    def request(self) -> Parameters | None:
        """Return what is asked for, as the engine takes it; ``None`` while a field is refused."""
        raise NotImplementedError

    def forecast(self, plan: Plan, rows: int, chosen: Chosen, cancel: CancelToken) -> Foreseen:
        """Return what its Work costs and what else is known of it before a row is read; called in a worker."""
        plan = plan.unrounded() if self.unrounded(chosen) else plan
        work = _work_of(self.kind, chosen, plan, rows, kind(self.kind).formats[0])
        return foresee(work, chosen, plan, rows, self.foreseen(plan, rows, chosen, cancel))

    def foreseen(self, plan: Plan, rows: int, chosen: Chosen, cancel: CancelToken) -> Any:
        """Return what beside the cost is expected of its kind alone; called in a worker, with ``self`` only to ask."""
        return None

    def unrounded(self, chosen: Chosen) -> bool:
        """Return whether numbers keep their own steps, whatever steps noisy rows are rounded to."""
        return False

    def title(self, chosen: Chosen) -> str:
        return tr_sentence(kind(self.kind).released)

    def asked(self, found: Foreseen) -> Asked:
        known, chosen = kind(self.kind), found.chosen
        formats = None if known.formats == TABLES else known.suffixes()
        work, unrounded = partial(_work_of, self.kind, chosen), self.unrounded(chosen)
        return Asked(self.title(chosen), work, formats, way=self.kind, unrounded=unrounded)

    def add_form(self, form: Form) -> Form:
        """Take the fields of a form."""
        self.parts |= {key: form.field(key) for key in form.state()}
        self.titles = {**self.titles, **{key: form.title_of(key) for key in form.state()}}
        form.changed.connect(lambda: self.chose(form.last))
        return form

    def enable(self, on: bool) -> None:
        """Let the fields be changed, or not while a release goes on."""
        enable_if(on, *self.parts.values())

    def hindrance(self) -> tuple[str, str]:
        """Return what keeps it from being forecast by this plan, and the page where that is put right."""
        return "", ""

    def nothing_asked(self) -> str:
        """Return that nothing is asked for; empty where something is."""
        return ""

    def field_problem(self) -> str:
        """Return why a field is refused; empty where none is."""
        return self.delta.problem()

    def show_foreseen(self, found: Foreseen | None) -> None:
        """Show beside the fields what is expected, or that it is not known yet."""

    def show_others(self, *, ready: bool) -> None:
        """Show what it has beside its fields; ``ready`` says whether its request is forecast."""

    def value(self) -> Chosen | None:
        """Return what is chosen; ``None`` while a field is refused."""
        request, delta = self.request(), self.delta.value()
        return None if request is None or delta is None else Chosen(request, self.session.plan.epsilon, delta)

    def use_delta(self, delta: Decimal) -> None:
        self.delta.show_value(delta)
        self.chose("delta")

    def start_over(self) -> None:
        """Take everything from another table and its plan."""
        self._own.clear()
        self.delta.clear()
        self.say("")
        self.follow()

    def follow(self) -> None:
        """Show what follows from table, plan and questions, but for what a person has chosen here."""
        self._changes.begin()

    def follow_fields(self) -> None:
        """Show what follows from the fields themselves, after a choice and after an undo."""

    def chose(self, key: str) -> None:
        """Keep what a person has chosen in the field ``key``, as a step that can be undone."""
        self._own.add(key)
        self.follow_fields()
        self._changes.keep(key)
        self.say(self.field_problem())
        self.changed.emit()

    def _state(self) -> dict[str, Any]:
        """Return what is chosen and written in the fields, with which of it is a person's own."""
        return {"own": frozenset(self._own), **{key: given_in(part) for key, part in self.parts.items()}}

    def _show_state(self, state: Mapping[str, Any]) -> None:
        self._own = set(state["own"])
        for key, part in self.parts.items():
            put_in(part, state[key])
        self.follow_fields()
        self.say(self.field_problem())
        self.changed.emit()

    def say(self, problem: str) -> None:
        say(self._problem, problem)


def _work_of(name: str, chosen: Chosen, plan: Plan, rows: int, file_format: str) -> Work:
    return kind(name).work_of(plan, chosen.request, chosen.epsilon, chosen.delta, rows, file_format)


class DerivedPane(WayPane):
    """One field for each parameter of the request; whether they fit the plan says the kind's own Work."""

    def __init__(self, page: ReleasePage, name: str) -> None:
        known = kind(name)
        suffixes = ", ".join(known.suffixes())
        words = ReleaseWords(
            name=name,
            question=tr("Release {released}?", released=tr_sentence(known.released)),
            file=tr("The released file; {suffixes}", suffixes=suffixes),
            ending=name,
            tip=tr("Charge the budget, compute, certify and write the file"),
            kinds=";;".join(f"{each.upper()} (*.{each})" for each in known.formats),
            suffix=f".{known.formats[0]}",
        )
        super().__init__(page.session, words, name)
        self.form = self.add_form(Form(f"{name}_form", known.asked()))
        self.body.addWidget(label(tr_sentence(known.released).upper(), "caption"))
        if known.help:
            self.body.addWidget(label(as_sentence(tr_sentence(known.help)), "muted", wrap=True))
        self.body.add(explained(self.form), self._problem, DeltaLine(self.delta), None)

    def request(self) -> Parameters | None:
        return self.form.value()


# -- noisy rows -------------------------------------------------------------------------------------------------------


LEARN_TIP = tr_later(
    "With a confidence of about 95 %, from the mechanisms and the number of rows alone: no row was read for it"
)

SHOWN = 12  # attributes that are listed one by one, those that leave first; of a wider table the rest is counted

WAYS_OUT = tr_later(
    "Drop columns, round numbers to fewer steps, or release synthetic rows, statistics or a model instead."
)

FIRST, ANOTHER = tr_later("What will be published"), tr_later("What another release would publish")
IN_ORDER = tr_later("{rows} × {columns}, rows in their original order")
SHUFFLED = tr_later("{rows} × {columns}, rows in a new random order")

RELEASED = ReleaseWords(
    name="rows",
    question=tr_later("Release this table?"),
    file=tr_later("The released table: .csv, .csv.gz, .tsv, .xlsx, .parquet, .feather or .jsonl"),
    ending="released",
    tip=tr_later("Charge the budget, draw the table, certify and write it"),
)


class RowsPane(WayPane):
    """Noisy rows: one line per attribute, with what is done to it and its share of ε."""

    def __init__(self, page: ReleasePage) -> None:
        session = page.session
        super().__init__(session, RELEASED)
        self._title = label("", "caption", name="release_published_title")
        self._size = label("", "muted", wrap=True, name="release_size")
        self._lines = QGridLayout()
        self._lines.setContentsMargins(0, 0, 0, 0)
        self._lines.setHorizontalSpacing(16)
        self._lines.setVerticalSpacing(6)
        self._lines.setColumnMinimumWidth(0, 110)
        self._lines.setColumnStretch(0, 1)
        self._lines.setColumnStretch(1, 2)  # a mechanism and its ⚠ stay in one line
        self._shown: list[_Line] = []
        self._more = label("", "muted", name="release_more")
        self._lines.addWidget(self._more, SHOWN, 0, 1, 3)
        self._means = label(
            tr("Of this release, {means}.", means=tr_sentence(MEANS_ARE_OF_CLAMPED)),
            "muted",
            wrap=True,
            name="release_means",
        )
        self._learn = label("", wrap=True, name="release_learn")
        self._learn.setToolTip(tr(LEARN_TIP))
        self._noise = label("", "warn", wrap=True, name="release_noise")
        self._relations = label("", "warn", wrap=True, name="release_relations")
        tip = tr("Actions and shares of ε: Columns")
        self._change = button(tr("Change the plan…"), "release_to_protect", "link", tip=tip)
        self._change.clicked.connect(lambda: session.go("protect"))
        self._invalid = label("", "muted", wrap=True, name="release_invalid")
        worth = self._learn, self._noise, self._relations, self._change
        self.body.add(self._title, self._size, *worth, panel(self._lines), self._means, self._invalid, None)

    def value(self) -> Chosen | None:
        return Chosen(None, self.session.plan.epsilon)

    def hindrance(self) -> tuple[str, str]:
        if self.session.plan.protected:
            return "", ""
        return tr("Nothing is protected: there is nothing to release under a guarantee."), "protect"

    def forecast(self, plan: Plan, rows: int, chosen: Chosen, cancel: CancelToken) -> Foreseen:
        found = forecast(plan)
        return Foreseen(chosen, found.epsilon_total, Decimal(0), found, found.outside, local=True)

    def show_foreseen(self, found: Foreseen | None) -> None:
        self._show_plan(None if found is None else found.facts)

    def asked(self, found: Foreseen) -> Asked:
        rows = self.session.open_table.rows_under(self.session.plan)
        return Asked(worth=worth_words(found.facts, rows), way="rows")

    def _show_plan(self, forecast: Forecast | None) -> None:
        """Show the plan: mechanisms and shares once ``forecast`` knows them."""
        title = tr(ANOTHER if self.session.has_released(self.session.plan) else FIRST)
        self._title.setText(title.upper())
        self.setAccessibleName(title)
        opened, plan = self.session.opened, self.session.plan
        if opened is None:
            return
        left = [c for c in plan.columns if c.action != "drop"]
        rows = opened.rows_under(plan)
        size = tr(
            IN_ORDER if plan.keep_order else SHUFFLED, rows=count(rows, "row"), columns=count(len(left), "column")
        )
        self._size.setText(size)
        self._learn.setVisible(forecast is not None)
        noise, relations = "", ""
        if forecast is not None:
            noise, relations = noise_words(forecast, rows), tr_sentence(relations_words(forecast))
            self._learn.setText(learn_words(forecast, rows))
        say(self._noise, noise and f"⚠ {noise} {tr(WAYS_OUT)}")
        say(self._relations, relations and f"⚠ {relations} {tr_sentence(RELATIONS_WAYS_OUT)}")
        self._change.setVisible(bool(noise or relations))
        known = {c.name: c for c in forecast.columns} if forecast is not None else {}
        listed_first = (*left, *(c for c in plan.columns if c.action == "drop"))[:SHOWN]
        for at in range(len(listed_first), len(self._shown)):
            self._shown[at].setVisible(False)
        for at, column in enumerate(listed_first):
            if at == len(self._shown):
                self._shown.append(_Line(self._lines, at))
            self._shown[at].setVisible(True)
            self._shown[at].show_column(column, known.get(column.name), rows)
        more = len(plan.columns) - SHOWN
        say(self._more, tr("and {more} more", more=tr_number(more, ",")) if more > 0 else "")
        self._means.setVisible(any(c.numeric for c in plan.protected))
        say(self._invalid, tr("Values that cannot be used count as missing.") if plan.replaces_invalid else "")


class _Line:
    """One attribute. It is written over when the plan changes: a grid of new widgets is laid out a dozen times."""

    def __init__(self, grid: QGridLayout, at: int) -> None:
        self._name, self._done, self._share = self._parts = Elided(), Elided(), label()
        self._share.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        for place, part in enumerate(self._parts):
            grid.addWidget(part, at, place)

    def setVisible(self, visible: bool) -> None:  # noqa: N802 - as a widget is shown
        show_if(visible, *self._parts)

    def show_column(self, column: DraftColumn, known: ColumnForecast | None, rows: int) -> None:
        self._name.set_whole(column.name)
        self._share.setText(f"ε {at_most(known.epsilon)}" if known else "–" if column.action != "protect" else "")
        self._share.setToolTip(in_full(known.epsilon) if known else "")
        look(self._share, "muted" if column.action == "drop" else "")
        done, kind, lost = tr_sentence(mechanism(known.mechanism).title) if known else tr("protected"), "", ""
        if column.action == "keep":
            done, kind = tr("⚠ kept as it is"), "warn"
        elif column.action == "drop":
            done, kind = tr("dropped"), "muted"
        elif known is not None and mostly_noise(known, rows):
            done, kind = f"{done}  ⚠", "warn"
            lost = f"{tr('{name} will be mostly noise.', name=column.name)} {tr(WAYS_OUT)}"
        self._done.set_whole(done, lost, wrapped=True)
        self._done.setAccessibleName(done)
        self._done.setAccessibleDescription(lost)
        look(self._done, kind)


def noise_words(forecast: Forecast, rows: int) -> str:
    """Return which columns will be mostly noise, in one sentence; empty where none will."""
    names = noisy_columns(forecast, rows)
    if not names:
        return ""
    if len(names) == len(forecast.columns) > 1:
        return tr("Every protected column will be mostly noise.")
    return tr("Mostly noise: {names}.", names=listed(names, MOST_NAMED))


def learn_words(forecast: Forecast, rows: int) -> str:
    """Return what a recipient can learn from the table with about 95 % confidence, in one sentence."""
    found = useful_figures(forecast, rows)
    means = [_stated(one) for one in found if one.numeric]
    shares = [_stated(one) for one in found if not one.numeric]
    parts = []
    if means:
        parts.append(tr("the mean of {means}", means=_joined(means)))
    if shares:
        parts.append(tr("shares of {shares}", shares=_joined(shares)))
    if not parts:
        return tr("A recipient can learn next to nothing from this table.")
    learns = tr("{means}; {shares}", means=parts[0], shares=parts[1]) if len(parts) > 1 else parts[0]
    return tr("A recipient can learn {parts}; little else.", parts=learns)


def worth_words(forecast: Forecast, rows: int) -> str:
    """Return both sentences, and how far relations between columns fade."""
    stated = (learn_words(forecast, rows), noise_words(forecast, rows), tr_sentence(relations_words(forecast)))
    return " ".join(filter(None, stated))


def _stated(one: UsefulFigure) -> str:
    if one.numeric:
        return tr("{name} to ± {width}", name=one.name, width=half_width(one.half_length))
    return tr("{name} to ± {width} %", name=one.name, width=share_half_width(one.half_length))


def _joined(stated: Sequence[str]) -> str:
    more = len(stated) - MOST_NAMED
    first, last = (stated[:MOST_NAMED], "") if more > 1 else (stated[:-1], stated[-1])
    named = first[0] if first else ""
    for each in first[1:]:
        named = tr("{named}, of {each}", named=named, each=each)
    if not last:
        return tr("{named} and of {more} more", named=named, more=tr_number(more, ","))
    return tr("{named} and of {last}", named=named, last=last) if named else last
