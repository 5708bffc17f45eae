"""The black-box auditor on synthetic tables: measured tables and counts of synthetic rows, with hostile neighbours."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from synth_cases import names_of, rows_of, run, setting_of

from workbench.privacy.audit import epsilon_lower
from workbench.privacy.central import StudyNoise
from workbench.privacy.central.exponential import exponential_choice
from workbench.synth import MST, mst, synthesis, tree_fit
from workbench.synth.base import Questions
from workbench.synth.columns import CodedRows

ALPHA = 1e-6
SIZES = (2, 2, 2)
EPSILON = "1"
SAMPLES = 4_000

# A row that decides which pair depends most, and whose cell is empty without it.
CODES = [[0, 0, 0]] * 3 + [[1, 0, 1]] * 2 + [[1, 1, 1]]
NEIGHBOURS = rows_of(CODES), rows_of(CODES, [True] * 5 + [False])


@pytest.fixture(autouse=True)
def quick_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fits are post-processing: few rounds serve an audit."""
    for place in (mst, synthesis):
        monkeypatch.setattr(place, "fitted", lambda *a, **k: tree_fit.fitted(*a, **{**k, "rounds": 3}))


class HalfNoise(StudyNoise):
    """The planted fault: noise of half the scale."""

    def integers(self, values: Sequence[int], sensitivity: int, epsilon: float) -> list[int]:
        return super().integers(values, sensitivity, 2 * epsilon)


def answers(rows: CodedRows, seed: int, noise_type: type[StudyNoise] = StudyNoise, *, free: bool = False) -> list[int]:
    """What mst measures, in one vector: noisy counts, and chosen pairs.

    ``free`` plants the other fault: the choices are made at a hundred times their share.
    """
    setting = setting_of(names_of(*SIZES), len(CODES), EPSILON)
    noise = noise_type(np.random.default_rng(seed))
    asked = Questions(setting, MST.queries(setting), rows, noise)
    if free:
        plain = asked.choice

        def unpaid(pairs, score, sensitivity):  # type: ignore[no-untyped-def]
            plain(pairs, score, sensitivity)
            return pairs[exponential_choice([score(rows, p) for p in pairs], sensitivity, 100.0, noise)]

        asked.choice = unpaid  # type: ignore[method-assign]
    tables = MST.ask(asked)
    chosen = [3 * a + b for a, b in tables.pairs]
    return [*(int(v) for m in tables.measured for v in m.counts.ravel()), *chosen]


def measured(noise_type: type[StudyNoise] = StudyNoise, *, free: bool = False) -> list[np.ndarray]:
    return [
        np.array([answers(rows, 2 * seed + side, noise_type, free=free) for seed in range(SAMPLES)])
        for side, rows in enumerate(NEIGHBOURS)
    ]


@pytest.mark.slow
def test_what_mst_measures_proves_no_more_than_epsilon() -> None:
    assert not epsilon_lower(*measured(), alpha=ALPHA).refutes(float(EPSILON))


@pytest.mark.slow
def test_a_choice_that_nobody_paid_for_is_caught() -> None:
    """The choices alone: of their share, 0.1, with the fault and without."""
    sound, planted = ([side[:, -2:] for side in measured(free=free)] for free in (False, True))
    share = float(sum(q.share for q in MST.queries(setting_of(names_of(*SIZES), 6, EPSILON)) if q.form == "choice"))
    # What is chosen depends on the noisy columns, too: both are paid for before.
    alone = float(sum(q.share for q in MST.queries(setting_of(names_of(*SIZES), 6, EPSILON))[:3])) + share
    assert not epsilon_lower(*sound, alpha=ALPHA).refutes(alone)
    assert epsilon_lower(*planted, alpha=ALPHA).refutes(share)


TABLES = rows_of([[0, 0]] * 6), rows_of([[0, 0]] * 6, [True] * 5 + [False])


def one_table(rows: CodedRows, noise_type: type[StudyNoise], seed: int) -> np.ndarray:
    """``marginals`` on two columns measures one table with all of ε: the cell that differs, many times."""
    noise = noise_type(np.random.default_rng(seed))
    exact = rows.counts((0, 1), (2, 2))
    drawn = noise.integers([int(exact[0, 0])] * 200_000, 1, 1.0)  # each is one release of its own
    return np.array(drawn)


def test_noise_of_half_the_scale_is_caught() -> None:
    sound, planted = (
        [one_table(rows, noise, side) for side, rows in enumerate(TABLES)] for noise in (StudyNoise, HalfNoise)
    )
    assert not epsilon_lower(*sound, alpha=ALPHA).refutes(1.0)
    assert epsilon_lower(*planted, alpha=ALPHA).refutes(1.0)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["marginals", "mst"])
def test_counts_of_synthetic_rows_prove_no_more_than_epsilon(method: str) -> None:
    setting = setting_of(names_of(2, 2), 6, "1")
    sides = []
    for side, rows in enumerate(TABLES):
        drawn = (run(method, setting, rows, 6, seed=2 * seed + side).codes for seed in range(3_000))
        sides.append(np.array([np.bincount(codes @ [2, 1], minlength=4) for codes in drawn]))
    assert not epsilon_lower(*sides, alpha=ALPHA).refutes(1.0)
