"""A model trained on a released table, knowing the public tables of its certificate: post-processing, at no cost.

It is computed from the released file and its certificate alone, which anybody may have. So no ledger is opened and no
raw row is read; the guarantee on its card is that of the release.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.data.schema import Attribute
from workbench.learners import Learner, corrected
from workbench.learners.corrected_model import CorrectedModel
from workbench.learners.public_tables import Chances, PublicTable
from workbench.params import ParameterError, did_you_mean
from workbench.release.atomic import PART, write_error
from workbench.release.card import MODEL, model_bytes
from workbench.release.certificate import (
    CARD,
    CARD_FORMAT,
    JOINED_ROWS,
    MADE_FROM,
    certificate_bytes,
    guarantee_facts,
    read_certificate,
    with_checksum,
)
from workbench.release.model.open_model import OpenModel, opened_from_release
from workbench.release.open_release import located, plan_of
from workbench.release.part_files import DrawFolder
from workbench.release.statements import TRAINED_ON_RELEASE, Persons, columns_used_statement
from workbench.release.verify import VerifiedRelease, verified_release
from workbench.sanitize.calibrated_columns import TableOnDemand
from workbench.sanitize.plan import Plan
from workbench.signals import NEVER, CancelToken, Emit, Progress, ignore

_ROOM = 1 << 20  # bytes that are asked for before anything is read; the true size is known once the model is


@dataclass(frozen=True, eq=False)
class ModelOnRelease:
    """A model that was trained on a release, in memory."""

    chosen: Learner
    model: CorrectedModel
    card: dict[str, Any]
    files: dict[str, bytes]  # its files by name, the card among them

    @property
    def release_id(self) -> str:
        """The release that it was trained on."""
        return str(self.card[MADE_FROM]["release_id"])

    @property
    def epsilon(self) -> float:
        """What that release was charged; the model is charged nothing."""
        return float(self.card["guarantee"]["epsilon"])

    @property
    def rows(self) -> int:
        """Number of released rows."""
        return int(self.card["rows"])

    @property
    def uses(self) -> str:
        """Which columns it looks at, in a sentence; empty where it looks at all."""
        return columns_used_statement(self.model.attributes_used, len(self.model.facts.attributes), "It")

    def opened(self, folder: Path | None = None) -> OpenModel:
        """Return the model ready to predict; it was written to ``folder``, or is only in memory."""
        return opened_from_release(folder, self.card, self.chosen, self.model)


@dataclass(frozen=True, eq=False)
class _Watched:
    """A public table that reports when it is first looked at, and cancels where that was asked for."""

    chances: TableOnDemand
    name: str
    seen: set[str]  # the columns that were looked at, of all tables together
    total: int
    emit: Emit
    cancel: CancelToken

    @property
    def outputs(self) -> int:
        return self.chances.outputs

    def probabilities(self, rows: slice = slice(None)) -> NDArray[np.float64]:
        self.cancel.check()
        if self.name not in self.seen:
            self.emit(Progress(len(self.seen), self.total, f"column {self.name}"))
            self.seen.add(self.name)
        return self.chances.probabilities(rows)


def train_on_release(
    chosen: Learner,
    release: Path,
    certificate: Path | None,
    target: str,
    output: Path,
    emit: Emit = ignore,
    cancel: CancelToken = NEVER,
    *,
    replace: bool = False,
) -> ModelOnRelease:
    """Train ``chosen`` on the released table in ``release`` and write the model as the new folder ``output``.

    The folder appears whole or not at all; that it can be written is found out first.

    Raises:
        InputError: the release is not what its certificate says, or the folder exists or cannot be written.
        ParameterError: the learner cannot learn from a release, or not from this one.
        CancelledError: ``cancel`` was set.
    """
    corrected(chosen)  # refused before the release is read
    with DrawFolder(output, _ROOM, CARD, ending=PART, replace=replace) as part:
        made = fit_on_release(chosen, verified_release(release, certificate, emit, cancel), target, emit, cancel)
        part.reserve(made.files)
        cancel.check()
        try:
            part.write(made.files)
            with part.keep_on_success():
                part.publish()
        except OSError as error:
            raise write_error(error, output) from None
    return made


def fit_on_release(
    chosen: Learner,
    released: VerifiedRelease,
    target: str,
    emit: Emit = ignore,
    cancel: CancelToken = NEVER,
) -> ModelOnRelease:
    """Train ``chosen`` on a release, knowing the public tables that its protected columns went through.

    Raises:
        ParameterError: the learner has no such model, or the columns are not what it can use.
        CancelledError: ``cancel`` was set.
    """
    make = corrected(chosen)
    names = features_of(released.plan, target)
    whole = [*names, target]
    _require(chosen, [released.plan.column(name).facts() for name in whole])
    tables, seen = [], set[str]()
    for name in whole:
        cancel.check()
        column = released.column(name)
        chances: Chances = _Watched(TableOnDemand.of(column), name, seen, len(whole), emit, cancel)
        tables.append(PublicTable(column.column.facts(), column.grid.cells, chances))
    answers = np.column_stack([released.cells(name).astype(np.int64) for name in whole])
    cancel.check()
    fitted = make(tables[:-1], tables[-1]).fit(answers[:, :-1], answers[:, -1])
    files = {MODEL: model_bytes(fitted.model_)}
    card = _card(chosen, fitted.model_, released, files)
    return ModelOnRelease(chosen, fitted.model_, card, {**files, CARD: certificate_bytes(card)})


def columns_to_predict(release: Path) -> tuple[Attribute, ...]:
    """Return the protected columns of a release, as its certificate states them; nothing is verified by it.

    Raises:
        InputError: there is no such release, or what is beside it is no certificate.
    """
    named = located(release)[1]
    return tuple(c.facts() for c in plan_of(read_certificate(named), named).protected)


def require_declared(plan: Plan, release: Path, certificate: Path | None) -> None:
    """Refuse a plan that declares a protected column of a release otherwise than its certificate does.

    Raises:
        InputError: there is no such release, or what is beside it is no certificate.
        ParameterError: a column has another kind, other bounds or other values.
    """
    named = located(release, certificate)[1]
    declared = {column.name: column for column in plan.columns}
    for stated in plan_of(read_certificate(named), named).protected:
        column = declared.get(stated.name, stated)
        if any(getattr(column, key) != getattr(stated, key) for key in ("kind", "lower", "upper", "domain")):
            what = f"the certificate declares the column {stated.name!r} otherwise than this plan"
            raise ParameterError(what, "--bounds", "leave it out: the certificate declares all that is learned from")


def features_of(plan: Plan, target: str) -> tuple[str, ...]:
    """Return the columns of a release that a model of ``target`` can learn from: all others that are protected.

    Raises:
        ParameterError: the release does not hold the target, or no such column.
    """
    known = [c.name for c in plan.protected]
    action = {c.name: c.action for c in plan.columns}.get(target)
    if action != "protect":
        stated = {
            "drop": f"the release contains no column {target!r}: its plan dropped it",
            "keep": f"the release publishes the column {target!r} as it is, without declaring its values",
            None: f"the release has no column {target!r}{did_you_mean(target, known)}",
        }
        raise ParameterError(stated[action], hint=f"choose the target from {', '.join(known)}")
    if len(known) < 2:
        raise ParameterError(
            f"the release protects no column besides {target!r}: there is nothing to learn from",
            hint="use a release with more columns",
        )
    return tuple(name for name in known if name != target)


def _require(chosen: Learner, facts: list[Attribute]) -> None:
    """Check that the columns are what the learner can use; what a release declares cannot be declared otherwise."""
    try:
        chosen.require(facts[:-1], facts[-1])
    except ParameterError as error:
        raise ParameterError(error.what, error.where, ("choose another target", "choose another model")) from None


def _card(chosen: Learner, model: CorrectedModel, released: VerifiedRelease, files: dict[str, bytes]) -> dict[str, Any]:
    document, facts = released.document, model.facts
    guarantee = document["guarantee"]
    stated = {
        "format": CARD_FORMAT,
        MADE_FROM: {
            "release_id": document["release_id"],
            "time": document["time"],
            "file": document["output"]["file"],
            "sha256": document["output"]["sha256"],
            "certificate": document["checksum"],
        },
        "rows": facts.rows,
        **({JOINED_ROWS: document[JOINED_ROWS]} if JOINED_ROWS in document else {}),
        "model": chosen.name,
        "guarantee": guarantee_facts(
            f"{TRAINED_ON_RELEASE} Of the release: {guarantee['statement']}",
            (Decimal(guarantee["epsilon"]), Decimal(guarantee["delta"])),
            (guarantee["replace_one"]["epsilon"], guarantee["replace_one"]["delta"]),
            "none of its own: it follows from the released file and its certificate",
        ),
        "parameters": {},
        "inputs": [a.to_plain() for a in (*facts.attributes, facts.target)],
        "outside_guarantee": document["outside_guarantee"],
        "training": {
            **Persons(guarantee["rows_per_person"], guarantee.get("unit"), guarantee.get("join")).facts(),
            "attributes_used": list(model.attributes_used),
        },
        "files": {name: hashlib.sha256(files[name]).hexdigest() for name in sorted(files)},
    }
    return with_checksum(stated, time=datetime.now(UTC).isoformat(timespec="milliseconds"))
