"""The contents of a figure as immutable values, without Qt."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, Self

from workbench.params import ParameterError
from workbench.render.palette import STYLES

PRIVATE_BADGE = "private – not for release"


class Figure(Protocol):
    """The attributes that all kinds of figures have."""

    @property
    def title(self) -> str:
        """What it shows, in a few words."""
        ...

    @property
    def badge(self) -> str:
        """Its provenance; empty for public figures."""
        ...


BAND = "mean ± standard error"
"""What every band of repeated figures shows: the mean of the repeats, and one standard error of it to either side."""


@dataclass(frozen=True, slots=True)
class Series:
    """One line with its band."""

    name: str  # the label at the line's end
    style: str  # a key of `workbench.render.palette.STYLES`
    x: tuple[float, ...]  # positions, ascending
    mean: tuple[float, ...]  # the line at each position
    low: tuple[float, ...]  # lower edge of the band at each position; equal to `mean` where there is no band
    high: tuple[float, ...]  # upper edge of the band

    def __post_init__(self) -> None:
        """Refuse what cannot be drawn."""
        _check_style(self.style)
        columns = (self.x, self.mean, self.low, self.high)
        if not self.x or any(len(column) != len(self.x) for column in columns):
            raise ParameterError(
                f"the series {self.name!r} needs as many values as positions, and at least one of each"
            )
        if not all(math.isfinite(v) for column in columns for v in column):
            raise ParameterError(f"the series {self.name!r} has a value that is not a finite number")
        if any(b <= a for a, b in zip(self.x, self.x[1:], strict=False)):
            raise ParameterError(f"the positions of the series {self.name!r} are not in ascending order")

    @classmethod
    def with_errors(cls, name: str, style: str, points: Iterable[tuple[float, float, float]]) -> Self:
        """Make the series of points (position, mean, standard error), whose band is :data:`BAND`."""
        x, mean, error = zip(*points, strict=True)
        low = tuple(m - e for m, e in zip(mean, error, strict=True))
        high = tuple(m + e for m, e in zip(mean, error, strict=True))
        return cls(name, style, x, mean, low, high)


@dataclass(frozen=True, slots=True)
class Baseline:
    """A level that does not depend on ε, drawn across the figure; ``error`` is its standard error, where it has one."""

    name: str
    style: str
    value: float
    error: float | None = None

    def __post_init__(self) -> None:
        """Refuse what cannot be drawn."""
        _check_style(self.style)
        if not math.isfinite(self.value):
            raise ParameterError(f"the baseline {self.name!r} is not a finite number")


@dataclass(frozen=True, slots=True)
class CurveFigure:
    """A metric against ε, or a parameter of the model, on a logarithmic axis."""

    title: str  # what the figure shows, in a few words
    x_label: str  # the horizontal axis with its unit
    y_label: str  # the vertical axis with its unit
    series: tuple[Series, ...]  # the lines
    baselines: tuple[Baseline, ...] = ()  # the levels beside them
    subtitle: str = ""  # how it was made (data, model, repeats)
    badge: str = PRIVATE_BADGE  # the provenance, top right; empty for public figures
    # Ends of the horizontal axis if wider than the points, for a figure that is still being filled.
    span: tuple[float, float] | None = None
    against: str = ""  # the parameter that the horizontal axis has in place of ε; empty where it is ε
    decimals: int = 3  # digits behind the point of the values that are written out
    point: str = "."  # the sign before these digits

    def __post_init__(self) -> None:
        """Refuse what cannot be drawn."""
        if not self.series:
            raise ParameterError("a curve needs at least one series")
        if any(not x > 0 for series in self.series for x in series.x):
            raise ParameterError("a position on a logarithmic axis must be above 0")


@dataclass(frozen=True, slots=True)
class Bar:
    """A share in [0, 1] with its interval; both ends are the share itself where it has none."""

    share: float
    low: float
    high: float

    @classmethod
    def alone(cls, share: float) -> Self:
        """Return a share without an interval."""
        return cls(share, share, share)


@dataclass(frozen=True, slots=True)
class BarsRow:
    """What is beside one name."""

    name: str  # to the left of the bars
    bars: tuple[Bar | None, ...]  # one for each group of the figure, `None` where there is none
    mark: float | None = None  # where a stroke crosses the bars; `None` for nowhere

    def __post_init__(self) -> None:
        """Refuse what cannot be drawn."""
        ends = [end for bar in self.bars if bar is not None for end in (bar.low, bar.share, bar.high)]
        if not all(0 <= end <= 1 for end in (*ends, *(() if self.mark is None else (self.mark,)))):
            raise ParameterError(f"the bars of {self.name!r} are not shares between 0 and 1")


@dataclass(frozen=True, slots=True)
class BarsFigure:
    """Shares as horizontal bars: a row for each name, in it a bar for each group, and a mark across them."""

    title: str  # what the figure shows, in a few words
    groups: tuple[tuple[str, str], ...]  # name and style (a key of `workbench.render.palette.STYLES`) of each group
    rows: tuple[BarsRow, ...]  # from top to bottom
    mark: str = ""  # what the strokes are; empty where there are none
    subtitle: str = ""  # how it was made
    badge: str = PRIVATE_BADGE  # the provenance, top right; empty for public figures

    def __post_init__(self) -> None:
        """Refuse what cannot be drawn."""
        for _, style in self.groups:
            _check_style(style)
        if not self.rows or any(len(row.bars) != len(self.groups) for row in self.rows):
            raise ParameterError("bars need at least one row, and each row a bar for every group")


@dataclass(frozen=True, slots=True)
class FigureKind:
    """A kind of figure that can be drawn."""

    value: type[Figure]  # the class of its values
    module: str  # the file that draws it (it imports Qt) with `view(value, theme)`


FIGURES: tuple[FigureKind, ...] = (
    FigureKind(CurveFigure, "workbench.render.curve"),
    FigureKind(BarsFigure, "workbench.render.bars"),
)
"""Every kind of figure, one line each."""


def kind_of(figure: Figure) -> FigureKind:
    """Return the kind that draws ``figure``."""
    return next(kind for kind in FIGURES if isinstance(figure, kind.value))


def _check_style(style: str) -> None:
    if style not in STYLES:
        raise ParameterError(f"the style {style!r} is not known", hint="choose one of " + ", ".join(STYLES))
