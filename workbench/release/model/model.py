"""A trained model as the release path takes it: a folder of data files with a card."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.privacy.accounting.event import Cost
from workbench.release.certificate import CARD, CARD_FORMAT, guarantee_facts
from workbench.release.delta_limit import replaced
from workbench.release.path import Destination
from workbench.work.work import Made


def made(files: Mapping[str, bytes], stated: Mapping[str, Any], *, releasable: bool) -> Made:
    """Return what is published of a model: its files, and a card that says this beside its guarantee.

    Raises:
        AssertionError: its noise was seeded (not ``releasable``): a bug, found before anything is written.
    """
    if not releasable:
        raise AssertionError("a model trained with seeded noise cannot be released")
    return Made(files, stated)


def model_folder(path: Path, *, replace: bool = False) -> Destination:
    """Return ``path`` as where a model is released to; only the folder of a model is ever replaced."""
    return Destination(path, "folder", replace, CARD)


def card_facts(made: Made, cost: Cost) -> dict[str, Any]:
    """Return what the card of a model says beside its files and what the ledger says of it."""
    stated = made.method
    figures = (cost.epsilon, cost.delta), replaced(cost, stated["rows"])
    guarantee = guarantee_facts(stated["guarantee"]["statement"], *figures, stated["guarantee"]["randomness"])
    return {"format": CARD_FORMAT, **stated, "guarantee": guarantee}
