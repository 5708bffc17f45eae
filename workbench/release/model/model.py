"""The release of a trained model: a folder of data files with a card, charged before the rows are read."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import workbench
from workbench.data.table import Table
from workbench.privacy.accounting.event import Cost
from workbench.privacy.accounting.neighbours import RELATION
from workbench.release.certificate import VERSION, account_facts, checksum
from workbench.release.choosing import CHOSEN, with_choice
from workbench.release.delta_limit import replaced
from workbench.release.ledger.exact import decimal_text
from workbench.release.ledger.ledger import Ledger
from workbench.release.model.card import CARD, FORMAT, encoded_card
from workbench.release.model.kept_run import KeptRun
from workbench.release.parts import PRIVATE, DrawFolder, require_new
from workbench.release.recover import begun, publish_earlier, publish_model, request_of, settle_earlier
from workbench.release.reservation import Reservation, charged, charged_again, standing_charge
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
        card: its card.
        published_earlier: whether it was trained and charged by an earlier run, which could not give it its name.
    """

    release_id: str
    epsilon: Decimal
    delta: Decimal
    remaining: Decimal
    output: Path
    uses: str = ""
    card: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)
    published_earlier: bool = False


Train = Callable[[Reservation], Trained]
"""Calls the reservation before it reads rows; its result is still only in memory."""


@dataclass(frozen=True, eq=False)
class ModelRequest:
    """The release of a model that is asked for.

    Attributes:
        table: the rows.
        target: a new folder; it appears whole or not at all.
        work: the kind of work, for the ledger.
        asked: what is asked for, as plain values: two runs that ask for the same may publish the same model.
        room: bytes that the model and its card may need on the disk.
        account: the public name of the account that pays, as the plan states it.
        watched: for work of which a person sees figures while it runs: whether any were shown yet. Then a run that
            is cancelled or fails stays charged in full.
        kept: the checkpoint of work that can be interrupted. While it is paused its reservation stands.
        replace: whether the folder of a released model may be replaced.
    """

    table: Table
    target: Path
    work: str
    asked: Mapping[str, Any]
    room: int
    account: str | None = None
    watched: Callable[[], bool] | None = None
    kept: KeptRun | None = None
    replace: bool = False


def release_model(wanted: ModelRequest, ledger: Ledger, train: Train, emit: Emit = ignore) -> ModelRelease:
    """Train and release a model as a folder.

    The output's place and space are secured first; the charge is final before the first byte of the model goes into
    a file. A finished model that could not be given its name is kept, and the next run of the same request publishes
    it instead of training and charging anew.

    Args:
        wanted: what is asked for.
        ledger: the account.
        train: does the training, in memory.
        emit: receives notices about earlier runs.

    Raises:
        InputError: the folder exists or cannot be written.
        BudgetRefusedError: the cap does not allow it.
        CancelledError: the training was cancelled.
    """
    target, replace, kept = wanted.target, wanted.replace, wanted.kept
    wanted.table.require_certain()  # a guess about the file that one row could change would undo every guarantee
    dataset = ledger.enter_for_release(wanted.table, wanted.account)
    resumed = "" if kept is None else kept.facts.release_id
    settle_earlier(ledger, target, emit, resumed=resumed)
    if ledger.figures_shown(dataset, before=resumed):
        emit(Notice("warning", f"not covered by epsilon: {CHOSEN}"))
    request = request_of(wanted.work, **wanted.asked)
    published = publish_earlier(ledger, target, request, dataset, emit, replace=replace)
    if published is not None:
        return _released(published, ledger, target, published_earlier=True)
    replaces = require_new(target, replace=replace, known_by=CARD)
    with DrawFolder(target, wanted.room, CARD, replace=replace) as part:
        details = {**begun(part), "watched": wanted.watched is not None, **({} if kept is None else kept.details())}
        reservation = Reservation(ledger, dataset, wanted.work, details, resumed)
        card, files = _charged(wanted, ledger, reservation, part, train, emit)
        cost, release_id = reservation.made()
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


def _charged(
    wanted: ModelRequest, ledger: Ledger, reservation: Reservation, part: DrawFolder, train: Train, emit: Emit
) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Reserve, train, and make the charge final; return the card and all files of the folder."""
    kept = wanted.kept
    try:
        trained = train(reservation)
        cost, release_id = reservation.made()
        if not trained.releasable:
            raise AssertionError("a model trained with seeded noise cannot be released")
        card = _card(trained, wanted.table, cost, ledger, release_id, wanted.account)
        files = _files(trained, card)
        part.reserve(files)
        reservation.make_final(trained.settled)  # from the next line on somebody could read the model
    except BaseException as error:
        if kept is not None and kept.paused:
            raise
        taken = kept is not None and kept.counted > 0  # parameters may have reached the disk
        seen = wanted.watched is not None and wanted.watched()
        reservation.abandon(error, emit, keep=taken or seen, watched=seen)
        if kept is not None:
            kept.remove()
        raise
    return card, files


def _released(card: dict[str, Any], ledger: Ledger, target: Path, *, published_earlier: bool = False) -> ModelRelease:
    release, remaining = charged(ledger, card["release_id"])
    uses = columns_used_statement(card["training"].get("attributes_used"), len(card["inputs"]) - 1)
    found = release.release_id, release.epsilon, release.delta, remaining
    return ModelRelease(*found, target, uses, card, published_earlier)


def _files(trained: Trained, card: dict[str, Any]) -> dict[str, bytes]:
    """Return what stands in the folder: the model, its card, and the private figures in a folder of their own."""
    private = {f"{PRIVATE}/{name}": data for name, data in trained.private.items()}
    return {**trained.files, CARD: encoded_card(card), **private}


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
    return card
