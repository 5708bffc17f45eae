"""Forecast and release share one table per (mechanism, cells, ε); its errors are kept on disk, never the table."""

import hashlib
import json
from decimal import Decimal

import numpy as np
import pytest

from workbench.privacy.local import mechanisms
from workbench.privacy.local.cells import Cells
from workbench.privacy.local.error_profile import error_profile
from workbench.sanitize import calibrated_columns
from workbench.sanitize.calibrated_columns import cache_folder, candidates, protected_columns
from workbench.sanitize.forecast import forecast
from workbench.sanitize.plan import Column, Plan

SHARE = Decimal("0.75")


def _plan(*bounds: tuple[int, int], mechanism: str = "auto") -> Plan:
    columns = [
        Column(name=f"c{i}", kind="integer", lower=float(low), upper=float(high), mechanism=mechanism)
        for i, (low, high) in enumerate(bounds)
    ]
    return Plan(epsilon=float(SHARE) * len(bounds), columns=tuple(columns))


@pytest.fixture(autouse=True)
def new_process():
    """Forget what this process has computed."""
    _forget()


def _forget() -> None:
    calibrated_columns._counted_facts.cache_clear()
    calibrated_columns._KEPT._made.clear()


def _refuse(*_: object) -> None:
    raise AssertionError("computed again")


def test_columns_that_differ_in_bounds_alone_share_one_table():
    first, second = protected_columns(_plan((0, 40), (100, 500), mechanism="staircase"))[:2]
    assert first.grid.cells.size == 41
    wide = protected_columns(_plan((0, 40), (-20, 20), mechanism="staircase"))[1]
    assert first.randomiser is wide.randomiser
    assert second.randomiser is not first.randomiser  # 401 cells


@pytest.mark.parametrize(("lower", "upper"), [(0.0, 1.0), (-3.0, 17.0), (18.0, 95.0), (0.1, 0.9)])
@pytest.mark.parametrize("missing", [False, True])
def test_the_shared_facts_are_those_of_a_table_made_for_the_bounds(lower, upper, missing):
    """Within rounding: a cell more or less in a window would show in the third digit."""
    cells = Cells.line(lower, upper, 24, missing=missing)
    for mechanism, found in candidates(cells, SHARE):
        own = error_profile(mechanism.build(cells, float(SHARE)), cells).facts
        for name in own.__dataclass_fields__:
            expected = getattr(own, name)
            close = None if expected is None else pytest.approx(expected, rel=1e-6, abs=1e-9 * (upper - lower))
            assert getattr(found, name) == close, (mechanism.name, name)


def test_unevenly_spaced_cells_keep_their_own_table():
    uneven = Cells(size=3, values=np.array([0.0, 1.0, 10.0]))
    assert uneven.counted() is uneven


def test_a_second_program_computes_nothing(monkeypatch):
    plan = _plan((0, 60), (5, 900), (1900, 2030))
    first = forecast(plan)
    _forget()
    monkeypatch.setattr(calibrated_columns, "error_profile", _refuse)
    monkeypatch.setattr(calibrated_columns._Kept, "get", _refuse)
    assert forecast(plan) == first
    # Other bounds with as many cells need nothing new either.
    other = forecast(_plan((100, 160), (5, 900), (0, 130)))
    assert other.columns[0].expected_absolute_error == pytest.approx(first.columns[0].expected_absolute_error)


def test_the_cache_holds_no_table_and_is_its_owners_alone():
    forecast(_plan((0, 60)))
    files = list(cache_folder().iterdir())
    assert files
    assert cache_folder().stat().st_mode & 0o077 == 0
    assert all(path.stat().st_size < 1024 and path.stat().st_mode & 0o077 == 0 for path in files)


def _altered(data: bytes, **changed: object) -> bytes:
    body = json.dumps({**json.loads(data.partition(b"\n")[2]), **changed}).encode()
    return hashlib.sha256(body).hexdigest().encode() + b"\n" + body


@pytest.mark.parametrize(
    "harm",
    [
        lambda data: b"",
        lambda data: data[:-1],
        lambda data: data.replace(b"1", b"2"),
        lambda data: b"\x80\x04" + data,
        lambda data: b"\n" + b"[" * 4000,
        lambda data: _altered(data, exact_epsilon=1e9),
        lambda data: _altered(data, exact_epsilon=float("nan")),
        lambda data: _altered(data, bias_max="1"),
        lambda data: _altered(data, sd_mean=-1.0),
        lambda data: _altered(data, more=1.0),
        lambda data: _altered(data, expected_absolute_error=None),
    ],
)
def test_a_damaged_or_impossible_file_counts_as_absent(harm):
    plan = _plan((0, 30))
    first = forecast(plan)
    for path in cache_folder().iterdir():
        path.write_bytes(harm(path.read_bytes()))  # type: ignore[operator]
    _forget()
    assert forecast(plan) == first


def test_a_hostile_file_can_advise_badly_and_never_weakens_a_table():
    """Facts that look perfect for every mechanism: what is drawn from still has at most its share of ε."""
    plan = _plan((0, 30))
    forecast(plan)
    for path in cache_folder().iterdir():
        path.write_bytes(_altered(path.read_bytes(), exact_epsilon=0.0, statistic_variance=1e-9))
    _forget()
    column = protected_columns(plan)[0]
    assert column.facts.exact_epsilon == 0.0  # the file was believed
    weights = column.randomiser.weights  # type: ignore[attr-defined]
    weights = weights[:, weights.max(axis=0) > 0]  # answers that are never given
    actual = float(np.log((weights.max(axis=0) / weights.min(axis=0)).max()))
    assert 0.9 * float(SHARE) < actual <= float(SHARE) * (1 + 1e-12)
    assert column.randomiser.exact_epsilon == pytest.approx(actual)


def test_a_folder_that_cannot_be_written_is_no_error(monkeypatch, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setattr("workbench.sanitize.calibrated_columns.user_cache", lambda part: blocked / part)
    assert forecast(_plan((0, 30))).columns


def test_a_mechanism_of_somebody_else_is_not_kept(monkeypatch):
    import dataclasses

    staircase = mechanisms.mechanism("staircase")
    toy = dataclasses.replace(
        staircase, name="toy", recipe=lambda parameters, cells: staircase.recipe(parameters, cells)
    )
    monkeypatch.setattr(mechanisms, "MECHANISMS", (toy,))
    forecast(_plan((0, 30), mechanism="toy"))
    assert not cache_folder().exists() or not list(cache_folder().iterdir())


def test_older_files_make_room(monkeypatch):
    from workbench.sanitize import calibrated_columns

    forecast(_plan((0, 30)))
    former = set(cache_folder().iterdir())
    monkeypatch.setattr(calibrated_columns, "LIMIT", len(former) - 1)
    calibrated_columns._make_room.cache_clear()
    forecast(_plan((0, 31)))
    assert len(former & set(cache_folder().iterdir())) == len(former) - len(former) // 2
