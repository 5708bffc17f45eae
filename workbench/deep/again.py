"""A network trained again as its card says, on other rows, with noise of a study."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from workbench.deep.accuracy_study import NOISY, PLAIN, SeededTraining
from workbench.deep.device_names import CPU
from workbench.deep.devices import one_thread
from workbench.deep.model import TrainedModel
from workbench.deep.plan import DpSgdPlan
from workbench.deep.preparation import prepared_rows
from workbench.signals.cancel import CancelToken


def trained_again(
    model: TrainedModel,
    card: Mapping[str, Any],
    X: ArrayLike,
    y: NDArray[np.int64],
    seed: int,
    cancel: CancelToken | None = None,
    *,
    private: bool = True,
) -> TrainedModel:
    """Return a network of the same kind: the same steps, batches and noise, on the rows X (n, d) and y (n,).

    Args:
        model: the released one.
        card: its ``parameters`` and ``training`` facts.
        X: the rows, as ``model.inputs_of`` returns them.
        y: their classes.
        seed: of batches and noise; the first weights are public.
        cancel: looked at before each step.
        private: whether it is trained with clipping and noise; without them it remembers what it can.

    Raises:
        CancelledError: ``cancel`` was set.
    """
    cancel, stated = cancel or CancelToken(), card["training"]
    values = {**card["parameters"], "noise": stated["noise_multiplier"], "epsilon": None, "device": CPU}
    plan = DpSgdPlan.from_plain({key: value for key, value in values.items() if value is not None})
    features, network = model.features, model.network
    event = replace(plan.schedule(len(y)).event, steps=stated["steps"])
    training = SeededTraining(plan, network, features.width, len(features.classes), event)

    def step(taken: int) -> None:
        cancel.check()

    with one_thread():  # as the run itself
        inputs = prepared_rows(network, features.encode(X), cancel=cancel, keep=False)
        stage = NOISY if private else PLAIN
        module = training.run(stage, inputs, torch.from_numpy(y), seed=seed, before_step=step)
    weights = {name: p.detach().numpy() for name, p in module.named_parameters()}
    return TrainedModel(network, features, weights)
