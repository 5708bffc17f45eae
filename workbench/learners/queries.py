"""Integer-vector queries: sensitivity and share of ε in one frozen value, and their exact answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.data.schema import Attribute
from workbench.learners.encoding import blocks, numbers_on_grid
from workbench.params import ParameterError
from workbench.privacy.central.share import QueryEvent, Share
from workbench.privacy.central.sums import histogram, moment_sums


@dataclass(frozen=True)
class Query:
    """One integer-vector query."""

    label: str  # its name in events and files
    form: str  # `sizes` (of the classes), `histogram` (of codes, or of present and missing) or `moments`
    column: int  # index of the attribute; −1 for the class sizes
    length: int  # how many integers
    sensitivity: int  # L1 sensitivity of the vector under zero-out neighbours, which no L2 one is above; K for moments
    share: Share | None  # its share of ε or of ρ; `None` without noise
    per_class: bool = False  # whether the squares of moments are summed for each class

    @property
    def variance(self) -> float:
        """Variance of the noise of each integer, in units of the squared sensitivity."""
        return 0.0 if self.share is None else self.share.variance(self.sensitivity) / self.sensitivity**2


def exact_answers(
    queries: Sequence[Query],
    columns: NDArray[np.float64],
    classes: NDArray[np.int64],
    attributes: Sequence[Attribute],
    count: int,
) -> list[int]:
    """Return the exact integers of queries, one after another.

    Args:
        queries: the queries.
        columns: checked rows (n, d), none of them empty.
        classes: their class codes (n,).
        attributes: public facts about the columns.
        count: number of declared classes.
    """
    of_moments = [query for query in queries if query.form == "moments"]
    sums = iter(_moments(of_moments, columns, classes, attributes, count))
    found: list[int] = []
    for query in queries:
        if query.form == "sizes":
            found += histogram(np.zeros(len(classes), dtype=np.int64), classes, count, 1)
        elif query.form == "histogram":
            column = columns[:, query.column]
            codes = np.isnan(column) if attributes[query.column].numeric else column
            found += histogram(codes.astype(np.int64), classes, count, query.length // count)
        else:
            values, complements = next(sums)
            found += values + (complements if query.per_class else [sum(complements)])
    return found


def _moments(
    queries: Sequence[Query],
    columns: NDArray[np.float64],
    classes: NDArray[np.int64],
    attributes: Sequence[Attribute],
    count: int,
) -> list[list[list[int]]]:
    """Return for each query of moments Σi of each class, and Σt of each class."""
    asked, sizes = [query.column for query in queries], np.array([query.sensitivity for query in queries])
    sums = np.zeros((2, count, len(queries)), dtype=np.int64)
    for block in blocks(len(columns)):
        values = columns[block][:, asked]
        cells = numbers_on_grid([attributes[j] for j in asked], values, sizes)
        sums += moment_sums(cells, ~np.isnan(values), classes[block], count, sizes)
    plain: list[list[list[int]]] = sums.transpose(2, 0, 1).tolist()
    return plain


def events(queries: Sequence[Query]) -> tuple[QueryEvent, ...]:
    """Return one cost event a query; none without noise."""
    return tuple(q.share.event(q.label) for q in queries if q.share is not None)


def checked_whole_numbers(answers: Mapping[str, Any], lengths: Mapping[str, int]) -> dict[str, list[int]]:
    """Return the answers of a file by label, after checking how many whole numbers each holds.

    Raises:
        ParameterError: they are not those of these queries, or not whole numbers of 64 bits.
    """
    if set(answers) != set(lengths):
        raise ParameterError("the answers do not match this model's queries", "the model")
    for label, length in lengths.items():
        vector = answers[label]
        whole = isinstance(vector, list) and len(vector) == length and set(map(type, vector)) <= {int}
        if not whole or max(map(abs, vector), default=0) >= 2**63:
            raise ParameterError(f"the answer is not {length} whole numbers", label)
    return dict(answers)
