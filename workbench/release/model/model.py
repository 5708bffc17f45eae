"""A trained model as the release path takes it: a folder of data files with a card."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from workbench.privacy.accounting.event import Cost
from workbench.release.certificate import CARD, CARD_FORMAT, guarantee_facts
from workbench.release.delta_limit import replaced
from workbench.release.path import Destination
from workbench.release.reservation import Reservation
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit
from workbench.work.work import Made


@dataclass(frozen=True)
class Trained:
    """The result of a training, ready to be released.

    Attributes:
        model: the model's name.
        parameters: the plan it was trained with, as JSON holds it.
        inputs: the attributes it reads, as plan columns.
        statement: one sentence on what the guarantee means here.
        randomness: where its noise came from.
        releasable: whether all randomness was cryptographic.
        rows: rows it was trained on.
        outside: sentences on what its ε does not cover.
        training: facts that cost nothing (steps, noise multiplier) or were computed on public data.
        settled: (ε, δ) where the run cost less than it reserved, for a reason decided without data.
        files: the model's files by name, what is released.
        private: files with figures computed from private rows, which stay beside the model and are not released.
    """

    model: str
    parameters: dict[str, Any]
    inputs: list[dict[str, Any]]
    statement: str
    randomness: str
    releasable: bool
    rows: int
    outside: tuple[str, ...] = ()
    training: dict[str, Any] = field(default_factory=dict)
    settled: tuple[Decimal, Decimal] | None = None
    files: Mapping[str, bytes] = field(default_factory=dict)
    private: Mapping[str, bytes] = field(default_factory=dict)

    def made(self) -> Made:
        """Return what is published of it.

        Raises:
            AssertionError: its noise was seeded: a bug, found before anything is written.
        """
        if not self.releasable:
            raise AssertionError("a model trained with seeded noise cannot be released")
        stated = {
            "rows": self.rows,
            "model": self.model,
            "guarantee": {"statement": self.statement, "randomness": self.randomness},
            "parameters": self.parameters,
            "inputs": self.inputs,
            "outside_guarantee": list(self.outside),
            "training": self.training,
        }
        return Made(self.files, stated, private=self.private, settled=self.settled)


def model_folder(path: Path, *, replace: bool = False) -> Destination:
    """Return ``path`` as where a model is released to; only the folder of a model is ever replaced."""
    return Destination(path, "folder", replace, CARD)


def drawn_by(train: Callable[[Reservation], Trained]) -> Callable[[Reservation, Emit, CancelToken], Made]:
    """Return how a release draws a model that ``train`` trains."""
    return lambda reservation, emit, cancel: train(reservation).made()


def card_facts(made: Made, cost: Cost) -> dict[str, Any]:
    """Return what the card of a model says beside its files and what the ledger says of it."""
    stated = made.method
    figures = (cost.epsilon, cost.delta), replaced(cost, stated["rows"])
    guarantee = guarantee_facts(stated["guarantee"]["statement"], *figures, stated["guarantee"]["randomness"])
    return {"format": CARD_FORMAT, **stated, "guarantee": guarantee}
