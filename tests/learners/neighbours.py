"""Neighbours by replacement: one row becomes another valid row. That costs twice what emptying a row costs at most."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

Asked = Sequence[tuple[Sequence[int], int, float]]
"""What a fit asked for: exact answer, sensitivity and share of ε of each query."""

MOST = 12
"""Rows that a row is replaced by: all of them, or as many spread over the list."""


def replaced(tables: Mapping[tuple[int, ...], Asked], records: int) -> Iterator[tuple[Asked, Asked]]:
    """Yield what is asked of each pair of tables that differ in one row, empty in neither.

    Args:
        tables: what is asked of every table, by the numbers of its rows; the number ``records`` is the empty row.
        records: how many rows there are to choose from.
    """
    step = max(1, records // MOST)
    for chosen, one in tables.items():
        for i, row in enumerate(chosen):
            for other in range(row % step, row, step) if row < records else ():
                yield one, tables[(*chosen[:i], other, *chosen[i + 1 :])]


def most_spent(pairs: Iterator[tuple[Asked, Asked]], is_choice: Callable[[Sequence[int], int], bool]) -> float:
    """Return the most that a pair spends of ε, by the sensitivities that were declared.

    Of a vector with noise it is the L1 distance; of a choice of the least or largest (report-noisy-max) it is how far
    its scores move apart.
    """
    largest = 0.0
    for one, other in pairs:
        spent = 0.0
        for (values, sensitivity, share), (instead, *rest) in zip(one, other, strict=True):
            assert rest == [sensitivity, share], "a query's noise depends on the rows"
            moved = [a - b for a, b in zip(values, instead, strict=True)]
            far = max(0, *moved) - min(0, *moved) if is_choice(values, sensitivity) else sum(map(abs, moved))
            spent += share * far / sensitivity
        largest = max(largest, spent)
    return largest
