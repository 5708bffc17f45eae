"""The black-box auditor on whole questions and whole synthetic tables, with several hostile neighbours.

Features: every number that is measured, and the counts of the synthetic rows. Planted faults are caught: noise of half
the scale, and a choice of a pair that nobody pays for.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from asks import ask_by
from synth_cases import names_of, questions_of, rows_of, setting_of
from test_synthesis_audit import ALPHA, HalfNoise

from workbench.privacy.audit import epsilon_lower
from workbench.privacy.central.exponential import exponential_choice
from workbench.privacy.central.laplace import StudyNoise
from workbench.privacy.entropy import SeededEntropy
from workbench.synth import MARGINALS, mst, synthesis, tree_fit
from workbench.synth.base import events
from workbench.synth.columns import CodedRows
from workbench.synth.mst import SENSITIVITY, expected_tables, score
from workbench.synth.synthesis import synthesised

SIZES = (2, 2)
NEIGHBOURS: dict[str, tuple[CodedRows, CodedRows]] = {
    "alone in its cell": (
        rows_of([[0, 0]] * 5 + [[1, 1]]),
        rows_of([[0, 0]] * 5 + [[1, 1]], [True] * 5 + [False]),
    ),
    "the only row": (rows_of([[1, 0]]), rows_of([[1, 0]], [False])),
    "one of many alike": (rows_of([[0, 1]] * 40), rows_of([[0, 1]] * 40, [True] * 39 + [False])),
}


def measured(rows: CodedRows, noise: StudyNoise, samples: int) -> np.ndarray:
    """All that ``marginals`` measures of two columns, (samples, numbers)."""
    setting = setting_of(names_of(*SIZES), len(rows.codes), "1")
    asked = (MARGINALS.ask(questions_of(MARGINALS, setting, rows, noise)) for _ in range(samples))
    return np.array([np.concatenate([m.counts.ravel() for m in tables.measured]) for tables in asked])


def sides(rows: tuple[CodedRows, CodedRows], noise: type[StudyNoise], samples: int, what: Callable[..., np.ndarray]):
    return [what(r, noise(np.random.default_rng([7, side])), samples) for side, r in enumerate(rows)]


FIRST, *OTHERS = NEIGHBOURS
EACH = [FIRST, *(pytest.param(which, marks=pytest.mark.slow) for which in OTHERS)]


@pytest.mark.parametrize("which", EACH)
def test_what_is_measured_proves_no_more_than_epsilon(which: str) -> None:
    found = epsilon_lower(*sides(NEIGHBOURS[which], StudyNoise, 4_000, measured), alpha=ALPHA)
    assert not found.refutes(1.0)
    assert found.epsilon > 0.4  # it is not blind


@pytest.mark.parametrize("which", EACH)
def test_noise_of_half_the_scale_is_caught_in_what_is_measured(which: str) -> None:
    assert epsilon_lower(*sides(NEIGHBOURS[which], HalfNoise, 4_000, measured), alpha=ALPHA).refutes(1.0)


def counted(rows: CodedRows, noise: StudyNoise, samples: int) -> np.ndarray:
    """How many of six synthetic rows are in each cell, (samples, 4)."""
    setting = setting_of(names_of(*SIZES), len(rows.codes), "1")
    entropy = SeededEntropy(int(noise.words(1)[0]) % 2**32)
    paid = events(MARGINALS.queries(setting))
    drawn = (synthesised(MARGINALS, setting, rows, 6, ask_by(noise, paid, entropy)).codes for _ in range(samples))
    return np.array([np.bincount(codes @ [2, 1], minlength=4) for codes in drawn])


@pytest.mark.slow
@pytest.mark.parametrize("which", ["alone in its cell", "the only row"])
def test_counts_of_synthetic_rows_prove_no_more_than_epsilon_and_half_the_noise_is_caught(
    which: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in (mst, synthesis):
        monkeypatch.setattr(place, "fitted", lambda *a, **k: tree_fit.fitted(*a, **{**k, "rounds": 3}))
    assert not epsilon_lower(*sides(NEIGHBOURS[which], StudyNoise, 10_000, counted), alpha=ALPHA).refutes(1.0)
    assert epsilon_lower(*sides(NEIGHBOURS[which], HalfNoise, 10_000, counted), alpha=ALPHA).refutes(1.0)


# The last row decides which of three pairs depends most.
DECIDING = [[0, 0, 0]] * 3 + [[0, 1, 0]]
DECIDED = rows_of(DECIDING), rows_of(DECIDING, [True] * 3 + [False])


def chosen(rows: CodedRows, epsilon: float, choose: Callable[..., int], side: int) -> np.ndarray:
    """Many choices of one of three pairs of columns, by their scores beside equal shares."""
    setting = setting_of(names_of(2, 2, 2), len(rows.codes), "1")
    tables = expected_tables(setting, [np.array([0.5, 0.5])] * 3, 100.0)
    scores = [score(rows, pair, tables[pair][0], tables[pair][1], setting) for pair in tables]
    noise = StudyNoise(np.random.default_rng([11, side]))
    return np.array([choose(scores, SENSITIVITY, epsilon, noise) for _ in range(20_000)])


def exact_choice(scores: list[int], sensitivity: int, epsilon: float, noise: StudyNoise) -> int:
    """The planted fault: the best pair is taken as it is, and nobody pays for it."""
    return int(np.argmax(scores))


def test_a_choice_that_nobody_pays_for_is_caught() -> None:
    paid, unpaid = (
        epsilon_lower(*(chosen(r, 1.0, choose, side) for side, r in enumerate(DECIDED)), alpha=ALPHA)
        for choose in (exponential_choice, exact_choice)
    )
    assert not paid.refutes(1.0)
    assert paid.epsilon > 0.2  # it is not blind
    assert unpaid.refutes(5.0)
