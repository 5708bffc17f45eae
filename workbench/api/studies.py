"""How good a model is against epsilon, as a DataFrame: a private study."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from workbench.api.frames import frame_of, table_of
from workbench.api.study_warning import PRIVATE, warn_of_study
from workbench.learners import learner
from workbench.params import ParameterError
from workbench.sanitize.plan import Plan
from workbench.studies.curve import CurvePlan, run_curve
from workbench.studies.regimes import StudyData

COLUMNS = ("regime", "epsilon", "repeat", "metric", "value")


def curve(
    frame: pd.DataFrame,
    plan: Plan,
    target: str,
    *,
    model: str = "naive-bayes",
    epsilons: Iterable[float] = (0.1, 0.3, 1.0, 3.0, 10.0),
    regimes: Sequence[str] = ("none", "sanitized:staircase", "private"),
    repeats: int = 20,
    seed: int = 0,
    jobs: int = 1,
    settings: Mapping[str, Any] | None = None,
) -> pd.DataFrame:
    """Return how good ``model`` is on held-out rows, one row for each figure.

    Args:
        frame: the rows.
        plan: declares the columns, the target among them; what it drops is not used.
        target: the column to predict.
        model: a learner's name, as in ``workbench fit``.
        epsilons: privacy losses of a whole row.
        regimes: ``none``, ``sanitized:MECHANISM``, ``corrected:MECHANISM``, ``private``.
        repeats: 80/20 splits.
        seed: of splits and draws.
        settings: other parameters of the private model, such as ``{"blocks": 20}``.
        jobs: worker processes; with more than one, a script needs ``if __name__ == "__main__":``.

    Returns:
        The columns ``regime``, ``epsilon``, ``repeat``, ``metric``, ``value``; ``attrs["levels"]`` has the figure of
        one constant answer by metric. Means and standard errors are
        ``curve(…).groupby(["metric", "regime", "epsilon"])["value"].agg(["mean", "sem"])``.

    Raises:
        InputError: a cell cannot be used; the message names row and column.
        ParameterError: the target does not fit the model, or a regime is not known.
    """
    given = CurvePlan(
        model=model,
        regimes=tuple(regimes),
        epsilons=tuple(float(e) for e in epsilons),
        repeats=repeats,
        seed=seed,
        settings=tuple(f"{name}={value}" for name, value in (settings or {}).items()),
    )
    if jobs < 1:
        raise ParameterError(f"jobs = {jobs} is no number of processes", mend="give 1 or more")
    chosen = learner(model)
    data = StudyData.read(table_of(frame), plan, target, chosen.task)
    chosen.require(data.columns, data.target)
    result = run_curve(given, data, jobs=jobs)
    warn_of_study("a curve", "its figures come from private rows")
    figures = {name: [getattr(row, name) for row in result.rows] for name in COLUMNS}
    return frame_of(figures, private=PRIVATE, levels=dict(result.levels), left_out=dict(result.left_out))
