"""The release of a trained model: a folder of data files with a card, charged before the rows are read."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, Protocol

import workbench
from workbench.data.table import Table
from workbench.params import CheckFailedError
from workbench.privacy.accounting.event import Cost
from workbench.privacy.accounting.neighbours import RELATION
from workbench.release.certificate import VERSION, account_facts, checksum
from workbench.release.choosing import CHOSEN, with_choice
from workbench.release.delta_limit import replaced
from workbench.release.exposure import charged_again, standing_charge
from workbench.release.ledger.exact import decimal_text
from workbench.release.ledger.ledger import Ledger
from workbench.release.model.card import CARD, FORMAT, card_problems
from workbench.release.model.kept_run import KeptRun
from workbench.release.model.reservation import Reservation
from workbench.release.parts import PRIVATE, DrawFolder, require_new
from workbench.release.recover import (
    CHARGED_FIRST,
    clear_leftovers,
    finished_draw,
    place_of,
    publish_model,
    recover,
    reopened_model,
    request_of,
)
from workbench.release.statements import columns_used_statement
from workbench.signals import Notice
from workbench.signals.events import Emit, ignore


@dataclass(frozen=True)
class Trained:
    """The result of a training, ready to be released.

    Attributes:
        model: the model's name.
        parameters: the plan it was trained with, as JSON holds it.
        inputs: the attributes it reads, as plan columns.
        statement: one sentence on what the guarantee means here.
        randomness: where its noise came from.
        outside: sentences on what its ε does not cover.
        training: facts that cost nothing (steps, noise multiplier) or were computed on public data.
        settled: (ε, δ) where the run cost less than it reserved, for a reason decided without data.
        releasable: whether all randomness was cryptographic.
        files: the model's files by name, what is released.
        private: files with figures computed from private rows, which stay beside the model and are not released.
        rows: rows it was trained on where the plan counts blank lines as empty ones; else those of the table.
    """

    model: str
    parameters: dict[str, Any]
    inputs: list[dict[str, Any]]
    statement: str
    randomness: str
    releasable: bool
    outside: tuple[str, ...] = ()
    training: dict[str, Any] = field(default_factory=dict)
    settled: tuple[Decimal, Decimal] | None = None
    files: Mapping[str, bytes] = field(default_factory=dict)
    private: Mapping[str, bytes] = field(default_factory=dict)
    rows: int | None = None


@dataclass(frozen=True)
class ModelRelease:
    """A released model as the ledger records it; ε and δ are the final charge.

    Attributes:
        uses: which columns it looks at, in a sentence; empty where it looks at all.
    """

    release_id: str
    epsilon: Decimal
    delta: Decimal
    remaining: Decimal
    output: Path
    uses: str = ""


@dataclass(frozen=True)
class FinishedModel(ModelRelease):
    """A model that an earlier run trained and was charged for, but could not rename.

    Attributes:
        card: its card.
    """

    card: dict[str, Any] = field(default_factory=dict)


class Charger(Protocol):
    """The charge function that a training receives."""

    def __call__(self, cost: Cost) -> None:
        """Charge ``cost`` durably, before rows are read; raise BudgetRefusedError where the cap forbids it."""
        ...

    def settle(self, cost: Cost) -> None:
        """Record what was spent when the work ends early because of an error."""
        ...

    def made(self) -> tuple[Cost, str]:
        """Return what was charged, and the ledger's name of the release."""
        ...


Train = Callable[[Charger], Trained]
"""Calls the charge before it reads rows; its result is still only in memory."""


def release_model(
    table: Table,
    target: Path,
    ledger: Ledger,
    work: str,
    train: Train,
    *,
    asked: Mapping[str, Any],
    room: int,
    account: str | None = None,
    watched: Callable[[], bool] | None = None,
    kept: KeptRun | None = None,
    replace: bool = False,
    emit: Emit = ignore,
) -> ModelRelease | FinishedModel:
    """Train on ``table`` and release the model as the folder ``target``.

    The output's place and space are secured first; the charge is final before the first byte of the model goes into
    a file. A finished model that could not be given its name is kept, and the next run of the same request publishes
    it instead of training and charging anew.

    Args:
        table: the rows.
        target: a new folder; it appears whole or not at all.
        ledger: the account.
        work: the kind of work, for the ledger.
        train: does the training, in memory.
        asked: what is asked for, as plain values: two runs that ask for the same may publish the same model.
        room: bytes that the model and its card may need on the disk.
        account: the public name of the account that pays, as the plan states it.
        watched: for work of which a person sees figures while it runs: whether any were shown yet. Then a run that
            is cancelled or fails stays charged in full.
        kept: the checkpoint of work that can be interrupted. While it is paused its reservation stands.
        replace: whether the folder of a released model may be replaced.
        emit: receives notices about earlier runs.

    Raises:
        InputError: the folder exists or cannot be written.
        BudgetRefusedError: the cap does not allow it.
        CancelledError: the training was cancelled.
    """
    table.require_certain()  # a guess about the file that one row could change would undo every guarantee
    dataset = ledger.enter_for_release(table, account)
    resumed = "" if kept is None else kept.facts.release_id
    for sentence in (*recover(ledger, resumed=resumed), *clear_leftovers(ledger, target)):
        emit(Notice("info", sentence))
    if ledger.figures_shown(dataset, before=resumed):
        emit(Notice("warning", f"not covered by epsilon: {CHOSEN}"))
    request = request_of(work, **asked)
    waiting = _published_earlier(ledger, target, request, dataset, emit, replace=replace)
    if waiting is not None:
        return waiting
    replaces = require_new(target, replace=replace, known_by=CARD)
    with DrawFolder(target, room, CARD, replace=replace) as part:
        details = {
            "output": place_of(target),
            "part": part.path.name,
            "watched": watched is not None,
            CHARGED_FIRST: True,
            **({} if kept is None else kept.details()),
        }
        reservation = Reservation(ledger, dataset, work, details, resumed)
        try:
            trained = train(reservation)
            cost, release_id = reservation.made()
            if not trained.releasable:
                raise AssertionError("a model trained with seeded noise cannot be released")
            card = _card(trained, table, cost, ledger, release_id, account)
            files = _files(trained, card)
            part.reserve(files)
            # Final: from the next line on somebody could read the model.
            reservation.make_final(trained.settled)
        except BaseException as error:
            if kept is not None and kept.paused:
                raise
            begun = kept is not None and kept.counted > 0  # parameters may have reached the disk
            seen = watched is not None and watched()
            reservation.abandon(error, keep=begun or seen, watched=seen, emit=emit)
            if kept is not None:
                kept.remove()
            raise
        with standing_charge(cost, target):
            part.write(files)
            with part.keep_on_success():
                ledger.certify(release_id, card["checksum"], request)
        publish_model(ledger, part, release_id)
    if replaces:
        emit(charged_again(target))
    if kept is not None:
        kept.remove()
    return _released(card, ledger, target)


def _published_earlier(
    ledger: Ledger, target: Path, request: str, dataset: str, emit: Emit, *, replace: bool
) -> FinishedModel | None:
    """Publish the finished model of the same request, if an earlier run could not rename it."""
    waiting = finished_draw(ledger, target)
    if waiting is None:
        return None
    if not waiting.answers(request, ledger.account_of(dataset)):
        raise waiting.refusal()
    require_new(target, replace=replace, known_by=CARD)
    found = reopened_model(waiting, replace=replace)
    release_id = waiting.release.release_id
    if found is None:
        ledger.forget_finished(release_id)
        emit(Notice("warning", f"the part of release {release_id} is not as it was written and is removed"))
        return None
    part, card = found
    with part:
        publish_model(ledger, part, release_id)
    emit(Notice("info", f"the finished model of release {release_id} is now at {target}; nothing more is charged"))
    done = _released(card, ledger, target)
    return FinishedModel(**{f.name: getattr(done, f.name) for f in dataclasses.fields(done)}, card=card)


def _released(card: dict[str, Any], ledger: Ledger, target: Path) -> ModelRelease:
    release = ledger.release(card["release_id"])
    assert release is not None
    remaining = ledger.account(release.dataset).remaining
    assert remaining is not None
    uses = columns_used_statement(card["training"].get("attributes_used"), len(card["inputs"]) - 1)
    return ModelRelease(release.release_id, release.epsilon, release.delta, remaining, target, uses)


def _files(trained: Trained, card: dict[str, Any]) -> dict[str, bytes]:
    """Return what stands in the folder: the model, its card, and the private figures in a folder of their own."""
    stated = (json.dumps(card, indent=2, ensure_ascii=False) + "\n").encode()
    private = {f"{PRIVATE}/{name}": data for name, data in trained.private.items()}
    return {**trained.files, CARD: stated, **private}


def _card(
    trained: Trained, table: Table, cost: Cost, ledger: Ledger, release_id: str, account: str | None
) -> dict[str, Any]:
    """Return the card of a model whose charge ``cost`` is reserved; what was settled at less is what it says."""
    release = ledger.release(release_id)
    assert release is not None
    charged = trained.settled or (cost.epsilon, cost.delta)
    epsilon, delta = replaced(Cost(*charged, cost.event), trained.rows or table.rows)
    card = {
        "format": FORMAT,
        "version": VERSION,
        "release_id": release_id,
        "time": release.time,
        "program": {"name": "privacy-workbench", "version": workbench.__version__},
        "rows": trained.rows or table.rows,
        "model": trained.model,
        "guarantee": {
            "relation": RELATION,
            "statement": trained.statement,
            "epsilon": decimal_text(charged[0]),
            "delta": decimal_text(charged[1]),
            "replace_one": {"epsilon": epsilon, "delta": delta},
            "randomness": trained.randomness,
        },
        "parameters": trained.parameters,
        "inputs": trained.inputs,
        "outside_guarantee": with_choice(trained.outside, ledger, release.dataset, release_id),
        "training": trained.training,
        "files": {name: hashlib.sha256(trained.files[name]).hexdigest() for name in sorted(trained.files)},
    }
    if account is not None:
        card["account"] = account_facts(account, ledger.account(release.dataset), cost.epsilon, charged[0], release_id)
    card["checksum"] = checksum(card)
    problems = card_problems(card)
    if problems:
        raise CheckFailedError(f"the model card does not fit its own schema: {problems[0]}")
    return card
