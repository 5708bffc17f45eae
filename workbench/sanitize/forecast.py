"""What a plan will cost and do, before any budget is spent and without reading data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from typing import Any

from workbench.privacy.local.cells import Cells
from workbench.privacy.local.mechanisms import mechanism
from workbench.sanitize.calibrated_columns import ProtectedColumn, candidates, protected_columns
from workbench.sanitize.plan import AUTO, Column, Plan


@dataclass(frozen=True)
class ColumnForecast:
    """The forecast of one column; errors are in the attribute's unit (for names: probability of a change).

    Two errors: of one value (``expected_absolute_error``), and of a mean or, for names, a share of n rows:
    ``statistic_sd``/√n, ``None`` if the mechanism has no unbiased estimator of it. ``advised`` is the best for the
    column's purpose. ``numeric``: whether its values lie on a line. ``relations_kept``: the part of a correlation with
    another column that is left, if the values are spread evenly over what is declared.
    """

    name: str
    numeric: bool
    mechanism: str
    epsilon: Decimal
    exact_epsilon: float
    cells: int
    bias_max: float
    sd: float
    expected_absolute_error: float
    constant_error: float
    advised: str
    purpose: str
    statistic_sd: float | None
    relations_kept: float
    candidates: dict[str, float]
    statistic_candidates: dict[str, float | None]
    note: str

    def mean_error(self, rows: int) -> float:
        """Return the standard error of a mean (for names: of a share) of ``rows`` rows, its bias included.

        Without an unbiased estimator the bias is the same however many rows there are.
        """
        own = self.statistic_sd
        return float(self.sd / rows**0.5 + self.bias_max if own is None else own / rows**0.5)

    def to_plain(self) -> dict[str, Any]:
        """Return the column as JSON holds it."""
        plain = {k: getattr(self, k) for k in self.__dataclass_fields__ if k != "numeric"}
        return {**plain, "epsilon": float(self.epsilon)}


@dataclass(frozen=True)
class Forecast:
    """The forecast of a plan."""

    epsilon_row: Decimal  # ε of one row's whole record
    epsilon_total: Decimal  # what is charged: `rows_per_person` times as much
    replace_one_epsilon: float  # the figure for replace-one neighbours
    columns: tuple[ColumnForecast, ...]
    outside: tuple[str, ...]  # sentences on what ε does not cover


def forecast(plan: Plan, *, coarse: bool = False) -> Forecast:
    """Return what ``plan`` will cost and do.

    Of columns with many cells, a ``coarse`` one forecasts :data:`COARSE_CELLS` over the same range, in milliseconds.
    Means, shares and relations then differ by a few per cent; ``exact_epsilon`` is that of the few cells.

    Raises:
        ParameterError: the plan protects no column, or a mechanism does not fit.
    """
    row = plan.row_epsilon()
    return Forecast(
        epsilon_row=row,
        epsilon_total=charge_of(plan),
        # Local mechanisms have the same ε for replace-one: one figure for both relations.
        replace_one_epsilon=float(charge_of(plan)),
        columns=tuple(map(_column, _coarse_columns(plan) if coarse else protected_columns(plan))),
        outside=outside_guarantee(plan),
    )


COARSE_CELLS = 33


def _coarse_columns(plan: Plan) -> Iterator[ProtectedColumn]:
    """Yield the protected columns with at most :data:`COARSE_CELLS` cells each."""
    split = plan.shares()
    for column in plan.protected:
        made = column.grid()
        cells = made.cells
        if cells.values is not None and cells.size > COARSE_CELLS:
            lower, upper = float(cells.values[0]), float(cells.values[-1])
            made = replace(made, cells=Cells.line(lower, upper, COARSE_CELLS, missing=cells.missing))
        share = split[column.name]
        auto = column.mechanism == AUTO
        chosen = candidates(made.cells, share, column.purpose)[0][0] if auto else mechanism(column.mechanism)
        yield ProtectedColumn(column, made, share, chosen)


def charge_of(plan: Plan) -> Decimal:
    """Return the ε a release of ``plan`` is charged: k rows of one person cost k times one row."""
    with localcontext() as context:
        context.prec = 400
        return plan.row_epsilon() * plan.rows_per_person


def outside_guarantee(plan: Plan) -> tuple[str, ...]:
    """Return a sentence for each way in which something in ``plan`` is not covered by its ε."""
    out = []
    kept = [c.name for c in plan.columns if c.action == "keep"]
    if kept:
        out.append(f"Published as it is, covered by no epsilon: {', '.join(kept)}.")
    out += read_off(plan.protected)
    if plan.keep_order:
        out.append("Rows keep their original order: what the table was sorted by is published.")
    return tuple(out)


def read_off(columns: Iterable[Column]) -> tuple[str, ...]:
    """Return a sentence on the facts of ``columns`` that were taken from the rows: kind and number, not values.

    Every release that uses such facts repeats it.
    """
    taken = [c for c in columns if c.bounds_origin == "data"]
    if not taken:
        return ()
    stated = ", ".join(f"{c.name} ({_size(c)})" for c in taken)
    return (f"Bounds or values were read off the data, and no epsilon covers that: {stated}.",)


def _size(column: Column) -> str:
    cells = column.grid().cells.size
    return f"bounds of {cells} cells" if column.numeric else f"{cells} values"


def _column(protected: ProtectedColumn) -> ColumnForecast:
    facts = protected.facts
    options = candidates(protected.grid.cells, protected.share, protected.column.purpose)
    return ColumnForecast(
        name=protected.column.name,
        numeric=protected.grid.cells.numeric,
        mechanism=protected.mechanism.name,
        epsilon=protected.share,
        exact_epsilon=facts.exact_epsilon,
        cells=protected.grid.cells.total,
        bias_max=facts.bias_max,
        sd=facts.sd_mean,
        expected_absolute_error=facts.expected_absolute_error,
        constant_error=facts.constant_error,
        advised=options[0][0].name,
        purpose=protected.column.purpose,
        statistic_sd=facts.statistic_sd,
        relations_kept=facts.relations_kept,
        candidates={m.name: f.expected_absolute_error for m, f in options},
        statistic_candidates={m.name: f.statistic_sd for m, f in options},
        note=protected.note,
    )
