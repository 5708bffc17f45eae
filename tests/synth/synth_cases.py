"""Small columns, rows and settings for the tests of synthesis."""

from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
from asks import ask_by
from numpy.typing import NDArray

from workbench.data.schema import Attribute
from workbench.data.table import Table
from workbench.privacy.central.central_noise import CentralNoise
from workbench.privacy.central.laplace import StudyNoise
from workbench.privacy.entropy import SeededEntropy
from workbench.synth import synthesiser
from workbench.synth.base import Questions, Setting, Synthesiser, events
from workbench.synth.columns import CoarseColumn, CodedRows, coarse_columns
from workbench.synth.synthesis import SyntheticRows, synthesised


def names_of(*sizes: int, ordered: bool = False, missing: str = "refuse") -> tuple[CoarseColumn, ...]:
    """Columns of so many coarse cells each: categories, or whole numbers."""
    return coarse_columns(
        [
            Attribute(name=f"c{i}", kind="integer", lower=0.0, upper=float(size - 1), missing=missing)
            if ordered
            else Attribute(name=f"c{i}", kind="category", domain=tuple(f"v{k}" for k in range(size)), missing=missing)
            for i, size in enumerate(sizes)
        ],
        256,
    )


def setting_of(columns: tuple[CoarseColumn, ...], rows: int, epsilon: str = "1", target: int | None = 0) -> Setting:
    return Setting(columns, target, rows, Decimal(epsilon))


def rows_of(codes: Any, present: Any = None) -> CodedRows:
    found = np.asarray(codes, dtype=np.int32)
    return CodedRows(found, np.ones(len(found), bool) if present is None else np.asarray(present, bool))


def dependent_rows(count: int, sizes: tuple[int, ...], seed: int = 3) -> NDArray[np.int32]:
    """Rows in a chain: each column follows the one before in seven cases of ten."""
    generator = np.random.default_rng(seed)
    out = np.zeros((count, len(sizes)), dtype=np.int32)
    for j, size in enumerate(sizes):
        free = generator.integers(0, size, count)
        follows = generator.random(count) < 0.7
        out[:, j] = np.where(follows, out[:, j - 1] % size, free) if j else free
    return out


def run(method: str, setting: Setting, rows: CodedRows, drawn: int, seed: int = 1, **keys: Any) -> SyntheticRows:
    noise, found = StudyNoise(np.random.default_rng(seed)), synthesiser(method)
    ask = ask_by(noise, events(found.queries(setting)), SeededEntropy(seed))
    return synthesised(found, setting, rows, drawn, ask, **keys)


def questions_of(method: Synthesiser, setting: Setting, rows: CodedRows, noise: CentralNoise) -> Questions:
    queries = method.queries(setting)
    return Questions(setting, queries, rows, ask_by(noise, events(queries)))


def table_of(**columns: list[str | None]) -> Table:
    return Table(pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String)), "test.csv")
