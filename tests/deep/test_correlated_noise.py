"""Noise that steps share: what is added, which rows take part when, what it costs, and what a pause leaves."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

torch = pytest.importorskip("torch")

from test_canary_audit import audited  # noqa: E402
from test_checkpoints import KilledError, Memory, data, interrupt_at  # noqa: E402

from workbench.deep import correlated_noise  # noqa: E402
from workbench.deep.correlated_noise import CorrelatedNoise, column, power_for, sum_error  # noqa: E402
from workbench.deep.noise import GaussianNoise  # noqa: E402
from workbench.deep.plan import DpSgdPlan  # noqa: E402
from workbench.deep.poisson import InTurn  # noqa: E402
from workbench.deep.private_step import sampler_of, study_steps  # noqa: E402
from workbench.deep.trainer import RunOptions, train  # noqa: E402
from workbench.params import CancelledError, ParameterError  # noqa: E402
from workbench.privacy.accounting.accountant import ACCOUNTANTS, event_of, loss, noise_for, renyi  # noqa: E402
from workbench.privacy.accounting.event import Cost, PoissonGaussian, RowsPerPerson, exact  # noqa: E402
from workbench.privacy.accounting.event_alternatives import alternatives  # noqa: E402
from workbench.privacy.accounting.event_text import from_plain, to_plain  # noqa: E402
from workbench.signals.cancel import CancelToken  # noqa: E402
from workbench.work.ask import Steps, UndeclaredError  # noqa: E402
from workbench.work.noise import Charged  # noqa: E402

FREE = Charged(lambda cost: None)
FALSE_ALARM = 1e-6


def plan(**changes: Any) -> DpSgdPlan:
    given = {
        "network": "logistic", "noise": 1.0, "delta": 1e-5, "batch": 20, "epochs": 6, "lr": 0.1, "clip": 1.0,
        "accountant": "rdp", "device": "cpu", "bands": 4,
    }  # fmt: skip
    return DpSgdPlan(**{**given, **changes})


def steps_of(event: PoissonGaussian, taken: int = 0) -> Steps:
    return FREE.ask(Cost(exact(1), exact(0), event)).steps(event.label, taken)


def strategy(steps: int, bands: int, *pauses: int) -> np.ndarray:
    """C of a run that is paused after some of its steps."""
    one = column(power_for(steps, bands), bands)
    whole = sum(np.diag(np.full(steps - k, c), -k) for k, c in enumerate(one[:steps]))
    for pause in pauses:
        whole[pause:, :pause] = 0.0
    return np.asarray(whole)


# -- the noise ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("steps", "bands"), [(1, 2), (7, 2), (40, 5), (30, 64)])
def test_the_noise_of_each_step_is_a_row_of_the_inverse_times_independent_noise(steps, bands):
    fresh = np.random.default_rng(0).normal(size=(steps, 3))
    made = CorrelatedNoise(steps, bands)
    found = np.stack([made.next(one) for one in fresh])
    dense = strategy(steps, bands)
    np.testing.assert_allclose(dense @ found, fresh, atol=1e-12)
    np.testing.assert_allclose(dense @ np.linalg.inv(dense), np.eye(steps), atol=1e-12)
    prefix = np.tril(np.ones((steps, steps))) @ np.linalg.inv(dense)
    assert sum_error(steps, power_for(steps, bands), bands) == pytest.approx(np.linalg.norm(prefix) / steps**0.5)


def test_it_is_made_of_the_noise_that_steps_without_bands_have():
    """The same seeded numbers, more than fit into a block; a norm that moves, and counts, scale their step alone."""
    steps, size = 6, 50_000
    event = PoissonGaussian(1.0, 2.0, steps, "t", 3)
    found, counts = [], []
    for one in (event, replace(event, bands=1)):
        taken = study_steps(one, 7, 2.0)
        noise, sums = GaussianNoise(taken, 0.5), np.empty((steps, size))
        for norm, row in zip((0.5, 0.9, 0.3, 0.3, 2.0, 0.1), sums, strict=True):
            taken.take()
            noise.clip_at(norm)
            noise.add_to(np.zeros(size), row, norm)
            counts.append(noise.on_count(0.0))
        found.append(sums)
    np.testing.assert_allclose(strategy(steps, 3) @ found[0], found[1], atol=1e-12)
    assert counts[:steps] == counts[steps:]
    assert found[1].std() == pytest.approx(event.beside_count(2.0), rel=0.02)
    noise.clip_at(1.0)
    with pytest.raises(UndeclaredError, match="once for each step"):
        noise.add_to(np.zeros(1), np.zeros(1))


@given(st.integers(1, 40), st.integers(1, 64), st.lists(st.integers(1, 39), max_size=3))
def test_what_a_row_adds_at_one_turn_has_norm_1_at_most_and_ends_before_its_next(steps, bands, pauses):
    """The two conditions of the accountant, also where pauses cut columns short and the last turn is not whole."""
    used = strategy(steps, bands, *pauses)
    assert (np.linalg.norm(used, axis=0) <= 1).all()
    for part in range(min(bands, steps)):
        turns = used[:, part::bands] != 0
        assert (turns.sum(1) <= 1).all()
        assert turns.shape[1] <= PoissonGaussian(0.5, 1.0, steps, bands=bands).independent().steps


def test_prefix_sums_have_less_error_at_the_same_noise_and_the_best_power_is_taken():
    """And within 1 % of the best column of so many numbers, found by a search (L-BFGS) for 1,000 steps."""
    for bands, best in ((2, 0.7116), (4, 0.5110), (8, 0.3733), (16, 0.2806)):
        power = power_for(1_000, bands)
        error = sum_error(1_000, power, bands) / sum_error(1_000, 0.5, 1)
        assert best * 0.9999 < error < best * 1.01
        assert all(error <= sum_error(1_000, a, bands) / sum_error(1_000, 0.5, 1) for a in (0.5, power - 0.01, 0.99))


# -- who takes part -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("taken", [0, 5])
def test_a_row_takes_part_in_the_steps_of_its_part_alone_by_a_coin_of_the_declared_rate(taken):
    rows, bands, rate = 50, 4, 0.3
    steps = steps_of(PoissonGaussian(rate, 1.0, 4_005, "t", bands), taken)
    sampler = sampler_of(rows, steps)
    assert isinstance(sampler, InTurn)
    assert sampler.releasable
    there = np.zeros(rows)
    for step in range(taken, 4_000 + taken):
        steps.take()
        drawn = sampler.draw()
        assert (drawn % bands == step % bands).all()
        assert (drawn < rows).all()
        there[drawn] += 1
    ends = stats.binom.ppf([FALSE_ALARM / 2 / rows, 1 - FALSE_ALARM / 2 / rows], 1_000, rate)
    assert ends[0] <= there.min() <= there.max() <= ends[1]


def test_at_rate_1_each_row_takes_part_once_in_so_many_steps_as_there_are_bands():
    steps = steps_of(PoissonGaussian(1.0, 1.0, 3, "t", 3))
    sampler = sampler_of(8, steps)
    drawn = [(steps.take(), sampler.draw().tolist())[1] for _ in range(3)]
    assert drawn == [[0, 3, 6], [1, 4, 7], [2, 5]]


# -- what it costs --------------------------------------------------------------------------------------------------


def test_it_costs_what_the_sums_of_one_part_cost_by_the_accounting_library():
    import dp_accounting
    from dp_accounting.pld import PLDAccountant

    event = event_of(2_000, 25, 10, 1.1, "t", 8)
    assert (event.sample_rate, event.steps) == (0.1, 800)
    relation = dp_accounting.NeighboringRelation.REPLACE_SPECIAL
    library = PLDAccountant(relation, value_discretization_interval=1e-4)
    one = dp_accounting.PoissonSampledDpEvent(0.1, dp_accounting.GaussianDpEvent(1.1))
    library.compose(dp_accounting.SelfComposedDpEvent(one, 100))
    assert loss(event, 1e-6).epsilon == pytest.approx(library.get_epsilon(1e-6), rel=2e-3)
    assert loss(event, 1e-6).epsilon >= library.get_epsilon(1e-6) * (1 - 1e-3)


def test_without_bands_nothing_changes_and_a_turn_that_is_not_whole_counts_whole():
    event = PoissonGaussian(0.1, 1.0, 10, "t", 4)
    plain = replace(event, bands=1)
    assert plain.independent() is plain
    assert event.independent() == replace(plain, steps=3)
    for accountant in ACCOUNTANTS:
        by = [loss(replace(event, steps=k), 1e-5, accountant.name).epsilon for k in (0, 1, 4, 5)]
        turns = [loss(replace(plain, steps=k), 1e-5, accountant.name).epsilon for k in (0, 1, 1, 2)]
        assert by == turns
    needed = [noise_for(one, 1e-5, 2.0, "rdp") for one in (event, replace(plain, steps=3))]
    assert needed[0] == needed[1]
    assert np.array_equal(renyi(event), renyi(replace(plain, steps=3)))
    assert alternatives(event) == alternatives(replace(plain, steps=3))


def test_a_cap_and_a_clock_end_it_at_the_cost_of_the_turns_that_began():
    asked = plan(epsilon=3.0, noise=2.0, epochs=40)
    schedule = asked.schedule(200)
    assert 0 < schedule.steps < schedule.steps_asked
    assert schedule.steps % 4 == 0
    assert schedule.loss().epsilon <= 3.0 < schedule.loss(schedule.steps + 1).epsilon
    assert schedule.cost(5) == replace(schedule.cost(8), event=replace(schedule.event, steps=5))


def test_an_event_with_bands_is_written_and_read_and_several_rows_of_a_person_are_not_guessed():
    event = PoissonGaussian(0.1, 1.0, 10, "t", 4)
    assert from_plain(to_plain(event)) == event
    assert "bands" not in to_plain(replace(event, bands=1))
    with pytest.raises(ParameterError, match="several rows per person"):
        alternatives(RowsPerPerson(event, 2))
    assert alternatives(RowsPerPerson(replace(event, bands=1), 2))
    with pytest.raises(ParameterError, match="bands = 0"):
        loss(replace(event, bands=0), 1e-5)


def test_what_it_cannot_be_combined_with_is_refused_in_a_sentence():
    with pytest.raises(ParameterError, match=r"^correlated noise needs a single process, but processes is 2"):
        plan(processes=2)
    with pytest.raises(ParameterError, match=r"^200 rows cannot be divided into 11 parts of at least 20 rows each"):
        plan(bands=11).schedule(200)
    assert plan(bands=10).schedule(200).event.sample_rate == 1.0
    with pytest.raises(UndeclaredError, match="of steps of all rows"):
        steps_of(plan().schedule(200).event).remote()


# -- pauses ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("killed", [False, True])
def test_a_run_that_goes_on_keeps_the_turns_and_no_former_noise(monkeypatch, killed):
    drawn: list[tuple[int, np.ndarray]] = []
    began: list[int] = []
    draw, following = InTurn.draw, CorrelatedNoise.next

    def spied(sampler: InTurn) -> np.ndarray:
        rows = draw(sampler)
        if sampler.rows == 200:
            drawn.append((sampler._steps.taken, rows))
        if killed and len(drawn) == 17:
            raise KilledError
        return rows

    def watched(noise: CorrelatedNoise, fresh: np.ndarray) -> np.ndarray:
        began.append(0 if noise._made is None else int(noise._made.any(1).sum()))
        return following(noise, fresh)

    monkeypatch.setattr(InTurn, "draw", spied)
    keep, token = Memory(), CancelToken()
    options = RunOptions(keep=keep)
    with pytest.raises((CancelledError, KilledError)):
        train(plan(), data(), FREE, emit=interrupt_at(17, token), cancel=token, options=options)
    assert keep.state is not None
    assert set(keep.state.facts()) == {"step", "seconds", "physical_batch", "clip", "records"}
    assert len(keep.state.tensors()) < 1_000, "weights of 8 numbers, and no noise"
    counted = keep.counted
    monkeypatch.setattr(CorrelatedNoise, "next", watched)
    killed = False
    run = train(plan(), data(), FREE, options=options)
    assert run.steps == 60
    assert [step for step, _ in drawn[17:]] == list(range(counted + 1, 61))
    assert all((rows % 4 == (step - 1) % 4).all() for step, rows in drawn)
    assert began[-(60 - counted) :][:5] == [0, 1, 2, 3, 3]


def test_a_forked_process_does_not_go_on_with_the_noise_of_its_parent():
    steps = study_steps(PoissonGaussian(1.0, 1.0, 4, "t", 3))
    noise, out = GaussianNoise(steps, 1.0), np.empty(2)
    for fork in (False, False, True):
        steps.take()
        noise._process -= fork
        noise.add_to(np.zeros(2), out)
    assert noise._correlated is not None
    assert noise._correlated._made is not None
    assert noise._correlated._made.any(1).tolist() == [True, False], "of the last step alone"


def test_a_norm_that_moves_may_move_beside_it():
    asked = plan(target_unclipped_quantile=0.5, batch=40, epochs=10)
    run = train(asked, data(), FREE)
    assert run.steps == 50
    assert run.clip != asked.clip


# -- the audit ------------------------------------------------------------------------------------------------------

AUDITED = {"network": "logistic", "noise": 1.5, "delta": 1e-10, "batch": 125, "epochs": 1, "lr": 1.0, "clip": 1.0}


def test_canaries_pass_the_right_steps_with_a_bound_that_is_worth_something():
    found = audited(DpSgdPlan(**AUDITED, accountant="rdp", bands=4), 4_000)
    assert not found.refuted
    assert 0.4 < found.epsilon_lower < found.claim
    assert found.noise == pytest.approx(1, abs=0.05)
    sampled = audited(DpSgdPlan(**{**AUDITED, "batch": 50, "noise": 0.8}, accountant="rdp", bands=4), 2_000)
    assert not sampled.refuted


def test_canaries_flag_columns_that_are_not_divided_by_their_norm(monkeypatch):
    monkeypatch.setattr(correlated_noise, "column", lambda power, bands: column(power, bands) / column(power, bands)[0])
    found = audited(DpSgdPlan(**AUDITED, accountant="rdp", bands=4), 4_000)
    assert found.refuted
    assert found.noise == pytest.approx(column(0.5, 4)[0], abs=0.05)


def test_canaries_flag_batches_of_all_rows_at_each_step(monkeypatch):
    monkeypatch.setattr(InTurn, "draw", lambda sampler: np.arange(sampler.rows))
    found = audited(DpSgdPlan(**{**AUDITED, "batch": 25, "noise": 4.0}, accountant="rdp", bands=20), 4_000)
    assert found.epsilon_lower > found.claim
    assert found.noise_high > 1, "the guesses alone see it"
