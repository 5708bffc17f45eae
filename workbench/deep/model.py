"""A trained network as data: safetensors for its weights, plain facts for its card; never pickle."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.data.images.image_set import ImageShape
from workbench.data.schema import Attribute
from workbench.data.table import Table
from workbench.deep.features import Features, ImageFeatures, TrainingData
from workbench.deep.networks import Network, network
from workbench.learners.tasks import EMPTY
from workbench.params import InputError, ParameterError
from workbench.params.codec import csv_bytes

if TYPE_CHECKING:
    from workbench.deep.run_report import Record
    from workbench.deep.trainer import Training

WEIGHTS = "model.safetensors"
METRICS = "metrics.csv"
METRIC_COLUMNS = ("step", "epoch", "loss", "accuracy", "epsilon", "memory_bytes")
_ROWS_AT_ONCE = 4096
_NUMBERS_AT_ONCE = 1 << 26


@dataclass(frozen=True, eq=False)
class TrainedModel:
    """A network with its weights and the public map to its inputs."""

    network: Network
    features: Features
    weights: Mapping[str, NDArray[np.float32]]

    @classmethod
    def of(cls, training: Training) -> Self:
        """Return the model of a finished run."""
        return cls(training.network, training.features, training.weights)

    @classmethod
    def load(
        cls,
        folder: Path,
        training: Mapping[str, Any],
        inputs: Sequence[Mapping[str, Any]],
        weights: Path | None = None,
    ) -> Self:
        """Read a released model.

        Args:
            folder: holds :data:`WEIGHTS`.
            training: the ``training`` facts of its card, as :func:`facts` gave them.
            inputs: the ``inputs`` of its card: the attributes, and the target among them or not.
            weights: the file of public weights of its frozen part, for networks that have such a file.

        Raises:
            InputError: the weights are absent, not safetensors, or not those of the network on the card.
            ParameterError: the card's facts are refused.
        """
        where = str(folder)
        try:
            architecture = network(training["network"]).from_facts(training.get("architecture"), weights)
            target = Attribute.from_plain(training["target"], where=where)
        except (KeyError, TypeError):
            raise ParameterError("the card does not name the network and its target", where) from None
        features = features_of([Attribute.from_plain(i, where=where) for i in inputs], target, training, where)
        model = cls(architecture, features, _read_weights(folder / WEIGHTS))
        _check_shapes(model, folder / WEIGHTS)
        return model

    def inputs_of(self, table: Table) -> NDArray[Any]:
        """Return X of a table, or the images of a set, as :meth:`predict` takes them.

        Raises:
            InputError: the rows are not like those that it was trained on.
        """
        return self.features.inputs(table)

    def logits(self, X: ArrayLike) -> NDArray[np.float32]:
        """Return one number for each row and class, shape (n, k), of X (n, d) as :meth:`Features.encode` takes it."""
        if not isinstance(self.features, ImageFeatures):
            return self._logits(self.features.encode(X))
        images = np.asarray(X)
        step = max(1, _NUMBERS_AT_ONCE // self.features.width)  # scaled pixels take four times their room
        starts = range(0, max(1, len(images)), step)
        return np.concatenate([self._logits(self.features.encode(images[i : i + step])) for i in starts])

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return P(class | row) (n, k): the softmax of the logits."""
        logits = self.logits(X).astype(np.float64)
        odds = np.exp(logits - logits.max(axis=1, keepdims=True))
        chances: NDArray[np.float64] = odds / odds.sum(axis=1, keepdims=True)
        return chances

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Return the code of the likeliest class of each row, shape (n,)."""
        codes: NDArray[np.int64] = np.argmax(self.logits(X), axis=1)
        return codes

    def accuracy(self, data: TrainingData) -> float:
        """Return the share of the rows of ``data`` that are classified right (private unless the data are public).

        Empty rows, which have no class, are left out; one of the others is needed.
        """
        inputs, targets = data.load()
        here = targets != EMPTY
        return float(np.mean(np.argmax(self._logits(inputs[here], keep=True), axis=1) == targets[here]))

    def _logits(self, inputs: NDArray[np.float32], *, keep: bool = False) -> NDArray[np.float32]:
        import torch

        from workbench.deep.devices import one_thread
        from workbench.deep.preparation import prepared_rows

        module = self.network.build(self.features.width, len(self.features.classes))
        module.load_state_dict({name: torch.from_numpy(np.array(w)) for name, w in self.weights.items()}, strict=False)
        for layer in module.modules():  # as it was trained; code of the user's may have an eval() of its own
            layer.training = False
        with torch.inference_mode(), one_thread():
            starts = range(0, max(1, len(inputs)), _ROWS_AT_ONCE)
            rows = (prepared_rows(self.network, inputs[i : i + _ROWS_AT_ONCE], keep=keep) for i in starts)
            parts = [module(some).numpy() for some in rows]
        return np.concatenate(parts)


def weights_bytes(training: Training) -> bytes:
    """Return the content of :data:`WEIGHTS`.

    Raises:
        ParameterError: the run used seeded randomness: nothing of it may be released.
    """
    from safetensors.numpy import save

    if not training.releasable:
        raise ParameterError("a run with seeded randomness cannot be released", hint="train without a seed")
    return bytes(save(dict(training.weights)))


def metrics_bytes(records: Sequence[Record]) -> bytes:
    """Return the private metrics as CSV; a batch without rows leaves its cells empty."""
    return csv_bytes([METRIC_COLUMNS, *([getattr(r, c) for c in METRIC_COLUMNS] for r in records)], "\r\n")


def facts(training: Training) -> dict[str, Any]:
    """Return a card's facts about a run: all public, computed without reading a row."""
    return {
        "network": training.network.name,
        "widths": list(training.network.widths(training.features.width, len(training.features.classes))),
        "classes": list(training.features.classes),
        "target": training.features.target.facts().to_plain(),
        **training.features.facts(),
        **_architecture(training),
        **training.schedule.facts(training.steps),
        "steps": training.steps,
        "stopped": training.stopped,
        **({} if training.schedule.norm is None else {"last_clip": training.clip}),
    }


def _architecture(training: Training) -> dict[str, Any]:
    """Return what a card says of the network beyond its name, where there is anything."""
    width, classes = training.features.width, len(training.features.classes)
    stated, remarks = training.network.facts(), training.network.remarks(width, classes)
    return {"architecture": {**stated, **({"remarks": list(remarks)} if remarks else {})}} if stated or remarks else {}


def features_of(
    attributes: Sequence[Attribute], target: Attribute, training: Mapping[str, Any], where: str
) -> Features:
    """Return the public map from rows to inputs that a card describes."""
    columns = tuple(a for a in attributes if a.name != target.name)
    if "images" not in training:
        return Features(columns, target)
    return ImageFeatures(columns, target, ImageShape.from_plain(training["images"], where))


def _read_weights(path: Path) -> dict[str, NDArray[np.float32]]:
    from safetensors import SafetensorError
    from safetensors.numpy import load

    from workbench.deep.frozen_weights import MOST_BYTES

    try:
        if path.stat().st_size > MOST_BYTES:
            raise InputError("the weights are larger than 2 GiB", str(path), "give a model of this version")
        weights: dict[str, NDArray[np.float32]] = load(path.read_bytes())
    except FileNotFoundError:
        raise InputError("the weights are missing", str(path), "give the whole folder of the model") from None
    except OSError as error:
        raise InputError(f"the weights cannot be read: {error.strerror}", str(path)) from None
    except (SafetensorError, json.JSONDecodeError, KeyError, ValueError):
        raise InputError(
            "the weights are not a safetensors file", str(path), "other formats can run code and are refused"
        ) from None
    return weights


def _check_shapes(model: TrainedModel, path: Path) -> None:
    from workbench.deep.frozen_weights import weights

    module = model.network.build(model.features.width, len(model.features.classes))
    expected = {name: tuple(p.shape) for name, p in weights(module).items()}
    found = {name: w.shape for name, w in model.weights.items()}
    if found != expected or any(w.dtype != np.float32 for w in model.weights.values()):
        raise InputError("the weights are not those of the network on the card", str(path), "give the matching file")
    if not all(np.isfinite(model.weights[name]).all() for name, _ in module.named_parameters()):
        raise InputError("the weights contain numbers that are not finite", str(path), "train with a smaller --lr")
