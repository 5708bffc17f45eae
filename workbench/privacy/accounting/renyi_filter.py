"""A count of releases that stays valid when each one is chosen after the earlier ones were seen.

Advanced and optimal composition are proved for ε's that are fixed beforehand; an account that is open for years is not
like that. A Rényi filter is: let an order α be fixed, and let every release be admitted only while the sum of the
divergences at α stays within a fixed bound B. Then the whole has divergence at most B at α, however adaptively the
releases were chosen (Feldman & Zrnic 2021, Theorem 4.3), and so is (B + conversion(α, δ′), δ′)-private.

Here a release is admitted if either that sum or the plain sum of ε stays under the cap. Both at once are covered: where
a history keeps the plain sum, its privacy loss is below the cap for certain; all other histories are also histories of
the filtered mechanism, which at a loss above the cap have δ′ together. The δ of (ε, δ) releases is added in both cases.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from workbench.params import ParameterError
from workbench.params.remedies import DATA, LEDGER, run
from workbench.privacy.accounting.accountant import INTEGER_ORDERS, converted, renyi_of_integers
from workbench.privacy.accounting.compose import round_up
from workbench.privacy.accounting.concentrated import renyi_at
from workbench.privacy.accounting.event import CostEvent
from workbench.privacy.accounting.event_alternatives import PoissonStep, SimpleEvent, alternatives

PART = Decimal("0.5")
"""Part of the cap's δ that pays for the conversion; the rest is for releases with a δ of their own."""

_UP = 1 + 1e-12


@dataclass(frozen=True, slots=True)
class Filter:
    """An order and a δ′, both fixed when the count was chosen."""

    order: int  # α, a whole number
    slack: Decimal  # δ′ of the conversion, counted as spent

    @classmethod
    def for_cap(cls, epsilon: Decimal, delta: Decimal) -> Filter:
        """Return the filter that admits the most small releases under a cap.

        Raises:
            ParameterError: δ is 0, or so small a cap that its conversion alone is above it.
        """
        slack = delta * PART
        if not 0 < slack < 1:
            raise ParameterError(
                "this count needs a cap of delta above 0",
                "--delta",
                run("set one first, such as", "ledger", "cap", DATA, "--delta", "1e-6", LEDGER),
            )
        # Many small releases have divergences about proportional to α: the more of them fit, the better.
        rooms = (float(epsilon) - converted(INTEGER_ORDERS, 0 * INTEGER_ORDERS, float(slack))) / INTEGER_ORDERS
        best = int(rooms.argmax())
        if rooms[best] <= 0:
            raise ParameterError(
                f"a cap of epsilon = {epsilon} is too small for this count at delta = {float(delta):g}",
                "--epsilon",
                "keep the plain sum, or set a larger cap",
            )
        return cls(int(INTEGER_ORDERS[best]), slack)

    @property
    def conversion(self) -> float:
        """The ε that the conversion of the divergence adds."""
        orders = INTEGER_ORDERS[[list(INTEGER_ORDERS).index(self.order)]]
        return float(converted(orders, 0 * orders, float(self.slack))[0])

    def epsilon(self, events: Iterable[CostEvent]) -> Decimal | None:
        """Return the ε that ``events`` count for, rounded up; ``None`` where a divergence is not known.

        Raises:
            ParameterError: an event is out of range.
        """
        divergence = 0.0
        for event in events:
            worst = [self._divergence(leaves.items()) for leaves in alternatives(event)]
            known = [d for d in worst if d is not None]
            if len(known) < len(worst):
                return None
            divergence += max(known)
        found = max(0.0, divergence * _UP + self.conversion) * _UP
        return round_up(found) if math.isfinite(found) else None

    def _divergence(self, leaves: Iterable[tuple[SimpleEvent, int]]) -> float | None:
        whole = 0.0
        for leaf, count in leaves:
            one = self._of(leaf)
            if one is None:
                return None
            whole += count * one
        return whole

    def _of(self, leaf: SimpleEvent) -> float | None:
        place = list(INTEGER_ORDERS).index(self.order)
        if isinstance(leaf, PoissonStep):
            if leaf.rows != 1:
                return None
            return float(renyi_of_integers(leaf.sample_rate, leaf.noise_multiplier)[place])
        at = renyi_at(leaf, INTEGER_ORDERS[[place]])
        return None if at is None else float(at[0])
