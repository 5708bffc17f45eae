"""Checks a release against its certificate: bytes, values, mechanisms and arithmetic, all recomputed."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from workbench.data.rows_in_parts import each_part
from workbench.data.table import Table
from workbench.params import CancelledError, InputError, WorkbenchError, counted
from workbench.release.atomic import sha256_of
from workbench.release.card import contradictions
from workbench.release.certificate import (
    CARD,
    CARD_FORMAT,
    CENTRAL_FORMAT,
    FILES,
    GENERALISED_FORMAT,
    JOINED_ROWS,
    account_problems,
    central_guarantee,
    checksum,
    described_column,
    guarantee,
    is_model,
    outside,
    queries_of,
    query_facts,
    raised_caps,
    read_certificate,
    read_document,
    require_format,
    stated_budget,
)
from workbench.release.delta_limit import require_epsilon, require_small_cost
from workbench.release.generalised.generalised_check import generalised_problems
from workbench.release.kinds import kind
from workbench.release.ledger.entry import decimal_text
from workbench.release.ledger.ledger import Ledger
from workbench.release.ledger.records import Account
from workbench.release.open_release import certified_rows, located, plan_of, released_cells, with_mechanisms_used
from workbench.release.part_files import PRIVATE
from workbench.release.signature import SUFFIX as SIGNATURE
from workbench.release.statements import without_choice
from workbench.release.table_output import certified_copy
from workbench.sanitize.calibrated_columns import (
    ProtectedColumn,
    each_protected_column,
    fits_in_memory,
    protected_column,
)
from workbench.sanitize.forecast import outside_guarantee
from workbench.sanitize.plan import Column, Plan
from workbench.sanitize.writing import PLAIN
from workbench.signals import NEVER, CancelToken, Emit, Progress, ignore
from workbench.work.work import Work, budget_of, cost_of

_INEXACT = ("exact_epsilon", "table_digest")
"""What the last bit of an exponential changes, which differs between processors."""


MOST_ENTRIES = 2**33
"""Probabilities that are recomputed for one certificate: 512 columns of 4,096 cells, some 20 minutes."""


def verify_release(path: Path, cancel: CancelToken = NEVER) -> list[str]:
    """Return a sentence for every fault of the release at ``path``: a file, its certificate, or a folder.

    The cheap checks come first: what is not the file that was certified, or a certificate that was changed since, is
    reported at once. Then everything that its certificate says is computed again: from the noisy answers in it, where
    they are there (statistics, figures), else from the plan, the parameters and the released file.

    What the plan implies is recomputed and compared. The time, the release's id, the program's version and the sums of
    a named account cannot be: the certificate's checksum shows that they were changed by accident or carelessly, and
    :func:`verify_in_ledger` shows it in any case.

    Raises:
        InputError: there is nothing to check: no file or no certificate.
    """
    return examine(path, None, cancel)[0]


def examine(path: Path, certificate: Path | None, cancel: CancelToken) -> tuple[list[str], VerifiedRelease | None]:
    """Return what :func:`verify_release` does, and the released rows where they are noisy ones that were read."""
    release, where = path, path / CARD
    formats: tuple[str, ...] = (CARD_FORMAT,)
    if not is_model(path):
        (release, where), formats = located(path, certificate), (*FILES, GENERALISED_FORMAT)
        for file, what in ((release, "the released file"), (where, "the certificate")):
            if not os.path.isfile(file):
                raise InputError(f"{what} is missing", str(file), "put both into one folder")
    problems: list[str] = []
    try:
        document = read_document(where, *formats)
        problems += _sealed(document, release)
        if problems:
            return problems, None
        if document["format"] == GENERALISED_FORMAT:
            return list(generalised_problems(document, release, cancel)), None
        problems += account_problems(document)
        if document["format"] == CARD_FORMAT:
            return problems + contradictions(document, release), None
        plan = plan_of(document, where)
        if document.get("account", {}).get("name") != plan.account:
            problems.append("the certificate and its plan name different accounts")
        if document["format"] == CENTRAL_FORMAT:
            problems += _queries(document, plan)
            return problems or list(_recomputed(document, plan, release, cancel)), None
        problems += _guarantee(document, plan)
        if not fits_in_memory(plan, MOST_ENTRIES):
            problems.append(f"its mechanisms have more than {MOST_ENTRIES:.1e} probabilities: too many to recompute")
        if not problems:
            problems += _columns(document, with_mechanisms_used(plan, document, where), cancel)
        if problems:
            return problems, None
        # Values are only read where the file is the one that was certified.
        plan, rows = certified_rows(release, document, where, cancel)
        return list(_values(document, plan, rows, cancel)), VerifiedRelease(release, document, plan, rows)
    except CancelledError:
        raise
    except WorkbenchError as error:
        return [*problems, str(error)], None


def _sealed(document: dict[str, Any], release: Path) -> Iterator[str]:
    """Yield what was changed since it was certified: the document, or a file that it names by its SHA-256."""
    if document["checksum"] != checksum(document):
        what = "card" if document["format"] == CARD_FORMAT else "certificate"
        yield f"the {what} was changed after it was written: its checksum differs"
    if ("join" in {**document.get("guarantee", {}), **document.get("training", {})}) != (JOINED_ROWS in document):
        yield "the certificate does not state what the second table is joined on and how many rows it has"
    if document["format"] != CARD_FORMAT:
        output = document["output"]
        if release.stat().st_size != output["bytes"]:
            yield f"the file has {release.stat().st_size} bytes, its certificate says {output['bytes']}"
        if sha256_of(release) != output["sha256"]:
            yield "the file was changed after it was certified: its SHA-256 differs"
        return
    for name, digest in document["files"].items():
        file = release / name
        if Path(name).name != name or not os.path.isfile(file):
            yield f"the file {name} is missing"
        elif sha256_of(file) != digest:
            yield f"the file {name} was changed after its release: its SHA-256 differs"
    known = {*document["files"], CARD, CARD + SIGNATURE, PRIVATE}
    yield from (f"the file {p.name} is not on the card" for p in sorted(release.iterdir()) if p.name not in known)


def verify_in_ledger(document: dict[str, Any], ledger: Ledger) -> list[str]:
    """Return a sentence for every way in which a certificate or card disagrees with the ledger it was charged to."""
    if document.get("format") == GENERALISED_FORMAT:
        known = ledger.published_generalised(document["checksum"])
        return [] if known else ["the ledger has no note of this generalised table"]
    release = ledger.release(document["release_id"])
    if release is None:
        return ["the ledger does not know this release"]
    problems = [f"the ledger itself was altered or damaged: {p}" for p in ledger.verify()]
    if release.status not in ("charged", "settled", "reserved"):
        problems.append(f"the ledger lists this release as {release.status}")
    claimed = document["guarantee"]
    if (release.epsilon, release.delta) != (Decimal(claimed["epsilon"]), Decimal(claimed["delta"])):
        problems.append("the ledger was charged another epsilon or delta than the certificate states")
    stated = {**claimed, **document.get("training", {})}
    if "rows_per_person" in stated and release.unit != (stated["rows_per_person"] if "unit" in stated else 0):
        problems.append("the ledger was charged for another unit than the certificate states")
    if bool(release.tables) != (JOINED_ROWS in document):
        problems.append("the ledger was charged for other tables than the certificate states")
    if release.time != document["time"]:
        problems.append("the ledger lists this release at another time")
    if release.body.get("certificate", document["checksum"]) != document["checksum"]:
        problems.append("the certificate is not the one that was released")
    account = ledger.account(release.dataset)
    if "account" in document:
        if ledger.accounts().named(document["account"]["name"]) != account.dataset:
            problems.append("the ledger lists this release under another account than the certificate names")
        problems += _caps(document["account"], account, release.time)
    return problems


def _caps(stated: dict[str, Any], account: Account, time: str) -> Iterator[str]:
    caps = {decimal_text(Decimal(c["epsilon"])) for c in account.cap_history}
    if stated["cap_epsilon"] not in caps:
        yield "the ledger never had the cap that the certificate names"
    raised = raised_caps(account)
    if any(step not in raised for step in stated["cap_raised"]) or any(
        step not in stated["cap_raised"] for step in raised if step["time"] < time
    ):
        yield "the ledger and the certificate differ on how the cap was raised"


def _guarantee(document: dict[str, Any], plan: Plan) -> Iterator[str]:
    given = guarantee(plan)
    claimed = {**dict.fromkeys(given), **document["guarantee"]}
    for key, value in {**dict.fromkeys(claimed), **given}.items():
        if claimed[key] != value:
            yield f"the certificate says {key} = {claimed[key]}, its plan gives {value}"
    if document["keep_order"] != plan.keep_order:
        yield "the certificate and its plan differ on the order of rows"
    if without_choice(document["outside_guarantee"]) != list(outside_guarantee(plan)):
        yield "the certificate does not list all that ε does not cover under its plan"
    if [c["name"] for c in document["columns"]] != [c.name for c in plan.columns]:
        yield "the certificate and its plan have different columns"


def _columns(document: dict[str, Any], plan: Plan, cancel: CancelToken) -> Iterator[str]:
    rebuilt = each_protected_column(plan)
    for claim, column in zip(document["columns"], plan.columns, strict=True):
        cancel.check()
        yield from _column(claim, column, next(rebuilt) if column.action == "protect" else None)


def _column(claim: dict[str, Any], column: Column, made: ProtectedColumn | None) -> Iterator[str]:
    name, actual = column.name, described_column(column, made)
    for key in (k for k in sorted({*claim, *actual}) if k not in _INEXACT):
        if claim.get(key) != actual.get(key):
            yield f"column {name}: the certificate says {key} = {claim.get(key)}, its plan gives {actual.get(key)}"
    if made is not None:
        yield from _exact(float(claim.get("exact_epsilon", 0)), made)
        if made.mechanism.solved and claim.get("table_digest") != made.randomiser.digest():
            what = f"the mechanism {made.mechanism.name} has a different table here than where the release was made"
            yield f"column {name}: {what}"


def _exact(claimed: float, column: ProtectedColumn) -> Iterator[str]:
    name = column.column.name
    if not math.isclose(claimed, column.randomiser.exact_epsilon, rel_tol=1e-9):
        yield f"column {name}: the exact epsilon in the certificate is not that of its mechanism"
    if not Decimal(claimed) <= column.share:
        yield f"column {name}: its table costs more epsilon than its share"


def _values(document: dict[str, Any], plan: Plan, table: Table, cancel: CancelToken) -> Iterator[str]:
    if table.rows != document["rows"]:
        yield f"the file has {counted(table.rows, 'row')}, its certificate says {document['rows']:,}"
    yield from unknown_values(plan, table, cancel)


def unknown_values(plan: Plan, table: Table, cancel: CancelToken) -> Iterator[str]:
    """Yield a sentence for each protected column of a released table that has a value which is not a public one."""
    grids = [column.grid() for column in plan.protected]
    faults: dict[int, str] = {}

    def look(part: Table) -> dict[int, str]:
        found = {}
        for position, grid in enumerate(grids):
            if position not in faults:
                try:
                    released_cells(grid, part)
                except InputError as error:
                    found[position] = str(error)
        return found

    for found in each_part(table, look, cancel):
        faults = {**found, **faults}
    yield from (faults[position] for position in sorted(faults))


def _queries(document: dict[str, Any], plan: Plan) -> Iterator[str]:
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
    for name in document["columns"]:
        kind(document["kind"]).require(plan, name)
    if without_choice(document["outside_guarantee"]) != outside(plan, document["columns"]):
        yield "the certificate does not list all that ε does not cover under its plan"


def _recomputed(document: dict[str, Any], plan: Plan, output: Path, cancel: CancelToken) -> Iterator[str]:
    known, budget = kind(document["kind"]), stated_budget(document)
    own = known.recompute()
    if own is not None:
        yield from own(document, plan, output, cancel)
        return
    asked = known.asked().from_plain(document["request"], "the request in the certificate")
    form = document["output"]["format"]

    def work_by(plan: Plan) -> Work:
        return known.work_of(plan, asked, budget.epsilon, budget.delta, document["rows"], form)

    work = work_by(plan)
    require_format(document, output, known.suffixes())
    if work.answers is None:
        yield f"the kind {known.name} neither reads its answers from the certificate nor checks its file by itself"
    found = list(rerun(document, work, output, cancel))
    if found and plan.defuses_formulas:  # former versions wrote values as they are
        bare = replace(plan, writing=replace(plan.writing or PLAIN, defuse_formulas=False))
        found = found if list(rerun(document, work_by(bare), output, cancel)) else []
    yield from found


def rerun(
    document: dict[str, Any],
    work: Work,
    output: Path,
    cancel: CancelToken,
    unlike: Callable[[bytes], Iterator[str]] | None = None,
) -> Iterator[str]:
    """Yield where a certificate is not that of ``work``, or its file not what follows from the answers in it.

    ``unlike`` compares the file with the bytes that follow from the answers, where these may differ in last digits.
    """
    stated = {
        "request": (dict(work.request), "the certificate's request does not follow from its parameters"),
        "columns": (list(work.columns), "the certificate names other columns than its request reads"),
        "queries": (query_facts(work.events), "the certificate has other queries than its request makes"),
    }
    wrong = [sentence for key, (made, sentence) in stated.items() if document[key] != made]
    yield from wrong
    if wrong or work.answers is None:
        return
    cancel.check()
    try:
        made = work.files(work.answers(document["method"]), cancel)
    except WorkbenchError:
        raise
    except (KeyError, TypeError, ValueError, ArithmeticError):  # they are somebody else's
        yield "the noisy answers in the certificate do not fit its queries"
        return
    if document["method"] != made.method:
        yield "the method in the certificate does not follow from its answers"
    elif unlike is not None:
        yield from unlike(made.whole)
    elif output.stat().st_size != len(made.whole) or output.read_bytes() != made.whole:
        yield "the file does not follow from the noisy answers in the certificate"


# -- for those who use the values -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class VerifiedRelease:
    """A release that agrees with its certificate."""

    path: Path
    document: dict[str, Any]
    plan: Plan
    table: Table  # the released rows as text

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.table.rows

    @property
    def protected(self) -> tuple[str, ...]:
        """Names of the columns that went through a mechanism."""
        return tuple(c.name for c in self.plan.protected)

    def column(self, name: str) -> ProtectedColumn:
        """Return the mechanism of a column, rebuilt from the plan."""
        return protected_column(self.plan, name)

    def cells(self, name: str) -> Any:
        """Return the (n,) released cells of a column; of its text only a part is in memory at a time."""
        grid = self.plan.column(name).grid()
        return np.concatenate(list(each_part(self.table, partial(released_cells, grid))))


def verified_release(
    path: Path, certificate: Path | None = None, emit: Emit = ignore, cancel: CancelToken = NEVER
) -> VerifiedRelease:
    """Return the release in ``path`` after verifying it, the cheap checks first.

    Raises:
        InputError: a file is missing, what is named is no certificate, or the release is not what its certificate
            says; the first fault is named.
    """
    emit(Progress(0, 1, "verifying"))
    with certified_copy(path, certificate, cancel) as file:
        beside = certificate if file == path else None  # that of a copy is beside it
        named = located(file, beside)[1]
        if named.is_file():
            read_certificate(named)  # anything else is reported as no certificate
        problems, found = examine(file, beside, cancel)
    if problems or found is None:
        hint = "get the original file and certificate"
        raise InputError(first_fault(problems), str(path), hint)
    return found


def first_fault(problems: Sequence[str]) -> str:
    """Return the first fault of a release, and how many more there are."""
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    return f"the release does not match its certificate: {problems[0]}{more}"
