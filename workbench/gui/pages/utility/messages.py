"""What a curve says, in sentences."""

from __future__ import annotations

import dataclasses
import itertools
import math
from decimal import Decimal

from PySide6.QtGui import QKeySequence

from workbench.gui.session.session import Session
from workbench.gui.style.language import capital, localised, tr, tr_later, tr_number, tr_sentence
from workbench.gui.style.stylesheet import ROW
from workbench.gui.widgets.formatting import at_most, together
from workbench.gui.widgets.table_model import Cell, Column
from workbench.gui.widgets.table_view import LinesTable
from workbench.learners.tasks import CLASSIFICATION
from workbench.render.figure_layout import plain_number
from workbench.render.palette import SIGNS, STYLES
from workbench.render.values import CurveFigure, Series
from workbench.studies.metrics import Metric, measured

USUAL = measured(CLASSIFICATION).main
MOST_CROSSINGS = 2
MOST_NAMED = 3  # lines of which each is named in a sentence; of more, the best


def shown(figure: CurveFigure, *, bands: bool, baselines: bool) -> CurveFigure:
    """Return ``figure`` with or without its bands and baselines."""
    series = figure.series
    if not bands:
        series = tuple(dataclasses.replace(s, low=s.mean, high=s.mean) for s in series)
    return dataclasses.replace(figure, series=series, baselines=figure.baselines if baselines else ())


def near_no_privacy(figure: CurveFigure, series: Series, metric: Metric = USUAL) -> float | None:
    """Return the least tested ε from which ``series`` stays near no privacy, or ``None``.

    The metric says how far from it still counts as near, and whether a higher figure is a better one.
    """
    level = _level(figure, "no-privacy")
    if level is None:
        return None
    return _from_where(series, [metric.close(value, level) for value in series.mean])


def best_line(figure: CurveFigure, epsilon: Decimal, metric: Metric = USUAL) -> int | None:
    """Return the number of the line that is best at ``epsilon``; ``None`` where none beats the one constant answer."""
    constant, best = _level(figure, "majority"), None
    for number, series in enumerate(figure.series):
        value = value_at(series, float(epsilon))
        if value is not None and (constant is None or metric.better(value, constant)):
            constant, best = value, number
    return best


def predictable(figure: CurveFigure, metric: Metric = USUAL) -> bool:
    """Return whether even without privacy the model is better than one constant answer, as far as both are known."""
    ordinary, constant = _level(figure, "no-privacy"), _level(figure, "majority")
    return ordinary is None or constant is None or metric.better(ordinary, constant)


def _level(figure: CurveFigure, style: str) -> float | None:
    return next((b.value for b in figure.baselines if b.style == style), None)


def in_words(figure: CurveFigure, epsilon: Decimal, metric: Metric = USUAL) -> str:
    """Return what the curve says about getting near no privacy, the one constant answer, and the plan's ε."""
    if not predictable(figure, metric):
        return tr("{hopeless} than {beats}.", hopeless=tr_sentence(metric.no_signal), beats=tr_sentence(metric.beats))
    if figure.against:
        return _best(figure, metric)
    if len(figure.series) > MOST_NAMED:
        return _best_at(figure, epsilon, metric)
    stated = (_near(figure, metric), _constant(figure, metric), crossings(figure, metric), at_epsilon(figure, epsilon))
    return " ".join(filter(None, stated))


def no_use(figure: CurveFigure, line: Series, index: int, metric: Metric = USUAL) -> str:
    """Return that a point is no better than one constant answer, in a sentence; empty where it is."""
    level = _level(figure, "majority")
    if level is None or metric.better(line.mean[index], level):
        return ""
    return tr(
        "⚠ No better than {beats} ({level}): at this ε it has learned nothing useful.",
        beats=tr_sentence(metric.beats),
        level=tr_number(level, ".3f"),
    )


def _best_at(figure: CurveFigure, epsilon: Decimal, metric: Metric) -> str:
    """Return which of many lines are best at the plan's ε."""
    values = [(value, s.name) for s in figure.series if (value := value_at(s, float(epsilon))) is not None]
    if not values:
        return at_epsilon(figure, epsilon)
    values.sort(reverse=metric.higher)
    stated = together([f"{tr_number(value, '.3f')} ({name})" for value, name in values[:MOST_NAMED]])
    level = _level(figure, "majority")
    beaten = [name for value, name in values if level is not None and not metric.better(value, level)]
    best = tr("Best at your ε = {epsilon}: {lines}.", epsilon=at_most(epsilon), lines=stated)
    if not beaten:
        return best
    useless = tr("No better than {beats}: {lines}.", beats=tr_sentence(metric.beats), lines=together(beaten))
    return f"{best} {useless}"


def crossings(figure: CurveFigure, metric: Metric = USUAL) -> str:
    """Return where lines cross for good, at most :data:`MOST_CROSSINGS` of them; empty where none do."""
    found = []
    for one, other in itertools.combinations(figure.series, 2):
        at = _last_crossing(one, other)
        if at is None:
            continue
        ahead = one if (one.mean[-1] > other.mean[-1]) == metric.higher else other
        found.append(
            tr(
                "above ε = {epsilon} {ahead} is ahead of {behind}",
                epsilon=at_most(float(f"{at:.2g}")),
                ahead=ahead.name,
                behind=(other if ahead is one else one).name,
            )
        )
    stated = "; ".join(found[:MOST_CROSSINGS])
    return tr("{crossings}, below it behind.", crossings=capital(stated)) if stated else ""


def _last_crossing(one: Series, other: Series) -> float | None:
    """Return the ε of the last crossing of two lines, straight in log ε; ``None`` unless their ends lie crosswise."""
    if one.x != other.x:
        return None
    lead = [a - b for a, b in zip(one.mean, other.mean, strict=True)]
    if not lead[0] * lead[-1] < 0:
        return None
    for k in range(len(lead) - 1, 0, -1):
        if lead[k - 1] * lead[-1] <= 0:
            share = lead[k - 1] / (lead[k - 1] - lead[k])
            return float(one.x[k - 1] * (one.x[k] / one.x[k - 1]) ** share)
    return None


def _best(figure: CurveFigure, metric: Metric) -> str:
    """Return where each line is best, of a figure against something other than ε."""
    stated = []
    for series in figure.series:
        best = (max if metric.higher else min)(series.mean)
        stated.append(
            tr(
                "{value} at {against} = {at} ({name})",
                value=tr_number(best, ".3f"),
                against=figure.against,
                at=at_most(series.x[series.mean.index(best)]),
                name=series.name,
            )
        )
    return tr("Best: {lines}.", lines=together(stated))


def at_epsilon(figure: CurveFigure, epsilon: Decimal) -> str:
    """Return what the lines are at the plan's ε, read off between the tested ones."""
    low, high = figure.span or (figure.series[0].x[0], figure.series[0].x[-1])
    if not low <= float(epsilon) <= high:
        return tr("Your ε = {epsilon} lies outside the tested range.", epsilon=at_most(epsilon))
    values = [(s.name, value) for s in figure.series if (value := value_at(s, float(epsilon))) is not None]
    if not values:
        return ""
    stated = together([f"{tr_number(value, '.3f')} ({name})" for name, value in values])
    return tr("At your ε = {epsilon}: about {lines}.", epsilon=at_most(epsilon), lines=stated)


def value_at(series: Series, epsilon: float) -> float | None:
    """Return the line at ``epsilon``, straight in log ε between two tested ones; ``None`` outside them."""
    if epsilon in series.x:
        return series.mean[series.x.index(epsilon)]
    for (a, left), (b, right) in itertools.pairwise(zip(series.x, series.mean, strict=True)):
        if a < epsilon < b:
            share = math.log(epsilon / a) / math.log(b / a)
            return left + share * (right - left)
    return None


def _near(figure: CurveFigure, metric: Metric) -> str:
    if not any(b.style == "no-privacy" for b in figure.baselines):
        return ""
    found = [(s.name, e) for s in figure.series if (e := near_no_privacy(figure, s, metric)) is not None]
    if not found:
        return tr("No tested ε comes within {near} of no privacy.", near=tr_sentence(metric.near_words))
    stated = [tr("from ε = {epsilon} ({name})", epsilon=at_most(e), name=name) for name, e in found]
    lines = stated[0]
    for other in stated[1:]:
        lines = tr("{one} and {other}", one=lines, other=other)
    return tr("Within {near} of no privacy: {lines}.", near=tr_sentence(metric.near_words), lines=lines)


def _constant(figure: CurveFigure, metric: Metric) -> str:
    level = next((b.value for b in figure.baselines if b.style == "majority"), None)
    if level is None:
        return ""
    stated = []
    for series in figure.series:
        start = _from_where(series, [metric.better(value, level) for value in series.mean])
        if start is None:
            stated.append(tr("never ({name})", name=series.name))
        elif start > series.x[0]:
            stated.append(tr("only from ε = {epsilon} ({name})", epsilon=at_most(start), name=series.name))
    return (
        tr("Better than {beats}: {lines}.", beats=tr_sentence(metric.beats), lines=together(stated)) if stated else ""
    )


def _from_where(series: Series, holds: list[bool]) -> float | None:
    """Return the first position from which a property holds to the end."""
    start = None
    for x, yes in zip(reversed(series.x), reversed(holds), strict=True):
        if not yes:
            break
        start = x
    return start


# -- the table --------------------------------------------------------------------------------------------------------


EPSILON = 1
EPSILON_HELP = tr_later("Privacy loss of a whole row; – where it does not matter")
COLUMNS = (
    Column(tr_later("way of training"), help=tr_later("What was trained, with the sign of its line")),
    Column("ε", help=EPSILON_HELP, right=True),
    Column(tr_later("mean"), help=tr_later("Mean over the repeats on rows that were held out"), right=True),
    Column(
        tr_later("± standard error"),
        help=tr_later("How sure the mean is: its standard error over the repeats"),
        right=True,
    ),
)


def line(name: str, style: str, epsilon: float | None, mean: float, error: float | None) -> tuple[Cell, ...]:
    """Return one line: what was trained at which ε (``None``: any), and how good it was; what has none comes first."""
    return (
        Cell(f"{SIGNS[STYLES[style].marker]}  {name}", exact=name, key=name),
        Cell("–" if epsilon is None else localised(plain_number(epsilon)), key=epsilon or 0.0),
        Cell(tr_number(mean, ".4f"), key=mean),
        Cell("–" if error is None else tr_number(error, ".4f"), key=-1.0 if error is None else error),
    )


def results(figure: CurveFigure) -> list[tuple[Cell, ...]]:
    """Return the lines of ``figure``: its levels, then its points from left to right."""
    return [line(b.name, b.style, None, b.value, b.error) for b in figure.baselines] + [
        line(series.name, series.style, x, mean, high - mean)
        for series in figure.series
        for x, mean, high in zip(series.x, series.mean, series.high, strict=True)
    ]


class ResultsTable(LinesTable):
    """The table; what is copied of private figures has the badge as its first line."""

    def __init__(self, session: Session) -> None:
        super().__init__(session, "curve_table", tr("Figures of the curve"), COLUMNS)
        self.setToolTip(tr("A click on a heading sorts; Ctrl+C copies what is selected"))
        self.set_row_height(ROW - 2)  # nearly all of the usual twelve lines are in sight
        own = next(action for action in self.actions() if action.objectName() == "curve_table_copy")
        own.setShortcut(QKeySequence())  # the page has this key, for the picture as well
        self._shown: list[tuple[str, str]] = []

    def show_figure(self, figure: CurveFigure | None) -> None:
        """Show the figures of ``figure``, by ε or by what they are against; lines that are there keep their place."""
        lines = [] if figure is None else results(figure)
        self._private = figure is not None and bool(figure.badge)
        if figure is not None:
            help_text = tr("What differs along the line") if figure.against else tr(EPSILON_HELP)
            self.lines.retitle(EPSILON, figure.against or "ε", help_text)
        former, self._shown = self._shown, [(of[0].exact, of[EPSILON].text) for of in lines]
        self.lines.show_lines(lines, same=former == self._shown)
        self.sort_again()
