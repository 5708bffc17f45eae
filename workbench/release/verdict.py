"""The ledger's verdict on a planned release: whether it may be charged, and what was released before."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from workbench.params import BudgetRefusedError, WorkbenchError
from workbench.release.certificate import certificate_path, read_any_certificate
from workbench.release.kinds import ROWS, kind
from workbench.release.ledger.ledger import Ledger
from workbench.release.open_release import plan_of
from workbench.release.recover import draw_to_continue, finished_draw_for
from workbench.release.release_path import Prepared


@dataclass(frozen=True)
class EarlierRelease:
    """A release of the same table by the same plan whose files are still there; to copy them costs nothing."""

    release_id: str
    time: str  # when it was charged, UTC
    epsilon: Decimal
    output: Path


@dataclass(frozen=True)
class Verdict:
    """Whether the ledger allows a release, and which earlier releases there are; nothing is charged yet."""

    account: str
    waiting: str  # id of the paid release that is still to be given this name; empty where there is none
    refusal: BudgetRefusedError | None  # why the cap forbids the charge, `None` where it allows it
    # The newest release of the same table by the same plan, of noisy rows or of what goes into a plan, or `None`.
    earlier: EarlierRelease | None = None
    begun: bool = False  # whether that one is not finished, and goes on


def verdict_on(prepared: Prepared, ledger: Ledger) -> Verdict:
    """Return the ledger's verdict on a release. It charges nothing, but records the marks of a new table.

    Raises:
        InputError: the output has a draw of another request, or plan and ledger disagree about the name of the account.
    """
    account = ledger.enter_for_release(prepared.table, prepared.plan.account)
    waiting = finished_draw_for(ledger, prepared.to.path, prepared.digest, account)
    if waiting is not None:
        return Verdict(account, waiting.release.release_id, None)
    unread = None if prepared.sealing is not None else b""
    begun = draw_to_continue(ledger, prepared.to.path, prepared.digest, account, unread)
    if begun is not None:
        return Verdict(account, begun.release.release_id, None, begun=True)
    tables = ledger.tables_of(ledger.identify(prepared.table))
    refused = ledger.account(account, *tables).refusal(prepared.cost)
    known = prepared.work.kind == ROWS or kind(prepared.work.kind).before_plan
    earlier = _earlier_release(ledger, account, prepared) if known else None
    return Verdict(account, "", refused, earlier)


def _earlier_release(ledger: Ledger, account: str, prepared: Prepared) -> EarlierRelease | None:
    """Return the account's newest release of what is asked for whose files are still as they were certified."""
    work, cost, plan = prepared.work, prepared.cost, prepared.plan.published()
    asked = work.kind, work.request, (cost.epsilon, cost.delta)
    for release in reversed(ledger.releases(account)):
        output = Path(release.body.get("output", ""))
        certificate = certificate_path(output) if release.body.get("output") else output
        if release.status != "charged" or not output.is_file() or not certificate.is_file():
            continue
        from workbench.release.verify import verify_release  # loads all learners: a tenth of the start, mostly in vain

        try:
            document = read_any_certificate(certificate)
            stated = plan_of(
                document, certificate
            ).published()  # former versions also published the kinds of dropped columns
            same = document["release_id"] == release.release_id and stated == plan
            same &= (document.get("kind", ROWS), document.get("request", {}), release.cost) == asked
            whole = same and not verify_release(output)
        except WorkbenchError:
            continue  # without a readable certificate nothing shows that the file is whole
        if whole:
            return EarlierRelease(release.release_id, release.time, release.epsilon, output)
    return None
