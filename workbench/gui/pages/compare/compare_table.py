"""The table of all runs: sorted by a click on a heading, filtered by typing, its lines pinned by a tick."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtCore import QModelIndex, Signal

from workbench import learners
from workbench.deep import networks
from workbench.gui.pages.curve_actions import line_words
from workbench.gui.session.session import RunRecord, Session
from workbench.gui.style.language import again, capital, localised, tr, tr_later, tr_number, tr_sentence
from workbench.gui.widgets.formatting import at_most, count, entered, moment, plain, together
from workbench.gui.widgets.settings_table import SettingsTable
from workbench.gui.widgets.table_model import TICKABLE, Cell, Column, EditedModel
from workbench.release.model.released_models import ReleasedModel
from workbench.render.comparison_figure import Drawn, free_style
from workbench.render.palette import SIGNS, STYLES
from workbench.risk.attacks.outcome import Outcome
from workbench.studies.comparison import StudyLine, study_lines
from workbench.studies.curve import MOST_REGIMES
from workbench.studies.grid.lines import SweepLine, sweep_lines
from workbench.studies.metrics import ACCURACY, Metric
from workbench.studies.results import Row

if TYPE_CHECKING:
    from workbench.studies.membership import Repeated
RELEASED = tr_later("released model")
ACCOUNT = 6  # digits of an account's mark in the ledger that are shown

CURVE, SWEEP = "curve", "sweep"
_LINES: dict[str, Callable[[Any], Sequence[StudyLine | SweepLine]]] = {
    CURVE: study_lines,
    SWEEP: lambda runs: sorted(sweep_lines(runs), key=lambda line: -line.best),
}
"""The lines of the result of each kind of run that has any."""


@dataclass(frozen=True, eq=False)
class Line:
    """One line of the table; either ``study`` or ``release`` is given."""

    key: str  # distinguishes it from all others of the session
    model: str
    name: str  # the model's name in the program; empty where this version does not know it
    way: str
    dataset: str  # what a person calls the table
    time: str  # when it ended or was charged (UTC)
    study: StudyLine | SweepLine | None = None
    release: ReleasedModel | None = None
    made_up: bool = False  # whether it is a study of made-up rows, which shows nothing private

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
        if self.study is not None:
            return self.dataset, self.name, self.study.rows()
        assert self.release is not None
        stated = self.release.accuracy
        rows = (Row("released", float(self.release.epsilon), 0, ACCURACY, stated[0]),) if stated else ()
        return self.dataset, self.name or self.model, rows


def lines_of(runs: Sequence[RunRecord], models: Sequence[ReleasedModel], opened: str, account: str) -> tuple[Line, ...]:
    """Return every line, those of the newest study first, then released models; ``account`` is of ``opened``."""
    found = []
    for number, run in reversed(list(enumerate(runs))):
        if run.kind not in _LINES:  # a model that was trained is in the ledger
            continue
        for at, study in enumerate(_LINES[run.kind](run.result)):
            key = f"{number} {run.time} {at} {study.way_words}"
            model, way = capital(tr_sentence(study.model)), line_words(study.way_words)
            line = Line(key, model, study.name, way, run.source, run.time, study=study, made_up=run.made_up)
            found.append(line)
    titles = {entry.name: entry.title for entry in learners.LEARNERS}
    titles |= {network.name: network.title for network in networks.NETWORKS}
    for release in models:
        name = release.name if release.name in titles else ""
        title = capital(tr_sentence(titles.get(release.name, release.name) or tr("a network")))
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


# -- the table --------------------------------------------------------------------------------------------------------


TOO_MANY = tr_later("At most {most} lines can be drawn together: untick one of them first.")
PIN_HELP = tr_later("Tick a line to draw it in the picture; at most seven are drawn together")
NOT_DRAWN = tr_later("This model cannot be drawn, because its card states no accuracy on a public test table")
PIN, FIGURE, MEMBERSHIP = 0, 4, 5
WAYS = tr_later("Without privacy, on a sanitised table, with privacy built in, or a model that was released")
EPSILONS = tr_later("The values of ε that a study has tested, or the ε that a released model was charged")
COLUMNS = (
    Column(tr_later("Model"), help=tr_later("What was trained"), width=190, grows=0.5),
    Column(tr_later("Way of training"), help=WAYS, width=170, grows=0.15),
    Column("ε", help=EPSILONS, width=86, right=True),
    Column(tr_later("Figure"), width=148, right=True),
    Column(
        tr_later("Membership"),
        help=tr_later(
            "Given two people, one of whom was used, how often an attacker picks the right one (0.5: by chance): "
            "a mean with its 95 % interval"
        ),
        width=140,
        right=True,
    ),
    Column(
        tr_later("Repeats"),
        help=tr_later("Number of random splits over which the figure is averaged"),
        width=84,
        right=True,
    ),
    Column(
        tr_later("Dataset"),
        help=tr_later("The table, or the account of the ledger that a model was charged to"),
        width=76,
        grows=0.1,
    ),
    Column(tr_later("Time (UTC)"), help=tr_later("When the study ended or the model was charged"), width=122),
    Column("δ", help=tr_later("The chance that the guarantee fails, of a released model"), width=62, right=True),
    Column(
        tr_later("Released to"),
        help=tr_later("The folder of a released model, and what the ledger says of it"),
        width=150,
    ),
)
"""All but the pin."""

LESS_NEEDED = (10, 9, 6, 7, 8)
"""Columns that a narrow table leaves out, the first first: the line below says what they have of the current row."""

PUBLIC, PRIVATE = tr_later("Public: the model's card states it."), tr_later("Private: not for release.")
MADE_UP = tr_later("Of made-up rows: nothing private.")


STATUS = {"charged": tr_later("charged"), "settled": tr_later("settled")}
"""What the ledger says of a release that is out."""

NONE = Cell("–", "muted")

Point = tuple[str, float | None]  # the key of a line, and its ε


class RunsModel(EditedModel):
    """All lines, what attacks on them found, and the pinned ones in the order of the pins, each with its style."""

    pinned = Signal()

    def __init__(self, session: Session) -> None:
        pin = Column(tr("Pin"), self._pin, tr(PIN_HELP), width=58, tick=self._take_pin)
        super().__init__(session, (pin, *COLUMNS))
        self.lines: tuple[Line, ...] = ()
        self.attacked: Mapping[Point, Repeated] = {}
        self.pins: dict[str, str] = {}

    def show_runs(self, lines: tuple[Line, ...], metric: Metric | None, epsilon: float | None) -> None:
        """Show ``lines`` with their figures of ``metric`` at ``epsilon``; pins of lines that have gone are dropped."""
        same = [line.key for line in lines] == [line.key for line in self.lines]
        self.lines = lines
        known = {line.key for line in lines}
        self.pins = {key: style for key, style in self.pins.items() if key in known}
        self._name_figure(metric)
        found = [self.attacked.get(point_of(line, epsilon)) for line in lines]
        rows = [cells(line, metric, epsilon, one) for line, one in zip(lines, found, strict=True)]
        self.show_lines(rows, same=same)

    def _name_figure(self, metric: Metric | None) -> None:
        title, help_text = tr("Figure"), ""
        if metric is not None:
            title, unit = tr_sentence(metric.title), tr_sentence(metric.unit)
            if metric.higher:
                help_text = tr("{title} ({unit}; higher is better): mean ± its standard error", title=title, unit=unit)
            else:
                help_text = tr("{title} ({unit}; lower is better): mean ± its standard error", title=title, unit=unit)
        self.retitle(FIGURE, title, help_text)

    def pin(self, keys: Sequence[str]) -> None:
        self.pins = {}
        for line in self.lines:
            if line.key in keys and len(self.pins) < MOST_REGIMES:
                self.pins[line.key] = free_style(line.kind, self.pins.values())
        self.refresh()

    def pinned_lines(self) -> list[tuple[Line, str]]:
        by_key = {line.key: line for line in self.lines}
        return [(by_key[key], style) for key, style in self.pins.items()]

    def shows_private(self, line: Line) -> bool:
        attacked = any(key == line.key for key, _ in self.attacked)
        return not line.made_up and (line.study is not None or attacked)

    def name_at(self, at: int) -> str:
        return searched(self.lines[at])

    def _pin(self, at: int) -> Cell:
        """Return the sign that a line is drawn with; the pinned ones are sorted first."""
        line = self.lines[at]
        style = STYLES[self.pins[line.key]] if line.key in self.pins else None
        cell = Cell(
            tip=tr(PIN_HELP) if line.can_be_drawn else tr(NOT_DRAWN),
            key=style is None,
            ticked=style is not None if line.can_be_drawn else None,
            spoken=tr("not pinned"),
        )
        if style is None:
            return cell
        sign, colour = SIGNS[style.marker], self.session.theme.series(style)
        return cell._replace(text=sign, look=colour, exact="pinned", spoken=tr("pinned"))

    def _take_pin(self, at: int, ticked: bool) -> bool:
        line = self.lines[at]
        if not ticked:
            self.pins.pop(line.key, None)
        elif line.key not in self.pins:
            if len(self.pins) >= MOST_REGIMES:
                self.session.notify("warning", tr(TOO_MANY, most=MOST_REGIMES))
                return False
            self.pins[line.key] = free_style(line.kind, self.pins.values())
        return True

    def state(self) -> dict[str, str]:
        return dict(self.pins)

    def restore(self, state: Mapping[str, str]) -> None:
        known = {line.key for line in self.lines}
        self.pins = {key: style for key, style in state.items() if key in known}
        self.refresh()
        self.pinned.emit()


class RunsTable(SettingsTable):
    """One row for each line; Space or Return pins the row that the keys are in."""

    ticked = PIN
    _sharing = False

    def __init__(self, session: Session, model: RunsModel) -> None:
        self._runs = model
        super().__init__(
            session,
            model,
            "compare_table",
            tr("Every study of this session and every released model"),
            private=self._private,
        )

    def _share_out(self) -> None:
        """Leave out what there is no room for: a table that is scrolled sideways hides what is compared."""
        if self._sharing:  # a column that comes or goes is followed by a resize
            return
        self._sharing = True
        for at in LESS_NEEDED:
            self.setColumnHidden(at, False)
        for at in LESS_NEEDED:
            least, whole = self._measured()
            widths = self._fitted(least, whole, stacked=True)
            cut = any(widths[one] < whole[one] for one in LESS_NEEDED if one in widths)
            if cut or sum(widths.values()) > self.viewport().width():
                self.setColumnHidden(at, True)
        super()._share_out()
        self._sharing = False

    def left_out(self, row: int) -> str:
        """Return what the columns that are left out say of a row."""
        columns = [at for at in sorted(LESS_NEEDED) if self.isColumnHidden(at)]
        named = ((again(self._runs.columns[at].title), self._runs.cell(row, at).text) for at in columns)
        return " · ".join(f"{title}: {text}" for title, text in named if text != NONE.text)

    def tick_row(self, box: QModelIndex) -> None:
        """Pin the current line, whichever of its cells is the current one."""
        if box.flags() == TICKABLE:
            super().tick_row(box)
        else:
            self._session.notify("warning", f"{tr(NOT_DRAWN)}.")

    def _private(self, rows: Sequence[int]) -> bool:
        return any(self._runs.shows_private(self._runs.lines[row]) for row in rows)


def point_of(line: Line, epsilon: float | None) -> Point:
    """Return what is attacked of a line: the model at the listed ε, unless it is the same at each."""
    fixed = line.study is None or line.study.without_privacy
    return line.key, None if fixed else epsilon


def cells(
    line: Line, metric: Metric | None, epsilon: float | None, attacked: Repeated | None = None
) -> tuple[Cell, ...]:
    """Return the cells of a line, its figure of ``metric`` at ``epsilon``; that of the first column is the pin's."""
    model, way, dataset = (Cell(text, tip=text, key=text.casefold()) for text in (line.model, line.way, line.dataset))
    figures = _epsilon(line), _figure(line, metric, epsilon), _membership(line, attacked), _repeats(line)
    time = Cell(moment(line.time), tip=line.time, exact=line.time, key=line.time)
    return (NONE, model, way, *figures, dataset, time, _delta(line), _place(line))


def searched(line: Line) -> str:
    """Return the words that a line is found by."""
    return " ".join((line.model, line.way, line.dataset, folder_of(line)))


def _epsilon(line: Line) -> Cell:
    if line.release is not None:
        exact = line.release.epsilon
        tip = tr("ε that was charged: {epsilon} exactly. {public}", epsilon=entered(exact), public=tr(PUBLIC))
        return Cell(at_most(exact), tip=tip, exact=entered(exact), key=float(exact))
    assert line.study is not None
    if line.study.without_privacy:
        return Cell(tr("any"), "muted", tr("Trained without privacy: the figure is the same at every ε"))
    tested = line.study.epsilons
    ends = at_most(tested[0]) if len(tested) == 1 else f"{at_most(tested[0])}–{at_most(tested[-1])}"
    return Cell(ends, tip=tr("Tested at ε = {tested}", tested=_listed(tested)), key=tested[0])


def _delta(line: Line) -> Cell:
    if line.release is None:
        return NONE
    delta = line.release.delta
    return Cell(entered(delta), "" if delta else "muted", tr(PUBLIC), key=float(delta))


def _figure(line: Line, metric: Metric | None, epsilon: float | None) -> Cell:
    if metric is None or (line.study is not None and epsilon is None):
        return NONE
    if line.release is not None:
        return _public_figure(line, metric)
    assert line.study is not None
    assert epsilon is not None
    point, title = line.study.at(metric.name, epsilon), tr_sentence(metric.title)
    if point is None:
        measured = [tr_sentence(found.title) for found in line.study.metrics]
        if title not in measured:
            return NONE._replace(
                tip=tr("Not measured by {title}, only by {measured}", title=title, measured=together(measured))
            )
        tested = {"epsilon": at_most(epsilon), "epsilons": _listed(line.study.epsilons)}
        return NONE._replace(tip=tr("Not tested at ε = {epsilon}, only at {epsilons}", **tested))
    said = {
        "title": title,
        "where": tr("at every ε") if line.study.without_privacy else tr("at ε = {epsilon}", epsilon=at_most(epsilon)),
        "whose": tr(MADE_UP) if line.made_up else tr(PRIVATE),
    }
    if point.count < 2:
        tip = tr("{title} {where}: {mean} in a single split. {whose}", mean=localised(repr(point.mean)), **said)
        return Cell(tr_number(point.mean, ".3f"), tip=tip, exact=repr(point.mean), key=point.mean)
    error = point.standard_error
    tip = tr(
        "{title} {where}: {mean}, the mean of {splits}; ± {error} is its standard error. {whose}",
        mean=tr_number(point.mean, ".6g"),
        splits=count(point.count, "split"),
        error=tr_number(error, ".2g"),
        **said,
    )
    shown, exact = f"{_short(point.mean)} ± {_short(error)}", f"{point.mean!r} ± {error!r}"
    return Cell(shown, tip=tip, exact=exact, key=point.mean)


def _public_figure(line: Line, metric: Metric) -> Cell:
    assert line.release is not None
    stated = line.release.accuracy
    if stated is None:
        card = tr("Its card states no accuracy") if line.release.card else tr("Its card cannot be read in its folder")
        return NONE._replace(tip=card)
    if metric.name != ACCURACY:
        return NONE._replace(tip=tr("Its card states its accuracy alone"))
    tip = tr(
        "Accuracy {accuracy} on {rows} of a test table that was declared public. {public}",
        accuracy=tr_number(stated[0], ".6g"),
        rows=count(stated[1], "row"),
        public=tr(PUBLIC),
    )
    return Cell(_short(stated[0]), tip=tip, exact=repr(stated[0]), key=stated[0])


def bound_words(attacked: Outcome) -> str:
    """Return the most that ε allows, or why nothing bounds it."""
    allowed, epsilon = attacked.figures["allowed_figures"], attacked.guarantee.epsilon
    if allowed is None or epsilon is None:
        return tr_sentence(attacked.why_not)
    most = tr_number(allowed["auc"], ".2f")
    return tr("ε = {epsilon} allows a membership of {most} at the most.", epsilon=at_most(epsilon), most=most)


def _membership(line: Line, attacked: Repeated | None) -> Cell:
    if attacked is None:
        return NONE._replace(tip=tr("Not attacked at this ε: select the line and press Attack"))
    found = attacked.auc
    value, low, high = (tr_number(figure, ".2f") for figure in (found.value, found.low, found.high))
    whose = tr(MADE_UP) if line.made_up else tr(PRIVATE)
    trained = tr(
        "It was trained {times} times on one half of the rows, another one each time, and attacked with the other "
        "half: {figures}.",
        times=len(attacked.outcomes),
        figures=", ".join(tr_number(one["auc"], ".2f") for one in attacked.each),
    )
    return Cell(
        f"{value} ({low}–{high})",
        tip=f"{bound_words(attacked.outcomes[0])} {trained} {whose}",
        exact=repr(found.value),
        key=found.value,
    )


def _repeats(line: Line) -> Cell:
    if line.study is None:
        return NONE
    repeats = line.study.repeats
    return Cell(tr_number(repeats, ","), tip=tr_number(repeats, ","), exact=str(repeats), key=repeats)


def _place(line: Line) -> Cell:
    if line.release is None:
        return NONE._replace(tip=tr("A study: none of it was released"))
    release, folder = line.release, folder_of(line)
    if release.status == "reserved":
        stated, look = tr("… reserved"), "warn"
    elif not release.released:
        stated, look = tr("✓ charged, nothing released"), "warn"
    else:
        stated, look = f"✓ {tr(STATUS.get(release.status, release.status))}", ""
    tip = "\n".join(
        filter(None, (stated, release.output, "" if release.card else tr("Its card cannot be read there.")))
    )
    whole = f"{stated}: {folder}" if folder else stated
    return Cell(whole, look, tip, f"{stated} {release.output}".strip(), (stated, folder))


def _short(value: float) -> str:
    return tr_number(value, ".3f") if abs(value) < 100 else plain(value)


def _listed(epsilons: Sequence[float]) -> str:
    return together([at_most(epsilon) for epsilon in epsilons])
