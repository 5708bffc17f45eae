"""Checks a central release against its certificate: bytes, checksum, arithmetic, and what its kind recomputes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from workbench.params import CancelledError, InputError, WorkbenchError
from workbench.release.central.central_work import require_epsilon, require_protected, require_unpublished
from workbench.release.central.certificate import central_guarantee, outside, queries_of, read_central, stated_budget
from workbench.release.central.kinds import kind
from workbench.release.choosing import without_choice
from workbench.release.delta_limit import require_small_cost
from workbench.release.ledger.fingerprint import sha256_of
from workbench.release.table.certificate import account_problems, checksum
from workbench.release.table.open_release import located, plan_of
from workbench.sanitize.plan import Plan
from workbench.signals.cancel import CancelToken
from workbench.work.work import budget_of, cost_of


def verify_central(path: Path, cancel: CancelToken | None = None) -> list[str]:
    """Return a sentence for every fault of the central release at ``path``, the cheap checks first.

    Raises:
        InputError: there is nothing to check: no file or no certificate.
        CancelledError: ``cancel`` was set.
    """
    output, certificate = located(path)
    for file, what in ((output, "the released file"), (certificate, "the certificate")):
        if not os.path.isfile(file):
            raise InputError(f"{what} is missing", str(file), "put both side by side")
    try:
        document = read_central(certificate)
    except InputError as error:
        return [str(error)]
    problems = list(_bytes(document, output))
    if problems:
        return problems
    try:
        plan = plan_of(document, certificate)
        problems = [*_claims(document, plan), *account_problems(document)]
        if not problems:
            recompute = kind(document["kind"]).recompute()
            problems = list(recompute(document, plan, output, cancel or CancelToken()))
    except CancelledError:
        raise
    except WorkbenchError as error:
        problems.append(str(error))
    return problems


def _bytes(document: dict[str, Any], output: Path) -> Iterator[str]:
    claimed = document["output"]
    if output.stat().st_size != claimed["bytes"]:
        yield f"the file has {output.stat().st_size} bytes, its certificate says {claimed['bytes']}"
    if sha256_of(output) != claimed["sha256"]:
        yield "the file was changed after it was certified: its SHA-256 differs"
    if document["checksum"] != checksum(document):
        yield "the certificate was changed after it was written: its checksum differs"


def _claims(document: dict[str, Any], plan: Plan) -> Iterator[str]:
    """Yield where the guarantee is not what the queries cost, or the plan says something else."""
    events, stated = queries_of(document), stated_budget(document)
    budget = budget_of(events, stated)
    require_epsilon(budget)  # before anything is computed with it
    claimed, given = document["guarantee"], central_guarantee(document["kind"], plan, events, stated)
    for key, value in given.items():
        if claimed.get(key) != value:
            yield f"the certificate says {key} = {claimed.get(key)}, its queries and plan give {value}"
    if claimed.keys() != given.keys():
        yield "the certificate's guarantee says more than its queries and plan give"
    if budget.gaussian:
        cost = cost_of(events, plan.rows_per_person, stated)
        require_small_cost(cost, document["rows"], rows_per_person=plan.rows_per_person)
    needed = require_unpublished if kind(document["kind"]).any_text else require_protected
    for name in document["columns"]:
        needed(plan, name)
    if without_choice(document["outside_guarantee"]) != outside(plan, document["columns"]):
        yield "the certificate does not name what its plan leaves outside the guarantee"
    if document.get("account", {}).get("name") != plan.account:
        yield "the certificate and its plan name different accounts"
