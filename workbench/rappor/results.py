"""Results as a table: one line for each string that least squares kept, the most frequent first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from workbench.params import Parameters, choice, real
from workbench.rappor.decode import ALPHA, Decoded
from workbench.rappor.files import csv_bytes

HEADER = ("string", "estimate", "std_error", "p_value", "significant")


@dataclass(frozen=True, kw_only=True)
class Judged(Parameters):
    """What counts as found."""

    correction: str = choice(
        choices=("bonferroni", "fdr"),
        default="bonferroni",
        symbol="NAME",
        help="bonferroni, or fdr (Benjamini and Hochberg)",
    )
    alpha: float = real(
        default=ALPHA,
        above=0,
        below=1,
        symbol="α",
        help="chance of a false discovery, or expected share of them",
    )


def result_bytes(decoded: Decoded, correction: str) -> bytes:
    """Return the results as CSV; ``significant`` is ``true`` or ``false`` under ``correction``."""
    significant = decoded.significant(correction)
    rows = (
        (
            decoded.strings[at],
            f"{decoded.estimate[at]:.10g}",
            f"{decoded.std_error[at]:.6g}",
            f"{decoded.p_value[at]:.6g}",
            "true" if significant[at] else "false",
        )
        for at in decoded.order().tolist()
    )
    return csv_bytes([HEADER, *rows])


def summary(decoded: Decoded, correction: str) -> dict[str, Any]:
    """Return what was found as JSON holds it."""
    significant = decoded.significant(correction)
    low, high = decoded.interval()
    kept = decoded.order()
    return {
        "reports": decoded.reports,
        "candidates": len(decoded.strings),
        "correction": correction,
        "alpha": decoded.alpha,
        "detected": int(significant.sum()),
        "strings": [
            {
                "string": decoded.strings[at],
                "estimate": float(decoded.estimate[at]),
                "low": float(low[at]),
                "high": float(high[at]),
                "std_error": float(decoded.std_error[at]),
                "p_value": float(decoded.p_value[at]),
            }
            for at in kept.tolist()
            if significant[at]
        ],
        "explained": float(decoded.estimate[kept].sum()),
        "unexplained": decoded.unexplained,
        "unexplained_std_error": decoded.unexplained_error,
        "r_squared": decoded.r_squared,
    }
