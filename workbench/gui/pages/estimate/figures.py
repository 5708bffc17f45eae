"""The figures of a release as the page shows, copies and exports them; all of them public."""

from __future__ import annotations

import csv
import datetime
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.gui.style.language import day, tr, tr_later, tr_n, tr_number
from workbench.gui.widgets.formatting import percent, plain
from workbench.jobs import CancelToken, Emit
from workbench.params import ParameterError
from workbench.signals.events import Progress

if TYPE_CHECKING:
    import polars as pl

    from workbench.release.verify import VerifiedRelease
    from workbench.sanitize.calibrated_columns import ProtectedColumn
    from workbench.sanitize.estimates.column import ColumnEstimate
    from workbench.sanitize.estimates.pairs import PairEstimate
    from workbench.sanitize.estimates.quantiles import Quantile


QUARTILES = {0.25: tr_later("1st quartile"), 0.5: tr_later("median"), 0.75: tr_later("3rd quartile")}
MEAN, MISSING, CORRELATION = tr_later("mean"), tr_later("missing"), tr_later("correlation")
HIDDEN = 0.8  # part of what is possible from which an interval is shown as hidden by the noise

HIDES = tr_later("noise hides it")
MOST_BARS = 16
DIGITS = 4


@dataclass(frozen=True)
class Figure:
    """One estimate."""

    column: str  # the column, or two with × between them
    of: str  # what it is of: `mean`, `median`, a share's value, …
    kind: str  # of number: `share`, `correlation`, or the column's kind
    estimate: float
    low: float
    high: float
    biased: bool
    hidden: bool  # whether the interval is most of what is possible

    def stated(self, value: float) -> str:
        return stated(value, self.kind)

    @property
    def called(self) -> str:
        """What it is of, as the window says it: a value of a column stays as it is."""
        return self.of if self.kind == "share" and self.of != MISSING else tr(self.of)

    @property
    def note(self) -> str:
        return tr(HIDES) if self.hidden else tr("biased") if self.biased and self.kind != "correlation" else ""


@dataclass(frozen=True)
class BarView:
    """One bar of a picture, in parts of the rows; ``released`` is ``None`` where the file has other values."""

    label: str
    released: float | None
    likely: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class ColumnView:
    """One column; the estimate to show first is at the front, and numbers have the ends of their public range."""

    name: str
    kind: str
    mechanism: str
    figures: tuple[Figure, ...]
    bars: tuple[BarView, ...]
    ends: tuple[float, float] | None = None


def column_view(released: VerifiedRelease, name: str, confidence: float, cancel: CancelToken) -> ColumnView:
    """Return the estimates for one column; runs in a worker."""
    import numpy as np

    from workbench.sanitize.estimates import estimate_column
    from workbench.sanitize.estimates.likelihood import likely_shape
    from workbench.sanitize.estimates.quantiles import estimate_quantiles

    column = released.column(name)
    counts = np.bincount(released.cells(name), minlength=column.randomiser.outputs)
    made = estimate_column(column, counts, confidence, cancel)
    cells = column.grid.cells
    if cells.values is None:
        released_shares = counts / counts.sum() if len(counts) == cells.total else None
        return _of_names(column, made, None if released_shares is None else released_shares.tolist())
    quantiles = estimate_quantiles(name, cells, column.randomiser, counts, tuple(QUARTILES), confidence, cancel)
    shape = likely_shape(cells, column.randomiser, counts)
    kind = column.column.kind or "real"
    first, last = cells.values[shape.edges[:-1]], cells.values[shape.edges[1:] - 1]
    bars = tuple(
        BarView(
            stated(a, kind) if a == b else f"{stated(a, kind)} – {stated(b, kind)}",
            None if shape.released is None else float(shape.released[at]),
            float(shape.likely[at]),
        )
        for at, (a, b) in enumerate(zip(first.tolist(), last.tolist(), strict=True))
    )
    ends = float(cells.values[0]), float(cells.values[-1])
    return ColumnView(name, kind, column.mechanism.title, _of_numbers(column, made, quantiles, ends), bars, ends)


def _of_numbers(
    column: ProtectedColumn, made: ColumnEstimate, quantiles: Sequence[Quantile], ends: tuple[float, float]
) -> tuple[Figure, ...]:
    name, kind = column.column.name, column.column.kind or "real"
    figures = []
    if made.mean is not None:
        low, high = made.mean.low, made.mean.high
        hidden = high - low >= HIDDEN * (ends[1] - ends[0])
        figures.append(Figure(name, MEAN, kind, made.mean.consistent, low, high, made.bias_bound > 0, hidden))
    for found in quantiles:
        figures.append(
            Figure(name, QUARTILES[found.share], kind, found.estimate, found.low, found.high, False, found.hidden)
        )
    if made.missing is not None:
        figures.append(_share(name, MISSING, made.missing.consistent, made.missing.low, made.missing.high, False))
    return tuple(figures)


def _share(column: str, of: str, share: float, low: float, high: float, biased: bool) -> Figure:
    return Figure(column, of, "share", share, low, high, biased, high - low >= HIDDEN)


def _of_names(column: ProtectedColumn, made: ColumnEstimate, released: list[float] | None) -> ColumnView:
    name, shares = column.column.name, dict(made.frequencies or {})
    places = {label: at for at, label in enumerate(shares)}
    if made.missing is not None:
        shares[MISSING] = made.missing
    figures = [_share(name, label, i.consistent, i.low, i.high, made.biased) for label, i in shares.items()]
    figures.sort(key=lambda f: (-f.estimate, f.of))
    bars = tuple(
        BarView(
            f.called,
            None if released is None else released[places.get(f.of, len(released) - 1)],
            f.estimate,
            f.low,
            f.high,
        )
        for f in figures[:MOST_BARS]
    )
    return ColumnView(name, column.column.kind or "category", column.mechanism.title, tuple(figures), bars)


def pair_figures(found: PairEstimate) -> tuple[Figure, ...]:
    """Return the figures of a pair of columns: the correlation first."""
    both, figures = " × ".join(found.columns), []
    if found.correlation is not None:
        c = found.correlation
        figures.append(Figure(both, CORRELATION, "correlation", c.estimate, c.low, c.high, c.biased, c.hidden))
    if found.two_way is not None:
        table = found.two_way
        shares = [
            _share(both, f"{a} × {b}", i.consistent, i.low, i.high, table.biased) for (a, b), i in table.shares.items()
        ]
        figures += sorted(shares, key=lambda f: (-f.estimate, f.of))
    return tuple(figures)


def released_summary(released: VerifiedRelease) -> tuple[tuple[str, ...], ...]:
    """Return for each released column its name, number of values, mean or commonest value, and range."""
    lines = []
    for name in released.table.names:
        planned = released.plan.column(name)
        lines.append((name, *_summary(released.table.column(name), planned.kind or "")))
    return tuple(lines)


def _summary(cells: pl.Series, kind: str) -> tuple[str, str, str]:
    import polars as pl

    held = cells.drop_nulls()
    values = tr_number(held.n_unique(), ",")
    if len(held) < len(cells):
        values = tr("{values} and {missing} missing", values=values, missing=tr_number(len(cells) - len(held), ","))
    if not len(held):
        return values, "–", "–"
    if kind in ("integer", "real"):
        numbers = held.cast(pl.Float64, strict=False).drop_nulls()
        if len(numbers):
            ends = f"{stated(float(numbers.min()), kind)} – {stated(float(numbers.max()), kind)}"  # type: ignore[arg-type]
            mean = stated(float(numbers.mean()), "real")  # type: ignore[arg-type]
            return values, tr("mean {value}", value=mean), ends
    often = held.value_counts(sort=True, name="n").row(0)
    common = f"{often[0]} ({percent(often[1] / len(cells))})"
    return values, common, f"{_written(held.min())} – {_written(held.max())}" if kind == "date" else ""


def _written(value: object) -> str:
    return day(value) if isinstance(value, datetime.date) else str(value)


def stated(value: float, kind: str) -> str:
    """Return a value as a person reads it: shares in percent, dates as days, at most four significant digits."""
    if kind == "date":
        date = _date(value)
        return day(date) if date is not None else tr_n("{n} day", "{n} days", round(value))
    if kind == "share":
        return tr("{share} %", share=plain(float(f"{100 * value:.3g}")))
    if kind == "correlation":
        return tr_number(value, ".2f")
    return plain(float(f"{value:.{DIGITS}g}"))


def _date(value: float) -> datetime.date | None:
    whole = round(value)
    return datetime.date.fromordinal(whole) if 1 <= whole <= datetime.date.max.toordinal() else None


def in_full(value: float, kind: str) -> str:
    """Return a value with all its digits, as files have it; a date as ISO writes it."""
    if kind != "date":
        return repr(float(value))
    date = _date(value)
    return date.isoformat() if date is not None else f"{round(value):,} days"  # not translated


HEADINGS = ("column", "of", "estimate", "low", "high", "biased", "hidden_by_noise")


def as_csv(figures: Sequence[Figure]) -> str:
    """Return the figures as CSV, with all digits; dates as days."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(HEADINGS)
    for f in figures:
        numbers = [in_full(v, f.kind) for v in (f.estimate, f.low, f.high)]
        writer.writerow((f.column, f.of, *numbers, str(f.biased).lower(), str(f.hidden).lower()))
    return out.getvalue()


# -- the jobs ---------------------------------------------------------------------------------------------------------


CONFIDENCE = 0.95


@dataclass(frozen=True, eq=False)
class EstimatedRelease:
    """A verified release and what it says of the original. All of it is public, as the release is."""

    released: VerifiedRelease
    columns: tuple[ColumnView, ...]  # what is estimated for each protected column
    # For each released column its name, how many values, the mean or the commonest, and the ends.
    summary: tuple[tuple[str, ...], ...]


def estimated(path: Path, certificate: Path | None, emit: Emit, cancel: CancelToken) -> EstimatedRelease:
    """Verify the release in ``path`` and estimate every protected column; runs in a worker."""
    from workbench.release.verify import verified_release

    released = verified_release(path, certificate, emit, cancel)
    names, columns = released.protected, []
    for done, name in enumerate(names):
        cancel.check()
        emit(Progress(done, len(names), tr("column {name}", name=name)))
        columns.append(column_view(released, name, CONFIDENCE, cancel))
    return EstimatedRelease(released, tuple(columns), released_summary(released))


def estimated_pair(
    released: VerifiedRelease, names: tuple[str, str], emit: Emit, cancel: CancelToken
) -> tuple[Figure, ...]:
    """Return what two columns say together; runs in a worker."""
    from workbench.sanitize.estimates.pairs import estimate_pair

    (first, second), (one, other) = map(released.column, names), map(released.cells, names)
    return pair_figures(estimate_pair(first, second, (one, other), CONFIDENCE, cancel))


def export_figures(figures: tuple[Figure, ...], target: Path, released: Path, emit: Emit, cancel: CancelToken) -> Path:
    """Write the figures to ``target`` as CSV, all digits; runs in a worker."""
    from workbench.release.atomic import write_output

    beside = released, released.with_name(f"{released.name}.certificate.json")
    if any(target.exists() and path.exists() and target.samefile(path) for path in beside):
        raise ParameterError(tr("the figures would replace the release itself"), str(target), tr("name another file"))
    write_output(target, as_csv(figures).encode())
    return target
