"""How much of what rows teach a model is left in each way to release, tried on made-up rows: no row is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from workbench.learners.tasks import CLASSIFICATION, REGRESSION
from workbench.sanitize.plan import AUTO, Plan
from workbench.signals.cancel import CancelToken
from workbench.signals.events import ignore
from workbench.studies.curve import CurvePlan, run_curve
from workbench.studies.learned_from import MODELS
from workbench.studies.made_up_table import made_up_table
from workbench.studies.regimes import StudyData

REGIMES = {"rows": "sanitized:plan", "synthetic": "synthetic:auto", "model": "private"}
"""What a model is trained on in each way to release."""

PLAIN = "none"
REPEATS = 3
MOST_ROWS = 10_000
"""Made-up rows at most: of more rows a little more is learnt."""

FEW_CELLS = 17
"""Cells of a made-up number: its table is then made in milliseconds, and noise changes little by it."""


@dataclass(frozen=True)
class Learnt:
    """What a model reaches on made-up rows.

    Attributes:
        found: trained on what the way releases.
        of: trained on the rows themselves.
        level: always giving the one best answer.
        title: the name of the figure.
    """

    found: float
    of: float
    level: float
    title: str

    @property
    def kept(self) -> float:
        """The part that is left of what the rows themselves teach, above one answer for all."""
        return max(self.found - self.level, 0.0) / max(self.of - self.level, 1e-9)


def learnt_by_ways(plan: Plan, target: str, rows: int, cancel: CancelToken) -> Mapping[str, Learnt]:
    """Return by way what a model of ``target`` learns at the plan's ε.

    Raises:
        CancelledError: ``cancel`` was set.
        ParameterError: the columns do not serve a model, or ε is too small.
    """
    key = _key(plan, target, rows)
    found = _KEPT.get(key)
    if found is None:
        found = _learnt(*key, cancel)
        while len(_KEPT) >= _MOST_KEPT:
            _KEPT.pop(next(iter(_KEPT)), None)
        _KEPT[key] = found
    return found


def kept_learnt(plan: Plan, target: str, rows: int) -> Mapping[str, Learnt] | None:
    """Return what :func:`learnt_by_ways` has found out before; ``None`` where it has not."""
    return _KEPT.get(_key(plan, target, rows))


_Key = tuple[Plan, str, int]
_KEPT: dict[_Key, Mapping[str, Learnt]] = {}
_MOST_KEPT = 256


def _key(plan: Plan, target: str, rows: int) -> _Key:
    columns = tuple(
        replace(c, cells=min(FEW_CELLS, c.grid().cells.size), mechanism=AUTO) if c.numeric and c.name != target else c
        for c in plan.protected
    )
    return Plan(epsilon=plan.epsilon, columns=columns), target, min(max(rows, 1), MOST_ROWS)


def _learnt(plan: Plan, target: str, rows: int, cancel: CancelToken) -> Mapping[str, Learnt]:
    task = REGRESSION if plan.column(target).numeric else CLASSIFICATION
    data = StudyData.read(made_up_table(plan, target, task, rows), plan, target, task)
    regimes = (PLAIN, *REGIMES.values())
    curve = CurvePlan(model=MODELS[task], regimes=regimes, epsilons=(float(plan.row_epsilon()),), repeats=REPEATS)
    result = run_curve(curve, data, jobs=1, emit=ignore, cancel=cancel)
    main = curve.measured.main
    means = {p.regime: p.mean for p in result.points if p.metric == main.name}
    level = result.levels.get(main.name)
    return {
        way: Learnt(means[regime], means[PLAIN], 0.0 if level is None else level, main.title)
        for way, regime in REGIMES.items()
    }
