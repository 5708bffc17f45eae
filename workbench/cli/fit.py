"""``workbench fit``: train one private model and release it."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.cli.command import Command, Context
from workbench.cli.tables import add_data, add_ledger, add_output, figure, read_data
from workbench.data.matrix import matrix
from workbench.data.table import Table
from workbench.data.values import codes
from workbench.learners import LEARNERS, Learner, learner
from workbench.params import ParameterError
from workbench.params.field import RealField
from workbench.privacy.central import ReleasedNoise
from workbench.privacy.event import Charge, Cost
from workbench.privacy.table import EPSILON_LEAST, EPSILON_MOST
from workbench.release.ledger import Ledger
from workbench.release.model import Trained, release_model
from workbench.sanitize.plan import Column, Plan, load_plan
from workbench.signals import Notice, Progress

_EPSILON = RealField(help="privacy loss of the model", symbol="ε", at_least=EPSILON_LEAST, upto=EPSILON_MOST)


def _configure(parser: argparse.ArgumentParser) -> None:
    add_data(parser)
    parser.add_argument("--target", required=True, metavar="COL", help="the column to predict")
    models = ", ".join(m.name for m in LEARNERS)
    parser.add_argument("--model", required=True, metavar="MODEL", help=f"one of {models}")
    parser.add_argument("--epsilon", required=True, metavar="ε", help=_EPSILON.help)
    parser.add_argument("--delta", metavar="δ", help="for models that need it; naive-bayes has delta = 0")
    parser.add_argument(
        "--bounds", required=True, type=Path, metavar="PLAN", help="plan with public bounds and domains"
    )
    add_output(parser, "a new folder for the model and its card")
    add_ledger(parser)


def _run(options: argparse.Namespace, context: Context) -> dict[str, Any]:
    chosen = learner(options.model)
    epsilon = _EPSILON.parse(options.epsilon, "--epsilon")
    if options.delta is not None:
        raise ParameterError(f"the model {chosen.name} has delta = 0", mend="leave --delta out")
    plan = load_plan(options.bounds)
    features, target = columns_of(plan, options.target)
    table = read_data(options, context, [c.name for c in plan.columns])
    table.require([c.name for c in (*features, target)])
    context.emit(Progress(0, 1, chosen.title))

    def train(charge: Charge, folder: Path) -> Trained:
        return _train(chosen, epsilon, plan, options.target, table, charge, folder)

    with Ledger.open(options.ledger) as ledger:
        done = release_model(table, options.output, ledger, f"fit {chosen.name}", train)
    for sentence in outside(features, target):
        context.emit(Notice("warning", f"outside the guarantee: {sentence}"))
    return {
        "model": chosen.name,
        "epsilon_charged": float(done.epsilon),
        "epsilon_remaining": float(done.remaining),
        "release_id": done.release_id,
        "output": str(done.output),
    }


def columns_of(plan: Plan, target: str) -> tuple[tuple[Column, ...], Column]:
    """Return (features, target): the columns of a plan that a model reads, none of the dropped ones.

    Raises:
        ParameterError: the target is not in the plan or is dropped, no feature is left, or a fact is not declared.
    """
    goal = plan.column(target)
    features = tuple(c for c in plan.columns if c.action != "drop" and c.name != target)
    if goal.action == "drop":
        raise ParameterError(f"the plan drops the target {target!r}", mend='write action = "protect" for it')
    if not features:
        raise ParameterError("the plan leaves no column to learn from", mend="protect at least one besides the target")
    if goal.missing == "own-value":
        raise ParameterError(
            "a row without a class cannot be learned from",
            f"column {target}",
            'write missing = "refuse" for the target',
        )
    for column in (*features, goal):
        column.grid()  # raises for whatever is not declared
    return features, goal


def outside(features: tuple[Column, ...], target: Column) -> tuple[str, ...]:
    """Return sentences on what a model's ε does not cover."""
    from_data = [c.name for c in (*features, target) if c.bounds_origin == "data"]
    if not from_data:
        return ()
    return (f"Bounds or domain were read off the data, which publishes them: {', '.join(from_data)}.",)


def _train(
    chosen: Learner,
    epsilon: float,
    plan: Plan,
    target_name: str,
    table: Table,
    charge: Charge,
    folder: Path,
) -> Trained:
    features, target = columns_of(plan, target_name)
    estimator: Any = chosen.estimator(
        [c.facts() for c in features],
        target.facts(),
        chosen.parameters.from_plain({"epsilon": epsilon}),
        ReleasedNoise(),
    )
    cost: Cost = estimator.cost(table.rows)
    people = plan.rows_per_person
    # k rows of one person cost k times one row; charged before a cell is turned into a number.
    charge(Cost(cost.epsilon * people, cost.delta, cost.event))

    def paid(asked: Cost) -> None:
        if asked != cost:
            raise AssertionError("the fit costs something else than was charged")

    estimator.set_params(charge=paid)
    estimator.fit(matrix(table, features), codes(table, target))
    (folder / "model.json").write_text(
        json.dumps(estimator.to_plain(), indent=1, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8"
    )
    unit = "one row" if people == 1 else f"one person with at most {people} rows"
    return Trained(
        model=chosen.name,
        parameters=estimator.parameters.to_plain(),
        inputs=[c.facts().to_plain() for c in (*features, target)],
        statement=(
            f"Emptying {unit} changes the probability of any set of released models by a factor of at most e^epsilon; "
            "the number of rows is public."
        ),
        randomness=(
            "exact discrete Laplace on integers (OpenDP) from OpenSSL's cryptographic generator, seeded by the system"
        ),
        releasable=estimator.releasable,
        outside=outside(features, target),
        training={
            "rows_per_person": people,
            "queries": [{"label": e.label, "epsilon": str(e.epsilon)} for e in estimator.events()],
        },
    )


def _text(result: Mapping[str, Any]) -> str:
    return (
        f"released {result['model']} to {result['output']}\n"
        f"charged epsilon = {figure(result['epsilon_charged'])}, {figure(result['epsilon_remaining'])} remain "
        f"(release {result['release_id']})"
    )


COMMAND = Command(
    name="fit",
    help="train one private model and release it with its card",
    example="workbench plan sample:iris --epsilon 1 --target species -o trial.toml && workbench fit sample:iris "
    "--target species --model naive-bayes --epsilon 1 --bounds trial.toml -o model --ledger fit.sqlite",
    configure=_configure,
    run=_run,
    text=_text,
    releases=True,
)
