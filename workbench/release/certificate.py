"""The certificate of a file and the card of a model: what was done, at which ε, and what ε does not cover.

Both state guarantee, ledger and origin in the same way, and both are sealed, written and read here. The certificate of
noisy rows describes every column and its mechanism; that of every other kind of file lists its queries; the facts of a
model's card are in :mod:`workbench.release.card`.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
from collections.abc import Iterable, Mapping
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import workbench
from workbench.params import CheckFailedError, InputError, read_json
from workbench.paths import resources
from workbench.privacy.accounting.compose import total
from workbench.privacy.accounting.event import RELATION, ApproximateDp, PureDp, ZeroConcentrated
from workbench.privacy.central.share import Budget, QueryEvent
from workbench.release.kinds import ROWS, kind
from workbench.release.ledger.entry import decimal_text, minus
from workbench.release.ledger.records import PERSON, STEWARD, Account
from workbench.release.statements import Persons, central_statement, table_statement
from workbench.release.table_formats import DATABASE, suffix_of
from workbench.sanitize.calibrated_columns import MEANS_ARE_OF_CLAMPED, ProtectedColumn
from workbench.sanitize.forecast import charge_of, outside_guarantee, read_off
from workbench.sanitize.plan import Column, Plan
from workbench.work.work import Work, amount_of, budget_of, cost_of


def schema_problems(document: Any, name: str) -> list[str]:
    """Return each violation of the schema ``name`` in ``document``, its position first."""
    return [f"{e.json_path}: {e.message[:200]}" for e in _validator(name).iter_errors(document)]


@cache
def _validator(name: str) -> Any:
    """Return the validator of a schema; 200.0 is no whole number here, although JSON Schema takes it for one."""
    import jsonschema

    usual = jsonschema.Draft202012Validator
    types = usual.TYPE_CHECKER.redefine(
        "integer", lambda _, value: isinstance(value, int) and not isinstance(value, bool)
    )
    schema = json.loads((resources() / "schemas" / f"{name}.schema.json").read_text(encoding="utf-8"))
    return jsonschema.validators.extend(usual, type_checker=types)(schema)


SUFFIX, CARD = ".certificate.json", "card.json"
JOINED_ROWS = "joined_rows"  # key of a certificate or card: the number of rows of the second table, where one is joined

MADE_FROM = "made_from"
"""Key of a card: the release that a model was trained on at no cost. Such a card has no ``release_id`` of its own."""

READING = "reading"
"""Key of a card: the form of the file of the training, as its plan states it; ``predict`` reads others of it so."""

VERSION = 2  # of certificates of noisy rows and of cards. Version 1 published marks and sums that depended on the rows.

ROWS_FORMAT = "privacy-workbench-certificate"
CENTRAL_FORMAT = "privacy-workbench-central-certificate"
CARD_FORMAT = "privacy-workbench-model-card"
GENERALISED_FORMAT = "privacy-workbench-generalised-certificate"
"""Of a generalised table, which has no guarantee: nothing that needs one reads it."""
FILES = (ROWS_FORMAT, CENTRAL_FORMAT)
"""The formats of the certificates of files that have a guarantee; a folder has a card."""

_FORMATS = {
    ROWS_FORMAT: (VERSION, "certificate.v2"),
    CENTRAL_FORMAT: (1, "central-certificate.v1"),
    CARD_FORMAT: (VERSION, "card.v2"),
    GENERALISED_FORMAT: (1, "generalised-certificate.v1"),
}
"""Version and schema of each format."""

ACCOUNTING = (
    "zero-concentrated differential privacy: the shares of rho add up, and (epsilon, delta) follow by Canonne, Kamath "
    "and Steinke 2020, Proposition 12"
)
SUMMED = "basic composition: the shares of epsilon add up, and so do those of delta (Dwork and Roth 2014, Theorem 3.16)"


def certificate_path(target: Path) -> Path:
    """Return the path of the certificate of ``target``."""
    return target.with_name(target.name + SUFFIX)


# -- making ------------------------------------------------------------------------------------------------------------


def with_checksum(facts: Mapping[str, Any], *, time: str, release_id: str = "") -> dict[str, Any]:
    """Return a certificate or card of these facts, ``format`` among them, as JSON holds it, with its checksum.

    ``time`` is when the cost was reserved; where nothing was charged, when it was made, and it has no ``release_id``.

    Raises:
        CheckFailedError: it does not fit its published schema.
    """
    form = facts["format"]
    document = {
        "format": form,
        "version": _FORMATS[form][0],
        **({"release_id": release_id} if release_id else {}),
        "time": time,
        "program": {"name": "privacy-workbench", "version": workbench.__version__},
        **facts,
    }
    made = with_new_checksum(document)
    problems = schema_problems(made, _FORMATS[form][1])
    if problems:
        # Nothing is charged yet: the place alone, for what is there may have been drawn.
        raise CheckFailedError(f"the {_title(form)} does not match its schema at {problems[0].partition(': ')[0]}")
    return made


def with_new_checksum(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a certificate or card with its checksum computed again."""
    return {**document, "checksum": checksum(document)}


def certificate_bytes(document: Mapping[str, Any]) -> bytes:
    """Return a certificate or card as the bytes of its file."""
    return (json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def guarantee_facts(
    statement: str,
    charged: tuple[Decimal, Decimal],
    replaced: tuple[float, float],
    randomness: str,
    **more: Any,
) -> dict[str, Any]:
    """Return what a release guarantees, as a certificate or card says it.

    ``charged`` is (ε, δ) for all rows of a person, if those rows become empty (zero-out); ``replaced`` the same, if
    they are replaced by other rows (replace-one).
    """
    return {
        "relation": RELATION,
        "statement": statement,
        "epsilon": decimal_text(charged[0]),
        "delta": decimal_text(charged[1]),
        "replace_one": {"epsilon": replaced[0], "delta": replaced[1]},
        "randomness": randomness,
        **more,
    }


def output_facts(
    file: str, form: str, sha256: str = "0" * 64, size: int = 0, columns: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return what a certificate says of the released file. The file is public, so its SHA-256 may be too.

    ``sha256`` and ``size`` are placeholders until the file is written. ``columns`` are those of a table of a database,
    with their types; none of a file.
    """
    stated = {"columns": [[name, kind] for name, kind in columns.items()]} if columns else {}
    return {"file": file, "format": form, "sha256": sha256, "bytes": size, **stated}


def file_facts(work: Work, plan: Plan, rows: int, method: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the certificate of a released file says, except for its output and the account that pays."""
    published = plan.published()
    if work.kind == ROWS:
        own = {"format": ROWS_FORMAT, "rows": rows, "guarantee": guarantee(published), **method}
    else:
        own = {
            "format": CENTRAL_FORMAT,
            "rows": rows,
            "kind": work.kind,
            "guarantee": central_guarantee(work.kind, published, work.events, work.budget),
            "queries": query_facts(work.events),
            "columns": list(work.columns),
            "request": dict(work.request),
            "method": dict(method),
        }
    return {**own, "outside_guarantee": not_covered(work, plan), "plan": published.to_toml()}


def not_covered(work: Work, plan: Plan) -> list[str]:
    """Return a sentence for everything that the ε of a release of ``work`` does not cover."""
    published = plan.published()
    return list(outside_guarantee(published)) if work.kind == ROWS else outside(published, work.columns)


_COUNT_ROUNDING = Decimal("2e-6")


def account_facts(name: str, account: Account, reserved: Decimal, charged: Decimal, release_id: str) -> dict[str, Any]:
    """Return what is published of an account that has a public name.

    Name and sum depend on no row: the name was chosen, and with it the sum cannot show whether the rows have changed.
    In ``account`` this release counts with the ε that was reserved; ``charged`` is what it really cost, at most as
    much.
    """
    assert account.cap is not None
    cap, count = account.cap[0], account.count
    before = minus(account.used[0], reserved) if count is None else count.without(release_id)[0]
    left = minus(minus(cap, before), charged) if count is None else minus(cap, account.used[0])
    return {
        "name": name,
        **({"unit": PERSON} if account.unit == PERSON else {}),
        "cap_epsilon": decimal_text(cap),
        "spent_before": decimal_text(before),
        # The steward may have lowered the cap since the reservation.
        "remaining_after": decimal_text(max(left, Decimal(0))),
        "cap_raised": raised_caps(account),
        **({} if count is None else {"count": count.stated()}),
    }


def account_problems(document: dict[str, Any]) -> list[str]:
    """Return a sentence if the stated total of a named account, on a certificate or card, does not add up."""
    stated = document.get("account")
    if stated is None:
        return []
    charged = Decimal(document["guarantee"]["epsilon"])
    left = minus(minus(Decimal(stated["cap_epsilon"]), Decimal(stated["spent_before"])), charged)
    if "count" in stated:  # a release counts for at most its ε, and the filter rounds up
        if max(left, Decimal(0)) <= Decimal(stated["remaining_after"]) + _COUNT_ROUNDING:
            return []
        return [f"the certificate says that {stated['remaining_after']} of the budget remain, at least {left} have to"]
    if Decimal(stated["remaining_after"]) == max(left, Decimal(0)):
        return []
    return [f"the certificate says that {stated['remaining_after']} of the budget remain, its figures give {left}"]


def checksum(document: Mapping[str, Any]) -> str:
    """Return the SHA-256 of everything in ``document`` except its checksum.

    Anyone who forges a certificate can compute it again; the ledger keeps the original checksum.
    """
    plain = {k: v for k, v in document.items() if k != "checksum"}
    return hashlib.sha256(json.dumps(plain, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def guarantee(plan: Plan) -> dict[str, Any]:
    """Return what a release of noisy rows by ``plan`` guarantees, as its certificate says it."""
    charged = charge_of(plan)
    return guarantee_facts(
        table_statement(plan),
        (charged, Decimal(0)),
        # Every mechanism here is local: replacing a row's values costs the same ε as emptying it.
        (float(charged), 0.0),
        kind(ROWS).randomness,
        epsilon_row=decimal_text(plan.row_epsilon()),
        **Persons.of(plan).facts(),
    )


def described(plan: Plan, columns: tuple[ProtectedColumn, ...]) -> list[dict[str, Any]]:
    """Return what was done with each column, as a certificate says it."""
    made = {c.column.name: c for c in columns}
    return [described_column(c, made.get(c.name)) for c in plan.columns]


def described_column(column: Column, protected: ProtectedColumn | None) -> dict[str, Any]:
    """Return what was done with one column; ``protected`` is its mechanism, ``None`` where it has none."""
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
    """Return every cap that the steward raised above the one before it, for later certificates to state."""
    return [
        {"epsilon": decimal_text(Decimal(new["epsilon"])), "time": new["time"]}
        for old, new in itertools.pairwise(account.cap_history)
        if new["origin"] == STEWARD and Decimal(new["epsilon"]) > Decimal(old["epsilon"])
    ]


def query_facts(events: tuple[QueryEvent, ...]) -> list[dict[str, str]]:
    """Return the queries as a certificate lists them, each with its share of ε or ρ (back: :func:`queries_of`)."""
    return [
        {
            "label": e.label,
            "rho" if isinstance(e, ZeroConcentrated) else "epsilon": decimal_text(amount_of(e)),
            **({"delta": decimal_text(e.delta)} if isinstance(e, ApproximateDp) else {}),
        }
        for e in events
    ]


def central_guarantee(
    kind_name: str, plan: Plan, events: tuple[QueryEvent, ...], budget: Budget | None = None
) -> dict[str, Any]:
    """Return what a release of any other kind than noisy rows guarantees, as its certificate says it.

    Raises:
        ParameterError: the queries cost more than ``budget``.
    """
    row = budget_of(events, budget)
    cost = cost_of(events, plan.rows_per_person, budget)
    known = kind(kind_name)
    persons, replaces = Persons.of(plan), plan.replaces_invalid
    statement = central_statement(known.released, persons, replaces_invalid=replaces, delta=row.gaussian)
    more: dict[str, Any] = {"epsilon_row": decimal_text(row.epsilon), **persons.facts()}
    if row.gaussian:
        rho = total(e.rho for e in events if isinstance(e, ZeroConcentrated))
        more |= {"delta_row": decimal_text(row.delta), **({"rho_row": decimal_text(rho)} if rho else {})}
        more["accounting"] = ACCOUNTING if rho else SUMMED
    return guarantee_facts(
        f"{statement} {known.note}".strip(),
        (cost.epsilon, cost.delta),
        cost.replace_one(local=known.local),
        known.randomness,
        **more,
    )


def queries_of(document: dict[str, Any]) -> tuple[QueryEvent, ...]:
    """Return the queries that a certificate lists."""
    return tuple(_query_of(stated) for stated in document["queries"])


def _query_of(stated: Mapping[str, str]) -> QueryEvent:
    label = stated["label"]
    if "rho" in stated:
        return ZeroConcentrated(Decimal(stated["rho"]), label)
    epsilon = Decimal(stated["epsilon"])
    return ApproximateDp(epsilon, Decimal(stated["delta"]), label) if "delta" in stated else PureDp(epsilon, label)


def stated_budget(document: dict[str, Any]) -> Budget:
    """Return (ε, δ) of one row as a certificate states it."""
    stated = document["guarantee"]
    return Budget(Decimal(stated["epsilon_row"]), Decimal(stated.get("delta_row", "0")))


def outside(plan: Plan, columns: Iterable[str]) -> list[str]:
    """Return a sentence for everything that the ε of a release does not cover, if it reads only ``columns``."""
    return list(read_off([plan.column(name) for name in columns]))


def require_format(document: dict[str, Any], output: Path, formats: Mapping[str, str]) -> None:
    """Refuse a certificate whose format is not that of the file's suffix.

    Raises:
        InputError: the stated format is another one.
    """
    stated = document["output"]["format"]
    if stated == DATABASE:  # whose copy has the name of the table
        return
    for path in (Path(document["output"]["file"]), output):
        if suffix_of(path, formats) != f".{stated}":
            what = f"the certificate states the format {str(stated)[:40]!r}, which is not that of {path.name[:80]!r}"
            raise InputError(what, str(output), "give the file its certified name")


# -- reading -----------------------------------------------------------------------------------------------------------


NOTHING_TO_ESTIMATE = "nothing-to-estimate"
"""Code of the refusal to estimate from a release that is not of noisy rows; its field is the kind."""

_HINTS = {"certificate": "give OUT.certificate.json"}
_USE_INSTEAD = {
    "synthetic": "count and average the synthetic rows as they are, with any program",
    "statistics": "the released file contains the figures with their intervals",
}


def read_document(path: Path, *formats: str) -> dict[str, Any]:
    """Return the certificate or card in ``path``, of one of ``formats``.

    Raises:
        InputError: it cannot be read, has another format or has an unknown version.
    """
    what = _title(formats[0])
    document = read_json(path, what)
    if not isinstance(document, dict) or document.get("format") not in formats:
        raise InputError(f"this is not a {what} of the workbench", str(path), _HINTS.get(what, ""))
    version, schema = _FORMATS[document["format"]]
    if document.get("version") != version:
        other = str(document.get("version"))[:20]
        stated = f"the {what} has version {other}, and this workbench reads version {version}"
        raise InputError(stated, str(path), "check it with the workbench that wrote it")
    problems = schema_problems(document, schema)
    if problems:
        raise InputError(f"the {what} is malformed: {problems[0]}", str(path))
    if document.get("kind") == ROWS:
        raise InputError("the certificate is malformed: that of noisy rows describes columns", str(path))
    return document


def read_any_certificate(path: Path) -> dict[str, Any]:
    """Return the certificate of a released file in ``path``, of whatever kind; errors as :func:`read_document`."""
    return read_document(path, *FILES)


def read_certificate(path: Path) -> dict[str, Any]:
    """Return the certificate of noisy rows in ``path``.

    Raises:
        InputError: it cannot be read or is not such a certificate of a known version.
    """
    document = read_any_certificate(path)
    if document["format"] != ROWS_FORMAT:
        name = document["kind"][:40]
        what = f"this is the certificate of a release of kind {name!r}: there is nothing to estimate from it"
        hint = _USE_INSTEAD.get(name, "`workbench verify` checks the released file")
        raise InputError(what, str(path), hint, code=NOTHING_TO_ESTIMATE, field=name)
    return document


def is_model(path: Path) -> bool:
    """Return whether ``path`` is the folder of a released model."""
    return os.path.isfile(path / CARD)


def read_card(folder: Path) -> dict[str, Any]:
    """Return the card of a released model.

    Raises:
        InputError: it cannot be read or is not a card of a known version.
    """
    return read_document(folder / CARD, CARD_FORMAT)


def ledger_facts(document: dict[str, Any]) -> dict[str, Any]:
    """Return the part of a certificate or card that a ledger can confirm.

    This is the document itself, or the release that a model was trained on at no cost.
    """
    made = document.get(MADE_FROM)
    if made is None:
        return document
    stated = {"release_id": made["release_id"], "time": made["time"], "checksum": made["certificate"]}
    return {**stated, "guarantee": document["guarantee"]}


def _title(form: str) -> str:
    return "model card" if form == CARD_FORMAT else "certificate"
