"""A release of noisy rows in one call, for tests."""

from pathlib import Path

from workbench.data.table import Table
from workbench.release.ledger.ledger import Ledger
from workbench.release.release_path import Released, destination, prepare_rows, release_prepared
from workbench.sanitize.plan import Plan
from workbench.signals.cancel import NEVER, CancelToken
from workbench.signals.events import Emit, ignore


def release_table(
    plan: Plan,
    table: Table,
    target: Path,
    ledger: Ledger,
    emit: Emit = ignore,
    cancel: CancelToken = NEVER,
    *,
    replace: bool = False,
) -> Released:
    return release_prepared(prepare_rows(plan, table, destination(target, replace=replace)), ledger, emit, cancel)
