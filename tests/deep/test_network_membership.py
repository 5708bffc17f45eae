"""Membership inference on networks: one that remembers is found out, one trained with DP-SGD stays within its ε."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from workbench.data.schema import Attribute  # noqa: E402
from workbench.deep.accuracy_study import trained_again  # noqa: E402
from workbench.deep.features import Features  # noqa: E402
from workbench.deep.model import TrainedModel  # noqa: E402
from workbench.deep.networks import network  # noqa: E402
from workbench.deep.plan import DpSgdPlan  # noqa: E402
from workbench.learners.tasks import CLASSIFICATION  # noqa: E402
from workbench.params import CancelledError  # noqa: E402
from workbench.privacy.accounting.event import replace_one  # noqa: E402
from workbench.risk.attacks.bound import NOTHING, Guarantee  # noqa: E402
from workbench.risk.attacks.membership import (  # noqa: E402
    Membership,
    People,
    infer,
    likelihood,
    outcome_of,
    retrain,
)
from workbench.signals.cancel import CancelToken  # noqa: E402

FEATURES = Features(
    tuple(Attribute(name=f"x{i}", kind="real", lower=-3, upper=3) for i in range(8)),
    Attribute(name="y", kind="category", domain=("no", "yes")),
)
SHELL = TrainedModel(network("mlp"), FEATURES, {})
MEMBERS = 150


@dataclass(frozen=True, eq=False)
class Opened:
    """A network as the release path opens one."""

    card: dict[str, Any]
    model: TrainedModel
    attributes: tuple[Attribute, ...] = FEATURES.attributes
    target: Attribute = FEATURES.target
    task: str = CLASSIFICATION


def people(seed: int, members: int = MEMBERS) -> People:
    """Rows whose class follows one column in six of ten."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, size=(2 * members, 8))
    y = np.where(rng.random(2 * members) < 0.4, rng.random(2 * members) < 0.5, X[:, 0] > 0)
    return People(X, y.astype(np.int64), members)


def card(epochs: int, noise: float, lr: float, optimizer: str, members: int = MEMBERS) -> dict[str, Any]:
    plan = {"network": "mlp", "delta": 1e-5, "batch": 50, "epochs": epochs, "lr": lr, "clip": 1.0}
    steps = epochs * -(-members // 50)
    return {
        "model": "mlp",
        "parameters": {**plan, "optimizer": optimizer, "accountant": "rdp"},
        "training": {"noise_multiplier": noise, "steps": steps},
    }


def test_a_network_that_remembers_is_found_out():
    given = people(1)
    stated = card(150, 1.0, 0.005, "adam")

    def again(rows: np.ndarray, generator: np.random.Generator) -> np.ndarray:
        seed = int(generator.integers(2**32))
        made = trained_again(SHELL, stated, given.X[rows], given.y[rows], seed, private=False)
        return likelihood(made, FEATURES.target, given.X, given.y)[0]

    released = trained_again(SHELL, stated, given.X[:MEMBERS], given.y[:MEMBERS], 7, private=False)
    assert (released.predict(given.X)[:MEMBERS] == given.y[:MEMBERS]).mean() > 0.98
    told = infer(Opened(stated, released), given, again, Membership(), NOTHING)
    found = outcome_of(told, NOTHING)
    assert found.figures["auc"] >= 0.75
    assert found.figures["epsilon_lower"] > 0.5, found.figures  # a claim of ε = 0.5 is refuted


def test_with_dp_sgd_the_lower_bound_stays_below_its_epsilon():
    """Each bound is above the truth in at most 5 % of runs, and these attacks reach nothing near it."""
    given, stated = people(2), card(20, 1.0, 0.5, "sgd")
    plan = DpSgdPlan.from_plain({**stated["parameters"], "epsilon": 3.0, "accountant": "pld"})
    stated["training"]["noise_multiplier"] = plan.schedule(MEMBERS).event.noise_multiplier
    released = trained_again(SHELL, stated, given.X[:MEMBERS], given.y[:MEMBERS], 7)
    opened, guarantee = Opened(stated, released), Guarantee(3.0, 1e-5, replace_one(3.0, 1e-5))
    again = retrain(opened, given, CancelToken())
    told = infer(opened, given, again, Membership(), guarantee)
    found = outcome_of(told, guarantee)
    assert found.figures["epsilon_lower"] < 1.0
    assert found.figures["auc_low"] < 0.5 < found.figures["auc_high"]
    assert found.allowed is not None
    assert found.main.low < found.allowed


def test_training_again_is_repeatable_and_can_be_cancelled():
    given, stated = people(3), card(2, 1.0, 0.5, "sgd")
    one, same, other = (trained_again(SHELL, stated, given.X, given.y, seed) for seed in (4, 4, 5))
    assert all((one.weights[name] == same.weights[name]).all() for name in one.weights)
    assert any((one.weights[name] != other.weights[name]).any() for name in one.weights)
    stop = CancelToken()
    stop.cancel()
    with pytest.raises(CancelledError):
        trained_again(SHELL, stated, given.X, given.y, 4, stop)
