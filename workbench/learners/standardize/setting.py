"""What standardising asks: two sums a column, shares of ε and sensitivities, all of them from public facts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from functools import cached_property

from workbench.data.schema import OWN_VALUE, Attribute
from workbench.learners.base import split_epsilon
from workbench.learners.plain import FitSetting
from workbench.learners.queries import Query
from workbench.learners.standardize.parameters import StandardizeParameters
from workbench.learners.sums import grid_size
from workbench.params import ParameterError
from workbench.privacy.accounting.event import exact, floor_double

_PRESENCE_PART = 0.2
"""Part of a column's ε for how many rows have a value, where one may be missing."""


def require_numbers(attributes: Sequence[Attribute]) -> None:
    """Raise :class:`ParameterError` where there is no column of numbers."""
    if not any(attribute.numeric for attribute in attributes):
        raise ParameterError(
            "there is no column of numbers to scale", hint=("give one at least", "leave this step out")
        )


class Setting(FitSetting[StandardizeParameters]):
    """The public facts of a fit, and what follows from them."""

    @cached_property
    def numeric(self) -> tuple[int, ...]:
        """The indices of the columns of numbers, which alone are scaled."""
        return tuple(j for j, attribute in enumerate(self.facts.attributes) if attribute.numeric)

    @cached_property
    def queries(self) -> tuple[Query, ...]:
        """Return the queries in order, with shares that sum to ε exactly."""
        asked: list[tuple[float, str, str, int]] = []
        for j in self.numeric:
            attribute = self.facts.attributes[j]
            present = _PRESENCE_PART if attribute.missing == OWN_VALUE else 0.0
            if present:
                asked.append((present, f"{attribute.name}: presence", "histogram", j))
            asked.append((1 - present, f"{attribute.name}: sums", "moments", j))
        shares: tuple[Decimal | None, ...] = (None,) * len(asked)
        if self.private:
            shares = split_epsilon(exact(self.epsilon), [weight for weight, *_ in asked])
        made = []
        for share, (_, label, form, j) in zip(shares, asked, strict=True):
            epsilon = math.inf if share is None else floor_double(share)
            size = grid_size(self.rows, epsilon) if form == "moments" else 1
            # Both have two numbers: Σi and Σt, or the rows with a value and those without.
            made.append(Query(label, form, j, 2, size, share))
        return tuple(made)
