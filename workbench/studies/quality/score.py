"""What a score of released rows is: 1 at best, beside what held-out real rows reach."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from workbench.signals.cancel import CancelToken
from workbench.studies.quality.tables import Compared


@dataclass(frozen=True, slots=True)
class Detail:
    """The score of one column, pair or table.

    Attributes:
        score: 1 at best; NaN where there is none.
        counts: whether it is part of the mean.
    """

    columns: tuple[str, ...]
    metric: str
    score: float
    counts: bool = True


@dataclass(frozen=True)
class Found:
    """What was found of a release. Private.

    Attributes:
        value: the score of the release; NaN where it has none.
        like: the score of as many of its rows as there are held-out real rows.
        reached: the score of the held-out real rows.
        level: the score of rows that show nothing.
        details: of what it is the mean.
        facts: other figures, by name.
        words: what it is about, where the title does not say.
    """

    value: float
    like: float
    reached: float
    level: float = 0.0
    details: tuple[Detail, ...] = ()
    facts: Mapping[str, float] = field(default_factory=dict)
    words: str = ""

    @property
    def share(self) -> float:
        """The score as a share of what held-out real rows reach; NaN where these reach nothing."""
        best = self.reached - self.level
        return max(self.like - self.level, 0.0) / best if best > 0 else math.nan


@dataclass(frozen=True, kw_only=True)
class Score:
    """One way to score released rows.

    Attributes:
        found: computes it; ``None`` where it does not apply.
    """

    name: str
    title: str
    help: str
    found: Callable[[Compared, CancelToken], Found | None]


def mean_of(scores: Sequence[float]) -> float:
    """Return the mean of the scores that there are; NaN without one."""
    known = [score for score in scores if not math.isnan(score)]
    return sum(known) / len(known) if known else math.nan
