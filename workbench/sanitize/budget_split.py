"""The split of a plan's ε over its columns: decimal shares that sum to it exactly."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal, localcontext
from typing import Protocol

from workbench.params import ParameterError
from workbench.privacy.accounting.event import divided, exact
from workbench.privacy.local.mechanism_table import EPSILON_LEAST

_DIGITS = Decimal("1e-12")
_ENOUGH = 1.0  # ε at which a few hundred randomised labels still show which class is the largest
_EXACT_DIGITS = 400  # enough for sums of any shares as written; the usual 28 digits could lose the smallest


class Claim(Protocol):
    """The share of ε that a protected column claims: fixed, or by weight from what the fixed ones leave."""

    @property
    def name(self) -> str:
        """The column."""

    @property
    def epsilon(self) -> float | Decimal | None:
        """Its fixed share."""

    @property
    def weight(self) -> float:
        """Its weight if no share is fixed."""


def target_weight(epsilon: float | Decimal, others: int) -> float:
    """Return the weight that a first plan gives the classes that are to be predicted, beside columns of weight 1.

    It is half of ε until that is ε = 1, and never less than an equal share: labels that show the wrong class as the
    largest one cannot be corrected by anything that is learnt from the ``others`` protected columns (measured by
    ``tests/benchmarks/bench_corrected.py``). It depends on public figures alone.
    """
    if not others or not float(epsilon) > 0:  # an ε that is refused anyway has no share to speak of
        return 1.0
    part = min(0.5, _ENOUGH / float(epsilon))
    return max(1.0, float(f"{part / (1 - part) * others:.4g}"))


def shares(epsilon: float | Decimal, claims: Sequence[Claim]) -> dict[str, Decimal]:
    """Return each protected column's share of ``epsilon``.

    Fixed shares are used as written; the rest is split by weight, in units of 1e-12, and the first
    unfixed column takes the remainder, so that the sum is the plan's ε exactly whenever a column is not fixed.

    Raises:
        ParameterError: the fixed shares exceed ε, or leave too little for the others.
    """
    whole, least = exact(epsilon), exact(EPSILON_LEAST)
    fixed = {c.name: exact(c.epsilon) for c in claims if c.epsilon is not None}
    left = whole - sum(fixed.values(), Decimal(0))
    open_columns = [c for c in claims if c.epsilon is None]
    if left < 0:
        raise ParameterError(
            f"the fixed shares sum to {float(whole - left):g}, above epsilon = {float(whole):g}",
            hint="lower a share",
            code="shares-exceed",
            field="epsilon",
        )
    if open_columns and left < least * len(open_columns):
        raise ParameterError(
            f"the fixed shares leave {float(left):g} of epsilon = {float(whole):g} for {len(open_columns)} columns",
            f"first of them {open_columns[0].name}",
            "lower a fixed share or raise epsilon",
            code="shares-exceed",
            field="epsilon",
        )
    split: dict[str, Decimal] = {}
    if open_columns:
        parts = divided(left, [c.weight for c in open_columns], _DIGITS)
        split = dict(zip((c.name for c in open_columns), parts, strict=True))
        small = next((c.name for c in open_columns if split[c.name] < least), None)
        if small is not None:
            raise ParameterError(f"the share of column {small} is below {EPSILON_LEAST:g}", hint="raise its weight")
    return {c.name: fixed[c.name] if c.name in fixed else split[c.name] for c in claims}


def total(epsilon: float | Decimal, claims: Sequence[Claim]) -> Decimal:
    """Return the ε of one row's whole record: the sum of the shares (below ``epsilon`` only if all are fixed)."""
    with localcontext() as context:
        context.prec = _EXACT_DIGITS
        # Without trailing zeros, and adding 0 undoes the exponent that normalize gives to whole tens.
        return sum(shares(epsilon, claims).values(), Decimal(0)).normalize() + 0
