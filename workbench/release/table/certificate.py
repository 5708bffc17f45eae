"""The certificate of a sanitised table: what was done, at which ε, and what ε does not cover."""

from __future__ import annotations

import hashlib
import itertools
import json
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import workbench
from workbench.params import CheckFailedError, InputError
from workbench.params.codec import read_json
from workbench.privacy.accounting.neighbours import RELATION
from workbench.release.json_schemas import schema_problems
from workbench.release.ledger.exact import decimal_text, minus
from workbench.release.ledger.records import STEWARD, Account, Release
from workbench.release.statements import table_statement
from workbench.sanitize.calibrated import ProtectedColumn
from workbench.sanitize.clamping import MEANS_ARE_OF_CLAMPED
from workbench.sanitize.forecast import charge_of
from workbench.sanitize.plan import Column, Plan

SUFFIX = ".certificate.json"
VERSION = 2
"""Of certificates and cards; the first one told marks and sums that followed from the rows."""

CENTRAL_FORMAT = "privacy-workbench-central-certificate"
"""Format of the certificates of central releases, which have a schema of their own."""

_FORMAT = "privacy-workbench-certificate"
_SCHEMA = "certificate.v2"


@dataclass(frozen=True)
class Output:
    """The released file: its name, format, SHA-256 and size (the file is public, so its hash may be)."""

    file: str
    format: str
    sha256: str
    bytes: int


def certificate_path(target: Path) -> Path:
    """Return the path of the certificate of ``target``."""
    return target.with_name(target.name + SUFFIX)


def certificate(
    plan: Plan,
    columns: tuple[ProtectedColumn, ...],
    rows: int,
    release: Release,
    account: Account,
    output: Output,
    outside: list[str],
) -> dict[str, Any]:
    """Return the certificate of a release as JSON holds it.

    Args:
        plan: what was done.
        columns: the mechanisms that ran.
        rows: number of rows, public under zero-out neighbours.
        release: the reservation in the ledger.
        account: the budget with this release counted; told only of an account that the plan names.
        output: the file.
        outside: sentences on what the ε does not cover.
    """
    document: dict[str, Any] = {
        "format": _FORMAT,
        "version": VERSION,
        "release_id": release.release_id,
        "time": release.time,
        "program": {"name": "privacy-workbench", "version": workbench.__version__},
        "rows": rows,
        "guarantee": guarantee(plan),
        "columns": described(plan, columns),
        "keep_order": plan.keep_order,
        "outside_guarantee": outside,
        "output": {"file": output.file, "format": output.format, "sha256": output.sha256, "bytes": output.bytes},
        "plan": plan.to_toml(),
    }
    if plan.account is not None:
        document["account"] = account_facts(plan.account, account, release.epsilon, release.epsilon, release.release_id)
    return {**document, "checksum": checksum(document)}


_COUNT_ROUNDING = Decimal("2e-6")


def account_facts(name: str, account: Account, reserved: Decimal, charged: Decimal, release_id: str) -> dict[str, Any]:
    """Return what is published of an account with a public name: neither name nor sum follows from the rows.

    Args:
        name: the name.
        account: its budget with this release counted at what was reserved for it.
        reserved: that ε.
        charged: the ε that this release has really cost.
        release_id: this release.
    """
    assert account.cap is not None
    if account.count is not None:
        return {
            "name": name,
            "cap_epsilon": decimal_text(account.cap[0]),
            "spent_before": decimal_text(account.count.without(release_id)[0]),
            "remaining_after": decimal_text(max(minus(account.cap[0], account.used[0]), Decimal(0))),
            "cap_raised": raised_caps(account),
            "count": account.count.stated(),
        }
    before = minus(account.used[0], reserved)
    left = minus(minus(account.cap[0], before), charged)
    return {
        "name": name,
        "cap_epsilon": decimal_text(account.cap[0]),
        "spent_before": decimal_text(before),
        # The steward may have lowered the cap since the reservation.
        "remaining_after": decimal_text(max(left, Decimal(0))),
        "cap_raised": raised_caps(account),
    }


def account_problems(document: dict[str, Any]) -> list[str]:
    """Return a sentence if the total of a named account, on a certificate or card, does not add up."""
    stated = document.get("account")
    if stated is None:
        return []
    left = minus(minus(Decimal(stated["cap_epsilon"]), Decimal(stated["spent_before"])), _epsilon(document))
    if "count" in stated:  # a release counts for at most its ε, and the filter rounds up
        if max(left, Decimal(0)) <= Decimal(stated["remaining_after"]) + _COUNT_ROUNDING:
            return []
        return [f"the certificate says that {stated['remaining_after']} of the budget remain, at least {left} have to"]
    if Decimal(stated["remaining_after"]) == max(left, Decimal(0)):
        return []
    return [f"the certificate says that {stated['remaining_after']} of the budget remain, its figures give {left}"]


def _epsilon(document: dict[str, Any]) -> Decimal:
    return Decimal(document["guarantee"]["epsilon"])


def checksum(document: dict[str, Any]) -> str:
    """Return the SHA-256 of everything in ``document`` except its checksum.

    Whoever forges a certificate can compute it anew; the ledger keeps the original one.
    """
    plain = {k: v for k, v in document.items() if k != "checksum"}
    return hashlib.sha256(json.dumps(plain, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def guarantee(plan: Plan) -> dict[str, Any]:
    """Return what a release of ``plan`` guarantees, as a certificate says it."""
    charged = charge_of(plan)
    return {
        "relation": RELATION,
        "statement": table_statement(plan),
        "epsilon": decimal_text(charged),
        "delta": "0",
        "epsilon_row": decimal_text(plan.row_epsilon()),
        "rows_per_person": plan.rows_per_person,
        # Every mechanism here is local: replacing a row's values costs the same ε as emptying it.
        "replace_one": {"epsilon": float(charged), "delta": 0.0},
        "randomness": "operating-system entropy; every value drawn exactly from its integer table",
    }


def described(plan: Plan, columns: tuple[ProtectedColumn, ...]) -> list[dict[str, Any]]:
    """Return what was done with each column, as a certificate says it."""
    made = {c.column.name: c for c in columns}
    return [described_column(c, made.get(c.name)) for c in plan.columns]


def described_column(column: Column, protected: ProtectedColumn | None) -> dict[str, Any]:
    """Return what was done with one column, which is protected by ``protected`` or not at all."""
    plain: dict[str, Any] = {"name": column.name, "action": column.action}
    if column.kind is not None:
        plain["kind"] = column.kind
    if column.role is not None:
        plain["role"] = column.role
    if protected is None:
        return plain
    grid = protected.grid
    plain |= {
        "mechanism": protected.mechanism.name,
        "epsilon": decimal_text(protected.share),
        "exact_epsilon": protected.randomiser.exact_epsilon,
        "cells": grid.cells.total,
        "missing": column.missing,
        "bounds_origin": column.bounds_origin,
        "table_digest": protected.randomiser.digest(),
    }
    if grid.cells.numeric:
        plain |= {"lower": grid.labels[0], "upper": grid.labels[-1], "means": MEANS_ARE_OF_CLAMPED}
    elif not column.counted:
        plain["domain"] = list(grid.labels)
    if protected.note:
        plain["note"] = protected.note
    return plain


def raised_caps(account: Account) -> list[dict[str, str]]:
    """Return every cap that the steward set above the one before it: later certificates name it."""
    return [
        {"epsilon": decimal_text(Decimal(new["epsilon"])), "time": new["time"]}
        for old, new in itertools.pairwise(account.cap_history)
        if new["origin"] == STEWARD and Decimal(new["epsilon"]) > Decimal(old["epsilon"])
    ]


def encode(document: dict[str, Any]) -> bytes:
    """Return the certificate's bytes, after checking it against its published schema."""
    problems = schema_problems(document, _SCHEMA)
    if problems:
        raise CheckFailedError(f"the certificate does not fit its own schema: {problems[0]}")
    return (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode()


_READ_AS_IT_IS = {
    "synthetic": "count and average the synthetic rows as they are, with any program",
    "statistics": "the released file holds the figures with their intervals",
}


def read_certificate(path: Path) -> dict[str, Any]:
    """Return the certificate in ``path``.

    Raises:
        InputError: it cannot be read or is not a certificate of a known version.
    """
    document = read_json(path, "certificate")
    if isinstance(document, dict) and document.get("format") == CENTRAL_FORMAT:
        kind = str(document.get("kind"))[:40]
        what = f"this is the certificate of a release of kind {kind!r}: there is nothing to estimate from it"
        raise InputError(what, str(path), _READ_AS_IT_IS.get(kind, "`workbench verify` checks the released file"))
    if not isinstance(document, dict) or document.get("format") != _FORMAT:
        raise InputError("this is not a certificate of the workbench", str(path), "name OUT.certificate.json")
    if document.get("version") != VERSION:
        raise other_version("certificate", document, path)
    problems = schema_problems(document, _SCHEMA)
    if problems:
        raise InputError(f"the certificate is malformed: {problems[0]}", str(path))
    return document


def other_version(what: str, document: dict[str, Any], path: Path) -> InputError:
    """Return the error for a certificate or card of another version than :data:`VERSION`."""
    stated = f"the {what} has version {str(document.get('version'))[:20]}, and this workbench reads version {VERSION}"
    return InputError(stated, str(path), "check it with the workbench that wrote it")
