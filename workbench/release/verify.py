"""Checks a release against its certificate: bytes, values, mechanisms and arithmetic, all recomputed."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

from workbench.params import InputError, WorkbenchError
from workbench.release.certificate import decimal_text, read_certificate
from workbench.release.ledger import Ledger
from workbench.release.reread import Released, located, plan_of, read_release
from workbench.sanitize.allocate import total
from workbench.sanitize.forecast import charge_of, outside_guarantee
from workbench.sanitize.randomisers import ProtectedColumn, protected_columns


def verify_release(path: Path) -> list[str]:
    """Return a sentence for every fault of the release at ``path`` (a table, its certificate or their folder).

    Raises:
        InputError: there is nothing to check (no file, no certificate, or it cannot be read).
    """
    table, certificate = located(path)
    if not table.is_file():
        raise InputError("the released file is missing beside its certificate", str(table))
    document = read_certificate(certificate)
    problems = list(_bytes(document, table))
    try:
        plan = plan_of(document, certificate)
        columns = protected_columns(plan)
    except WorkbenchError as error:
        return [*problems, str(error)]
    problems += _arithmetic(document, plan)
    problems += _mechanisms(document, columns)
    if problems:
        return problems  # values are only read where the file is the one that was certified
    try:
        released = read_release(table, certificate)
    except WorkbenchError as error:
        return [str(error)]
    return list(_values(released))


def verify_in_ledger(document: dict[str, Any], ledger: Ledger) -> list[str]:
    """Return a sentence for every way in which a certificate disagrees with the ledger that it was charged to."""
    release = ledger.release(document["release_id"])
    if release is None:
        return ["the ledger does not know this release"]
    problems = []
    if release.status not in ("charged", "reserved"):
        problems.append(f"the ledger has this release as {release.status}")
    if release.epsilon != Decimal(document["guarantee"]["epsilon"]):
        problems.append("the ledger was charged another epsilon than the certificate claims")
    if release.dataset != document["dataset"]:
        problems.append("the ledger has this release under another dataset")
    return problems


def _bytes(document: dict[str, Any], table: Path) -> Iterator[str]:
    output = document["output"]
    if table.stat().st_size != output["bytes"]:
        yield f"the file has {table.stat().st_size} bytes, its certificate says {output['bytes']}"
    digest = hashlib.sha256()
    with table.open("rb") as stream:
        while chunk := stream.read(1 << 20):
            digest.update(chunk)
    if digest.hexdigest() != output["sha256"]:
        yield "the file was changed after it was certified: its SHA-256 differs"


def _arithmetic(document: dict[str, Any], plan: Any) -> Iterator[str]:
    guarantee = document["guarantee"]
    expected = {
        "epsilon": decimal_text(charge_of(plan)),
        "epsilon_row": decimal_text(total(plan)),
        "rows_per_person": plan.rows_per_person,
        "delta": "0",
        "replace_one": {"epsilon": float(charge_of(plan)), "delta": 0.0},
    }
    for key, value in expected.items():
        if guarantee[key] != value:
            yield f"the certificate says {key} = {guarantee[key]}, its plan gives {value}"
    if document["keep_order"] != plan.keep_order:
        yield "the certificate and its plan differ on the order of rows"
    if document["outside_guarantee"] != list(outside_guarantee(plan)):
        yield "the certificate does not name what its plan leaves outside the guarantee"


def _mechanisms(document: dict[str, Any], columns: tuple[ProtectedColumn, ...]) -> Iterator[str]:
    claimed = {c["name"]: c for c in document["columns"] if c["action"] == "protect"}
    if set(claimed) != {c.column.name for c in columns}:
        yield "the certificate and its plan protect different columns"
        return
    for column in columns:
        claim = claimed[column.column.name]
        actual = {
            "mechanism": column.mechanism.name,
            "epsilon": decimal_text(column.share),
            "bounds_origin": column.column.bounds_origin,
        }
        place = f"column {column.column.name}"
        for key, value in actual.items():
            if claim.get(key) != value:
                yield f"{place}: the certificate says {key} = {claim.get(key)}, its plan gives {value}"
        # Not the table's digest: the last bit of an exponential differs between processors.
        if not math.isclose(float(claim.get("exact_epsilon", 0)), column.randomiser.exact_epsilon, rel_tol=1e-9):
            yield f"{place}: the certificate claims another exact epsilon than its mechanism has"
        if Decimal(float(claim.get("exact_epsilon", 0))) > column.share:
            yield f"{place}: its table has more epsilon than its share"


def _values(released: Released) -> Iterator[str]:
    if released.table.rows != released.certificate["rows"]:
        yield f"the file has {released.table.rows} rows, its certificate says {released.certificate['rows']}"
    for column in released.columns:
        try:
            released.cells(column)
        except InputError as error:
            yield str(error)
