"""What a way to release brings to the settings: its fields, its forecast, and a look into what was released by it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from workbench.gui.pages.release_page import ReleasedPart, ReleasePage, ReleaseWords
from workbench.gui.pages.release_tasks import Asked, Chosen, Foreseen, foresee
from workbench.gui.session.session import Session
from workbench.gui.session.undo import FormSteps
from workbench.gui.style.language import again, as_sentence, tr, tr_later, tr_sentence
from workbench.gui.widgets.basic import Card, enable_if, label, say
from workbench.gui.widgets.epsilon_entry import DeltaEntry, DeltaLine
from workbench.gui.widgets.parameter_form import Form, explained
from workbench.params import Parameters
from workbench.release.kinds import TABLES, kind
from workbench.signals.cancel import CancelToken

if TYPE_CHECKING:
    from workbench.sanitize.plan import Plan
    from workbench.work.work import Work

FactOf = tuple[str, str, str, Callable[[Any], str]]
"""Key, words and tip of a line beside the cost, and what it says of a forecast's facts."""


class WayPane(Card):
    """The fields of one way; they follow table, plan and questions until a person chooses another value.

    ε is the plan's, which is chosen by what recipients will see; of the budget a way has δ alone.

    Attributes:
        facts: lines beside the cost.
        wide: whether it needs the whole width of a page.
        below: what is shown below fields and cost.
        others: further buttons of the foot.
        titles: what a person calls each field, where undo names it.
        written: the fields that are typed into: a word is one step, not each of its letters.
        results: a look into the newest release; ``None`` where it has none of its own.
    """

    changed = Signal()
    refreshed = Signal()
    facts: tuple[FactOf, ...] = ()
    wide = False
    titles: Mapping[str, str] = {"delta": "δ"}
    written: Collection[str] = ("delta",)

    def __init__(self, session: Session, what: ReleaseWords, kind: str = "", pad: int = 16) -> None:
        super().__init__(pad=pad)
        self.setObjectName(f"pane_{what.name}")
        self.session, self.what, self.kind = session, what, kind
        self._own: set[str] = set()
        self._changes = FormSteps(
            session.undo_stack,
            what.name,
            self.state,
            self._show_state,
            title=lambda key: again(self.titles[key]),
            written=lambda key: key in self.written,
        )
        self.delta = DeltaEntry(f"{what.name}_delta")
        self._problem = label("", "problem", wrap=True, name=f"{what.name}_field_problem", hidden=True)
        self.below: tuple[QWidget, ...] = ()
        self.others: tuple[QWidget, ...] = ()
        self.results: ReleasedPart | None = None
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
        """Return what beside the cost is foreseen of its kind alone; called in a worker, with ``self`` only to ask."""
        return None

    def unrounded(self, chosen: Chosen) -> bool:
        """Return whether numbers keep their own steps, whatever steps noisy rows are rounded to."""
        return False

    def title(self, chosen: Chosen) -> str:
        return tr_sentence(kind(self.kind).released)

    def asked(self, found: Foreseen) -> Asked:
        """Return what would be released, as it is forecast."""
        known, chosen = kind(self.kind), found.chosen
        formats = None if known.formats == TABLES else known.suffixes()
        work, unrounded = partial(_work_of, self.kind, chosen), self.unrounded(chosen)
        return Asked(self.title(chosen), work, formats, way=self.kind, unrounded=unrounded)

    def fields(self) -> tuple[QWidget, ...]:
        """Return what is chosen in."""
        return (self.delta,)

    def enable(self, on: bool) -> None:
        """Let the fields be changed, or not while a release goes on."""
        enable_if(on, *self.fields())

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
        """Show beside the fields what is foreseen, or that it is not known yet."""

    def show_others(self, *, ready: bool) -> None:
        """Show what it has beside its fields; ``ready`` says whether its request is forecast."""

    def value(self) -> Chosen | None:
        """Return what is chosen; ``None`` while a field is refused."""
        request, delta = self.request(), self.delta.value()
        return None if request is None or delta is None else Chosen(request, self.session.plan.epsilon, delta)

    def use_delta(self, delta: Decimal) -> None:
        """Set δ, as if a person had written it."""
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

    def chose(self, key: str) -> None:
        """Keep what a person has chosen in the field ``key``, as a step that can be undone."""
        self._own.add(key)
        self._changes.keep(key)
        self.say(self.field_problem())
        self.changed.emit()

    def state(self) -> dict[str, Any]:
        """Return what is chosen and written in the fields, with which of it is a person's own."""
        return {"own": frozenset(self._own), "delta": self.delta.text()}

    def restore(self, state: Mapping[str, Any]) -> None:
        self._own = set(state["own"])
        self.delta.setText(state["delta"])

    def _show_state(self, state: Mapping[str, Any]) -> None:
        self.restore(state)
        self.say(self.field_problem())
        self.changed.emit()

    def say(self, problem: str) -> None:
        say(self._problem, problem)


def _work_of(name: str, chosen: Chosen, plan: Plan, rows: int, file_format: str) -> Work:
    """Describe the release of a kind; called in a worker."""
    return kind(name).work_of(plan, chosen.request, chosen.epsilon, chosen.delta, rows, file_format)


class DerivedPane(WayPane):
    """One field for each parameter of the request; whether they fit the plan says the kind's own Work."""

    titles: Mapping[str, str] = {**WayPane.titles, "request": tr_later("settings")}
    written = ("delta", "request")

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
        self.form = Form(f"{name}_form", known.asked())
        self.form.changed.connect(lambda: self.chose("request"))
        self.body.addWidget(label(tr_sentence(known.released).upper(), "caption"))
        if known.help:
            self.body.addWidget(label(as_sentence(tr_sentence(known.help)), "muted", wrap=True))
        self.body.add(explained(self.form), self._problem, DeltaLine(self.delta), None)

    def request(self) -> Parameters | None:
        return self.form.value()

    def state(self) -> dict[str, Any]:
        return {**super().state(), "request": self.form.value()}

    def restore(self, state: Mapping[str, Any]) -> None:
        super().restore(state)
        if state["request"] is not None:
            self.form.set_value(state["request"])

    def fields(self) -> tuple[QWidget, ...]:
        return self.form, self.delta
