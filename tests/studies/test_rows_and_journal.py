import csv
import io
import math
import os
import stat
import statistics
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.params import InputError
from workbench.studies.curve import FORGET_AFTER, Journal
from workbench.studies.results import HEADER, Row, Tally, to_csv

ROWS = [Row("private", 0.1, r, "accuracy", v) for r, v in enumerate((0.5, 0.7, 0.6, 0.6))]


def test_a_point_holds_mean_spread_and_interval():
    (point,) = Tally(ROWS).points()
    assert (point.count, point.mean) == (4, pytest.approx(0.6))
    assert point.sd == pytest.approx(math.sqrt(0.02 / 3))
    assert point.standard_error == pytest.approx(point.sd / 2)
    low, high = point.interval()
    assert high - point.mean == pytest.approx(3.182446 * point.standard_error, rel=1e-6)  # t with 3 degrees
    assert low + high == pytest.approx(2 * point.mean)


@given(st.lists(st.floats(-1, 1, width=32), min_size=2, max_size=50))
def test_a_tally_agrees_with_exact_arithmetic(values):
    (point,) = Tally(Row("private", 1.0, r, "f1", v) for r, v in enumerate(values)).points()
    assert point.count == len(values)
    assert point.mean == pytest.approx(statistics.fmean(values), rel=1e-12, abs=1e-15)
    assert point.sd == pytest.approx(statistics.stdev(values), rel=1e-9, abs=1e-12)


def test_a_tally_keeps_regimes_levels_and_metrics_apart():
    rows = [Row(way, epsilon, 0, metric, 0.5) for way in ("b", "a") for epsilon in (1.0, 0.1) for metric in ("y", "x")]
    tally = Tally(rows)
    tally.add(Row("b", 1.0, 1, "x", 0.25))
    points = tally.points()
    assert [(p.regime, p.epsilon, p.metric) for p in points] == [(r.regime, r.epsilon, r.metric) for r in rows]
    assert [p.count for p in points] == [1, 2, 1, 1, 1, 1, 1, 1]
    assert points[1].mean == 0.375


def test_a_single_repeat_has_no_interval():
    (point,) = Tally(ROWS[:1]).points()
    assert point.sd == 0
    assert point.interval() == (-math.inf, math.inf)


def test_the_csv_is_tidy_and_keeps_every_digit():
    rows = [*ROWS, Row("sanitized:staircase", 0.177827941004, 0, "f1", 1 / 3)]
    text = to_csv(rows)
    assert text.splitlines()[0] == HEADER == "regime,epsilon,repeat,metric,value"
    read = [
        Row(r["regime"], float(r["epsilon"]), int(r["repeat"]), r["metric"], float(r["value"]))
        for r in csv.DictReader(io.StringIO(text))
    ]
    assert read == rows


def test_what_was_finished_is_there_again(tmp_path):
    with Journal.open(tmp_path / "new", {"study": "a"}) as journal:
        journal.append("fit 1", {"accuracy": 1 / 3})
        journal.append("fit 2", {"accuracy": 0.5, "f1": 0.0})
    with Journal.open(tmp_path / "new", {"study": "a"}) as again:
        assert again.done == {"fit 1": {"accuracy": 1 / 3}, "fit 2": {"accuracy": 0.5, "f1": 0.0}}
    with Journal.open(tmp_path / "new", {"study": "b"}) as other:
        assert other.done == {}


@given(cut=st.integers(0, 200), noise=st.binary(max_size=20))
def test_a_torn_end_costs_one_fit_and_nothing_else(tmp_path_factory, cut, noise):
    folder = tmp_path_factory.mktemp("journal")
    tasks = {f"fit {i}": {"accuracy": i / 7} for i in range(4)}
    with Journal.open(folder, {}) as journal:
        for task, figures in tasks.items():
            journal.append(task, figures)
    whole = journal.path.read_bytes()
    torn = whole[: min(cut, len(whole))]
    journal.path.write_bytes(torn + noise.replace(b"\n", b""))
    with Journal.open(folder, {}) as again:
        assert set(tasks) >= set(again.done)
        assert len(again.done) == torn.count(b"\n")
        again.append("fit 9", {"accuracy": 0.9})
    with Journal.open(folder, {}) as last:
        assert list(last.done) == [*list(tasks)[: torn.count(b"\n")], "fit 9"]
        assert all(figures == tasks[task] for task, figures in last.done.items() if task in tasks)


def test_a_discarded_journal_is_gone(tmp_path):
    with Journal.open(tmp_path, {}) as journal:
        journal.append("fit", {"accuracy": 1.0})
        journal.discard()
    assert list(tmp_path.iterdir()) == []


def test_forgotten_studies_are_removed(tmp_path):
    Journal.open(tmp_path, {"old": 1}).close()
    (old,) = tmp_path.iterdir()
    os.utime(old, (0, time.time() - FORGET_AFTER - 60))
    Journal.open(tmp_path, {"new": 1}).close()
    assert not old.exists()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no permission bits")
def test_only_the_user_can_read_it(tmp_path):
    Journal.open(tmp_path / "unfinished", {}).close()
    folder = tmp_path / "unfinished"
    (file,) = folder.iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_an_unwritable_place_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(InputError, match="cannot be written"):
        Journal.open(tmp_path / "file" / "folder", {})
