"""The tables of ``bench_synthesis``, with public bounds and domains that nobody read off the rows."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from workbench.data.read import read_table
from workbench.data.samples.sample_tables import ZIPS
from workbench.data.table import Table
from workbench.sanitize.plan import Column, Plan
from workbench.studies.regimes import StudyData
from workbench.synth.columns import CoarseColumn, coarse_columns

HERE = Path(__file__).parent
sys.path += [str(HERE.parent / "learners"), str(HERE.parent / "studies")]

import classification_tables  # noqa: E402
from test_curve_study import DIABETES_BOUNDS as BOUNDS  # noqa: E402

LARGE_ROWS = 50_000


@dataclass(frozen=True, eq=False)
class Subject:
    """A table as the study reads it; ``splits`` of them are the benchmark's."""

    data: StudyData
    splits: int

    @property
    def everything(self) -> tuple[Column, ...]:
        """The attributes and, last, the target."""
        return (*self.data.columns, self.data.target)

    @cached_property
    def columns(self) -> tuple[CoarseColumn, ...]:
        """The same with 16 public cuts."""
        return coarse_columns([c.facts() for c in self.everything])

    def coarse(self, fine: NDArray[Any]) -> NDArray[np.int32]:
        return np.column_stack([c.coarse(f) for c, f in zip(self.columns, fine.T, strict=True)])

    def matrix(self, fine: NDArray[Any]) -> NDArray[np.float64]:
        """Numbers as numbers, categories one column for each value but the first."""
        parts = []
        for column, cells in zip(self.columns[:-1], fine.T, strict=False):
            cells = cells.astype(np.int64)
            parts.append(column.grid.numbers_of(cells)[:, None] if column.ordered else np.eye(column.cuts)[cells, 1:])
        return np.column_stack(parts)


def diabetes(shared: Path) -> Subject:
    numbers = [Column(name=n, kind=k, lower=float(a), upper=float(b)) for n, (k, a, b) in BOUNDS.items()]
    plan = Plan(epsilon=1, columns=(*numbers, Column(name="Outcome", kind="category", domain=("0", "1"))))
    return Subject(StudyData.read(read_table(shared / "diabetes.csv"), plan, "Outcome"), 20)


def iris(shared: Path) -> Subject:
    return Subject(_of_arrays(classification_tables.iris()), 20)


def breast_cancer(shared: Path) -> Subject:
    return Subject(_of_arrays(classification_tables.breast_cancer()), 20)


def people(shared: Path) -> Subject:
    plan = Plan(
        epsilon=1,
        columns=(
            *(Column(name=n, action="drop") for n in ("id", "name")),
            Column(name="age", kind="integer", lower=0.0, upper=120.0),
            Column(name="sex", kind="category", domain=("female", "male")),
            Column(name="zip", kind="category", domain=ZIPS),
            Column(name="income", kind="integer", lower=0.0, upper=150_000.0),
            Column(name="label", kind="category", domain=("no", "yes")),
        ),
    )
    return Subject(StudyData.read(read_table("sample:people"), plan, "label"), 20)


def large(shared: Path) -> Subject:
    """50,000 generated rows of 15 columns, 6 of them categories: three hidden causes behind everything."""
    random = np.random.default_rng(20_261_122)
    hidden = random.normal(size=(LARGE_ROWS, 3))
    score = 1.2 * hidden[:, 0] - 0.9 * hidden[:, 1] + 0.7 * hidden[:, 0] * hidden[:, 2]
    target = np.where(score + random.logistic(size=LARGE_ROWS) > 0.3, "yes", "no")
    made: dict[str, NDArray[Any]] = {}
    columns: list[Column] = []
    for j in range(9):
        weights = random.normal(size=3) * (0.4, 0.8, 1.2)[j % 3]
        raw = hidden @ weights + random.normal(size=LARGE_ROWS)
        if j % 3 == 1:  # skewed, like an income
            made[f"amount {j}"] = np.clip(np.exp(0.6 * raw) * 20, 0, 400).round().astype(int)
            columns.append(Column(name=f"amount {j}", kind="integer", lower=0.0, upper=400.0))
        else:
            made[f"score {j}"] = np.clip(50 + 12 * raw, 0, 100).round().astype(int)
            columns.append(Column(name=f"score {j}", kind="integer", lower=0.0, upper=100.0))
    for j, size in enumerate((2, 3, 5, 8, 12)):
        pull = hidden @ random.normal(size=(3, size)) + random.gumbel(size=(LARGE_ROWS, size)) + np.arange(size) * -0.3
        made[f"group {j}"] = np.char.add("g", pull.argmax(axis=1).astype(str))
        columns.append(Column(name=f"group {j}", kind="category", domain=tuple(f"g{v}" for v in range(size))))
    made["target"] = target
    columns.append(Column(name="target", kind="category", domain=("no", "yes")))
    frame = pl.DataFrame(made).cast(pl.String)
    return Subject(StudyData.read(Table(frame, "large.csv"), Plan(epsilon=1, columns=tuple(columns)), "target"), 5)


def _of_arrays(table: classification_tables.Table) -> StudyData:
    names = [a.name for a in table.attributes]
    frame = pl.DataFrame(table.X, schema=names).cast(pl.String).with_columns(y=pl.Series(table.y).cast(pl.String))
    columns = [Column(name=a.name, kind="real", lower=a.lower, upper=a.upper, cells=101) for a in table.attributes]
    goal = Column(name="y", kind="category", domain=tuple(map(str, sorted(set(table.y)))))
    return StudyData.read(Table(frame, "bench.csv"), Plan(epsilon=1, columns=(*columns, goal)), "y")


SUBJECTS: dict[str, Callable[[Path], Subject]] = {
    "diabetes": diabetes,
    "iris": iris,
    "breast cancer": breast_cancer,
    "people": people,
    "50,000 x 15": large,
}
