"""Columns that a private step made: a DataFrame carries what is public of them, so that the next step can follow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import pandas as pd

from workbench.data.schema import OWN_VALUE, Attribute
from workbench.params import ParameterError
from workbench.sanitize.plan import Column

_KEY = "workbench columns"
_RELEASED, _ACCOUNT, _FACTS = "released", "account", "facts"


@dataclass(frozen=True)
class MadeColumns:
    """What is known of columns that a private step made.

    Attributes:
        facts: what is public of each, by name; it follows from declared facts and the step's noisy figures.
        released: whether the step was charged; else it is a private study, and so is all that follows.
        account: the public name of the account that paid.
    """

    facts: Mapping[str, Attribute]
    released: bool
    account: str | None = None

    @classmethod
    def of(cls, frame: Any) -> Self | None:
        """Return what ``frame`` carries; ``None`` where no private step has made it."""
        stated = frame.attrs.get(_KEY) if isinstance(frame, pd.DataFrame) else None
        if not isinstance(stated, dict):
            return None
        facts = (Attribute.from_plain(plain, "the columns' facts") for plain in stated[_FACTS])
        return cls({fact.name: fact for fact in facts}, stated[_RELEASED] is True, stated[_ACCOUNT])

    def on(self, columns: Mapping[str, Sequence[Any]], index: pd.Index[Any]) -> pd.DataFrame:
        """Return a DataFrame of ``columns`` that carries this."""
        made = pd.DataFrame(columns, index=index)
        facts = [fact.to_plain() for fact in self.facts.values()]
        made.attrs[_KEY] = {_FACTS: facts, _RELEASED: self.released, _ACCOUNT: self.account}
        return made

    def column(self, name: str, *, may_miss: bool) -> Column:
        """Return one of the columns as a plan declares it; ``may_miss`` says that a missing value is one more value."""
        stated = {"missing": OWN_VALUE} if may_miss else {}
        return Column.from_plain({**self.facts[name].to_plain(), **stated, "action": "protect"}, f"column {name}")

    def require_charged(self) -> None:
        """Check that what follows from these columns can be released.

        Raises:
            ParameterError: the step that made them was not charged.
        """
        if not self.released:
            raise ParameterError(
                "the step before is a private study, and all that follows from it",
                "ledger",
                "give a ledger and output= to every step, or to none",
            )


def values_of(made: Any, facts: Sequence[Attribute], named: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
    """Return the columns of rows (n, k) that a step made: numbers, and the values of categories.

    Args:
        made: numbers and codes (n, k).
        facts: what is public of each column.
        named: the values of categories as a person gave them, by column.
    """
    columns: dict[str, list[Any]] = {}
    for fact, column in zip(facts, made.T, strict=True):
        if fact.numeric:
            columns[fact.name] = column.tolist()
        else:
            values = [*(named.get(fact.name) or fact.values()), None]
            columns[fact.name] = [values[int(code)] for code in column]
    return columns
