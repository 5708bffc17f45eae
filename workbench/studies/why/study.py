"""Where a private model loses accuracy (bounds, form, noise), and which change would help most.

The same splits are trained in several ways, each of which differs from the one before in one thing:

1. an ordinary model on the rows as they are;
2. the same on rows clamped to the declared bounds, so that the difference is what the bounds cost;
3. the private learner without noise: what its form costs (public grids and cells, pooled figures, clipping);
4. the private learner at ε: what its noise costs.

Then the private learner is trained again with one thing changed (:mod:`workbench.studies.why.changes`). Gains are
paired by split. Of the rows of a table the study is private; of generated rows it is not.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.data.schema import Attribute
from workbench.learners import Learner, learner
from workbench.learners.tasks import CLASSIFICATION, task
from workbench.params import Parameters, integer, real, text
from workbench.privacy.local.mechanism_table import EPSILON_LEAST, EPSILON_MOST
from workbench.processes.executor import run_tasks
from workbench.signals import NEVER, CancelToken, Emit, Progress, ignore
from workbench.studies.held_out import HeldOut, seed_of, stratified_split
from workbench.studies.metrics import Measured, Metric, measured
from workbench.studies.results import Point, Row, Tally
from workbench.studies.why.changes import ATTRIBUTES, BOUNDS, CHANGES, Training, training_of
from workbench.studies.why.rows import Doubles, Rows
from workbench.work.noise import Exact, Noise, Study

ORDINARY, CLAMPED, EXACT, PRIVATE = "ordinary", "clamped", "exact", "private"
STEPS: Mapping[str, str] = {
    ORDINARY: "Ordinary model, no privacy",
    CLAMPED: "Same model, values clamped to the bounds",
    EXACT: "Private model without noise",
    PRIVATE: "The private model",
}
"""The ways of training that explain the cost, in order, with their titles."""

_GAIN = "gain"


@dataclass(frozen=True, kw_only=True)
class WhyPlan(Parameters):
    """What is explained."""

    model: str = text(default="naive-bayes", help="the model")
    epsilon: float = real(at_least=EPSILON_LEAST, upto=EPSILON_MOST, symbol="ε", help="epsilon of the model")
    repeats: int = integer(default=20, at_least=2, upto=10_000, help="number of 80/20 splits to average over")
    seed: int = integer(default=0, at_least=0, upto=2**63 - 1, help="seed of the splits and the noise")

    def __post_init__(self) -> None:
        """Check the values and the model's name."""
        super().__post_init__()
        learner(self.model)

    @property
    def learner(self) -> Learner:
        """The learner."""
        return learner(self.model)

    @property
    def measured(self) -> Measured:
        """What is measured: it follows from what the model predicts."""
        return measured(self.learner.task)

    @property
    def metric(self) -> Metric:
        """The figure that is explained."""
        return self.measured.main


@dataclass(frozen=True)
class WhyResult:
    """A finished study."""

    plan: WhyPlan  # what was explained
    rows: int  # number of rows of the table
    generated: bool  # whether they were generated, so that nothing here is private
    steps: Mapping[str, Point]  # the figure of each way of training that there is, by its name, in the order of `STEPS`
    changed: Mapping[str, Point]  # the figure after each change, by its name
    gains: Mapping[str, Point]  # how much better the figure is after each change, paired by split; above 0 is better

    @property
    def absent(self) -> dict[str, str]:
        """By the name of each change that could not be tried, why."""
        return {change.name: change.absent for change in CHANGES if change.name not in self.changed}

    @property
    def best(self) -> str | None:
        """The change that helps most, where one helps by more than twice its standard error."""
        sure = {name: gain.mean for name, gain in self.gains.items() if gain.mean > 2 * gain.standard_error}
        return max(sure, key=lambda name: sure[name]) if sure else None


@dataclass(frozen=True, slots=True)
class Task:
    """One model to train: a way (a step, or the name of a change) and the number of the split."""

    way: str
    repeat: int

    @property
    def name(self) -> str:
        """Its name in errors."""
        return f"{self.way}, repeat {self.repeat}"


def explain(
    plan: WhyPlan,
    rows: Rows,
    *,
    jobs: int = 1,
    emit: Emit = ignore,
    cancel: CancelToken = NEVER,
) -> WhyResult:
    """Train every way of ``plan`` and return what each costs or gives.

    The figures do not depend on how many processes there are.

    Raises:
        InputError: the table is too small to be split.
        ParameterError: the columns are not what the learner can use.
    """
    plan.learner.require(rows.attributes, rows.target)
    ways = [way for way in STEPS if _there(plan.learner, rows, way)]
    # What is made of fewer columns, or within other bounds, is not the same thing: it cannot be compared.
    ways += [c.name for c in CHANGES if not (_transforms(plan.learner) and c.name in (ATTRIBUTES, BOUNDS))]
    tasks = [Task(way, repeat) for way in ways for repeat in range(plan.repeats)]
    found: dict[Task, float | None] = {}
    title = f"{plan.learner.title} in {len(ways)} ways"
    emit(Progress(0, len(tasks), title))
    for done, value in run_tasks(
        _figure, (plan, rows), tasks, jobs=jobs, cancel=cancel, name=lambda one: one.name, group=lambda one: one.way
    ):
        found[done] = value
        emit(Progress(len(found), len(tasks), title))

    def values(way: str) -> list[float]:
        return [v for repeat in range(plan.repeats) if (v := found.get(Task(way, repeat))) is not None]

    whole = {way: figures for way in ways if len(figures := values(way)) == plan.repeats}
    private = whole[PRIVATE]
    sign = 1.0 if plan.metric.higher else -1.0
    gains = {
        change.name: [sign * (new - old) for new, old in zip(whole[change.name], private, strict=True)]
        for change in CHANGES
        if change.name in whole
    }
    return WhyResult(
        plan,
        len(rows.y),
        rows.generated,
        {way: _point(way, whole[way], plan) for way in STEPS if way in whole},
        {name: _point(name, whole[name], plan) for name in gains},
        {name: _point(name, gain, plan, _GAIN) for name, gain in gains.items()},
    )


def _point(way: str, values: list[float], plan: WhyPlan, metric: str = "") -> Point:
    named = metric or plan.metric.name
    (point,) = Tally(Row(way, plan.epsilon, i, named, value) for i, value in enumerate(values)).points()
    return point


def _there(model: Learner, rows: Rows, way: str) -> bool:
    if way in (ORDINARY, CLAMPED) and model.ordinary is None:
        return False
    return way != CLAMPED or (not _transforms(model) and any(_beyond(rows)))


def _transforms(model: Learner) -> bool:
    return task(model.task).transforms


def _beyond(rows: Rows) -> Iterator[bool]:
    for attribute, column in zip(rows.attributes, rows.X.T, strict=True):
        if attribute.numeric:
            lower, upper = attribute.bounds()
            yield bool(((column < lower) | (column > upper)).any())


def _with_room(rows: Rows) -> tuple[Attribute, ...]:
    """Return the attributes with bounds that hold every number that occurs: of a model that is never released."""
    out = []
    for attribute, column in zip(rows.attributes, rows.X.T, strict=True):
        known = column[np.isfinite(column)]
        if attribute.numeric and len(known):
            lower, upper = attribute.bounds()
            low, high = min(lower, float(known.min())), max(upper, float(known.max()))
            if (low, high) != (lower, upper):
                attribute = dataclasses.replace(attribute, lower=low, upper=high, cells=None)
        out.append(attribute)
    return tuple(out)


def _figure(shared: tuple[WhyPlan, Rows], asked_for: Task) -> float | None:
    """Train one model and return its figure on held-out rows, ``None`` where there is nothing to change."""
    plan, rows = shared
    study, model = plan.measured, plan.learner
    training, held_out = stratified_split(study.strata(rows.y), seed_of(plan.seed, "split", asked_for.repeat))
    given: Training | None = training_of(rows, training, plan.epsilon)
    assert given is not None
    drawn = np.random.Generator(
        np.random.PCG64(seed_of(plan.seed, "why", asked_for.way, plan.epsilon, asked_for.repeat))
    )
    estimator: Any
    if asked_for.way in (ORDINARY, CLAMPED):
        assert model.ordinary is not None  # explain has asked
        # Some ordinary models clamp as well: the first step has bounds that leave nothing out.
        facts = rows.attributes if asked_for.way == CLAMPED or _transforms(model) else _with_room(rows)
        estimator = model.ordinary(facts, rows.target)
        X = clamped(rows.attributes, given.X) if asked_for.way == CLAMPED else given.X
        estimator.fit(X, given.y)
    else:
        change = next((change for change in CHANGES if change.name == asked_for.way), None)
        given = given if change is None else change.make(given)
        if given is None:
            return None
        noise: Noise = Exact() if asked_for.way == EXACT else Study(drawn)
        parameters = model.parameters.from_plain({} if asked_for.way == EXACT else {"epsilon": given.epsilon})
        estimator = model.private(given.attributes, given.target, parameters, noise)
        estimator.fit(given.X, given.y)
    classes = len(rows.target.values()) if model.task == CLASSIFICATION else 0
    asked = rows.X[held_out][:, list(given.columns)]
    if asked_for.way == CLAMPED:
        asked = clamped(rows.attributes, asked)
    said = HeldOut.ask(estimator, given.attributes, classes, asked, rows.y[held_out])
    return study.measure(said, rows.target)[plan.metric.name]


def clamped(attributes: Sequence[Attribute], X: Doubles) -> Doubles:
    """Return rows (n, d) whose numbers lie within their declared bounds; missing ones stay missing."""
    out = X.copy()
    for j, attribute in enumerate(attributes):
        if attribute.numeric:
            out[:, j] = np.clip(X[:, j], *attribute.bounds())
    return out


CAUSES = {
    CLAMPED: "the bounds",
    EXACT: "the form of the private model",
    PRIVATE: "the noise",
}
"""What each step adds to the one before: what the difference between the two is due to."""
LOSSES = {
    CLAMPED: "{loss} from the bounds",
    EXACT: "{loss} from the form of the private model",
    PRIVATE: "{loss} from the noise",
}

BOUNDS_HINT = "Bounds must be public: take tighter ones from public knowledge, not from the rows of this study."


@dataclass(frozen=True)
class Line:
    """One line of the study."""

    name: str  # the step or change
    title: str  # the same for a person
    point: Point  # its figure
    change: float | None  # the difference to the step before, or the gain of a change; `None` of the first
    cause: str = ""  # what that difference is due to


def step_lines(result: WhyResult) -> tuple[Line, ...]:
    """Return the ways of training in order, each with what it lost against the one before."""
    lines: list[Line] = []
    for name, point in result.steps.items():
        change = point.mean - lines[-1].point.mean if lines else None
        # Without a line of their own the bounds cost nothing: no value lies beyond them.
        lines.append(Line(name, STEPS[name], point, change, CAUSES.get(name, "")))
    return tuple(lines)


def change_lines(result: WhyResult) -> tuple[Line, ...]:
    """Return what was changed, the most helpful first."""
    lines = [
        Line(change.name, change.title, result.changed[change.name], result.gains[change.name].mean, change.how)
        for change in CHANGES
        if change.name in result.gains
    ]
    return tuple(sorted(lines, key=lambda line: -(line.change or 0.0)))


def in_sentences(result: WhyResult) -> tuple[str, ...]:
    """Return what the study says: the cost, where it comes from, and what would help most."""
    return (_cost(result), _help(result) if _is_lost(result) else "There is little to improve.")


def _is_lost(result: WhyResult) -> bool:
    first, private = next(iter(result.steps.values())), result.steps[PRIVATE]
    lost = first.mean - private.mean if result.plan.metric.higher else private.mean - first.mean
    # The standard error of the difference, as if the splits were independent.
    return lost > 2 * math.hypot(first.standard_error, private.standard_error)


def _cost(result: WhyResult) -> str:
    metric, steps = result.plan.metric, result.steps
    private = steps[PRIVATE].mean
    measured, epsilon = f"{metric.inside[:1].upper()}{metric.inside[1:]}", f"{result.plan.epsilon:.12g}"
    first = next(iter(steps))
    before = steps[first].mean
    if first == ORDINARY:
        opening = f"{measured} is {before:.3f} without privacy and {private:.3f} at ε = {epsilon}"
    else:
        opening = f"{measured} is {before:.3f} without noise and {private:.3f} at ε = {epsilon}"
    if not _is_lost(result):
        return f"{opening}: no clear loss."
    sign = -1 if metric.higher else 1
    parts = [
        LOSSES[line.name].format(loss=f"{sign * line.change:.3f}")
        for line in step_lines(result)
        if line.change is not None and sign * line.change > 0
    ]
    return f"{opening}. The loss: {', '.join(parts)}." if parts else f"{opening}."


def _help(result: WhyResult) -> str:
    best = result.best
    if best is None:
        return "None of the changes tried clearly helps."
    gain = result.gains[best]
    title = next(change.title for change in CHANGES if change.name == best)
    stated = f"{title} would help most: {gain.mean:+.3f} ± {gain.standard_error:.3f}."
    if not result.plan.metric.higher:
        stated = f"{title} would help most: {-gain.mean:.3f} ± {gain.standard_error:.3f} less."
    return f"{stated} {BOUNDS_HINT}" if best == "bounds" else stated
