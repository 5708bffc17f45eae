"""The upper limit of δ: below 1/n, for all rows of one person together.

With δ = 1/n, publishing one row at random would satisfy the guarantee.
"""

from __future__ import annotations

from decimal import Decimal

from workbench.params import ParameterError
from workbench.release.ledger.exact import EXACT


def require_small_delta(delta: Decimal, rows: int, *, rows_per_person: int = 1) -> None:
    """Raise :class:`ParameterError` unless ``delta`` is below 1/``rows``.

    Args:
        delta: what is charged: that of a person with all her rows.
        rows: the public number of rows.
        rows_per_person: most rows of one person, to name in the sentence what has raised δ.
    """
    if EXACT.multiply(delta, Decimal(rows)) < 1:
        return
    whose = "" if rows_per_person == 1 else f" for a person with {rows_per_person:,} rows"
    raise ParameterError(
        f"delta = {float(delta):.4g}{whose} is not below 1/rows = {1 / rows:.3g}: publishing a row picked at random "
        "would keep that promise",
        mend=_mend(rows, rows_per_person),
        code="delta-too-large",
        field="delta",
    )


def safe_delta(rows: int) -> float:
    """Return a δ that is well below 1/``rows``, for a person with one row: a power of ten of at most 1/(10 n)."""
    return min(1e-5, float(f"1e-{len(str(10 * rows))}"))


def _mend(rows: int, rows_per_person: int) -> str:
    if rows_per_person == 1:
        return f"give a delta such as {safe_delta(rows):g}"
    return "give a smaller delta or epsilon: k rows of one person multiply delta by k·e^((k−1)·epsilon of one row)"
