"""The steps of DP-SGD are declared like any other question, taken one by one, and refused beyond that."""

import copy
import pickle
from decimal import Decimal

import numpy as np
import pytest

from workbench.params import BudgetRefusedError
from workbench.privacy import entropy
from workbench.privacy.accounting.event import Composed, Cost, PoissonGaussian, PureDp, RowsPerPerson
from workbench.privacy.entropy import ChaCha20Entropy, OsEntropy, SeededEntropy
from workbench.work.ask import Steps, UndeclaredError
from workbench.work.noise import Charged, Exact, Study

EVENT = PoissonGaussian(0.25, 1.5, 3, "training")
COST = Cost(Decimal(1), Decimal("1e-6"), EVENT)


def free(cost: Cost) -> None:
    """A budget without end."""


def study() -> Study:
    return Study(np.random.default_rng(2), SeededEntropy(1))


def test_the_steps_have_the_parameters_of_their_event_and_nothing_else():
    steps = Charged(free).ask(COST).steps("training")
    assert (steps.sample_rate, steps.noise_multiplier, steps.left, steps.taken) == (0.25, 1.5, 3, 0)
    for name in ("sample_rate", "noise_multiplier", "taken", "left"):
        with pytest.raises(AttributeError):
            setattr(steps, name, 7)


def test_a_step_more_than_declared_is_refused():
    steps = Charged(free).ask(COST).steps("training")
    assert [steps.take() for _ in range(3)] == [1, 2, 3]
    with pytest.raises(UndeclaredError, match="all 3 steps of 'training' are taken"):
        steps.take()
    assert steps.taken == 3


def test_an_early_stop_says_how_many_steps_it_took():
    ask = Charged(free).ask(COST)
    steps = ask.steps("training")
    steps.take()
    ask.finish()
    assert (steps.taken, steps.left) == (1, 2)


def test_steps_that_are_never_asked_for_are_named():
    with pytest.raises(UndeclaredError, match="declared and never asked: training"):
        Charged(free).ask(COST).finish()


@pytest.mark.parametrize("label", ["other", ""])
def test_undeclared_steps_are_refused(label):
    with pytest.raises(UndeclaredError, match="was not declared"):
        Charged(free).ask(COST).steps(label)


def test_an_event_is_served_once_and_as_what_it_is():
    ask = Charged(free).ask(Cost(Decimal(2), Decimal("1e-6"), Composed((EVENT, PureDp(Decimal(1), "count")))))
    with pytest.raises(UndeclaredError, match="not declared as the steps"):
        ask.steps("count")
    ask.steps("training")
    with pytest.raises(UndeclaredError, match="asked before"):
        ask.steps("training")
    again = Charged(free).ask(COST)
    with pytest.raises(UndeclaredError, match="declared as the steps of a training"):
        again("training", [1], 1)


def test_several_rows_of_a_person_have_the_same_steps():
    ask = Charged(free).ask(Cost(Decimal(3), Decimal("1e-6"), RowsPerPerson(EVENT, 3)))
    assert ask.steps("training").noise_multiplier == 1.5


def test_a_training_that_goes_on_begins_with_the_counted_steps():
    steps = Charged(free).ask(COST).steps("training", 2)
    assert (steps.taken, steps.left, steps.take()) == (2, 1, 3)
    assert Charged(free).ask(COST).steps("training", 3).left == 0
    for taken in (-1, 4):
        with pytest.raises(UndeclaredError, match="declared with 3 steps"):
            Charged(free).ask(COST).steps("training", taken)


def test_a_refused_charge_opens_no_steps():
    def refuse(cost: Cost) -> None:
        raise BudgetRefusedError("no")

    with pytest.raises(BudgetRefusedError):
        Charged(refuse).ask(COST)


def test_without_noise_there_are_no_steps_to_ask_for():
    with pytest.raises(UndeclaredError):
        Exact().ask(COST).steps("training")


def test_released_streams_are_keyed_by_the_system_and_a_study_keeps_its_seeds():
    released = Charged(free).ask(COST).steps("training")
    assert released.releasable
    assert all(isinstance(source, ChaCha20Entropy) for source in (released.coins, released.noise))
    assert released.coins is not released.noise
    first, second = (study().ask(COST).steps("training") for _ in range(2))
    assert not first.releasable
    assert np.array_equal(first.coins.words(5), second.coins.words(5))
    assert np.array_equal(first.noise.words(5), second.noise.words(5))
    assert np.array_equal(study().ask(COST).steps("training").noise.words(3), SeededEntropy(2).words(3))


@pytest.mark.parametrize(
    ("coins", "noise"), [(OsEntropy(), SeededEntropy(1)), (SeededEntropy(1), OsEntropy()), (SeededEntropy(1),) * 2]
)
def test_one_seeded_stream_is_enough_not_to_be_released(coins, noise):
    assert not Steps(EVENT, coins, noise).releasable


def test_steps_cannot_be_copied():
    steps = study().ask(COST).steps("training")
    for way in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="cannot be copied"):
            way(steps)


def test_another_process_is_sent_leave_to_throw_coins_of_its_own_and_no_stream():
    leave = Charged(free).ask(COST).steps("training").remote()
    first, second = (pickle.loads(pickle.dumps(leave)) for _ in range(2))
    assert first.sample_rate == second.sample_rate == EVENT.sample_rate
    assert first.coins is first.coins
    assert isinstance(first.coins, ChaCha20Entropy)
    assert not np.array_equal(first.coins.words(5), second.coins.words(5))
    with pytest.raises(TypeError, match="cannot be copied"):
        pickle.dumps(first)
    with pytest.raises(UndeclaredError, match="only the coins of a release"):
        study().ask(COST).steps("training").remote()


def test_refusals_come_before_a_bit_is_drawn(monkeypatch):
    steps = Charged(free).ask(COST).steps("training", 3)
    ask = Charged(free).ask(COST)
    monkeypatch.setattr(entropy.os, "urandom", lambda size: pytest.fail("a bit was drawn"))
    monkeypatch.setattr(ChaCha20Entropy, "words", lambda self, count: pytest.fail("a bit was drawn"))
    with pytest.raises(UndeclaredError):
        steps.take()
    with pytest.raises(UndeclaredError):
        ask.steps("other")
