"""A curve in the language of the person: its title, axes and lines, and a figure of it in words."""

from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING

from workbench.gui.style.language import language, localised, tr, tr_later, tr_n, tr_number, tr_sentence

if TYPE_CHECKING:  # these load numpy, which the first paint does not wait for
    from workbench.render.values import CurveFigure
    from workbench.studies.metrics import Metric

BAND = tr_later("mean ± standard error")
_WAYS = {
    "sanitised": tr_later("sanitised: {by}"),
    "corrected": tr_later("corrected: {by}"),
    "synthetic": tr_later("synthetic: {by}"),
}
_COUNTED = re.compile(r"(?P<n>[\d,]+) (?P<of>rows|lines?|.+ splits)")


def figure_words(metric: Metric, value: float, spread: float) -> str:
    """Return a figure of a metric in words, with its margin where there is one."""
    margin = f" ± {tr_number(spread, '.3f')}" if spread else ""
    return f"{tr_sentence(metric.inside)} {tr_number(value, '.3f')}{margin}"


def against_words(metric: Metric, against: str) -> str:
    """Return the title of a curve; ``against`` is empty where it is drawn against ε."""
    return tr("{metric} against {against}", metric=tr_sentence(metric.title), against=against or "ε")


def line_words(name: str) -> str:
    """Return the name of a line, of a study or of several models, each part of it in the language of the person."""
    known = tr_sentence(name)
    first, colon, last = name.partition(": ")
    if known != name or not colon:
        return known
    if first in _WAYS:
        return tr(_WAYS[first], by=tr_sentence(last))
    return f"{tr_sentence(first)}: {line_words(last)}"


def in_language(figure: CurveFigure, metric: Metric | None = None) -> CurveFigure:
    """Return the picture of ``metric``, or of anything else, with every text of it in the language of the person."""
    if language() == "en":
        return figure
    title, y_label = tr_sentence(figure.title), tr_sentence(figure.y_label)
    if metric is not None:
        inside, unit = tr_sentence(metric.inside), tr_sentence(metric.unit)
        title, y_label = against_words(metric, figure.against), f"{inside} ({unit})"
        if " on held-out rows (" in figure.y_label:
            y_label = tr("{metric} on held-out rows ({unit})", metric=inside, unit=unit)
    return dataclasses.replace(
        figure,
        title=title,
        subtitle=" · ".join(map(_part, figure.subtitle.split(" · "))),
        x_label=tr_sentence(figure.x_label),
        y_label=f"{y_label}, {tr(BAND)}" if figure.y_label.endswith(BAND) else y_label,
        series=tuple(dataclasses.replace(line, name=line_words(line.name)) for line in figure.series),
        baselines=tuple(dataclasses.replace(level, name=line_words(level.name)) for level in figure.baselines),
        badge=tr_sentence(figure.badge),
        point=localised("."),
    )


def _part(text: str) -> str:
    """Return a part of a subtitle: a table's name, a model, a number of rows, lines or splits, a setting."""
    found = _COUNTED.fullmatch(text)
    if found is None:
        return tr_sentence(text)
    n = int(found["n"].replace(",", ""))
    if found["of"] == "rows":
        return tr_n("{n} row", "{n} rows", n)
    if found["of"] in ("line", "lines"):
        return tr_n("{n} line", "{n} lines", n)
    return tr("{repeats} {splits}", repeats=n, splits=tr_sentence(found["of"]))
