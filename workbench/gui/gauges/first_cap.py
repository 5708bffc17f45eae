"""The caps that a first release sets, in the question before it: what it costs, unless a person enters more."""

from __future__ import annotations

from decimal import Decimal

from PySide6.QtWidgets import QGridLayout, QLineEdit

from workbench.gui.session.account_view import AccountView
from workbench.gui.style.language import tr, tr_later, tr_sentence, typed
from workbench.gui.widgets.basic import hold, label, mark_wrong, named
from workbench.gui.widgets.dialogs import Entry
from workbench.gui.widgets.formatting import entered
from workbench.params import ParameterError
from workbench.params.field import RealField
from workbench.privacy.accounting.event import exact

_EPSILON = RealField(help=tr_later("the cap of ε"), symbol="ε", above=0, upto=1e6)
_DELTA = RealField(help=tr_later("the cap of δ"), symbol="δ", at_least=0, below=1)


class FirstCap(Entry):
    """A field for each cap that nobody has set yet; it begins with what the release costs."""

    def __init__(self, account: AccountView, epsilon: Decimal, delta: Decimal = Decimal(0)) -> None:
        super().__init__()
        self._cost = {"epsilon": epsilon, "delta": delta}
        self._fields: dict[str, QLineEdit] = {}
        self._problem = label("", "problem", wrap=True, name="first_cap_problem")
        self._problem.hide()
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 8, 0, 8)
        if account.cap is None:
            self._add(grid, "epsilon", "ε", tr("Cap of all releases of this table, ε"))
        if delta and account.delta_cap is None:
            self._add(grid, "delta", "δ", tr("Cap of all releases of this table, δ"))
        grid.addWidget(self._problem, grid.rowCount(), 0, 1, 2)

    @property
    def asked(self) -> bool:
        """Whether there is a cap to set."""
        return bool(self._fields)

    def problem(self) -> str:
        """Return why a cap cannot be taken: it is no number, or does not even pay for this release."""
        for key in self._fields:
            try:
                value = self._read(key)
            except ParameterError as error:
                return tr_sentence(error.what)
            if value < self._cost[key]:
                return tr("This release alone costs {cost}.", cost=entered(self._cost[key]))
        return ""

    def cap(self) -> tuple[Decimal, Decimal | None] | None:
        """Return the caps to set before the release; ``None`` where it sets them itself, by its cost."""
        chosen = {key: self._read(key) for key in self._fields}
        if all(value == self._cost[key] for key, value in chosen.items()):
            return None
        return chosen.get("epsilon", self._cost["epsilon"]), chosen.get("delta")

    def _add(self, grid: QGridLayout, key: str, symbol: str, words: str) -> None:
        field = named(
            QLineEdit(entered(self._cost[key])), f"first_cap_{key}", tr("Cap of {symbol}", symbol=symbol), words
        )
        hold(field, 120)
        field.textEdited.connect(self._edited)
        at = grid.rowCount()
        title = label(words)
        title.setBuddy(field)
        grid.addWidget(title, at, 0)
        grid.addWidget(field, at, 1)
        self._fields[key] = field

    def _edited(self) -> None:
        problem = self.problem()
        self._problem.setText(problem)
        self._problem.setVisible(bool(problem))
        for field in self._fields.values():
            mark_wrong(field, wrong=bool(problem))
        self.changed.emit()

    def _read(self, key: str) -> Decimal:
        spec = _EPSILON if key == "epsilon" else _DELTA
        text = self._fields[key].text()
        if text.strip() == entered(self._cost[key]):
            return self._cost[key]  # all its digits, where a double would lose some
        return exact(float(spec.parse(typed(text), spec.symbol)))
