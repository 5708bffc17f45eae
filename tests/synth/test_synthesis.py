"""A synthesis as a whole: exact cost, always n rows, declared values only, Cancel, and bounded models."""

import dataclasses
import itertools
import time
from decimal import Decimal

import numpy as np
import pytest
from asks import study_ask
from synth_cases import dependent_rows, names_of, questions_of, rows_of, run, setting_of

from workbench.data.schema import Attribute
from workbench.params import CancelledError, ParameterError
from workbench.params.field import did_you_mean
from workbench.privacy.central.laplace import StudyNoise
from workbench.privacy.central.share import Share
from workbench.privacy.entropy import SeededEntropy
from workbench.signals import Progress
from workbench.signals.cancel import CancelToken
from workbench.synth import AIM, MST, SYNTHESISERS, synthesiser
from workbench.synth import aim as aim_module
from workbench.synth.base import CHOICE, COUNTS, Query, Questions, events
from workbench.synth.columns import coarse_columns
from workbench.synth.parameters import SynthesisParameters
from workbench.synth.resources import Resources, needs_of, require_bounded
from workbench.synth.synthesis import place_of_target, require_payable
from workbench.work.ask import UndeclaredError

METHODS = tuple(method.name for method in SYNTHESISERS)
SIZES = (2, 4, 5, 3)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("sizes", [(3,), (9,), (2, 4), (9, 4), SIZES, (2,) * 23])
def test_shares_sum_to_epsilon_exactly_and_each_query_is_asked_once(method, sizes):
    for epsilon in ("0.1", "0.3", "1", "3", "0.7000000000000001", "10", "1e-4"):
        setting = setting_of(names_of(*sizes), 40, epsilon)
        queries = synthesiser(method).queries(setting)
        assert sum((q.share for q in queries), Decimal(0)) == Decimal(epsilon)
        assert all(q.share > 0 and Decimal(q.paid.loss) <= q.share for q in queries)
        assert len({q.label for q in queries}) == len(queries)
        if epsilon in ("10", "1e-4"):
            drawn = run(method, setting, rows_of(dependent_rows(40, sizes)), 40)
            assert [a.query for a in drawn.answered] == list(queries)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("drawn", [1, 40, 1000])
@pytest.mark.parametrize("count", [0, 1, 40])
def test_there_are_always_as_many_rows_as_asked(method, drawn, count):
    columns = names_of(*SIZES, missing="own-value")
    rows = rows_of(dependent_rows(count, SIZES).reshape(count, 4))
    found = run(method, setting_of(columns, count), rows, drawn)
    assert found.codes.shape == (drawn, 4)
    assert found.frame(SeededEntropy(0)).height == drawn


@pytest.mark.parametrize("method", METHODS)
def test_only_declared_values_appear(method):
    """The values come from the plan, whatever stands in the rows: one person's unique value has no cell of its own."""
    columns = coarse_columns(
        [
            Attribute(name="age", kind="integer", lower=0.0, upper=120.0),
            Attribute(name="city", kind="category", domain=("Graz", "Linz"), other="elsewhere"),
            Attribute(name="pay", kind="real", lower=0.0, upper=100.0, missing="own-value"),
        ]
    )
    codes = np.column_stack([np.full(30, 15), np.full(30, 2), np.full(30, 16)])
    for seed in range(10):
        frame = run(method, setting_of(columns, 30, "0.1", 1), rows_of(codes), 60, seed).frame(SeededEntropy(seed))
        for column in columns:
            assert set(frame[column.name].drop_nulls()) <= set(column.grid.labels)
        assert frame["age"].null_count() == frame["city"].null_count() == 0


@pytest.mark.parametrize("method", METHODS)
def test_much_budget_gives_the_tables_of_the_rows(method):
    codes = dependent_rows(2000, SIZES)
    found = run(method, setting_of(names_of(*SIZES), 2000, "1000"), rows_of(codes), 2000)
    tables = [sorted(int(c[1:]) for c in a.columns) for a in found.answered]
    pairs = {pair for table in tables for pair in itertools.combinations(table, 2)}
    wanted = {(0, 1), (0, 2), (0, 3)} if method in ("marginals", "chances") else {(0, 1), (1, 2), (2, 3)}
    assert wanted <= pairs  # of a chain, mst, aim, tan and line find the links
    assert wanted == pairs or method in ("aim", "tan", "line")
    for a, b in pairs:
        one, two = (rows_of(c).counts((a, b), (SIZES[a], SIZES[b])) for c in (codes, found.codes))
        assert np.abs(one - two).sum() / 2000 < 0.02


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("correlation", [0.0, 0.6])
def test_skewed_columns_keep_their_correlation_and_get_no_other(method, correlation):
    """Half of the cells are far and empty: what noise leaves in them must not look like a correlation."""
    draw = np.random.default_rng(2)
    shared = draw.gamma(correlation, size=(20_000, 1)) if correlation else 0.0
    codes = np.minimum(0.8 * (shared + draw.gamma(1 - correlation, size=(20_000, 2))), 15).astype(int)
    true = np.corrcoef(codes.T)[0, 1]
    setting = setting_of(names_of(16, 16, ordered=True), len(codes), "3")
    found = [run(method, setting, rows_of(codes), len(codes), seed).codes for seed in range(4)]
    assert np.mean([np.corrcoef(made.T)[0, 1] for made in found]) == pytest.approx(true, abs=0.05)


def test_a_target_with_many_cells_is_measured_alone_and_joined():
    columns = names_of(12, 16, 16, ordered=True)
    codes = dependent_rows(60, (12, 16, 16))
    found = run("marginals", setting_of(columns, 60, "1"), rows_of(codes), 60)
    assert [a.columns for a in found.answered] == [("c0",), ("c0", "c1"), ("c0", "c2")]
    assert found.answered[0].cells == (12,)
    assert 2 <= found.answered[1].cells[0] < 12
    assert found.answered[1].cells[1] == 16


def test_nothing_is_answered_that_was_not_declared():
    setting = setting_of(names_of(2, 2), 4)
    queries = (Query("counts", COUNTS, Share(Decimal("0.5"))), Query("choice", CHOICE, Share(Decimal("0.5"))))
    ask = study_ask(events(queries))
    asked = Questions(setting, queries, rows_of([[0, 1]] * 4), ask)
    asked.counts((0,), (None,))
    with pytest.raises(UndeclaredError, match="never asked: choice"):
        ask.finish()
    asked.choice([(0, 1)], lambda rows, pair: 0, 1)
    with pytest.raises(UndeclaredError, match="not declared"):
        asked.counts((0,), (None,))
    ask.finish()


def test_only_operating_system_randomness_is_releasable():
    setting = setting_of(names_of(*SIZES), 40)
    assert not run("mst", setting, rows_of(dependent_rows(40, SIZES)), 40).releasable


@pytest.mark.parametrize("method", ["marginals", "mst", pytest.param("aim", marks=pytest.mark.slow)])
def test_cancel_at_any_moment_stops_within_a_second(method):
    sizes = (2, *(16,) * 6)
    columns, rows = names_of(*sizes, ordered=True), rows_of(dependent_rows(5000, sizes))
    setting = setting_of(columns, 5000, "2")
    labels: list[str] = []
    run(method, setting, rows, 5000, emit=lambda e: labels.append(e.label) if isinstance(e, Progress) else None)
    for label in dict.fromkeys(labels):
        token, asked = CancelToken(), 0.0

        def stop(event: object, label: str = label, token: CancelToken = token) -> None:
            nonlocal asked
            if isinstance(event, Progress) and event.label == label and not token.cancelled:
                asked = time.thread_time()  # of this work alone, on a machine that is busy with other things too
                token.cancel()

        with pytest.raises(CancelledError):
            run(method, setting, rows, 5000, emit=stop, cancel=token)
        assert time.thread_time() - asked < 1


def test_what_cannot_be_is_refused_before_the_rows_are_read():
    wide = names_of(3000, 3000)
    with pytest.raises(ParameterError, match="the tables of pairs could have 9,000,000 cells"):
        require_bounded(setting_of(wide, 10))
    with pytest.raises(ParameterError, match="gives each of 22 queries"):
        require_payable(MST, setting_of(names_of(*(2,) * 8), 10, "1e-6"))
    columns = names_of(2, 2)
    with pytest.raises(ParameterError, match="needs a target column"):
        place_of_target(columns, None, synthesiser("marginals"))
    with pytest.raises(ParameterError, match="is not one of the columns"):
        place_of_target(columns, "c7", MST)
    assert place_of_target(columns, None, MST) is None
    with pytest.raises(ParameterError, match="did you mean 'mst'"):
        SynthesisParameters(method="mts")
    assert did_you_mean("marginal", METHODS)


@pytest.mark.slow
def test_fifty_columns_and_a_hundred_thousand_rows():
    """Within ten minutes; the memory is that of the codes and of 49 tables."""
    sizes = (2, *(16,) * 39, *(8,) * 10)
    codes = dependent_rows(100_000, sizes)
    started = time.monotonic()
    found = run("mst", setting_of(names_of(*sizes, ordered=True), 100_000, "3"), rows_of(codes), 100_000)
    assert found.codes.shape == codes.shape
    assert time.monotonic() - started < 600


def test_what_is_foreseen_grows_with_the_table_and_is_said_in_words():
    for method in SYNTHESISERS:
        small = needs_of(method, setting_of(names_of(*[4] * 6), 1_000), 1_000)
        large = needs_of(method, setting_of(names_of(*[16] * 40), 100_000), 100_000)
        assert 0 < small.seconds < large.seconds
        assert 0 < small.bytes < large.bytes
        assert small.words().endswith("of memory")
    assert Resources(200, 3_000_000).words() == "3 minutes and 3 MB of memory"


def test_aim_refuses_a_smallest_model_that_is_too_large():
    aim = synthesiser("aim")
    require_bounded(setting_of(names_of(*[16] * 30), 100), aim)
    mask = np.zeros((64, 64, 64), dtype=bool)
    broad = dataclasses.replace(setting_of(names_of(64, 64, 64, 64), 100), impossible=(((0, 1, 2), mask),))
    with pytest.raises(ParameterError, match="the smallest model has"):
        require_bounded(broad, aim)
    with pytest.raises(ParameterError, match="choose the method aim, or declare fewer combinations"):
        require_bounded(broad, MST)


@pytest.mark.parametrize("method", METHODS)
def test_what_is_impossible_is_never_drawn_by_any_method(method):
    codes = dependent_rows(800, SIZES)
    mask = np.zeros((2, 5), dtype=bool)
    mask[1, 2:] = True
    setting = dataclasses.replace(setting_of(names_of(*SIZES), 800, "3"), impossible=(((0, 2), mask),))
    drawn = run(method, setting, rows_of(codes), 5_000).codes
    assert not mask[drawn[:, 0], drawn[:, 2]].any()
    assert {(0, 3), (1, 1)} <= {(int(a), int(b)) for a, b in drawn[:, [0, 2]]}


def test_the_model_of_aim_stays_below_its_limit(monkeypatch):
    """Pairs that would make it larger are no candidates; who may be chosen is public."""
    monkeypatch.setattr(aim_module, "MOST_CELLS", 300)
    monkeypatch.setattr(aim_module, "rounds_of", lambda setting: 8)
    setting = setting_of(names_of(*[6] * 6), 500, "10")
    rows = rows_of(dependent_rows(500, (6,) * 6))
    tables = AIM.ask(questions_of(AIM, setting, rows, StudyNoise(np.random.default_rng(2))))
    assert tables.fit is not None
    assert tables.fit.marginals.tree.cells <= 300
