"""Caps that a release needs, typed in a question: those that a first release sets, and those that are too low."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import ROUND_CEILING, Context, Decimal

from PySide6.QtWidgets import QGridLayout, QLineEdit, QWidget

from workbench.gui.session.account_task import change_ledger
from workbench.gui.session.account_view import AccountView
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_later, tr_sentence, typed
from workbench.gui.widgets.basic import hold, label, mark_wrong, named, say
from workbench.gui.widgets.dialogs import Entry, choose
from workbench.gui.widgets.explain import Asked
from workbench.gui.widgets.formatting import at_least, at_most, entered, exactly, percent, still_left
from workbench.params import BudgetRefusedError, ParameterError
from workbench.params.field import RealField
from workbench.params.remedies import RAISE_CAP
from workbench.privacy.accounting.event import exact
from workbench.privacy.accounting.posterior import posterior

FIELDS = {
    "epsilon": RealField(help=tr_later("the cap of ε"), symbol="ε", above=0, upto=1e6),
    "delta": RealField(help=tr_later("the cap of δ"), symbol="δ", at_least=0, below=1),
}
WORDS = {
    "epsilon": tr_later("Cap of all releases of this table, ε"),
    "delta": tr_later("Cap of all releases of this table, δ"),
}


class CapEntry(Entry):
    """A field for each cap that is to be set; it begins with the least that will do."""

    def __init__(self, least: Mapping[str, Decimal], too_low: str) -> None:
        """Make a field for each cap that is to be set; ``too_low`` is what is said of less than ``{cost}``."""
        super().__init__()
        self._least, self._too_low = least, too_low
        self._fields: dict[str, QLineEdit] = {}
        self._problem = label("", "problem", wrap=True, name="cap_problem", hidden=True)
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 8, 0, 8)
        for at, key in enumerate(least):
            self._add(grid, at, key)
        grid.addWidget(self._problem, grid.rowCount(), 0, 1, 2)

    def problem(self) -> str:
        """Return why a cap cannot be taken: it is no number, or does not pay for the release."""
        for key in self._fields:
            try:
                value = self._read(key)
            except ParameterError as error:
                return tr_sentence(error.what)
            if value < self._least[key]:
                return tr(self._too_low, cost=at_most(self._least[key]))
        return ""

    def values(self) -> dict[str, Decimal]:
        return {key: self._read(key) for key in self._fields}

    def _add(self, grid: QGridLayout, at: int, key: str) -> None:
        words = tr(WORDS[key])
        name = tr("Cap of {symbol}", symbol=FIELDS[key].symbol)
        least = self._least[key]
        field = named(QLineEdit(at_most(least)), f"cap_{key}", name, f"{words}{exactly(least)}")
        hold(field, 120)
        field.textEdited.connect(self._edited)
        title = label(words)
        title.setBuddy(field)
        grid.addWidget(title, at, 0)
        grid.addWidget(field, at, 1)
        self._fields[key] = field

    def _edited(self) -> None:
        problem = self.problem()
        say(self._problem, problem)
        for field in self._fields.values():
            mark_wrong(field, wrong=bool(problem))
        self.changed.emit()

    def _read(self, key: str) -> Decimal:
        spec, text = FIELDS[key], self._fields[key].text()
        if text.strip() == at_most(self._least[key]):
            return self._least[key]  # all its digits
        return exact(float(spec.parse(typed(text), spec.symbol)))


class FirstCap(CapEntry):
    """The caps that nobody has set yet, in the question before the release that would set them by its cost."""

    def __init__(self, account: AccountView, epsilon: Decimal, delta: Decimal = Decimal(0)) -> None:
        unset = {"epsilon": epsilon} if account.cap is None else {}
        if delta and account.delta_cap is None:
            unset["delta"] = delta
        super().__init__(unset, tr_later("This release alone costs {cost}."))
        self._epsilon = epsilon

    @property
    def asked(self) -> bool:
        return bool(self._fields)

    def cap(self) -> tuple[Decimal, Decimal | None] | None:
        """Return the caps to set before the release; ``None`` where it sets them itself, by its cost."""
        chosen = self.values()
        if chosen == self._least:
            return None
        return chosen.get("epsilon", self._epsilon), chosen.get("delta")


def sure_words(cap: Decimal) -> str:
    """Return what somebody can come to believe once all of a cap is spent."""
    return tr(
        "When all of it is spent, someone who was 10 % sure of a fact about a row could be at most {sure} sure.",
        sure=percent(posterior(Asked(cap).of_fact, 0.1).high),
    )


def set_cap(
    session: Session, jobs: JobCenter, dataset: str, epsilon: Decimal | None, delta: Decimal | None = None
) -> None:
    """Set the caps of ``dataset``, the one the person was asked about; the one that is not given stays."""
    cap = "" if epsilon is None else at_most(epsilon)
    if delta is None:
        stated = tr("The cap is ε = {cap} now; the ledger has recorded it.", cap=cap)
    elif epsilon is None:
        stated = tr("The cap is δ = {delta} now; the ledger has recorded it.", delta=entered(delta))
    else:
        stated = tr(
            "The cap is ε = {cap} and δ = {delta} now; the ledger has recorded it.", cap=cap, delta=entered(delta)
        )
    change_ledger(session, jobs, tr("Setting the cap"), lambda book: book.set_cap(dataset, epsilon, delta), stated)


def raise_cap(parent: QWidget, session: Session, jobs: JobCenter, refused: BudgetRefusedError) -> None:
    """Ask for caps that pay for what is refused, and set them; whoever asked for the release asks for it again."""
    account, opened = session.account, session.open_data
    about = next((remedy.about for remedy in refused.remedies if remedy.kind == RAISE_CAP), None)
    if about is None:  # of two joined tables each has a cap of its own still, as the refusal says
        return
    rounded = Context(prec=4, rounding=ROUND_CEILING)  # a cap of few digits that pays
    least = {key: rounded.create_decimal(about[key]) for key in about["quantity"].split(", ")}
    if opened is None or not account.dataset:
        return
    entry = CapEntry(least, tr_later("It needs {cost} or more."))
    stated = []
    if "epsilon" in least and account.cap is not None and account.remaining is not None:
        needs = at_most(least["epsilon"] - account.spent - account.reserved)
        stated.append(
            tr(
                "All releases and models of {title} together may cost ε = {cap}; {left}. This one "
                "costs ε = {needs}, so it needs a cap of ε = {least} or more.",
                title=opened.title,
                cap=at_least(account.cap),
                left=still_left(account.remaining),
                needs=needs,
                least=at_most(least["epsilon"]),
            )
        )
    if "delta" in least:
        of_delta = account.delta_remaining or Decimal(0)
        left = still_left(of_delta, at_least(of_delta))
        least_delta = entered(least["delta"])
        stated.append(tr("Of δ, {left}; it needs a cap of δ = {least} or more.", left=left, least=least_delta))
    stated.append(tr("The ledger records the change for good, and later certificates state the cap."))
    text = " ".join(stated)
    if "epsilon" in least:
        text = f"{text}\n\n{sure_words(least['epsilon'])}"
    if choose(parent, tr("Raise the cap?"), text, {"yes": tr("Raise the cap")}, entry=entry) == "yes":
        chosen = entry.values()
        set_cap(session, jobs, account.dataset, chosen.get("epsilon"), chosen.get("delta"))
