"""Every kind of central release passes the same tests: a small case of each."""

import dataclasses
import io
from collections.abc import Sequence
from decimal import Decimal

import polars as pl
import pytest
import toy_kind
from kind_conformance import Case, KindConformance

from workbench.data.columns import values_file
from workbench.data.table import Table
from workbench.privacy.rappor.parameters import RapporParameters
from workbench.rappor.collection import Collection
from workbench.release import kinds
from workbench.release.rappor.rappor_work import rappor_work
from workbench.release.rows_work import rows_work
from workbench.release.statistics.statistics_work import statistics_work
from workbench.release.synthetic.synthesis_work import synthesis_work
from workbench.release.values_work import ValuesOptions, values_work
from workbench.sanitize.plan import Plan
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit
from workbench.statistics.release_file import FORMATS, decode
from workbench.statistics.request import Request, Statistic
from workbench.synth import fit, mst, synthesis
from workbench.synth.parameters import SynthesisParameters
from workbench.work.ask import Ask
from workbench.work.work import WorkOutput

ROWS = [("999", "b"), ("0", "a"), ("0", "a"), ("4", "a")]
TABLE = Table(pl.DataFrame(ROWS, schema={"x": pl.String, "g": pl.String}, orient="row"), "hostile.csv")
PLAN = Plan.from_plain(
    {
        "epsilon": 1.0,
        "invalid": "replace",
        "column": [
            {"name": "x", "kind": "integer", "lower": 0, "upper": 9},
            {"name": "g", "kind": "category", "domain": ["a", "b"]},
        ],
    }
)


def statistics_case(*figures: Statistic, delta: str = "0", plan: Plan = PLAN, table: Table = TABLE) -> Case:
    def numbers(data: bytes) -> list[float]:
        keys = ("estimate", "low", "high")
        return [v if isinstance(v := r[k], int | float) else -1e30 for r in decode(data, "csv", "file") for k in keys]

    work = statistics_work(Request(figures=figures), plan, 1.0, table.rows, "csv", Decimal(delta))
    return Case(plan, table, work, numbers, FORMATS)


class TestCountsAndHistograms(KindConformance):
    @classmethod
    def case(cls) -> Case:
        return statistics_case(Statistic(statistic="histogram", column="x"), Statistic(statistic="count", by=("g",)))


class TestGaussianMeans(KindConformance):
    @classmethod
    def case(cls) -> Case:
        mean = Statistic(statistic="mean", column="x", by=("g",))
        return statistics_case(mean, Statistic(statistic="sum", column="x"), delta="0.05")

    def test_several_rows_of_a_person_multiply_the_charge(self):  # type: ignore[override]
        """δ does not multiply; see the tests of synthetic releases."""


class TestChoicesAndDraws(KindConformance):
    @classmethod
    def case(cls) -> Case:
        return statistics_case(
            Statistic(statistic="mode", column="g", by=("x",)),
            Statistic(statistic="mode", column="g"),
            Statistic(statistic="quantiles", column="x", by=("g",), at=(0.25, 0.5)),
        )


class TestGaussianTablesAndLines(KindConformance):
    """Margins of three columns, asked for as they serve best, and a regression whose sums are asked by themselves."""

    delta, on = "0.05", ("x", "y")

    @classmethod
    def case(cls) -> Case:
        numbers = ({"name": n, "kind": "integer", "lower": 0, "upper": 3} for n in "xyz")
        columns = [*numbers, {"name": "g", "kind": "category", "domain": ["a", "b"]}]
        plan = Plan.from_plain({"epsilon": 1.0, "invalid": "replace", "column": columns})
        rows = [("9", "-9", "3", "b"), *[("0", "0", "1", "a")] * 2, ("1", "3", "0", "a")]
        table = Table(pl.DataFrame(rows, schema=dict.fromkeys("xyzg", pl.String), orient="row"), "hostile.csv")
        margins = Statistic(statistic="table", by=("x", "y", "g"), ways=2)
        line = Statistic(statistic="regression", column="z", on=cls.on, by=("g",))
        return statistics_case(margins, line, delta=cls.delta, plan=plan, table=table)

    def test_several_rows_of_a_person_multiply_the_charge(self, tmp_path):
        """δ does not multiply; see the tests of synthetic releases."""
        if self.delta == "0":
            super().test_several_rows_of_a_person_multiply_the_charge(tmp_path)


@pytest.mark.slow
class TestTablesAndLines(TestGaussianTablesAndLines):
    """The same with Laplace noise, and a regression whose rows are spread."""

    delta, on = "0", ("x",)


class Synthetic(KindConformance):
    method = ""

    @pytest.fixture(autouse=True)
    def quick_fits(self, monkeypatch):
        """Fits are post-processing of answers: a few rounds serve."""
        for place in (mst, synthesis):
            monkeypatch.setattr(place, "fitted", lambda *a, **k: fit.fitted(*a, **{**k, "rounds": 3}))

    @classmethod
    def case(cls) -> Case:
        columns = [{"name": n, "kind": "category", "domain": ["a", "b"]} for n in "uvw"]
        plan = Plan.from_plain({"epsilon": 1.0, "invalid": "replace", "column": columns})
        table = Table(pl.DataFrame({n: ["b", "a", "a", "a"] for n in "uvw"}), "hostile.csv")
        chosen = SynthesisParameters(method=cls.method, target="u", rows=400)

        def numbers(data: bytes) -> Sequence[float]:
            cells = pl.read_csv(io.BytesIO(data)).select(cell=pl.concat_str("u", "v", "w"))["cell"]
            return [float((cells == a + b + c).sum()) for a in "ab" for b in "ab" for c in "ab"]

        return Case(plan, table, synthesis_work(plan, chosen, Decimal(1), Decimal(0), 4, "csv"), numbers)


class TestMarginals(Synthetic):
    method = "marginals"


class TestMst(Synthetic):
    method = "mst"


class TestAim(Synthetic):
    method = "aim"


class TestTan(Synthetic):
    method = "tan"


class TestRappor(KindConformance):
    local = True

    @classmethod
    def case(cls) -> Case:
        parameters = RapporParameters(k=8, h=2, m=1, p=0.4, q=0.6, f=0.5)

        def numbers(data: bytes) -> Sequence[float]:
            bits = pl.read_csv(io.BytesIO(data), schema_overrides={"rappor": pl.String})["rappor"]
            return [float(bits.str.slice(i, 1).cast(pl.Int64).sum()) for i in range(8)]

        return Case(PLAN, TABLE, rappor_work(parameters, Collection(column="g"), 4), numbers, {".csv": "csv"})


class TestValues(KindConformance):
    """A value that one row alone holds, and bounds that it alone would widen; most rows pass, so that files hold some.

    δ is so small that it stays below 1/rows for three replaced rows of a person at ε = 1 a row.
    """

    @classmethod
    def case(cls) -> Case:
        rows = [("999", "b"), *[("3", "a")] * 59]
        table = Table(pl.DataFrame(rows, schema={"x": pl.String, "g": pl.String}, orient="row"), "hostile.csv")
        asked = ValuesOptions(category=("g",), number=("x",))

        def numbers(data: bytes) -> list[float]:
            lines = values_file.decode(data, "file")
            counts = {line.value: float(line.count or 0) for line in lines}
            ends = [end for line in lines if line.upper is not None for end in (line.lower or 0.0, line.upper)]
            return [counts.get("a", 0.0), counts.get("b", 0.0), *(ends or [0.0, 0.0])]

        work = values_work(PLAN, asked, Decimal(1), Decimal("1e-5"), len(rows), "csv")
        return Case(PLAN, table, work, numbers)


class TestNoisyRows(KindConformance):
    local = True

    @classmethod
    def case(cls) -> Case:
        def numbers(data: bytes) -> Sequence[float]:
            cells = pl.read_csv(io.BytesIO(data), infer_schema=False)
            return [*(float((cells["x"] == str(v)).sum()) for v in range(10)), float((cells["g"] == "a").sum())]

        work = rows_work(PLAN, PLAN.rows_of(TABLE), "csv")
        return Case(PLAN, TABLE, work, numbers)


class TestToyKind(KindConformance):
    @pytest.fixture(autouse=True)
    def registered(self, monkeypatch):
        monkeypatch.setattr(kinds, "KINDS", (*kinds.KINDS, toy_kind.TOY))

    @classmethod
    def case(cls) -> Case:
        if toy_kind.TOY not in kinds.KINDS:  # in a process of its own, which has no fixtures
            kinds.KINDS = (*kinds.KINDS, toy_kind.TOY)
        work = toy_kind.counting(PLAN, toy_kind.Counting(column="x"), Decimal(1), Decimal(0), len(ROWS), "csv")
        return Case(PLAN, TABLE, work, lambda data: [float(data.split()[1])])


class Understated(TestCountsAndHistograms):
    """Counts every row twice, and says that a row moves them by 1."""

    @classmethod
    def case(cls) -> Case:
        case = super().case()

        def asked(rows: Table, ask: Ask, emit: Emit, cancel: CancelToken) -> dict[str, list[int]]:
            present = 2 * (rows.rows - rows.column("x").null_count())
            return {event.label: ask(event.label, [present], 1) for event in case.work.events}

        return case.of(
            dataclasses.replace(case.work, ask=asked, files=lambda answers, cancel: WorkOutput(b"", answers))
        )


def test_a_sensitivity_that_is_too_small_is_found():
    with pytest.raises(AssertionError):
        Understated().test_emptying_a_row_moves_no_question_farther_than_its_sensitivity()


def test_every_kind_has_a_case(monkeypatch):
    monkeypatch.setattr(kinds, "KINDS", (*kinds.KINDS, toy_kind.TOY))
    cases = [cls for cls in globals().values() if isinstance(cls, type) and cls.__name__.startswith("Test")]
    assert {cls.case().work.kind for cls in cases} == {kind.name for kind in kinds.KINDS}
