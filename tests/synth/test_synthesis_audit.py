"""The black-box auditor on synthetic tables: measured tables and counts of synthetic rows, with hostile neighbours."""

from collections.abc import Sequence
from decimal import Decimal

import numpy as np
import pytest
from asks import ask_by
from synth_cases import dependent_rows, names_of, questions_of, rows_of, setting_of

from workbench.privacy.audit import epsilon_lower
from workbench.privacy.central.exponential import exponential_choice
from workbench.privacy.central.laplace import StudyNoise
from workbench.privacy.central.share import Budget
from workbench.privacy.entropy import SeededEntropy
from workbench.synth import AIM, MST, TAN, Synthesiser, fit, mst, synthesis, synthesiser
from workbench.synth.base import Setting, events
from workbench.synth.columns import CodedRows
from workbench.synth.mst import SENSITIVITY, expected_tables, score
from workbench.synth.synthesis import synthesised
from workbench.work import ask

ALPHA = 1e-6
SIZES = (2, 2, 2)
EPSILON = "1"
SAMPLES = 1_000

# A row that decides which pair depends most, and whose cell is empty without it.
CODES = [[0, 0, 0]] * 3 + [[1, 0, 1]] * 2 + [[1, 1, 1]]
NEIGHBOURS = rows_of(CODES), rows_of(CODES, [True] * 5 + [False])


@pytest.fixture(autouse=True)
def quick_fits(monkeypatch):
    """Fits are post-processing: few rounds serve an audit."""
    for place in (mst, synthesis):
        monkeypatch.setattr(place, "fitted", lambda *a, **k: fit.fitted(*a, **{**k, "rounds": 3}))


class HalfNoise(StudyNoise):
    """The planted fault: noise of half the scale."""

    def integers(self, values: Sequence[int], sensitivity: int, epsilon: float) -> list[int]:
        return super().integers(values, sensitivity, 2 * epsilon)


def answers(rows: CodedRows, seed: int) -> list[int]:
    """What mst measures, in one vector: noisy counts, and chosen pairs."""
    setting = setting_of(names_of(*SIZES), len(CODES), EPSILON)
    tables = MST.ask(questions_of(MST, setting, rows, StudyNoise(np.random.default_rng(seed))))
    chosen = [3 * a + b for a, b in tables.pairs]
    return [*(int(v) for m in tables.measured for v in m.counts.ravel()), *chosen]


def measured() -> list[np.ndarray]:
    sides = enumerate(NEIGHBOURS)
    return [np.array([answers(rows, 2 * seed + side) for seed in range(SAMPLES)]) for side, rows in sides]


@pytest.mark.slow
def test_what_mst_measures_proves_no_more_than_epsilon():
    assert not epsilon_lower(*measured(), alpha=ALPHA).refutes(float(EPSILON))


def choices(rows: CodedRows, epsilon: float, seed: int) -> np.ndarray:
    """Many choices of a pair by the scores of the rows beside one table of independent columns."""
    setting = setting_of(names_of(*SIZES), len(CODES), EPSILON)
    tables = expected_tables(setting, [np.array([0.5, 0.5])] * 3, 100.0)
    pairs = list(tables)
    scores = [score(rows, pair, tables[pair][0], tables[pair][1], setting) for pair in pairs]
    noise = StudyNoise(np.random.default_rng(seed))
    return np.array([exponential_choice(scores, SENSITIVITY, epsilon, noise) for _ in range(60_000)])


def test_a_choice_proves_no_more_than_its_share_and_is_caught_without_a_charge():
    proved = epsilon_lower(*(choices(rows, 1.0, side) for side, rows in enumerate(NEIGHBOURS)), alpha=ALPHA)
    assert not proved.refutes(1.0)
    assert proved.refutes(0.0)  # it reads the rows: nobody may leave it out of the sum


def test_a_choice_at_more_than_its_share_is_caught():
    assert epsilon_lower(*(choices(rows, 4.0, s) for s, rows in enumerate(NEIGHBOURS)), alpha=ALPHA).refutes(1.0)


TABLES = rows_of([[0, 0]] * 6), rows_of([[0, 0]] * 6, [True] * 5 + [False])


def one_table(rows: CodedRows, noise_type: type[StudyNoise], seed: int) -> np.ndarray:
    """``marginals`` on two columns measures one table with all of ε: the cell that differs, many times."""
    noise = noise_type(np.random.default_rng(seed))
    exact = rows.counts((0, 1), (2, 2))
    drawn = noise.integers([int(exact[0, 0])] * 200_000, 1, 1.0)  # each is one release of its own
    return np.array(drawn)


def test_noise_of_half_the_scale_is_caught():
    sound, planted = (
        [one_table(rows, noise, side) for side, rows in enumerate(TABLES)] for noise in (StudyNoise, HalfNoise)
    )
    assert not epsilon_lower(*sound, alpha=ALPHA).refutes(1.0)
    assert epsilon_lower(*planted, alpha=ALPHA).refutes(1.0)


def all_answers(method: Synthesiser, rows: CodedRows, seed: int, delta: str = "0") -> list[int]:
    """What a method measures, in one vector: noisy counts, and chosen pairs, each after the answers before."""
    wide = CodedRows(rows.codes[:, [0, 1, 2, 2]][:, : len(SIZES) + (method is TAN)], rows.present)
    setting = Setting(names_of(*(2,) * wide.codes.shape[1]), 0, len(CODES), Decimal(EPSILON), Decimal(delta))
    tables = method.ask(questions_of(method, setting, wide, StudyNoise(np.random.default_rng(seed))))
    counts = [int(v) for m in tables.measured for v in m.counts.ravel()]
    return [*counts, *(3 * a + b for a, b in tables.pairs)]


@pytest.mark.slow
@pytest.mark.parametrize("delta", ["0", "1e-4"])
@pytest.mark.parametrize("method", [AIM, TAN], ids=["aim", "tan"])
def test_what_is_measured_proves_no_more_than_epsilon(method, delta):
    sides = [
        np.array([all_answers(method, rows, 2 * seed + side, delta) for seed in range(SAMPLES)])
        for side, rows in enumerate(NEIGHBOURS)
    ]
    assert not epsilon_lower(*sides, alpha=ALPHA, delta=float(delta)).refutes(float(EPSILON))


class Recorder(StudyNoise):
    """Remembers what was paid: (ε or ρ, kind) of every draw."""

    def __init__(self, generator: np.random.Generator) -> None:
        super().__init__(generator)
        self.paid: list[tuple[str, float]] = []

    def integers(self, values: Sequence[int], sensitivity: int, epsilon: float) -> list[int]:
        self.paid.append(("epsilon", epsilon / sensitivity))
        return super().integers(values, sensitivity, epsilon)

    def gaussian(self, values: Sequence[int], sensitivity: int, rho: float) -> list[int]:
        self.paid.append(("rho", rho / sensitivity**2))
        return super().gaussian(values, sensitivity, rho)


@pytest.mark.parametrize("delta", ["0", "1e-6"])
@pytest.mark.parametrize("method", ["marginals", "mst", "aim", "tan"])
def test_noise_and_choices_together_cost_the_budget_and_no_more(monkeypatch, method, delta):
    """Selection is in the sum: the ε of every exponential mechanism, or its ε²/8 where the budget is a ρ."""
    chosen: list[float] = []
    right = ask.exponential_choice  # type: ignore[attr-defined]

    def choice(scores: Sequence[int], sensitivity: int, epsilon: float, noise: StudyNoise) -> int:
        chosen.append(epsilon / sensitivity)
        return right(scores, sensitivity, epsilon, noise)

    monkeypatch.setattr(ask, "exponential_choice", choice)
    setting = Setting(names_of(2, 3, 4, 2), 0, 60, Decimal(EPSILON), Decimal(delta))
    rows = rows_of(dependent_rows(60, (2, 3, 4, 2)))
    noise = Recorder(np.random.default_rng(1))
    found = synthesiser(method)
    synthesised(found, setting, rows, 60, ask_by(noise, events(found.queries(setting)), SeededEntropy(1)))
    kind = "epsilon" if delta == "0" else "rho"
    assert {k for k, _ in noise.paid} == {kind}
    spent = sum(v for _, v in noise.paid) + sum(e if delta == "0" else e * e / 8 for e in chosen)
    assert bool(chosen) == (method != "marginals")
    assert spent == pytest.approx(float(setting.budget.amount), rel=1e-9)
    assert spent <= float(setting.budget.amount) * (1 + 1e-12)


@pytest.mark.parametrize("fault", [1, 4])
def test_gaussian_noise_of_half_the_scale_is_caught(fault):
    """One table with all of ρ at (1, 1e-4): the cell that differs, many times; four times ρ is half the scale."""
    delta = "1e-4"
    rho = float(Budget(Decimal(1), Decimal(delta)).amount) * fault
    sides = []
    for side, rows in enumerate(TABLES):
        exact = int(rows.counts((0, 1), (2, 2))[0, 0])
        sides.append(np.array(StudyNoise(np.random.default_rng(side)).gaussian([exact] * 300_000, 1, rho)))
    assert epsilon_lower(*sides, alpha=ALPHA, delta=float(delta)).refutes(1.0) == (fault == 4)
