"""What a release and a preview need of plan and table is prepared once and passed on."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import pytest
from release_cases import plan_of, table_of

from workbench.release.ledger.ledger import Ledger
from workbench.release.path import check_values, destination, prepare_rows, release_prepared
from workbench.release.verdict import verdict_on
from workbench.sanitize.calibrated import protected_columns
from workbench.sanitize.engine import check_columns
from workbench.sanitize.plan import Plan
from workbench.sanitize.realisation import Realisation
from workbench.signals.cancel import CancelToken

WATCHED = {f.__code__: f.__name__ for f in (check_columns, protected_columns, Plan.rows_of)}


@contextmanager
def counted() -> Iterator[Counter[str]]:
    """Count the calls of the preparing functions, wherever they were imported to."""
    calls: Counter[str] = Counter()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code in WATCHED:
            calls[WATCHED[frame.f_code]] += 1

    former = sys.getprofile()
    sys.setprofile(note)
    try:
        yield calls
    finally:
        sys.setprofile(former)


@pytest.mark.parametrize("invalid", ["refuse", "replace"])
def test_a_release_is_prepared_once(tmp_path: Path, invalid: str) -> None:
    plan, table = plan_of(invalid=invalid), table_of(200)
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger, counted() as calls:
        prepared = prepare_rows(plan, table, destination(tmp_path / "out.csv"))
        check_values(prepared, CancelToken())
        verdict = verdict_on(prepared, ledger)
        done = release_prepared(prepared, ledger, account=verdict.account)
    assert done.rows == 200
    assert calls == {"check_columns": 1, "protected_columns": 1, "rows_of": 1}


def test_looks_at_one_preview_check_the_columns_once() -> None:
    with counted() as calls:
        drawn = Realisation(table_of(200), plan_of(), 1, CancelToken())
        for name in ("age", "city", "pay"):
            assert drawn.all_rows(name).after[:200].tolist() == drawn.first_rows(name).after.tolist()
    assert calls == {"check_columns": 1, "rows_of": 1}
