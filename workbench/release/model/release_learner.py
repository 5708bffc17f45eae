"""The release of one private model: charged, for all rows of a person, before anything is drawn."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench import learners
from workbench.data.cluster_parts import PartsOnWorkers, Workers
from workbench.data.columns.grid import column_of, matrix
from workbench.data.table import Table
from workbench.learners import Learner
from workbench.learners.base import PrivateEstimator, SummingEstimator
from workbench.learners.tasks import NO_TARGET, target_of
from workbench.params import InputError, ParameterError, Parameters
from workbench.params.remedies import DECLARE, PROTECT_TARGET, REPLACE_VALUES, Remedy
from workbench.privacy.accounting.compose import for_person
from workbench.privacy.accounting.event import Charge, Cost, exact
from workbench.release.card import MODEL, card_facts, file_form_facts, model_bytes, model_output
from workbench.release.certificate import query_facts
from workbench.release.delta_limit import require_small_cost, require_small_delta
from workbench.release.ledger.entry import decimal_text
from workbench.release.ledger.ledger import Ledger
from workbench.release.recover import request_of
from workbench.release.release_path import Destination, Released, ReleaseRequest, read_parts, release
from workbench.release.statements import Persons, model_statement
from workbench.sanitize.forecast import read_off
from workbench.sanitize.plan import Column, Plan
from workbench.sanitize.plan_guesses import require_confirmed
from workbench.signals import NEVER, CancelToken, Emit, ignore
from workbench.work.noise import Charged, uncharged
from workbench.work.work import CombinedReader, Sums, WorkOutput

_ROOM_OF_AN_EVENT = 200
"""Bytes of a model and its card for each query and column: a public row that was asked about is in the model."""

_NUMBER = 32  # bytes of a number in a line of its own


@dataclass(frozen=True, eq=False)
class FitTask:
    """The fit and release of a learner."""

    learner: Learner
    parameters: Parameters  # its declared parameters, ε among them
    plan: Plan  # declares bounds and domains of the columns
    target: str | None  # the column to predict, or to leave out; `None`: a model that predicts nothing learns from all
    table: Table
    output: Path  # a new folder; it appears whole or not at all
    agreed: Decimal | None = None  # ε that was shown; where the release would cost anything else, it is refused
    replace: bool = False  # whether the folder of a released model may be replaced
    workers: Workers | None = None  # of a cluster, who add up parts of the rows; noise is drawn here
    # Looked at between parts of a table that is larger than memory.
    cancel: CancelToken = field(default_factory=CancelToken)


def require_sums(chosen: Learner) -> None:
    """Raise :class:`ParameterError` where a learner needs more of the rows than sums, which is what workers make."""
    if not chosen.sums:
        able = ", ".join(each.name for each in learners.LEARNERS if each.sums)
        what = f"the model “{chosen.title}” does not add up sums of parts of the rows, which is all that workers can do"
        raise ParameterError(what, hint=("use --engine local", f"choose one of {able}"), code="not-for-workers")


def release_fit(task: FitTask, ledger: Ledger, emit: Emit = ignore) -> Released:
    """Train a learner and release its model as a folder.

    Raises:
        ParameterError: a column is not declared, the plan leaves nothing to learn from, or workers cannot do it.
        InputError: the plan holds unconfirmed guesses, the folder exists, or a value does not fit its column; a public
            file that the model reads is the table itself, or has changed since its cost was shown.
        BudgetRefusedError: the cap does not allow it.
    """
    plan, parameters = task.plan, task.parameters
    require_confirmed(plan)
    if task.workers is not None:
        require_sums(task.learner)
    estimator = unfitted(task.learner, parameters, plan, task.target)
    files = estimator.files_read
    for name, digest in files.items():
        if digest and digest == task.table.digest:
            raise InputError(
                "the file of public rows is the private table itself, and its rows would be published",
                f"parameter {name}",
                "give a file of rows that anyone may read",
            )
    rows = plan.rows_of(task.table).rows
    costs = fit_cost(estimator, plan, rows).epsilon
    if task.agreed is not None and costs != task.agreed:
        agreed = decimal_text(task.agreed)
        raise InputError(
            f"the cost has changed since it was shown: epsilon = {decimal_text(costs)}, not {agreed}",
            hint="check the cost again",
        )
    asked = {"parameters": parameters.to_plain(), "plan": plan.published().to_toml(), "target": task.target}
    if files:
        asked["files"] = {name: digest.hex() for name, digest in files.items()}
    work = f"fit {task.learner.name}"
    counts = _read_before(task, estimator, ledger, emit)
    wanted = ReleaseRequest(
        table=task.table,
        to=Destination.of_model(task.output, replace=task.replace),
        work=work,
        digest=request_of(work, **asked),
        room=_room(estimator, plan, task.target, rows),
        draw=lambda reservation, emit, cancel: _train(task, estimator, counts, reservation),
        facts=card_facts,
        account=plan.account,
        unit=plan.rows_per_person if plan.unit is not None else 0,
    )
    return release(wanted, ledger, emit, task.cancel)


def _read_before(
    task: FitTask, estimator: PrivateEstimator[Any], ledger: Ledger, emit: Emit
) -> NDArray[np.int64] | None:
    """Return the counts from which ranges are chosen, of a table in parts, if there are; in that pass it is marked.

    The account is found by these marks before the charge; what the counts become is drawn after it.
    """
    plan, table, workers, part = task.plan, task.table, task.workers, None
    rows = plan.rows_of(table).rows
    # Which rows of a person are kept is known of the whole table alone; and blank lines may be rows of the plan's.
    if isinstance(estimator, SummingEstimator) and plan.unit is None and rows == table.rows:
        part = estimator.range_counts(rows)
    if table.joined is not None or (workers is None and not (table.in_parts and part)):
        return None
    parts = None if workers is None else PartsOnWorkers(table, workers)
    marking = ledger.marking(table, parts)
    if part is None:
        read_parts(marking, table, parts, emit, task.cancel)
        return None
    sums = Sums(_readers(columns_of(plan, task.target)), part)
    read_parts(CombinedReader(sums, plan.rows_of, marking), table, parts, emit, task.cancel)
    counts: NDArray[np.int64] = sums.total
    return counts


def _room(estimator: PrivateEstimator[Any], plan: Plan, target: str | None, rows: int) -> int:
    """Return an upper bound on the bytes of model and card: 100 for each figure of each class, and the names."""
    features, goal = columns_of(plan, target)
    figures = sum(8 if c.numeric else c.grid().cells.total for c in features)
    classes = 1 if goal.numeric else goal.grid().cells.total
    names = sum(len(label.encode()) for c in (*features, goal) for label in c.grid().labels if not c.numeric)
    asked = _ROOM_OF_AN_EVENT * len(estimator.events(rows)) * len(features) + _NUMBER * estimator.numbers(rows)
    return (1 << 20) + 100 * figures * classes + 8 * names + asked


def unfitted(chosen: Learner, parameters: Parameters, plan: Plan, target: str | None) -> PrivateEstimator[Any]:
    """Return the estimator that a release of ``chosen`` fits, still without a charge; reads no row of the table."""
    features, goal = columns_of(plan, target)
    return chosen.private([c.facts() for c in features], goal.facts(), parameters, uncharged())


def fit_cost(estimator: PrivateEstimator[Any], plan: Plan, rows: int) -> Cost:
    """Return what the release of an estimator's fit on ``rows`` rows is charged; reads no row of the table.

    k rows of one person cost more than one row: k·ε, and δ where there is one by more than that.
    """
    cost = estimator.cost(rows)
    assert cost is not None  # only a fit without noise has none
    return for_person(cost, plan.rows_per_person)


def require_small_fit(estimator: PrivateEstimator[Any], cost: Cost, plan: Plan, rows: int) -> None:
    """Raise :class:`ParameterError` unless δ is below 1/``rows``: what is charged, and what was given."""
    given = getattr(estimator.parameters, "delta", None)
    if given is not None and not cost.delta:
        require_small_delta(exact(given), rows)
    require_small_cost(cost, rows, rows_per_person=plan.rows_per_person)


def columns_of(plan: Plan, target: str | None) -> tuple[tuple[Column, ...], Column]:
    """Return (features, target): the columns of a plan that a model reads, none of the dropped ones.

    Without a target, :data:`NO_TARGET` takes its place.

    Raises:
        ParameterError: the target is not in the plan or is dropped, no feature is left, or a fact is not declared.
    """
    goal = (
        plan.column(target) if target is not None else Column.from_plain({**NO_TARGET.to_plain(), "action": "protect"})
    )
    features = tuple(c for c in plan.columns if c.action != "drop" and c.name != target)
    if goal.action == "drop":
        raise ParameterError(f"the plan drops the target {target!r}", hint=PROTECT_TARGET, code="no-target")
    if not features:
        raise ParameterError("the plan leaves no column to learn from", hint="protect at least one besides the target")
    if goal.missing == "own-value" and not plan.replaces_invalid:
        raise ParameterError(
            f"a row without a {'number' if goal.numeric else 'class'} cannot be used for training",
            f"column {target}",
            (Remedy(DECLARE, 'write missing = "refuse" for the target', {"key": "missing"}), REPLACE_VALUES),
            field="missing",
        )
    # Where invalid values are replaced, a row with nothing to predict is empty: missing is no class of its own.
    goal = dataclasses.replace(goal, missing="refuse")
    for column in (*features, goal):
        column.grid()  # raises for whatever is not declared
    return features, goal


def outside(features: tuple[Column, ...], target: Column) -> tuple[str, ...]:
    """Return a sentence for everything that a model's ε does not cover."""
    return read_off((*features, target))


def fit_on(
    estimator: PrivateEstimator[Any],
    table: Table,
    columns: tuple[tuple[Column, ...], Column],
    workers: Workers | None = None,
    cancel: CancelToken = NEVER,
    counts: NDArray[np.int64] | None = None,
) -> None:
    """Fit an estimator, which charges before anything is drawn, on a table as the plan reads it.

    One of sums reads it in parts, where workers of a cluster read them or they are not in memory. ``counts`` are those
    from which ranges are chosen, where they are known.

    Raises:
        InputError: a value does not fit its column; column and row are named.
        BudgetRefusedError: from the charge; nothing was drawn.
        WorkbenchError: the cluster failed.
    """
    readers = _readers(columns)
    if isinstance(estimator, SummingEstimator) and (workers is not None or table.in_parts):
        parts = None if workers is None else PartsOnWorkers(table, workers)

        def add_up(part: Callable[[list[Any]], Any]) -> Any:
            sums = Sums(readers, part)
            sums.read(table, cancel, parts)
            return sums.total

        estimator.fit_parts(table.rows, add_up, counts)
    else:
        estimator.fit_rows(table.rows, lambda: (matrix(table, columns[0]), readers[-1](table)))


def _readers(columns: tuple[tuple[Column, ...], Column]) -> list[Callable[[Table], Any]]:
    features, target = columns
    return [*(partial(column_of, attribute=c) for c in features), partial(target_of, target=target.facts())]


def _train(
    wanted: FitTask, estimator: PrivateEstimator[Any], counts: NDArray[np.int64] | None, charge: Charge
) -> WorkOutput:
    plan, chosen = wanted.plan, wanted.learner
    features, target = columns_of(plan, wanted.target)
    table = plan.rows_of(wanted.table)
    people = plan.rows_per_person

    def reserve(cost: Cost) -> None:
        # k rows of one person cost more than one row.
        whole = for_person(cost, people)
        require_small_fit(estimator, whole, plan, table.rows)
        charge(whole)

    estimator.set_params(noise=Charged(reserve))
    fit_on(estimator, table, (features, target), wanted.workers, wanted.cancel, counts)
    persons, gaussian = Persons.of(plan), estimator.gaussian(table.rows)
    alone = wanted.target is None
    statement = model_statement(persons, replaces_invalid=plan.replaces_invalid, delta=gaussian, alone=alone)
    stated = {
        **file_form_facts(plan.reading),
        "rows": table.rows,
        "model": chosen.name,
        "guarantee": {"statement": statement, "randomness": estimator.randomness(table.rows)},
        "parameters": estimator.published_parameters(),
        "inputs": [c.facts().to_plain() for c in (*features, target)],
        "outside_guarantee": list(outside(features, target)),
        "training": {
            **persons.facts(),
            "attributes_used": list(estimator.attributes_used),
            "queries": query_facts(estimator.events()),
        },
    }
    return model_output({MODEL: model_bytes(estimator)}, stated, releasable=estimator.releasable)
