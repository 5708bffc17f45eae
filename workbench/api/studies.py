"""Column descriptions, accuracy against epsilon, and where accuracy is lost, as DataFrames: private studies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from workbench.api.datasets import PRIVATE, note, warn, warn_of_study
from workbench.api.frames import Place, frame_of, table_for, table_of
from workbench.api.plans import for_frame
from workbench.data.columns.profile import profile
from workbench.learners import learner
from workbench.params import ParameterError
from workbench.processes.dask_address import scheduler_named
from workbench.release.model.release_learner import columns_of
from workbench.sanitize.plan import Plan
from workbench.studies.curve import CurvePlan, run_curve
from workbench.studies.regimes import StudyData
from workbench.studies.why.rows import Rows, generate
from workbench.studies.why.study import WhyPlan, change_lines, explain, in_sentences, step_lines


def describe(frame: pd.DataFrame) -> pd.DataFrame:
    """Return what is in each column of ``frame``: private, as it is computed from the rows without noise.

    Returns:
        One row a column: ``column``, ``dtype``, ``kind`` (the likeliest of integer, real, category, boolean and date),
        ``missing``, ``distinct`` and ``look_at`` (what a person should check before a release). ``attrs`` hold
        ``rows`` and ``private``.

    Raises:
        InputError: it is not a DataFrame, or no column has plain values.
    """
    table = table_of(frame, unread=None)
    left_out = {name: ("", None, None, f"it has {what}: drop it") for name, what in table.left_out.items()}
    said = {c.name: (c.kind, c.missing, c.distinct, "; ".join(s.reason for s in c.suspicions)) for c in profile(table)}
    kind, missing, distinct, look_at = zip(*((left_out | said)[str(name)] for name in frame.columns), strict=True)
    warn_of_study("a description", hint="it is computed from the rows without noise")
    return frame_of(
        {
            "column": list(frame.columns),
            "dtype": [str(dtype) for dtype in frame.dtypes],
            "kind": kind,
            "missing": missing,
            "distinct": distinct,
            "look_at": look_at,
        },
        rows=table.rows,
        private=PRIVATE,
    )


COLUMNS = ("regime", "epsilon", "repeat", "metric", "value")


def curve(
    frame: pd.DataFrame,
    plan: Plan,
    target: str,
    *,
    model: str = "naive-bayes",
    epsilons: float | Iterable[float] = (0.1, 0.3, 1.0, 3.0, 10.0),
    regimes: Sequence[str] = ("none", "sanitized:staircase", "private"),
    repeats: int = 20,
    seed: int = 0,
    jobs: int = 1,
    scheduler: str | None = None,
    scheduler_file: Place | None = None,
    settings: Mapping[str, Any] | None = None,
    study_ledger: Place | None = None,
) -> pd.DataFrame:
    """Return how good ``model`` is on held-out rows, one row for each figure.

    Args:
        frame: the rows.
        plan: declares the columns, the target among them; what it drops is not used.
        target: the column to predict.
        model: a learner's name, as in ``workbench fit``.
        epsilons: privacy losses of a whole row; one, or several.
        regimes: ``none``, ``sanitized:MECHANISM``, ``corrected:MECHANISM``, ``private``.
        repeats: 80/20 splits.
        seed: of splits and draws.
        settings: other parameters of the private model, such as ``{"blocks": 20}``.
        jobs: worker processes; with more than one, a script needs ``if __name__ == "__main__":``.
        scheduler: a Dask scheduler (``tcp://HOST:PORT`` or ``tls://HOST:PORT``) whose workers do the fits, in place of
            ``jobs``. The raw rows are sent to them, encrypted only with ``tls://``; otherwise a warning says so.
        scheduler_file: in place of ``scheduler``, the file that ``dask scheduler --scheduler-file FILE`` has written.
        study_ledger: the ledger's file that notes, at no cost, that private figures of these rows were shown; ``None``
            for the user's own. The card or certificate of a later release of them says so.

    Returns:
        The columns ``regime``, ``epsilon``, ``repeat``, ``metric``, ``value``; ``attrs["levels"]`` has the figure of
        one constant answer by metric. Means and standard errors are
        ``curve(…).groupby(["metric", "regime", "epsilon"])["value"].agg(["mean", "sem"])``.

    Raises:
        InputError: a cell cannot be used; the message names row and column.
        ParameterError: the target does not fit the model, a regime is not known, or the address is malformed.
        InputError: the ledger cannot note it.
        WorkbenchError: the scheduler cannot be reached, has no worker or runs other versions, or workers died.
    """
    given = CurvePlan(
        model=model,
        regimes=tuple(regimes),
        epsilons=tuple(float(e) for e in (epsilons if isinstance(epsilons, Iterable) else (epsilons,))),
        repeats=repeats,
        seed=seed,
        settings=tuple(f"{name}={value}" for name, value in (settings or {}).items()),
    )
    if jobs < 1:
        raise ParameterError(f"jobs = {jobs} is not a number of processes", hint="use 1 or more")
    scheduler = scheduler_named(scheduler, scheduler_file)
    chosen = learner(model)
    plan, table = for_frame(plan, frame), table_for(plan, frame)
    data = StudyData.read(table, plan, target, chosen.task)
    chosen.require(data.columns, data.target)
    note("curve", table, frame, study_ledger=study_ledger)
    result = run_curve(given, data, jobs=jobs, scheduler=scheduler, emit=warn)
    warn_of_study("a curve", hint="its figures come from private rows")
    figures = {name: [getattr(row, name) for row in result.rows] for name in COLUMNS}
    return frame_of(figures, private=PRIVATE, levels=dict(result.levels), left_out=dict(result.left_out))


WHY_COLUMNS = ("part", "name", "title", "mean", "standard_error", "difference")


def why(
    frame: pd.DataFrame | None,
    plan: Plan,
    target: str,
    *,
    model: str = "naive-bayes",
    epsilon: float = 1.0,
    rows: int | None = None,
    repeats: int = 20,
    seed: int = 0,
    jobs: int = 1,
    study_ledger: Place | None = None,
) -> pd.DataFrame:
    """Return where the accuracy of a private model goes, and what would help most.

    Args:
        frame: the rows; ``None`` for generated ones, which contain no real data.
        plan: declares the columns, the target among them.
        target: the column to predict.
        model: a learner's name, as in ``workbench fit``.
        epsilon: epsilon of the model.
        rows: how many rows to generate, where ``frame`` is ``None``.
        repeats: 80/20 splits.
        seed: of splits and draws.
        jobs: worker processes; with more than one, a script needs ``if __name__ == "__main__":``.
        study_ledger: as for :func:`curve`; nothing is noted of generated rows.

    Returns:
        One row for each ``step`` (no privacy, bounds, form, noise; ``difference``: to the step before) and each
        ``change`` (``difference``: the gain); ``attrs["sentences"]`` says the same in words.

    Raises:
        InputError: a cell cannot be used; the message names row and column.
        ParameterError: the target does not fit the model, or the rows are named twice or not at all.
    """
    given = WhyPlan(model=model, epsilon=float(epsilon), repeats=repeats, seed=seed)
    if (frame is None) == (rows is None):
        raise ParameterError(
            "pass either a DataFrame or rows=N", hint="pass a DataFrame, or None and rows=N for generated rows"
        )
    if frame is not None:
        plan, table = for_frame(plan, frame), table_for(plan, frame)
        of = Rows.of(StudyData.read(table, plan, target, given.learner.task))
        note("why", table, frame, study_ledger=study_ledger)
        warn_of_study("what a model costs on a table", hint="give None and rows=N for generated rows")
    else:
        assert rows is not None
        attributes, goal = columns_of(plan, target)
        of = generate([a.facts() for a in attributes], goal.facts(), given.learner.task, rows, seed)
    result = explain(given, of, jobs=jobs)
    lines = [("step", line) for line in step_lines(result)] + [("change", line) for line in change_lines(result)]
    values = [(p, e.name, e.title, e.point.mean, e.point.standard_error, e.change) for p, e in lines]
    stated = {"metric": given.metric.name, "sentences": in_sentences(result), "absent": result.absent}
    if frame is not None:
        stated["private"] = PRIVATE
    return frame_of({name: [v[i] for v in values] for i, name in enumerate(WHY_COLUMNS)}, **stated)
