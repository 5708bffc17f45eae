"""The parameters of DBSCAN on a grid: its budget, the cells, and from when on a cell is dense."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.params import Parameters, choice, integer, real

NEAREST, APART = "nearest", "apart"


@dataclass(frozen=True, kw_only=True)
class DbscanParameters(Parameters):
    """Budget, cells and density. The defaults were chosen on generated tables and scikit-learn's."""

    epsilon: float | None = real(
        default=None,
        at_least=1e-9,
        upto=1e6,
        symbol="ε",
        title="privacy budget",
        help="how much the groups may reveal about one row; smaller is more private and less accurate",
    )
    parts: int | None = integer(
        default=None,
        at_least=2,
        upto=64,
        title="parts of a range",
        help="into how many parts the bounds of each number are cut; by default more where ε and the rows allow it",
    )
    min_rows: int | None = integer(
        default=None,
        at_least=1,
        upto=1_000_000_000,
        title="rows of a dense cell",
        help="least rows of a cell that belongs to a group; never below what noise alone reaches",
    )
    outliers: str = choice(
        choices=(NEAREST, APART),
        default=NEAREST,
        title="rows in no dense cell",
        help="they join the nearest group, or form group -1",
        advanced=True,
    )
