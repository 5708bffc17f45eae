"""Forecast what the draft plan does to each protected column, at the shares it has now."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import TYPE_CHECKING

from workbench.data.schema import OWN_VALUE
from workbench.gui.session.draft import DraftColumn
from workbench.gui.style.language import tr, tr_sentence
from workbench.gui.widgets.formatting import half_width, plain, share_half_width
from workbench.jobs import CancelToken
from workbench.sanitize.utility_summary import (
    EVENLY,
    NORMAL_95,
    kept_words,
    little_better_than_constant,
    loses_relations,
    statistic_is_noise,
)

if TYPE_CHECKING:
    from workbench.data.columns.grid import Grid

PAINTED = 0.05
"""Seconds after which an edit is painted: each call of the paint would wait for the interpreter while hundreds of
columns are forecast, and the next step of a drag makes this forecast needless."""

BARE = 0.05  # part of a constant answer's error below which nearly every value leaves as it is
BARS = 41  # most bars of an example


@dataclass(frozen=True)
class Candidate:
    """One mechanism that fits an attribute."""

    name: str  # in a plan
    title: str  # in the literature
    error: float  # expected absolute error in the attribute's unit; for names the probability of a change
    # Standard error of the unbiased mean (of names: of a share) over the table's rows; ``None`` where there is none.
    statistic: float | None = None
    kept: float = 1.0  # the part of a correlation with another column that is left, of evenly spread values


@dataclass(frozen=True)
class Example:
    """What one possible value can become under the mechanism in use; no row was read for it."""

    given: str  # the value, as text: one a third along the range, or the first name
    answers: tuple[str, ...]  # what each bar shows: an answer, or the least and the greatest of several
    chances: tuple[float, ...]  # the chance of one answer, on average over those of the bar
    at: int  # the bar in which the value itself lies


@dataclass(frozen=True)
class Outlook:
    """What a protected column's share buys; nothing of it was read from the rows."""

    column: DraftColumn  # the draft it is about
    share: Decimal  # the share of ε it is about
    candidates: tuple[Candidate, ...]  # every mechanism that fits, the advisor's choice first
    constant_error: float  # the expected error of always giving the same answer
    constant: str  # that answer, as text
    rows: int  # number of rows that a mean or a share is over
    capped: float | None  # ε of the largest table, where the share exceeds it; else ``None``
    example: Example | None = None  # what one value can become; ``None`` of names too many to draw

    @property
    def used(self) -> Candidate:
        chosen = (c for c in self.candidates if c.name == self.column.mechanism)
        return next(chosen, self.candidates[0])

    @property
    def advised(self) -> bool:
        return self.used.name == self.candidates[0].name

    @property
    def for_statistics(self) -> bool:
        """Whether means and counts matter, and not how near one value is."""
        return self.column.purpose == "statistics"

    @property
    def useless(self) -> bool:
        """Whether a constant answer, which costs nothing, is as near as what the column is for, or all but."""
        if not self.for_statistics:
            return little_better_than_constant(self.used.error, self.constant_error)
        return statistic_is_noise(self.used.statistic, self.constant_error)

    @property
    def faded(self) -> bool:
        """Whether its single values matter, and most of its relations with other columns are lost."""
        return loses_relations(self.used.kept, self.column.purpose)

    @property
    def faded_words(self) -> str:
        kept = tr_sentence(kept_words(self.used.kept))
        return f"{tr('Its relations with other columns shrink to {kept}.', kept=kept)} {tr_sentence(EVENLY)}"

    @property
    def statistics_help(self) -> bool:
        """Whether the mean or the shares of the column would say something where single values do not."""
        return not all(statistic_is_noise(c.statistic, self.constant_error) for c in self.candidates)

    @property
    def two_answers(self) -> bool:
        """Whether a number is released as one of its two bounds, which shows its mean and nothing else."""
        chances = self.example.chances if self.example is not None and self.column.numeric else ()
        ends = chances[:-1] if self.may_miss else chances
        return len(ends) > 2 and not any(ends[1:-1])

    @property
    def may_miss(self) -> bool:
        """Whether a missing value is one more answer."""
        return self.column.missing == OWN_VALUE

    @property
    def noise(self) -> float | None:
        """The error that the column's purpose asks about, as a part of that of a constant answer."""
        error = self.used.statistic if self.for_statistics else self.used.error
        return None if error is None else error / (self.constant_error or 1.0)

    @property
    def useless_words(self) -> str:
        if self.used.error > self.constant_error:
            return tr("closer to the truth")
        same = self.used.error == self.constant_error
        return tr("as close to the truth") if same else tr("about as close to the truth")

    @property
    def bare(self) -> bool:
        """Whether nearly every value leaves as it is: the error is small beside that of knowing nothing."""
        return self.used.error < BARE * self.constant_error

    def in_words(self, error: float) -> str:
        """Return the mean error of one value: in the attribute's unit, or as a share of changed values."""
        if not self.column.numeric:
            return tr("{percent} % changed", percent=plain(round(100 * error, 1)))
        return tr("off by {error}", error=self._measured(error))

    def _measured(self, length: float) -> str:
        text = half_width(length)
        return tr("{length} days", length=text) if self.column.kind == "date" else text

    def statistic_in_words(self, statistic: float | None) -> str:
        """Return half of the 95 % interval of a mean or a share over the table's rows, as everywhere after a ±."""
        if statistic is None:
            return tr("no unbiased mean") if self.column.numeric else tr("no unbiased shares")
        if not self.column.numeric:
            return tr("shares ± {width} %", width=share_half_width(NORMAL_95 * statistic))
        return tr("mean ± {width}", width=self._measured(NORMAL_95 * statistic))

    def other(self, candidate: Candidate) -> str:
        """Return the error that the column's purpose does not ask about, in words."""
        one = tr("one value {error}", error=self.in_words(candidate.error))
        return one if self.for_statistics else self.statistic_in_words(candidate.statistic)

    def relevant(self, candidate: Candidate) -> str:
        """Return the error that the column's purpose asks about, in words."""
        return self.statistic_in_words(candidate.statistic) if self.for_statistics else self.in_words(candidate.error)


def outlooks(
    wanted: tuple[tuple[DraftColumn, Decimal], ...], cancel: CancelToken, rows: int = 1
) -> tuple[Outlook, ...]:
    """Return the outlook of each column at its share; runs in a worker."""
    out = []
    for column, share in wanted:
        cancel.check()
        out.append(_outlook(column, share, rows))
    return tuple(out)


def _outlook(column: DraftColumn, share: Decimal, rows: int) -> Outlook:
    from workbench.privacy.local.mechanism_table import EPSILON_CAP
    from workbench.sanitize.calibrated_columns import candidates, choosable_mechanisms

    made = column.column().grid()
    options = choosable_mechanisms(candidates(made.cells, share, column.purpose), column.purpose, column.mechanism)
    names = [m.name for m, _ in options]
    used = column.mechanism if column.mechanism in names else names[0]
    return Outlook(
        column=column,
        share=share,
        candidates=tuple(
            Candidate(
                m.name,
                m.title,
                f.expected_absolute_error,
                None if f.statistic_sd is None else f.statistic_sd / max(rows, 1) ** 0.5,
                f.relations_kept,
            )
            for m, f in options
        ),
        constant_error=options[0][1].constant_error,
        constant=made.labels[len(made.labels) // 2 if column.numeric else 0],
        rows=rows,
        capped=EPSILON_CAP if share > Decimal(EPSILON_CAP) else None,
        example=_example(made, used, share, numeric=column.numeric),
    )


def _example(made: Grid, mechanism: str, share: Decimal, *, numeric: bool) -> Example | None:
    import numpy as np

    from workbench.sanitize.calibrated_columns import answer_chances

    cells = made.cells
    if not numeric and cells.size > BARS:
        return None
    cell = cells.size // 3 if numeric else 0
    chances = answer_chances(mechanism, cells, share, cell)
    edges = np.unique(np.linspace(0, cells.size, min(cells.size, BARS) + 1).round().astype(int))
    answers, grouped = [], []
    for low, high in pairwise(edges.tolist()):
        # A bar is of the cells that are answered at all: Duchi's mechanism answers two, however fine the grid is.
        given = low + np.flatnonzero(chances[low:high])
        first, last = (low, high - 1) if not given.size else (int(given[0]), int(given[-1]))
        answers.append(_between(made.labels[first], made.labels[last]))
        grouped.append(float(chances[low:high].sum() / max(given.size, 1)))
    if cells.missing:
        answers, grouped = [*answers, tr("missing")], [*grouped, float(chances[cells.size])]
    at = int(np.searchsorted(edges, cell, side="right")) - 1
    return Example(made.labels[cell], tuple(answers), tuple(grouped), at)


def _between(least: str, greatest: str) -> str:
    return least if least == greatest else f"{least} – {greatest}"
