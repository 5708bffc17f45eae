"""Every score of a release beside what held-out real rows reach. Computed from rows: private."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from workbench.data.table import Table
from workbench.params import InputError, Parameters, integer, text
from workbench.sanitize.plan import Plan
from workbench.signals import NEVER, CancelToken, Emit, Progress, ignore
from workbench.studies.quality import pairs, propensity, shapes, training, way_tables
from workbench.studies.quality.score import Detail, Found, Score, mean_of
from workbench.studies.quality.tables import Compared, read_compared

SCORES: tuple[Score, ...] = (
    shapes.SCORE,
    pairs.SCORE,
    way_tables.TWO,
    way_tables.THREE,
    propensity.SCORE,
    training.SCORE,
)
OF_SDMETRICS = (shapes.SCORE.name, pairs.SCORE.name)  # their mean is what sdmetrics calls the overall score


@dataclass(frozen=True, kw_only=True)
class QualityRequest(Parameters):
    """What is asked of a release."""

    target: str | None = text(
        default=None, symbol="COL", help="also train a model on the released rows to predict this column"
    )
    seed: int = integer(
        default=0, at_least=0, upto=2**63 - 1, symbol="N", help="seed of the choice of the held-out half"
    )


@dataclass(frozen=True, eq=False)
class Quality:
    """The scores of a release. Private."""

    compared: Compared
    found: tuple[tuple[Score, Found], ...]

    @property
    def overall(self) -> float:
        """The mean of shapes and pair trends, as sdmetrics has it."""
        return mean_of([found.value for score, found in self.found if score.name in OF_SDMETRICS])

    @property
    def comparison_words(self) -> str:
        """What the scores are compared with, in words."""
        rows = f"{self.compared.real.count:,}"
        if self.compared.held_out:
            return f"the {rows} rows of the control set score against the original"
        return f"one half of the original ({rows} rows) scores against the other"

    def to_plain(self) -> dict[str, Any]:
        """Return it as plain values; ``None`` where there is no figure."""
        compared = self.compared
        plain: dict[str, Any] = {
            "rows": {
                "original": compared.original.count,
                "released": compared.released.count,
                "held_out": compared.real.count,
            },
            "overall": _figure(self.overall),
            "held_out": "control" if compared.held_out else "half of the original",
            "scores": {
                score.name: {
                    "value": _figure(found.value),
                    "held_out": _figure(found.reached),
                    "level": found.level,
                    "share": _figure(found.share),
                    **{name: _figure(value) for name, value in found.facts.items()},
                    **({"words": found.words} if found.words else {}),
                }
                for score, found in self.found
            },
            "columns": [_detail(d) for d in self.details(shapes.SCORE.name)],
            "pairs": [_detail(d) for d in self.details(pairs.SCORE.name)],
            "left_out": dict(compared.left_out),
            "target": compared.target,
        }
        return plain

    def details(self, name: str) -> tuple[Detail, ...]:
        """Return of what a score is the mean."""
        return next((found.details for score, found in self.found if score.name == name), ())


def quality(
    original: Table,
    released: Table,
    control: Table | None = None,
    *,
    plan: Plan | None = None,
    request: QualityRequest | None = None,
    emit: Emit = ignore,
    cancel: CancelToken = NEVER,
) -> Quality:
    """Return every score of released rows; arguments as :func:`workbench.studies.quality.tables.read_compared`.

    Raises:
        InputError: the tables cannot be compared.
    """
    request = request or QualityRequest()
    if control is not None and control.frame.equals(original.frame):
        what = "the control set is the same as the original"
        raise InputError(what, control.source, "give rows of people who were not released", field="control")
    compared = read_compared(original, released, control, plan, request.target, request.seed, cancel)
    found = []
    for done, score in enumerate(SCORES):
        cancel.check()
        emit(Progress(done, len(SCORES), score.title))
        one = score.found(compared, cancel)
        if one is not None:
            found.append((score, one))
    emit(Progress(len(SCORES), len(SCORES), ""))
    return Quality(compared, tuple(found))


def _detail(detail: Detail) -> Mapping[str, Any]:
    names = {"column": detail.columns[0]} if len(detail.columns) == 1 else {"columns": list(detail.columns)}
    return {**names, "metric": detail.metric, "score": _figure(detail.score), "counts": detail.counts}


def _figure(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
