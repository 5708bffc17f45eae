"""The Python interface: pandas DataFrames in and out, with the plans, ledger and models of window and command line.

Without a ledger everything is a private study, and says so with a :class:`PrivateStudyWarning`: look at it, do not
publish it. With a ledger and ``output=`` the result is charged before a row is read, written with its certificate or
card, and can be published. The account that pays is always named: part of a table does not have the marks of the
whole, so only the name shows the ledger that both are of the same people. A dataset carries it, and so does what is
taken from a dataset::

    from workbench import api

    people = api.dataset("people.csv", account="people", ledger="ledger.sqlite")
    api.describe(people)                                                   # private, for you
    plan = api.plan(
        people, epsilon=3, bounds={"age": (0, 110)}, domains={"sex": ["female", "male"]}, drop=["name"], target="sex"
    )
    plan.forecast(rows=2000)                                               # reads no rows
    api.solve(plan, ["mean(age) ± 2", "share(sex=female) ± 3 %"], rows=2000)["epsilon"]
    api.release(people, plan)                                              # a private study
    api.release(people, plan, output="people-released.csv")
    api.ledger("ledger.sqlite").cap("people", epsilon=12)                  # the first release set it to 3
    api.synthesize(people, plan, output="people-synthetic.csv")
    api.statistics(people, plan, output="people-figures.csv")
    api.curve(people, plan, target="sex", epsilons=[0.1, 1, 10])           # always a private study
    api.quality("people-released.csv", people, target="sex")               # the same
    api.report(people, "report.pdf", released="people-released.csv", quasi=["age", "sex"])
    model = api.NaiveBayes(epsilon=1, bounds={"age": (0, 110)}, classes=["female", "male"], output="model")
    model.fit(people[["age"]], people["sex"])

Or state it in each call: ``ledger="ledger.sqlite", account="people"``. An array always needs that.

A study is noted, at no cost, in the ledger of the dataset, in the one that ``study_ledger=`` names, or else in the
user's own: settings that are chosen by it depend on the rows, and the card of a later model says so.

What an attacker learns from a release, beside a guess, people who were not released, and what ε allows::

    api.attack("inference", "people-released.csv", original=people, control=others, secret="income")["risk"]

A released table can be learned from at no cost, by whoever has it and its certificate::

    api.fit_on_release("people-released.csv", target="sex").predict(people)

The models are scikit-learn estimators: ``clone``, ``cross_val_score`` and pipelines work. Each private step of a
pipeline has its own ε, and they add up (:func:`total_epsilon`). Labels, order and dtypes of columns come back as they
were given; numpy and pandas scalars count as numbers, and a path is text or a ``Path``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from workbench.api.datasets import PrivateStudyWarning, dataset
from workbench.api.plans import Plan, load_plan, plan, solve
from workbench.api.studies import curve, describe, why
from workbench.api.tables import bundle, estimate, release, verify
from workbench.params.field import did_you_mean

if TYPE_CHECKING:
    from workbench.api import rappor
    from workbench.api.central import publish, statistics, synthesize
    from workbench.api.generalized import generalize
    from workbench.api.ledgers import ledger
    from workbench.api.models import total_epsilon
    from workbench.api.networks import train
    from workbench.api.released_models import Released, fit_on_release, load_model
    from workbench.api.reports import quality, report
    from workbench.api.risks import anonymity, attack, risk

__all__ = [
    "Plan",
    "PrivateStudyWarning",
    "Released",
    "anonymity",
    "attack",
    "bundle",
    "curve",
    "dataset",
    "describe",
    "estimate",
    "fit_on_release",
    "generalize",
    "ledger",
    "load_model",
    "load_plan",
    "plan",
    "publish",
    "quality",
    "rappor",
    "release",
    "report",
    "risk",
    "solve",
    "statistics",
    "synthesize",
    "total_epsilon",
    "train",
    "verify",
    "why",
]

_LATER = {
    "central": ("publish", "statistics", "synthesize"),
    "generalized": ("generalize",),
    "ledgers": ("ledger",),
    "models": ("total_epsilon",),
    "networks": ("train",),
    "released_models": ("Released", "fit_on_release", "load_model"),
    "reports": ("quality", "report"),
    "risks": ("anonymity", "attack", "risk"),
}
"""What is imported when it is first used, by the module that has it."""


def __getattr__(name: str) -> Any:
    """Return a model's class, such as ``NaiveBayes``; each is made from its learner, so there is no second list."""
    # By name: `from workbench.api import models` would ask this function for it.
    for module, names in _LATER.items():
        if name in names:
            return getattr(importlib.import_module(f"workbench.api.{module}"), name)
    if name == "rappor":
        return importlib.import_module("workbench.api.rappor")
    classes = importlib.import_module("workbench.api.models").classes()
    if name in classes:
        return classes[name]
    raise AttributeError(f"workbench.api has no {name!r}{did_you_mean(name, (*__all__, *classes))}")


def __dir__() -> list[str]:
    models = importlib.import_module("workbench.api.models")
    return sorted([*__all__, *models.classes()])
