"""The certificate of a release: what was done, at which ε, and what ε does not cover.

Noisy rows have one that describes every column and its mechanism; every other kind has one that names its queries.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import workbench
from workbench.params import CheckFailedError, InputError
from workbench.params.codec import read_json
from workbench.privacy.accounting.compose import total
from workbench.privacy.accounting.event import PureDp, ZeroConcentrated
from workbench.privacy.accounting.neighbours import RELATION
from workbench.privacy.central.share import Budget, QueryEvent
from workbench.release.json_schemas import schema_problems
from workbench.release.kinds import ROWS, kind
from workbench.release.ledger.exact import decimal_text, minus
from workbench.release.ledger.records import STEWARD, Account, Release
from workbench.release.statements import central_statement, table_statement
from workbench.sanitize.calibrated import ProtectedColumn
from workbench.sanitize.clamping import MEANS_ARE_OF_CLAMPED
from workbench.sanitize.forecast import charge_of, outside_guarantee, read_off
from workbench.sanitize.plan import Column, Plan
from workbench.work.work import Work, amount_of, budget_of, cost_of

SUFFIX = ".certificate.json"
VERSION = 2
"""Of the certificates of noisy rows and of cards; the first one told marks and sums that followed from the rows."""

ROWS_FORMAT = "privacy-workbench-certificate"
CENTRAL_FORMAT = "privacy-workbench-central-certificate"
_READ = {ROWS_FORMAT: (VERSION, "certificate.v2"), CENTRAL_FORMAT: (1, "central-certificate.v1")}
"""Version and schema of each format."""

ACCOUNTING = (
    "zero-concentrated differential privacy: the shares of rho add up, and (epsilon, delta) follow by Canonne, Kamath "
    "and Steinke 2020, Proposition 12"
)


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
    work: Work,
    plan: Plan,
    rows: int,
    method: Mapping[str, Any],
    release: Release,
    account: Account,
    output: Output,
    outside: list[str],
) -> dict[str, Any]:
    """Return the certificate of a release as JSON holds it.

    Args:
        work: what was released.
        plan: declares the columns.
        rows: number of rows, public under zero-out neighbours.
        method: how it was made, as its kind says it; of noisy rows what was done with each column.
        release: the reservation in the ledger.
        account: the budget with this release counted; told only of an account that the plan names.
        output: the file.
        outside: sentences on what the ε does not cover.
    """
    published = plan.published()
    if work.kind == ROWS:
        stated, own = ROWS_FORMAT, {"guarantee": guarantee(published), **method}
    else:
        stated = CENTRAL_FORMAT
        own = {
            "kind": work.kind,
            "guarantee": central_guarantee(work.kind, published, work.events, work.budget),
            "queries": query_facts(work.events),
            "columns": list(work.columns),
            "request": dict(work.request),
            "method": dict(method),
        }
    document: dict[str, Any] = {
        "format": stated,
        "version": _READ[stated][0],
        "release_id": release.release_id,
        "time": release.time,
        "program": {"name": "privacy-workbench", "version": workbench.__version__},
        "rows": rows,
        **own,
        "outside_guarantee": outside,
        "output": vars(output),
        "plan": published.to_toml(),
    }
    if plan.account is not None:
        document["account"] = account_facts(plan.account, account, release.epsilon, release.epsilon, release.release_id)
    return {**document, "checksum": checksum(document)}


def not_covered(work: Work, plan: Plan) -> list[str]:
    """Return a sentence for everything that the ε of a release of ``work`` does not cover."""
    published = plan.published()
    return list(outside_guarantee(published)) if work.kind == ROWS else outside(published, work.columns)


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
        "randomness": kind(ROWS).randomness,
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


def query_facts(events: tuple[QueryEvent, ...]) -> list[dict[str, str]]:
    """Return the queries as a certificate names them, each with its share of ε or ρ."""
    return [
        {"label": e.label, "epsilon" if isinstance(e, PureDp) else "rho": decimal_text(amount_of(e))} for e in events
    ]


def central_guarantee(
    kind_name: str, plan: Plan, events: tuple[QueryEvent, ...], budget: Budget | None = None
) -> dict[str, Any]:
    """Return what a central release guarantees, as its certificate says it.

    Raises:
        ParameterError: the queries cost more than ``budget``.
    """
    row = budget_of(events, budget)
    cost = cost_of(events, plan.rows_per_person, budget)
    known = kind(kind_name)
    epsilon, delta = (float(cost.epsilon), 0.0) if known.local else cost.replace_one()
    statement = central_statement(
        known.released, plan.rows_per_person, replaces_invalid=plan.replaces_invalid, delta=row.gaussian
    )
    stated = {
        "relation": RELATION,
        "statement": f"{statement} {known.note}".strip(),
        "epsilon": decimal_text(cost.epsilon),
        "delta": decimal_text(cost.delta),
        "epsilon_row": decimal_text(row.epsilon),
        "rows_per_person": plan.rows_per_person,
        "replace_one": {"epsilon": epsilon, "delta": delta},
        "randomness": known.randomness,
    }
    if row.gaussian:
        stated |= {"delta_row": decimal_text(row.delta), "rho_row": decimal_text(total(amount_of(e) for e in events))}
        stated["accounting"] = ACCOUNTING
    return stated


def queries_of(document: dict[str, Any]) -> tuple[QueryEvent, ...]:
    """Return the queries that a certificate names."""
    return tuple(
        PureDp(Decimal(q["epsilon"]), q["label"]) if "epsilon" in q else ZeroConcentrated(Decimal(q["rho"]), q["label"])
        for q in document["queries"]
    )


def stated_budget(document: dict[str, Any]) -> Budget:
    """Return (ε, δ) of one row as a certificate states it."""
    stated = document["guarantee"]
    return Budget(Decimal(stated["epsilon_row"]), Decimal(stated.get("delta_row", "0")))


def outside(plan: Plan, columns: Iterable[str]) -> list[str]:
    """Return a sentence for everything that the ε of a release from ``columns`` does not cover."""
    return list(read_off([plan.column(name) for name in columns]))


def require_format(document: dict[str, Any], output: Path, formats: Mapping[str, str]) -> None:
    """Refuse a certificate whose format is not that of the file's suffix.

    Args:
        document: the certificate.
        output: the released file.
        formats: those of its kind, by suffix.

    Raises:
        InputError: it is another one.
    """
    stated = document["output"]["format"]
    for path in (Path(document["output"]["file"]), output):
        if formats.get(path.suffix.lower()) != stated:
            what = f"the certificate says the format {str(stated)[:40]!r}, which is not that of {path.name[:80]!r}"
            raise InputError(what, str(output), "give the file its certified name")


def encode(document: dict[str, Any]) -> bytes:
    """Return the certificate's bytes, after checking it against its published schema."""
    problems = schema_problems(document, _READ[document["format"]][1])
    if problems:
        raise CheckFailedError(f"the certificate does not fit its own schema: {problems[0]}")
    return (json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


_READ_AS_IT_IS = {
    "synthetic": "count and average the synthetic rows as they are, with any program",
    "statistics": "the released file holds the figures with their intervals",
}


def is_central(path: Path) -> bool:
    """Return whether ``path`` holds a certificate that names queries; not where it cannot be read."""
    try:
        document = read_json(path, "certificate")
    except InputError:
        return False
    return isinstance(document, dict) and document.get("format") == CENTRAL_FORMAT


def read_any_certificate(path: Path) -> dict[str, Any]:
    """Return the certificate of a released file in ``path``, of whatever kind.

    Raises:
        InputError: it cannot be read or is not a certificate of a known version.
    """
    document = read_json(path, "certificate")
    stated = document.get("format") if isinstance(document, dict) else None
    if not isinstance(stated, str) or stated not in _READ:
        raise InputError("this is not a certificate of the workbench", str(path), "name OUT.certificate.json")
    version, schema = _READ[stated]
    if document.get("version") != version:
        raise other_version("certificate", document, path, version)
    problems = schema_problems(document, schema)
    if problems:
        raise InputError(f"the certificate is malformed: {problems[0]}", str(path))
    return document


def read_certificate(path: Path) -> dict[str, Any]:
    """Return the certificate of noisy rows in ``path``.

    Raises:
        InputError: it cannot be read or is not such a certificate of a known version.
    """
    if is_central(path):
        name = str(read_json(path, "certificate").get("kind"))[:40]
        what = f"this is the certificate of a release of kind {name!r}: there is nothing to estimate from it"
        raise InputError(what, str(path), _READ_AS_IT_IS.get(name, "`workbench verify` checks the released file"))
    return read_any_certificate(path)


def other_version(what: str, document: dict[str, Any], path: Path, version: int = VERSION) -> InputError:
    """Return the error for a certificate or card of another version than the one that is read."""
    stated = f"the {what} has version {str(document.get('version'))[:20]}, and this workbench reads version {version}"
    return InputError(stated, str(path), "check it with the workbench that wrote it")
