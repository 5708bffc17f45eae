"""The certificate of a central release: what was asked of the rows, at which ε, and what ε does not cover."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
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
from workbench.release.central.kinds import kind
from workbench.release.json_schemas import schema_problems
from workbench.release.ledger.exact import decimal_text
from workbench.release.ledger.records import Account, Release
from workbench.release.statements import central_statement
from workbench.release.table.certificate import CENTRAL_FORMAT, Output, account_facts, checksum
from workbench.sanitize.forecast import read_off
from workbench.sanitize.plan import Plan
from workbench.work.work import amount_of, budget_of, cost_of

VERSION = 1

_SCHEMA = "central-certificate.v1"
ACCOUNTING = (
    "zero-concentrated differential privacy: the shares of rho add up, and (epsilon, delta) follow by Canonne, Kamath "
    "and Steinke 2020, Proposition 12"
)


def central_certificate(
    kind_name: str,
    plan: Plan,
    columns: tuple[str, ...],
    events: tuple[QueryEvent, ...],
    asked: Mapping[str, Any],
    method: Mapping[str, Any],
    rows: int,
    release: Release,
    account: Account,
    output: Output,
    outside: list[str],
    budget: Budget | None = None,
) -> dict[str, Any]:
    """Return the certificate of a central release as JSON holds it.

    Args:
        kind_name: its kind.
        plan: declares the columns.
        columns: those that were read.
        events: the queries.
        asked: what was asked for.
        method: how it was made.
        rows: number of rows, public under zero-out neighbours.
        release: the reservation in the ledger.
        account: the budget with this release counted; told only of an account that the plan names.
        output: the file.
        outside: sentences on what the ε does not cover.
        budget: (ε, δ) of one row, where the queries have a ρ.
    """
    published = plan.published()
    document: dict[str, Any] = {
        "format": CENTRAL_FORMAT,
        "version": VERSION,
        "kind": kind_name,
        "release_id": release.release_id,
        "time": release.time,
        "program": {"name": "privacy-workbench", "version": workbench.__version__},
        "rows": rows,
        "guarantee": central_guarantee(kind_name, published, events, budget),
        "queries": query_facts(events),
        "columns": list(columns),
        "request": dict(asked),
        "method": dict(method),
        "outside_guarantee": outside,
        "output": {"file": output.file, "format": output.format, "sha256": output.sha256, "bytes": output.bytes},
        "plan": published.to_toml(),
    }
    if plan.account is not None:
        document["account"] = account_facts(plan.account, account, release.epsilon, release.epsilon, release.release_id)
    return {**document, "checksum": checksum(document)}


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


def encode_central(document: dict[str, Any]) -> bytes:
    """Return the certificate's bytes, after checking it against its published schema."""
    problems = schema_problems(document, _SCHEMA)
    if problems:
        raise CheckFailedError(f"the certificate does not fit its own schema: {problems[0]}")
    return (json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def is_central(path: Path) -> bool:
    """Return whether ``path`` holds the certificate of a central release; not where it cannot be read."""
    try:
        document = read_json(path, "certificate")
    except InputError:
        return False
    return isinstance(document, dict) and document.get("format") == CENTRAL_FORMAT


def read_central(path: Path) -> dict[str, Any]:
    """Return the certificate of a central release in ``path``.

    Raises:
        InputError: it cannot be read or is not such a certificate of a known version.
    """
    document = read_json(path, "certificate")
    if not isinstance(document, dict) or document.get("format") != CENTRAL_FORMAT:
        raise InputError("this is not the certificate of a central release", str(path), "name OUT.certificate.json")
    if document.get("version") != VERSION:
        stated = f"the certificate has version {str(document.get('version'))[:20]}, this workbench reads {VERSION}"
        raise InputError(stated, str(path), "check it with the workbench that wrote it")
    problems = schema_problems(document, _SCHEMA)
    if problems:
        raise InputError(f"the certificate is malformed: {problems[0]}", str(path))
    return document
