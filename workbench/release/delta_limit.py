"""The ε and δ that a release may be given, and the upper limit of δ: below 1/n.

The limit holds for all rows of one person together, whether they are emptied or replaced. With δ = 1/n, publishing one
row at random would satisfy the guarantee.
"""

from __future__ import annotations

import math
from decimal import Decimal

from workbench.params import ParameterError, RealField
from workbench.privacy.accounting.accountant import loss_of_rows
from workbench.privacy.accounting.compose import round_up
from workbench.privacy.accounting.event import Cost, PoissonGaussian, group
from workbench.privacy.central.share import Budget
from workbench.privacy.local.mechanism_table import EPSILON_LEAST, EPSILON_MOST
from workbench.release.ledger.composition import event_of_row
from workbench.release.ledger.entry import EXACT

EPSILON = RealField(
    help="privacy loss of one row, for everything that is released",
    symbol="ε",
    at_least=EPSILON_LEAST,
    upto=EPSILON_MOST,
)
DELTA = RealField(
    help="chance that the guarantee fails, below 1/rows: noise is then discrete Gaussian, less for many queries, more "
    "for few (default: none, delta = 0)",
    symbol="δ",
    above=0,
    below=1,
)

_MOST_PEOPLE = 100  # rows of a person up to which her replaced rows are bounded one by one


def require_small_cost(cost: Cost, rows: int, *, rows_per_person: int = 1) -> None:
    """Raise :class:`ParameterError` unless both figures of δ that a release states are below 1/``rows``.

    ``cost`` is that of a person with all her rows, whose most the sentence names as what has raised δ.
    """
    require_small_delta(cost.delta, rows, rows_per_person=rows_per_person)
    delta = replace_one_cost(cost, rows)[1]
    if not _below(Decimal(delta), rows):
        own = "a row" if rows_per_person == 1 else f"the {rows_per_person:,} rows of a person"
        of = f" for neighbours in which {own} may be replaced"
        raise _too_large(delta, of, rows, _smaller(rows, float(cost.epsilon), rows_per_person))


def require_small_delta(delta: Decimal, rows: int, *, rows_per_person: int = 1) -> None:
    """Raise :class:`ParameterError` unless ``delta``, that of emptied rows, is below 1/``rows``.

    The rest is as for :func:`require_small_cost`, which a release has to pass as well.
    """
    if not _below(delta, rows):
        of = "" if rows_per_person == 1 else f" for a person with {rows_per_person:,} rows"
        raise _too_large(float(delta), of, rows, _hint(rows, rows_per_person))


def replace_one_cost(cost: Cost, rows: int) -> tuple[float, float]:
    """Return (ε, δ) of ``cost`` for replace-one neighbours, as cards and certificates state it.

    A replaced row is an emptied and a filled one: (2ε, (1+e^ε)·δ). Where that δ is not below 1/``rows``, the accountant
    bounds the steps of a training anew, at the δ that they have for emptied rows.
    """
    found = cost.replace_one()
    event, people = event_of_row(cost.event)
    known = isinstance(event, PoissonGaussian) and event.steps and people <= _MOST_PEOPLE
    if _below(Decimal(found[1]), rows) or not known or not _below(cost.delta, rows):
        return found
    assert isinstance(event, PoissonGaussian)
    epsilon = loss_of_rows(event, float(cost.delta), 2 * people)
    return (float(round_up(epsilon)), float(cost.delta)) if math.isfinite(epsilon) else found


def safe_delta(rows: int) -> float:
    """Return a δ that is well below 1/``rows``, for a person with one row: a power of ten of at most 1/(10 n)."""
    return min(1e-5, float(f"1e-{len(str(10 * rows))}"))


def _too_large(delta: float, of: str, rows: int, hint: str) -> ParameterError:
    return ParameterError(
        f"delta = {delta:.4g}{of} is not below 1/rows = {1 / rows:.3g}: publishing one random row would meet that "
        "guarantee",
        hint=hint,
        code="delta-too-large",
        field="delta",
    )


def _below(delta: Decimal, rows: int) -> bool:
    return EXACT.multiply(delta, Decimal(rows)) < 1


def _hint(rows: int, rows_per_person: int) -> str:
    if rows_per_person == 1:
        return f"give a delta such as {safe_delta(rows):g}"
    return "give a smaller delta or epsilon: k rows of one person multiply delta by k·e^((k−1)·epsilon of one row)"


def _smaller(rows: int, epsilon: float, rows_per_person: int) -> str:
    """Return the way out: the largest power of ten of a δ of one row that this ε allows."""
    once = group(epsilon / rows_per_person, 1e-300, rows_per_person)[1] * 1e300
    factor = once * (1 + math.exp(min(epsilon, 700.0)))
    if not factor * rows < 1e299:
        return "give a smaller epsilon"
    return f"give a delta such as {10.0 ** (math.ceil(-math.log10(factor * rows)) - 1):.0e}, or a smaller epsilon"


def require_epsilon(budget: Budget) -> None:
    """Raise :class:`ParameterError` unless the ε of one row is within the limits of ε."""
    epsilon = budget.epsilon
    if not EPSILON_LEAST <= epsilon <= EPSILON_MOST:
        what = f"epsilon = {epsilon:.6g} of a row is outside {EPSILON_LEAST:g} to {EPSILON_MOST:g}"
        raise ParameterError(what, hint="choose another one")
