"""What a synthesis asks of its rows: recorded once, and asked again of other rows with the same answers given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import pytest
from synth_cases import questions_of

from workbench.privacy.central.central_noise import CentralNoise
from workbench.privacy.central.exponential import exponential_choice
from workbench.privacy.central.laplace import StudyNoise
from workbench.synth import Synthesiser
from workbench.synth.base import Setting
from workbench.synth.columns import CodedRows
from workbench.work import ask

COUNTS, CHOICE = "counts", "choice"


@dataclass(frozen=True)
class Asked:
    """One question: the exact whole numbers, their declared sensitivity, and the ε that the noise was drawn with."""

    form: str
    exact: tuple[int, ...]
    sensitivity: int
    epsilon: float

    def loss(self, beside: Asked) -> float:
        """Return the most that one answer can tell these rows from those; ∞ where the questions differ."""
        if (self.form, len(self.exact), self.sensitivity) != (beside.form, len(beside.exact), beside.sensitivity):
            return float("inf")
        moved = [abs(a - b) for a, b in zip(self.exact, beside.exact, strict=True)]
        return self.epsilon / self.sensitivity * (sum(moved) if self.form == COUNTS else max(moved))


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

    def chosen(self, scores: Sequence[int], sensitivity: int, epsilon: float, noise: CentralNoise) -> int:
        self.asked.append(Asked(CHOICE, tuple(scores), sensitivity, epsilon))
        drawn = (
            exponential_choice(scores, sensitivity, epsilon, noise)
            if self.given is None
            else self.given[len(self.answers)]
        )
        assert isinstance(drawn, int)
        self.answers.append(drawn)
        return drawn


@contextmanager
def _choosing(recorder: Recorder) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ask, "exponential_choice", recorder.chosen)
        yield


def recorded(
    method: Synthesiser, setting: Setting, rows: CodedRows, given: list[list[int] | int] | None = None, seed: int = 1
) -> Recorder:
    """Return what ``method`` asks of ``rows``."""
    recorder = Recorder(seed, given)
    with _choosing(recorder):
        method.ask(questions_of(method, setting, rows, recorder))
    return recorder


def loss(method: Synthesiser, setting: Setting, rows: CodedRows, neighbour: CodedRows, seed: int = 1) -> float:
    """Return Σ over the questions of the most that their answers can tell the two apart, along one run's answers.

    Where it is at most ε for all neighbours and answers, the whole run has pure ε.
    """
    one = recorded(method, setting, rows, seed=seed)
    other = recorded(method, setting, neighbour, given=one.answers)
    if len(one.asked) != len(other.asked):
        return float("inf")
    return sum(a.loss(b) for a, b in zip(one.asked, other.asked, strict=True))
