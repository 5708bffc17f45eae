"""The models that were ever released: from the ledger, and from their cards where these can still be read."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from workbench import learners
from workbench.params import InputError
from workbench.release.certificate import checksum, is_model, read_card
from workbench.release.ledger.ledger import Ledger
from workbench.release.ledger.records import COUNTED, has_output
from workbench.signals.cancel import NEVER, CancelToken

NETWORK, FIT = "dpsgd", "fit "  # what the ledger calls the work that makes a model


@dataclass(frozen=True)
class ReleasedModel:
    """A model that was released, or is being trained."""

    release_id: str  # the ledger's name of it
    name: str  # the model's name in the program; of a network whose card cannot be read, empty
    account: str  # the ledger's mark of the table
    called: str  # the public name of its account, if it has one
    epsilon: Decimal  # what was charged
    delta: Decimal
    time: str
    status: str
    output: str
    released: bool
    card: bool = False
    target: str = ""  # the column that it predicts; empty where its card could not be read or it predicts none
    # On a test table that was declared public, with its number of rows; `None` where there is none.
    accuracy: tuple[float, int] | None = None


def released_models(cancel: CancelToken = NEVER) -> tuple[ReleasedModel, ...]:
    """Return the models that count in the ledger, the newest first; changes nothing on disk."""
    found = []
    with Ledger.read() as book:
        known = book.accounts()
        for release in reversed(book.releases()):
            cancel.check()
            work = release.body.get("work", "")
            if release.status not in COUNTED or not (work == NETWORK or work.startswith(FIT)):
                continue
            output, account = release.body.get("output", ""), known.of(release.dataset)
            card = _card(output, release.release_id, release.body.get("certificate", ""))
            model = ReleasedModel(
                release.release_id,
                card.get("model", work.removeprefix(FIT) if work != NETWORK else ""),
                account,
                known.name_of(account),
                release.epsilon,
                release.delta,
                release.time,
                release.status,
                output,
                has_output(release),
                bool(card),
                predicted_column(card),
                _public_accuracy(card),
            )
            found.append(model)
    return tuple(found)


def _card(output: str, release_id: str, certified: str) -> dict[str, Any]:
    """Return the card of a release; empty where it has gone, is another model's, or is not as the ledger knows it."""
    if not output or not is_model(Path(output)):
        return {}
    try:
        card = read_card(Path(output))
    except InputError:  # the ledger's line is shown all the same
        return {}
    genuine = card.get("release_id") == release_id and checksum(card) == (certified or card["checksum"])
    return card if genuine else {}


def predicted_column(card: dict[str, Any]) -> str:
    """Return the name of the column that a model predicts; empty where it predicts none."""
    entry = next((entry for entry in learners.LEARNERS if entry.name == card.get("model")), None)
    none = not card or (entry is not None and not entry.predicts)
    return "" if none else str(card["inputs"][-1]["name"])


def _public_accuracy(card: dict[str, Any]) -> tuple[float, int] | None:
    stated = card.get("training", {}).get("accuracy")
    if not isinstance(stated, dict) or not isinstance(stated.get("value"), int | float):
        return None
    return float(stated["value"]), int(stated.get("rows", 0))
