"""The workbench from Python: pandas DataFrames in and out, over the plans, ledger and models of window and terminal.

Without ``ledger=`` everything is a private study, and says so with a :class:`PrivateStudyWarning`: look at it, do not
publish it. With ``ledger=`` the result is charged to the account of the table before a row is read, written with its
certificate or card, and may leave. Of a study the ledger of the user, or the one that ``study_ledger=`` names, notes
that there was one: settings that are chosen by it tell of the rows, and the card of a later model says so::

    from workbench import api

    plan = api.plan(epsilon=3, bounds={"age": (0, 110)}, domains={"sex": ["female", "male"]}, drop=["name"])
    api.release(people, plan)                                              # a private study
    api.release(people, plan, ledger="ledger.sqlite", output="people-released.csv")
    api.synthesize(people, plan, target="sex", ledger="ledger.sqlite", output="people-synthetic.csv")
    api.statistics(people, plan, ledger="ledger.sqlite", output="people-figures.csv")
    api.curve(people, plan, target="sex", epsilons=[0.1, 1, 10])           # always a private study
    api.NaiveBayes(epsilon=1, bounds={"age": (0, 110)}, classes=["female", "male"]).fit(people[["age"]], people["sex"])

A released table can be learned from at no cost, by whoever has it and its certificate::

    api.fit_on_release("people-released.csv", target="sex").predict(people)

The models are scikit-learn estimators: ``clone``, ``cross_val_score`` and pipelines work. Each private step of a
pipeline has its own ε, and they add up (:func:`total_epsilon`).
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from workbench.api.plans import plan
from workbench.api.studies import curve, why
from workbench.api.study_warning import PrivateStudyWarning
from workbench.api.tables import bundle, estimate, release, verify
from workbench.sanitize.plan import Plan, load_plan

if TYPE_CHECKING:
    from workbench.api.central import statistics, synthesize
    from workbench.api.released import Released, fit_on_release, load_model
    from workbench.api.transformers import total_epsilon

__all__ = [
    "Plan",
    "PrivateStudyWarning",
    "Released",
    "bundle",
    "curve",
    "estimate",
    "fit_on_release",
    "load_model",
    "load_plan",
    "plan",
    "release",
    "statistics",
    "synthesize",
    "total_epsilon",
    "verify",
    "why",
]


def __getattr__(name: str) -> Any:
    """Return a model's class, such as ``NaiveBayes``; each is made from its learner, so there is no second list."""
    # By name: `from workbench.api import models` would ask this function for it.
    if name in ("Released", "fit_on_release", "load_model"):
        return getattr(importlib.import_module("workbench.api.released"), name)
    if name in ("statistics", "synthesize"):
        return getattr(importlib.import_module("workbench.api.central"), name)
    models = importlib.import_module("workbench.api.models")
    if name == "total_epsilon":
        return importlib.import_module("workbench.api.transformers").total_epsilon
    classes = models.classes()
    if name in classes:
        return classes[name]
    raise AttributeError(f"workbench.api has no {name!r}")


def __dir__() -> list[str]:
    models = importlib.import_module("workbench.api.models")
    return sorted([*__all__, *models.classes()])
