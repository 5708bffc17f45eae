"""The card of a released model, read and verified."""

from __future__ import annotations

import math
import os
from decimal import Decimal
from pathlib import Path
from typing import Any

from workbench.params import InputError, ParameterError
from workbench.params.codec import read_json
from workbench.privacy.accounting.event import PoissonGaussian
from workbench.privacy.accounting.neighbours import group, replace_one
from workbench.release.json_schemas import schema_problems
from workbench.release.ledger.fingerprint import sha256_of
from workbench.release.parts import PRIVATE
from workbench.release.signature.signature_file import SUFFIX as SIGNATURE
from workbench.release.table.certificate import VERSION, account_problems, checksum, other_version

CARD = "card.json"
FORMAT = "privacy-workbench-model-card"
MADE_FROM = "made_from"
"""Key of a card: the release that a model was trained on at no cost. Such a card has no ``release_id`` of its own."""

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
    guarantee = card["guarantee"]
    epsilon, delta = float(guarantee["epsilon"]), float(guarantee["delta"])
    if MADE_FROM not in card:  # a table's mechanisms are local: their figures are the same for both relations
        epsilon, delta = replace_one(epsilon, delta)
    claimed = guarantee["replace_one"]
    if not (math.isclose(claimed["epsilon"], epsilon) and math.isclose(claimed["delta"], delta)):
        problems.append("the replace-one figures do not follow from the zero-out ones")
    return problems + account_problems(card) + _cost_problems(card)


def ledger_facts(card: dict[str, Any]) -> dict[str, Any]:
    """Return what a ledger can confirm of a card: the card itself, or the release that the model was trained on."""
    made = card.get(MADE_FROM)
    if made is None:
        return card
    told = {"release_id": made["release_id"], "time": made["time"], "checksum": made["certificate"]}
    return {**told, "guarantee": card["guarantee"]}


def _cost_problems(card: dict[str, Any]) -> list[str]:
    """Return a sentence where the ε of the card is less than what the card says was done costs.

    The queries of a learner sum to its ε exactly. A training run's ε is recomputed from noise multiplier, sample rate
    and steps, by the accountant the card names.
    """
    told, claimed = card["training"], Decimal(card["guarantee"]["epsilon"])
    if MADE_FROM in card:
        if "queries" in told or "noise_multiplier" in told:
            return ["a model that was trained on a release asks nothing of the rows, and its card says that it did"]
        return []
    try:
        people = int(told.get("rows_per_person", 1))
        if "queries" in told:
            asked = sum((Decimal(q["epsilon"]) for q in told["queries"]), Decimal(0)) * people
            return [] if asked == claimed else [f"the queries on the card cost epsilon = {asked}, it claims {claimed}"]
        if "noise_multiplier" in told:
            from workbench.privacy.accounting.accountant import loss

            event = PoissonGaussian(told["sample_rate"], told["noise_multiplier"], told["steps"])
            row = loss(event, told["delta_row"], told["accountant"]).epsilon
            cost, delta = group(row, told["delta_row"] if told["steps"] else 0.0, people)
            # Charges are rounded up in their sixth decimal: less than the cost is never a rounding.
            if float(claimed) < cost * (1 - 1e-9):
                return [f"the steps on the card cost epsilon = {cost:.6g}, it claims {claimed}"]
            least = float(card["guarantee"]["delta"])
            return [] if least >= delta * (1 - 1e-9) else [f"the steps cost delta = {delta:.6g}, the card has {least}"]
    except (KeyError, TypeError, ValueError, ArithmeticError, ParameterError) as error:
        return [f"the training facts on the card cannot be recomputed ({type(error).__name__})"]
    return []


def card_problems(card: Any) -> list[str]:
    """Return what in ``card`` its schema refuses, each with its place first."""
    return schema_problems(card, _SCHEMA)
