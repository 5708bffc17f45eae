"""Audits of learners: every number of the model file that a release writes, of every learner there is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from audits import Audit, Fault, Told, drawn_at, of_json

from workbench.data.table import Table
from workbench.learners import learner
from workbench.learners.tasks import REGRESSION
from workbench.privacy.accounting.event import Charge, Cost
from workbench.privacy.central.central_noise import CentralNoise
from workbench.privacy.entropy import OsEntropy
from workbench.release.model import release_learner
from workbench.sanitize.plan import Plan
from workbench.signals.cancel import CancelToken
from workbench.work.ask import Ask, declared

Rows = Sequence[tuple[str | None, ...]]
SIDES = [{"name": name, "kind": "real", "lower": -1, "upper": 1, "missing": "refuse"} for name in "xz"]
GROUP = {"name": "y", "kind": "category", "domain": ["a", "b"]}
NUMBER = {"name": "y", "kind": "real", "lower": -1, "upper": 1}

CORNER = [("1", "1", "a"), *[("-1", "-1", "b")] * 4]
SLOPE = [("1", "-1", "1"), *[("0", "0", "0")] * 4]
MEDIAN = [("0", "0", "0.25"), ("0", "0", "-1"), ("0", "0", "1")]


@dataclass(frozen=True)
class Behind:
    """Noise of a release under audit, behind the Ask that serves what was charged."""

    drawn: CentralNoise
    charge: Charge
    name = "released"
    releasable = True

    def ask(self, cost: Cost) -> Ask:
        self.charge(cost)
        return Ask(declared(cost.event), self.drawn, OsEntropy())


def table_of(rows: Rows) -> Table:
    frame = {name: [row[at] for row in rows] for at, name in enumerate("xzy")}
    return Table(pl.DataFrame(frame, schema=dict.fromkeys("xzy", pl.String)), "hostile.csv")


def model(
    name: str,
    row: str,
    *faults: Fault,
    rows: Rows = CORNER,
    epsilon: float = 2.0,
    samples: int = 1_000,
    least: float = 0.0,
    told: str = "",
    **keys: Any,
) -> Audit:
    """An audit of the model files of a learner trained on a few rows."""
    chosen = learner(name)
    plan = Plan.from_plain(
        {
            "epsilon": epsilon,
            "invalid": "replace",
            "column": [*SIDES, NUMBER if chosen.task == REGRESSION else GROUP],
        }
    )

    def outputs(gone: bool, samples: int, fault: Fault) -> list[Told]:
        parameters = chosen.parameters(epsilon=epsilon * fault.times, **keys)
        table = table_of([(None, None, None), *rows[1:]] if gone else rows)
        noise = fault.noise(np.random.default_rng([9, gone]))
        task = release_learner.FitTask(chosen, parameters, plan, "y", table, Path("m"))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(release_learner, "Charged", lambda charge: Behind(noise, charge))
            patch.setattr(release_learner, "release", trained)
            return [
                answers_of(release_learner.release_fit(task, None))  # type: ignore[arg-type]
                for _ in range(samples)
            ]

    return Audit(f"fit {name}{told}", row, epsilon, samples, outputs, faults, 0.0, least)


def trained(wanted: Any, ledger: Any, emit: Any, cancel: Any) -> Any:
    """What a release is about to write: the path without its ledger and its disk."""
    return wanted.draw(lambda cost: None, emit, cancel or CancelToken())


def answers_of(made: Any) -> Mapping[str, float]:
    """Every number of the model file but the public ones."""
    told = of_json(made.data["model.json"])
    return {k: v for k, v in told.items() if not k.startswith(("/parameters", "/attributes", "/target", "/asked"))}


EDGE = "at a corner, alone"
GROSS = drawn_at(8)


def models(asked: Path) -> tuple[Audit, ...]:
    """Return the audits of every learner.

    Args:
        asked: a file of one public row, x = z = 0, that forests of medians are asked about.
    """
    blocks = {"ask": str(asked), "blocks": 3, "trees": 1}
    return (
        model("naive-bayes", EDGE, GROSS),
        model("linear-regression", "makes the slope", drawn_at(16), rows=SLOPE, columns=1),
        model("logistic-regression", EDGE, GROSS, weights_from="search", told=", weights by choice"),
        model("logistic-regression", EDGE, drawn_at(16), weights_from="sums", columns=2, told=", weights by sums"),
        model("random-forest", EDGE, GROSS),
        model("forest-regression", "makes the slope", drawn_at(16), rows=SLOPE),
        model("boosted-trees", "makes the slope", drawn_at(16), rows=SLOPE),
        model("additive-trees", EDGE, GROSS),
        model("additive-regression", "makes the slope", drawn_at(16), rows=SLOPE),
        model("median-forest", "is the median", GROSS, rows=MEDIAN, **blocks),
        model("median-xgboost", "is the median", GROSS, rows=MEDIAN, **blocks),
        model("kmeans", EDGE, GROSS),
        model("kmeans", EDGE, GROSS, rounds=1, groups=2, told=", two groups"),
        model("dbscan", EDGE, GROSS),
        model("pca", EDGE, drawn_at(16)),
        model("standardize", EDGE, GROSS),
        model("best-classifier", EDGE, drawn_at(16), candidates="naive Bayes", tries=2.0),
        model(
            "best-regression", "makes the slope", drawn_at(16), rows=SLOPE, candidates="linear regression", tries=2.0
        ),
    )
