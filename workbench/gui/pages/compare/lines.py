"""What one line of the table is about: one way of training of a study of this session, or a released model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench import learners
from workbench.deep import networks
from workbench.gui.pages.curve_words import line_words
from workbench.gui.session.session import RunRecord
from workbench.gui.style.language import tr, tr_later, tr_sentence
from workbench.release.model.released_models import ReleasedModel
from workbench.render.comparison_figure import Drawn
from workbench.studies.comparison import StudyLine, study_lines
from workbench.studies.grid.lines import SweepStudyLine, sweep_study_lines
from workbench.studies.metrics import ACCURACY, Metric
from workbench.studies.results import Row

RELEASED = tr_later("released model")
ACCOUNT = 6
"""Digits of an account's mark in the ledger that are shown."""

CURVE, SWEEP = "curve", "sweep"
_LINES: dict[str, Callable[[Any], Sequence[StudyLine | SweepStudyLine]]] = {
    CURVE: study_lines,
    SWEEP: sweep_study_lines,
}
"""The lines of the result of each kind of run that has any."""


@dataclass(frozen=True, eq=False)
class Line:
    """One line of the table; either ``study`` or ``release`` is given.

    Attributes:
        key: distinguishes it from all others of the session.
        model: the title of the model.
        name: the model's name in the program; empty where this version does not know it.
        way: how it was trained, in words.
        dataset: what a person calls the table.
        time: when it ended or was charged (UTC).
        made_up: whether it is a study of made-up rows, which shows nothing private.
    """

    key: str
    model: str
    name: str
    way: str
    dataset: str
    time: str
    study: StudyLine | SweepStudyLine | None = None
    release: ReleasedModel | None = None
    made_up: bool = False

    @property
    def kind(self) -> str:
        """The way of training; ``released`` of a released model."""
        return self.study.way.kind if self.study is not None else "released"

    @property
    def can_be_drawn(self) -> bool:
        """Whether it has anything to draw: a released model has where its card states a public accuracy."""
        return self.study is not None or (self.release is not None and self.release.accuracy is not None)

    def drawn(self, name: str, style: str, metric: Metric) -> Drawn | None:
        """Return what is drawn of it; ``None`` where it is not measured by ``metric``."""
        if self.release is not None:
            stated = self.release.accuracy
            points = ((float(self.release.epsilon), stated[0], 0.0),) if stated and metric.name == ACCURACY else ()
            return Drawn(name, style, points, private=False) if points else None
        assert self.study is not None
        found = tuple((p.epsilon, p.mean, p.standard_error) for p in self.study.points(metric.name))
        constant, each = self.study.level(metric), self.study.each_prediction
        private = not self.made_up
        return Drawn(name, style, found, private, constant=constant, each_prediction=each) if found else None

    def figures(self) -> tuple[str, str, tuple[Row, ...]]:
        """Return its table, its model and every figure of it, for a file."""
        if self.study is not None:
            return self.dataset, self.name, self.study.rows()
        assert self.release is not None
        stated = self.release.accuracy
        rows = (Row("released", float(self.release.epsilon), 0, ACCURACY, stated[0]),) if stated else ()
        return self.dataset, self.name or self.model, rows


def lines_of(runs: Sequence[RunRecord], models: Sequence[ReleasedModel], opened: str, account: str) -> tuple[Line, ...]:
    """Return every line, those of the newest study first, then the released models.

    Args:
        runs: the runs of the session.
        models: what the ledger knows, the newest first.
        opened: what a person calls the table that is open.
        account: the mark of its account.
    """
    found = []
    for number, run in reversed(list(enumerate(runs))):
        if run.kind not in _LINES:  # a model that was trained is in the ledger
            continue
        for at, study in enumerate(_LINES[run.kind](run.result)):
            key = f"{number} {run.time} {at} {study.way_words}"
            model, way = _capital(tr_sentence(study.model)), line_words(study.way_words)
            line = Line(key, model, study.name, way, run.source, run.time, study=study, made_up=run.made_up)
            found.append(line)
    titles = {entry.name: entry.title for entry in learners.LEARNERS}
    titles |= {network.name: network.title for network in networks.NETWORKS}
    for release in models:
        name = release.name if release.name in titles else ""
        title = _capital(tr_sentence(titles.get(release.name, release.name) or tr("a network")))
        dataset = release.called or (opened if account and release.account == account else release.account[:ACCOUNT])
        found.append(Line(release.release_id, title, name, tr(RELEASED), dataset, release.time, release=release))
    return tuple(found)


def names_of(lines: Sequence[Line]) -> list[str]:
    """Return a short name for each of some lines that are drawn together: what they have in common is left out."""
    ways, models = [line.way for line in lines], [line.model for line in lines]
    brief = [model.partition(",")[0] for model in models]
    both = [f"{way}, {model}" for way, model in zip(ways, brief, strict=True)]
    whole = [f"{way}, {model}" for way, model in zip(ways, models, strict=True)]
    # Two runs of the same: the time distinguishes them, or without one a number.
    timed = [f"{name}, {line.time[11:16]}" for name, line in zip(both, lines, strict=True)]
    counted = [f"{name} ({timed[:at].count(name) + 1})" for at, name in enumerate(timed)]
    choices = [both, whole, timed, counted]
    if len(lines) > 1 and len(set(models)) == 1:
        choices.insert(0, ways)
    if len(lines) > 1 and len(set(ways)) == 1:
        choices.insert(0, brief)
    return next((names for names in choices if len(set(names)) == len(lines)), counted)


def folder_of(line: Line) -> str:
    """Return the name of the folder of a released model."""
    return Path(line.release.output).name if line.release is not None and line.release.output else ""


def _capital(title: str) -> str:
    return title[:1].upper() + title[1:]
