"""Ask: each declared event is served once, for exactly its amount, and anything else is an error before a draw."""

import copy
import pickle
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from asks import ask_by, exact_ask, study_ask
from hypothesis import given
from hypothesis import strategies as st

from workbench.privacy.accounting.event import Composed, PoissonGaussian, PureDp, RowsPerPerson, ZeroConcentrated
from workbench.privacy.central.laplace import StudyNoise
from workbench.privacy.central.quantile_choice import depths, simple
from workbench.work import ask as module
from workbench.work.ask import Ask, Declared, UndeclaredError, declared

EPSILON, RHO = PureDp(Decimal("0.3"), "a"), ZeroConcentrated(Decimal("0.07"), "a")


class Poisoned:
    """Noise that must not be drawn."""

    releasable = True

    def integers(self, values: Sequence[int], sensitivity: int, epsilon: float) -> list[int]:
        raise AssertionError("noise was drawn")

    gaussian = below = words = integers  # type: ignore[assignment]


def poisoned(*events: Declared) -> Ask:
    return ask_by(Poisoned(), events, Poisoned())  # type: ignore[arg-type]


ONE_PART: Any = [[3, 1, 2]]
HALF = (simple(0.5),)
QUESTIONS: dict[str, Callable[[Ask, str], Any]] = {
    "numbers": lambda ask, label: ask(label, [3, 1], 1),
    "choose": lambda ask, label: ask.choose(label, [3, 1], 1),
    "largest": lambda ask, label: ask.largest(label, ONE_PART, 1),
    "least": lambda ask, label: ask.least(label, ONE_PART, 1),
    "median": lambda ask, label: ask.median(label, [1, 2, 2], 4, "exponential"),
    "quantiles": lambda ask, label: ask.quantiles(label, [np.array([1, 2, 2])], 0, 3, HALF),
    "divided": lambda ask, label: ask.divided(label, {"half": (1, 2)}),
}
LOCAL = {"local": lambda ask, label: ask.local(label, 0.3)}
EACH = pytest.mark.parametrize("question", [*QUESTIONS, *LOCAL])
DRAWN = pytest.mark.parametrize("question", [name for name in QUESTIONS if name != "divided"])
ALL = QUESTIONS | LOCAL


# -- what was not declared --------------------------------------------------------------------------------------------


@EACH
def test_what_was_not_declared_is_an_error_before_a_draw(question):
    with pytest.raises(UndeclaredError, match="'b' was not declared"):
        ALL[question](poisoned(EPSILON), "b")


@EACH
@pytest.mark.parametrize("first", [*QUESTIONS, *LOCAL])
def test_a_second_question_of_one_event_is_an_error_before_a_draw(question, first):
    ask = study_ask([EPSILON])
    ALL[first](ask, "a")
    ask._noise = ask.coins = Poisoned()  # type: ignore[assignment]
    with pytest.raises(UndeclaredError, match="'a' was asked before"):
        ALL[question](ask, "a")


def test_two_events_of_one_name_open_nothing():
    with pytest.raises(UndeclaredError, match="two declared events are called 'a'"):
        poisoned(EPSILON, RHO)


@pytest.mark.parametrize("sensitivity", [0, -1, True, float("nan")])
@pytest.mark.parametrize("event", [EPSILON, RHO])
def test_a_sensitivity_that_is_none_is_an_error_and_the_event_is_spent(event, sensitivity):
    ask = study_ask([event])
    with pytest.raises(ValueError, match="is not a whole number of at least 1"):
        ask("a", [1], sensitivity)
    with pytest.raises(UndeclaredError, match="asked before"):
        ask("a", [1], 1)


@pytest.mark.parametrize("epsilon", [0.31, Decimal("0.3000000001"), float("inf"), float("nan"), 50])
def test_a_mechanism_of_each_row_with_more_than_its_event_is_an_error_before_a_draw(epsilon):
    with pytest.raises(UndeclaredError, match=r"is declared with epsilon = 0\.3, and draws with"):
        poisoned(EPSILON).local("a", epsilon)


def test_a_mechanism_of_each_row_needs_an_event_with_an_epsilon():
    with pytest.raises(UndeclaredError, match="not declared as a mechanism of each row"):
        poisoned(RHO).local("a", 0.01)
    assert study_ask([EPSILON]).local("a", 0.3).words(1).shape == (1,)


@DRAWN
def test_the_steps_of_a_training_answer_no_question(question):
    steps = PoissonGaussian(0.1, 1.0, 10, "a")
    with pytest.raises(UndeclaredError, match="declared as the steps of a training"):
        QUESTIONS[question](poisoned(steps), "a")


def test_what_was_declared_and_not_asked_is_named():
    ask = study_ask([EPSILON, PureDp(Decimal(1), "b"), PureDp(Decimal(1), "c")])
    ask("b", [1], 1)
    inner = ask.divided("c", {"d": (1, 2), "e": (1, 2)})
    inner("e", [1], 1)
    with pytest.raises(UndeclaredError, match=r"declared and never asked: a, d$"):
        ask.finish()
    ask("a", [1], 1)
    inner("d", [1], 1)
    ask.finish()


# -- copies -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
@pytest.mark.parametrize("ask", [study_ask([EPSILON]), exact_ask()])
def test_an_ask_cannot_be_copied(ask, copied):
    with pytest.raises(TypeError, match="cannot be copied"):
        copied(ask)


# -- exactly the amount -----------------------------------------------------------------------------------------------


class Counted(StudyNoise):
    """Keeps what each draw spends: the ε of sensitivity 1, or its ρ."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        super().__init__(np.random.default_rng(1))
        self.spent: list[tuple[str, float]] = []
        drawn = (("exponential_choice", 2), ("one_way_choice", 2), ("noisy_max", 2), ("private_median", 3))
        for name, at in (*drawn, ("drawn_quantiles", 4)):
            patch.setattr(module, name, self._counted(name, getattr(module, name), at))

    def _counted(self, name: str, sound: Callable[..., Any], at: int) -> Callable[..., Any]:
        def drawn(*arguments: Any) -> Any:
            self.spent.append((name, arguments[at]))
            return sound(*arguments)

        return drawn

    def integers(self, values: Sequence[int], sensitivity: int, epsilon: float) -> list[int]:
        self.spent.append(("integers", epsilon))
        return super().integers(values, sensitivity, epsilon)

    def gaussian(self, values: Sequence[int], sensitivity: int, rho: float) -> list[int]:
        self.spent.append(("gaussian", rho))
        return super().gaussian(values, sensitivity, rho)


def cost_in(event: Declared, name: str, amount: float, shares: int) -> Fraction:
    """What a draw costs, in ε or in ρ, in exact arithmetic: a pure ε costs ε²/2, and one of a choice ε²/8."""
    times = depths(shares) if name == "drawn_quantiles" else 1
    if isinstance(event, PureDp) or name == "gaussian":
        return times * Fraction(amount)
    bounded_range = name in ("exponential_choice", "one_way_choice", "drawn_quantiles")
    return times * Fraction(amount) ** 2 / (8 if bounded_range else 2)


@DRAWN
@pytest.mark.parametrize("event", [EPSILON, RHO, PureDp(Decimal("1.1"), "a"), ZeroConcentrated(Decimal("1e-6"), "a")])
def test_each_question_draws_for_exactly_what_was_declared(monkeypatch, question, event):
    noise = Counted(monkeypatch)
    QUESTIONS[question](ask_by(noise, [event]), "a")
    ((name, amount),) = noise.spent
    whole = Fraction(event.epsilon if isinstance(event, PureDp) else event.rho)  # type: ignore[union-attr]
    assert whole * (1 - Fraction(1, 10**12)) < cost_in(event, name, amount, len(HALF)) <= whole


@given(
    amount=st.decimals("1e-6", "20", places=9, allow_nan=False),
    gaussian=st.booleans(),
    parts=st.lists(st.tuples(st.integers(-2, 7), st.integers(-1, 7)), min_size=1, max_size=5),
)
def test_parts_are_never_more_than_the_whole(amount, gaussian, parts):
    event = ZeroConcentrated(amount, "a") if gaussian else PureDp(amount, "a")
    named = {f"part {i}": part for i, part in enumerate(parts)}
    ask = poisoned(event)
    if any(times <= 0 or of <= 0 for times, of in parts) or sum(Fraction(*part) for part in parts) > 1:
        with pytest.raises(UndeclaredError):
            ask.divided("a", named)
        assert ask.left == []  # it was spent: nothing can be asked of it
        return
    shares = _shares(ask, named)
    whole = Fraction(amount)
    assert sum(map(Fraction, shares)) <= whole
    for share, (times, of) in zip(shares, parts, strict=True):
        assert whole * times / of * (1 - Fraction(1, 10**20)) < Fraction(share) <= whole * times / of


def _shares(ask: Ask, named: dict[str, tuple[int, int]]) -> list[Decimal]:
    inner = ask.divided("a", named)
    return [inner._share(label).amount for label in named]


# -- without noise ----------------------------------------------------------------------------------------------------


def test_without_noise_every_answer_is_exact_and_nothing_is_declared():
    ask = exact_ask()
    assert not ask.private
    assert ask("a", [3, 1], 1) == ask("a", [3, 1], 1) == [3, 1]
    assert ask.choose("b", [1, 3, 3], 1) == 1
    assert ask.largest("c", [[1, 3], [2, 0]], 1) == [1, 0]
    assert ask.least("d", [[1, 3], [2, 0]], 1) == [0, 1]
    assert ask.median("e", [1, 2, 2], 4, "exponential") == 2
    assert ask.quantiles("f", [np.array([1, 2, 2])], 0, 3, HALF) == [[2]]
    assert ask.divided("g", {"h": (1, 2)})("h", [7], 1) == [7]
    ask.finish()


def test_the_events_of_a_cost_are_those_of_a_row():
    both = Composed((EPSILON, PureDp(Decimal(1), "b")))
    assert list(declared(RowsPerPerson(both, 3))) == list(declared(both)) == list(both.events)
    with pytest.raises(UndeclaredError, match="no question can be asked by"):
        list(declared("0.5"))  # type: ignore[arg-type]
