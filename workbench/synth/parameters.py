"""The parameters of a synthetic table, besides ε."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.data.impossible_combinations import statements
from workbench.params import Parameters, integer, text
from workbench.synth import AUTO, SYNTHESISERS, synthesiser
from workbench.synth.columns import MOST_CUTS

MOST_ROWS = 10_000_000
_NAMES = [*(method.name for method in SYNTHESISERS), AUTO]


@dataclass(frozen=True, kw_only=True)
class SynthesisParameters(Parameters):
    """The method and the public numbers of a synthetic table."""

    method: str | None = text(
        default=None,
        help=f"{', '.join(_NAMES[:-1])}, or {_NAMES[-1]}: the one with the best forecast, from public facts alone "
        "(default)",
    )
    target: str | None = text(
        default=None,
        title="Target column",
        help='the column to predict from the others (default: the one with role = "target" in the plan)',
    )
    rows: int | None = integer(
        default=None,
        at_least=1,
        upto=MOST_ROWS,
        title="Rows drawn",
        help="number of synthetic rows (default: as many as the table has)",
    )
    cuts: int | None = integer(
        default=None,
        at_least=2,
        upto=MOST_CUTS,
        help="number of equal-width bins of each numeric column (default: 16, fewer for few rows or a small epsilon)",
    )

    impossible: str | None = text(
        default=None,
        help='combinations of values known to be impossible: "sex = male & pregnant = yes; age = 0..15 & '
        'job = retired"',
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.method not in (None, AUTO):
            synthesiser(str(self.method))
        if self.impossible is not None:
            statements(self.impossible)
