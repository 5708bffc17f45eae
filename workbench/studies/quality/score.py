"""What a score of released rows is: 1 at best, beside what held-out real rows reach."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from workbench.signals.cancel import CancelToken
from workbench.studies.quality.tables import Compared


@dataclass(frozen=True, slots=True)
class Detail:
    """The score of one column, pair or table."""

    columns: tuple[str, ...]
    metric: str
    score: float  # 1 at best; NaN where there is none
    counts: bool = True  # whether it is part of the mean


@dataclass(frozen=True)
class Found:
    """What was found of a release. Private."""

    value: float  # the score of the release; NaN where it has none
    like: float  # the score of as many of its rows as there are held-out real rows
    reached: float  # the score of the held-out real rows
    level: float = 0.0  # the score of rows that show nothing
    details: tuple[Detail, ...] = ()  # of what it is the mean
    facts: Mapping[str, float] = field(default_factory=dict)  # other figures, by name
    words: str = ""  # what it is about, where the title does not say

    @property
    def share(self) -> float:
        """The score as a share of what held-out real rows reach; NaN where these reach nothing."""
        best = self.reached - self.level
        return max(self.like - self.level, 0.0) / best if best > 0 else math.nan


@dataclass(frozen=True, kw_only=True)
class Score:
    """One way to score released rows."""

    name: str
    title: str
    help: str
    found: Callable[[Compared, CancelToken], Found | None]  # computes it; `None` where it does not apply


def mean_of(scores: Sequence[float]) -> float:
    """Return the mean of the scores that there are; NaN without one."""
    known = [score for score in scores if not math.isnan(score)]
    return sum(known) / len(known) if known else math.nan
