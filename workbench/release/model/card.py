"""The card of a released model, read and verified."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from workbench.params import InputError
from workbench.params.codec import read_json
from workbench.release.certificate import VERSION, account_problems, checksum, other_version
from workbench.release.json_schemas import schema_problems
from workbench.release.ledger.fingerprint import sha256_of
from workbench.release.model.card_facts import MADE_FROM, contradictions
from workbench.release.parts import PRIVATE
from workbench.release.signature.signature_file import SUFFIX as SIGNATURE

CARD = "card.json"
FORMAT = "privacy-workbench-model-card"
CANNOT_KNOW_ORIGIN = "whether the model was trained on the release that its card names (train it again to see)"
"""What a verification leaves open of such a model, besides all that it leaves open of any."""

_SCHEMA = "card.v2"


def is_model(path: Path) -> bool:
    """Return whether ``path`` is the folder of a released model."""
    return os.path.isfile(path / CARD)


def read_card(folder: Path) -> dict[str, Any]:
    """Return the card of a released model.

    Raises:
        InputError: it cannot be read or is not a card of a known version.
    """
    card = read_json(folder / CARD, "model card")
    if not isinstance(card, dict) or card.get("format") != FORMAT:
        raise InputError("this is not a model card of the workbench", str(folder / CARD))
    if card.get("version") != VERSION:
        raise other_version("model card", card, folder / CARD)
    problems = card_problems(card)
    if problems:
        raise InputError(f"the model card is malformed: {problems[0]}", str(folder / CARD))
    return card


def verify_model(folder: Path) -> list[str]:
    """Return a sentence for every fault of the model in ``folder``."""
    try:
        card = read_card(folder)
    except InputError as error:
        return [str(error)]
    problems = []
    if card["checksum"] != checksum(card):
        problems.append("the card was changed after it was written: its checksum differs")
    for name, digest in card["files"].items():
        file = folder / name
        if Path(name).name != name or not os.path.isfile(file):
            problems.append(f"the file {name} is missing")
        elif sha256_of(file) != digest:
            problems.append(f"the file {name} was changed after its release: its SHA-256 differs")
    known = {*card["files"], CARD, CARD + SIGNATURE, PRIVATE}
    problems += [f"the file {p.name} is not on the card" for p in sorted(folder.iterdir()) if p.name not in known]
    return problems + account_problems(card) + contradictions(card)


def ledger_facts(card: dict[str, Any]) -> dict[str, Any]:
    """Return what a ledger can confirm of a card: the card itself, or the release that the model was trained on."""
    made = card.get(MADE_FROM)
    if made is None:
        return card
    stated = {"release_id": made["release_id"], "time": made["time"], "checksum": made["certificate"]}
    return {**stated, "guarantee": card["guarantee"]}


def card_problems(card: Any) -> list[str]:
    """Return what in ``card`` its schema refuses, each with its place first."""
    return schema_problems(card, _SCHEMA)
