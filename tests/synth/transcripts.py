"""What a synthesis asks of its rows: recorded once, and asked again of other rows with the same answers given."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import pytest
from synth_cases import questions_of

from workbench.privacy.central import exponential
from workbench.privacy.central.central_noise import CentralNoise
from workbench.privacy.central.laplace import StudyNoise
from workbench.synth import Synthesiser
from workbench.synth.base import Setting
from workbench.synth.columns import CodedRows
from workbench.work import ask

COUNTS, GAUSSIAN, CHOICE, ONE_WAY = "counts", "gaussian", "choice", "one way"
CHOICES = {"exponential_choice": CHOICE, "noisy_max": ONE_WAY, "one_way_choice": ONE_WAY}
"""What draws a choice, and what one row may do to its scores."""


@dataclass(frozen=True)
class Asked:
    """One question: the exact whole numbers, their declared sensitivity, and the ε or ρ of the noise."""

    form: str
    exact: tuple[int, ...]
    sensitivity: int
    amount: float

    def loss(self, beside: Asked) -> float:
        """Return what one answer can tell these rows from those at most, of ε or ρ; ∞ where the questions differ."""
        if (self.form, len(self.exact), self.sensitivity) != (beside.form, len(beside.exact), beside.sensitivity):
            return float("inf")
        moved = [(a - b) / self.sensitivity for a, b in zip(self.exact, beside.exact, strict=True)]
        if self.form == GAUSSIAN:
            return self.amount * sum(v * v for v in moved)
        far = {COUNTS: sum(map(abs, moved)), CHOICE: max(map(abs, moved)), ONE_WAY: max(0, *moved) - min(0, *moved)}
        return self.amount * far[self.form]


@dataclass
class Recorder(StudyNoise):
    """Noise that keeps what it is asked; with ``given`` it answers as it did another time."""

    seed: int
    given: list[list[int] | int] | None = None
    asked: list[Asked] = field(default_factory=list)
    answers: list[list[int] | int] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(np.random.default_rng(self.seed))

    def integers(self, values: Sequence[int], sensitivity: int, epsilon: float) -> list[int]:
        self.asked.append(Asked(COUNTS, tuple(values), sensitivity, epsilon))
        drawn = super().integers(values, sensitivity, epsilon) if self.given is None else self.given[len(self.answers)]
        assert isinstance(drawn, list)
        self.answers.append(drawn)
        return drawn

    def gaussian(self, values: Sequence[int], sensitivity: int, rho: float) -> list[int]:
        self.asked.append(Asked(GAUSSIAN, tuple(values), sensitivity, rho))
        drawn = super().gaussian(values, sensitivity, rho) if self.given is None else self.given[len(self.answers)]
        assert isinstance(drawn, list)
        self.answers.append(drawn)
        return drawn

    def choosing(self, name: str) -> Callable[[Sequence[int], int, float, CentralNoise], int]:
        """Return what draws a choice of that name and keeps what it is asked."""

        def chosen(scores: Sequence[int], sensitivity: int, epsilon: float, noise: CentralNoise) -> int:
            self.asked.append(Asked(CHOICES[name], tuple(scores), sensitivity, epsilon))
            sound = getattr(exponential, name)
            drawn = sound(scores, sensitivity, epsilon, noise) if self.given is None else self.given[len(self.answers)]
            assert isinstance(drawn, int)
            self.answers.append(drawn)
            return drawn

        return chosen


@contextmanager
def _choosing(recorder: Recorder) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name in CHOICES:
            patch.setattr(ask, name, recorder.choosing(name))
        yield


def recorded(
    method: Synthesiser, setting: Setting, rows: CodedRows, given: list[list[int] | int] | None = None, seed: int = 1
) -> Recorder:
    recorder = Recorder(seed, given)
    with _choosing(recorder):
        method.ask(questions_of(method, setting, rows, recorder))
    return recorder


def loss(method: Synthesiser, setting: Setting, rows: CodedRows, neighbour: CodedRows, seed: int = 1) -> float:
    """Return Σ over the questions of the most that their answers can tell the two apart, along one run's answers.

    Where it is at most ε for all neighbours and answers, the whole run has pure ε. With a δ it is the sum of ρ: of a
    choice at ε the eighth part of what it spends of it, squared.
    """
    one = recorded(method, setting, rows, seed=seed)
    other = recorded(method, setting, neighbour, given=one.answers)
    if len(one.asked) != len(other.asked):
        return float("inf")
    each = [(a.form, a.loss(b)) for a, b in zip(one.asked, other.asked, strict=True)]
    return sum(v * v / 8 if setting.budget.gaussian and form in CHOICES.values() else v for form, v in each)
