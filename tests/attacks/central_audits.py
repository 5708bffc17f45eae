"""Audits of statistics and of synthetic rows: what their files and certificates say of one hostile row."""

import io
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pytest
from asks import ask_by
from audits import HALF, Audit, Fault, Told, accuracy_text, drawn_at, ignored

from workbench.data.table import Table
from workbench.release.statistics.statistics_work import statistics_work
from workbench.release.synthetic.synthesis_work import synthesis_work
from workbench.sanitize.plan import Plan
from workbench.signals.cancel import CancelToken
from workbench.statistics import bins, queries
from workbench.statistics.release_file import decode
from workbench.statistics.request import Request, Statistic
from workbench.synth import fit, mst, synthesis
from workbench.synth.parameters import SynthesisParameters
from workbench.work.ask import Ask
from workbench.work.work import Work

Rows = Sequence[tuple[str | None, ...]]
FINE: dict[str, Any] = {"name": "x", "kind": "real", "lower": 0, "upper": 1000}
COLUMNS: tuple[dict[str, Any], ...] = (
    {"name": "x", "kind": "integer", "lower": 0, "upper": 9},
    {"name": "g", "kind": "category", "domain": ["a", "b"]},
)


def plan_of(**keys: Any) -> Plan:
    return Plan.from_plain({"epsilon": 1.0, "invalid": "replace", "column": list(COLUMNS), **keys})


def table_of(rows: Rows, names: Sequence[str] = "xg") -> Table:
    frame = {name: [row[at] for row in rows] for at, name in enumerate(names)}
    return Table(pl.DataFrame(frame, schema=dict.fromkeys(names, pl.String)), "hostile.csv")


def emptied(rows: Rows) -> Rows:
    """The neighbour: the first row is an empty one."""
    return [(None,) * len(rows[0]), *rows[1:]]


def claim_of(work: Work) -> float:
    """What the door charges for it."""
    if work.budget is not None:
        return float(work.budget.epsilon)
    return float(sum((event.epsilon for event in work.events), Decimal(0)))  # type: ignore[union-attr]


def sides_of(
    made: Callable[[float], Work], rows: Rows, other: Rows, plan: Plan, read: Callable[[bytes], Any]
) -> Callable[[bool, int, Fault], list[Told]]:
    """Return what so many releases tell: the file, and beside it what the certificate says of how it was made."""

    def outputs(gone: bool, samples: int, fault: Fault) -> list[Told]:
        work, noise = made(fault.times), fault.noise(np.random.default_rng([5, gone]))
        table = plan.rows_of(table_of(other if gone else rows, [c.name for c in plan.columns]))
        cancel = CancelToken()
        found = []
        for _ in range(samples):
            drawn = work.run(table, ask_by(noise, work.events), ignored, cancel)
            found.append(accuracy_text({"file": read(drawn.whole), "told": drawn.method}))
        return found

    return outputs


def figures_of(data: bytes) -> list[dict[str, Any]]:
    """The figures of a released file, those of a value by its place in the file."""
    keys = ("estimate", "low", "high", "sparse", "value")
    return [{key: record[key] for key in keys} for record in decode(data, "csv", "file")]


def statistics(
    name: str,
    row: str,
    rows: Rows,
    *asks: Statistic,
    faults: tuple[Fault, ...] = (HALF,),
    samples: int = 2_000,
    least: float = 0.3,
    delta: str = "0",
    replace: Rows | None = None,
    epsilon: float = 1.0,
    column: dict[str, Any] = COLUMNS[0],
) -> Audit:
    """An audit of the statistics of a few rows; where a row is replaced by another, the claim is twice the ε."""
    declared = [column, COLUMNS[1]]
    plan = plan_of(column=declared) if replace is None else plan_of(column=declared, invalid="refuse")
    request = Request(figures=asks)

    def made(times: float) -> Work:
        return statistics_work(request, plan, epsilon * times, len(rows), "csv", Decimal(delta))

    claim = claim_of(made(1.0)) * (1 if replace is None else 2)
    outputs = sides_of(made, rows, emptied(rows) if replace is None else replace, plan, figures_of)
    return Audit(f"statistics: {name}", row, claim, samples, outputs, faults, float(delta), least)


def without_noise(form: str) -> Fault:
    """The planted fault: one form of query is answered as it is."""
    sound = queries.Query.noisy

    def noisy(query: queries.Query, ask: Ask, exact: Sequence[int]) -> list[int]:
        drawn = sound(query, ask, exact)
        if query.form != form:
            return drawn
        return [int(np.argmax(exact))] if form == queries.CHOICE else [int(v) for v in exact]

    return Fault("one figure without noise", plant=lambda patch: patch.setattr(queries.Query, "noisy", noisy))


def counted_twice(patch: pytest.MonkeyPatch) -> None:
    """Each row adds twice what the sensitivity says."""
    sound = queries.Query.of_part
    patch.setattr(queries.Query, "of_part", lambda query, rows, held: 2 * sound(query, rows, held))


def not_clamped(patch: pytest.MonkeyPatch) -> None:
    """A value beyond its bounds counts as what it is."""

    def on_grid(values: Any, lower: float, upper: float, size: int) -> Any:
        centre, half = (lower + upper) / 2, (upper - lower) / 2
        return np.rint((values - centre) / half * size).astype(np.int64)

    patch.setattr(queries, "on_grid", on_grid)
    patch.setattr(bins, "numbers", lambda rows, column: rows.column(column.name).cast(pl.Float64).to_numpy())


TWICE = Fault("sensitivity 1 where it is 2", plant=counted_twice)
ALONE = [("9", "b"), ("0", "a"), ("0", "a")]
BEYOND = [("1000", "b"), ("0", "a"), ("0", "a")]
ONE, FEW = "alone in its group", "at a bound, one of three"
BY = ("g",)

STATISTICS = (
    statistics("count by groups", ONE, ALONE, Statistic(statistic="count", by=BY), faults=(HALF, TWICE), least=0.6),
    statistics("histogram", FEW, ALONE, Statistic(statistic="histogram", column="x"), faults=(HALF, TWICE), least=0.5),
    statistics("mean", FEW, ALONE, Statistic(statistic="mean", column="x"), faults=(HALF, without_noise(queries.PAIR))),
    statistics(
        "sum",
        "beyond its bounds, one of three",
        BEYOND,
        Statistic(statistic="sum", column="x"),
        faults=(HALF, Fault("values not clamped", plant=not_clamped)),
    ),
    statistics(
        "quantiles",
        FEW,
        ALONE,
        Statistic(statistic="quantiles", column="x", at=(0.25, 0.5)),
        faults=(drawn_at(4),),
        least=0.1,
    ),
    statistics(
        "median of a fine column",
        "the larger of two",
        [("1000", "b"), ("500", "a")],
        Statistic(statistic="quantiles", column="x", at=(0.5,)),
        column=FINE,
        faults=(drawn_at(8),),
        least=0.0,
    ),
    statistics(
        "quartiles of a fine column by groups",
        "the larger of two in its group",
        [("1000", "b"), ("500", "b"), ("0", "a")],
        Statistic(statistic="quantiles", column="x", by=BY),
        column=FINE,
        faults=(drawn_at(16),),
        least=0.0,
    ),
    statistics(
        "quantiles, Gaussian",
        FEW,
        ALONE,
        Statistic(statistic="quantiles", column="x", at=(0.5,)),
        faults=(drawn_at(8),),
        delta="0.05",
        least=0.0,
    ),
    statistics(
        "count of a column that may be empty",
        "has no value",
        ALONE,
        Statistic(statistic="count", column="x"),
        Statistic(statistic="histogram", column="g"),
        faults=(drawn_at(4),),
        least=0.0,
    ),
    statistics(
        "mode",
        "makes the most frequent value",
        [("9", "b"), ("0", "b"), ("0", "a")],
        Statistic(statistic="mode", column="g"),
        faults=(drawn_at(6), without_noise(queries.CHOICE)),
        least=0.1,
    ),
    statistics("mean by groups", ONE, ALONE, Statistic(statistic="mean", column="x", by=BY)),
    statistics(
        "quantiles by groups",
        ONE,
        ALONE,
        Statistic(statistic="quantiles", column="x", by=BY, at=(0.5,)),
        faults=(drawn_at(4),),
        least=0.1,
    ),
    statistics("sum by groups", ONE, ALONE, Statistic(statistic="sum", column="x", by=BY)),
    statistics(
        "histogram and count by groups, mean",
        ONE,
        ALONE,
        Statistic(statistic="histogram", column="g"),
        Statistic(statistic="count", by=BY),
        Statistic(statistic="mean", column="x"),
        faults=(drawn_at(3, "two of three figures left out of the sum"),),
        least=0.1,
        samples=4_000,
    ),
    statistics(
        "count by groups, Gaussian",
        ONE,
        ALONE,
        Statistic(statistic="count", by=BY),
        faults=(Fault(HALF.name, noise=HALF.noise, sizes=2),),
        delta="0.05",
        least=0.05,
    ),
    statistics(
        "mean of a complete column",
        "from one bound to the other (claim 2ε)",
        [("0", "a"), ("4", "a")],
        Statistic(statistic="mean", column="x"),
        replace=[("9", "a"), ("4", "a")],
        epsilon=0.5,
    ),
)


def cells_of(data: bytes) -> dict[str, int]:
    """How many rows of a released table are in each cell."""
    frame = pl.read_csv(io.BytesIO(data), infer_schema_length=0)
    return {"|".join(map(str, key)): len(part) for key, part in frame.partition_by(frame.columns, as_dict=True).items()}


def counts_or_zero(names: int) -> Callable[[bytes], dict[str, int]]:
    """The counts of all cells of so many columns of two values."""
    import itertools

    cells = {"|".join(c): 0 for c in itertools.product("ab", repeat=names)}
    return lambda data: {**cells, **cells_of(data)}


def synthetic(method: str, names: str, rows: Rows, drawn: int, *faults: Fault, **keys: Any) -> Audit:
    """An audit of the synthetic rows that are drawn from a few rows of two-valued columns."""
    plan = Plan.from_plain(
        {
            "epsilon": 1.0,
            "invalid": "replace",
            "column": [{"name": n, "kind": "category", "domain": ["a", "b"], "missing": "refuse"} for n in names],
        }
    )
    target = names[0] if method == "marginals" else None
    chosen = SynthesisParameters(method=method, target=target, rows=drawn)

    def made(times: float) -> Work:
        return synthesis_work(plan, chosen, Decimal(str(times)), Decimal(0), len(rows), "csv")

    sound = sides_of(made, rows, emptied(rows), plan, counts_or_zero(len(names)))

    def outputs(gone: bool, samples: int, fault: Fault) -> list[Told]:
        with pytest.MonkeyPatch.context() as patch:  # fits are post-processing: few rounds serve an audit
            for place in (mst, synthesis):
                patch.setattr(place, "fitted", lambda *a, **k: fit.fitted(*a, **{**k, "rounds": 3}))
            return [{k: v for k, v in told.items() if k.startswith("/file")} for told in sound(gone, samples, fault)]

    samples = {"marginals": 1_600, "mst": 2_000, "aim": 800}[method]
    return Audit(f"synthesize: {method}", ONE, claim_of(made(1.0)), samples, outputs, faults, **keys)


LONE = [("b", "b"), *[("a", "a")] * 3]
SYNTHETIC = (
    synthetic("marginals", "uv", LONE, 400, HALF, drawn_at(4), least=0.1),
    synthetic("mst", "uv", LONE, 400, drawn_at(8)),
    synthetic("aim", "uv", LONE, 400, drawn_at(8)),
)
