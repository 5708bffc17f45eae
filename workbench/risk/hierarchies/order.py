"""Groups of neighbours in an order: primary, secondary → primary - secondary → … → *."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workbench.params import ParameterError, Parameters, integer, texts
from workbench.risk.hierarchies.builder import Builder, in_order


@dataclass(frozen=True, kw_only=True)
class Order(Parameters):
    """How many neighbours a group has, and the order."""

    size: int = integer(default=2, at_least=2, upto=10_000, help="how many groups of a level the next one joins")
    order: tuple[str, ...] | None = texts(
        default=None, help="the values in their order", empty="numbers by size, other values by the alphabet"
    )


def _levels(given: Order, values: Sequence[str]) -> list[Sequence[str]]:
    order = list(given.order) if given.order is not None else in_order(values)
    place = {value: rank for rank, value in enumerate(order)}
    unknown = [value for value in values if value not in place]
    if unknown:
        raise ParameterError(f"the value {unknown[0]!r} is not in the order", "order", "name every value once")
    out, size = [], given.size
    while size < len(order):
        out.append([_label(order, place[value] // size * size, size) for value in values])
        size *= given.size
    return list(out)


def _label(order: Sequence[str], first: int, size: int) -> str:
    last = min(first + size, len(order)) - 1
    return order[first] if first == last else f"{order[first]} - {order[last]}"


ORDER = Builder(
    name="order",
    title="groups in order",
    help="neighbours in an order are joined into groups, and groups into larger ones",
    parameters=Order,
    levels=_levels,
)
