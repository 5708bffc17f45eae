"""The black-box auditor passes what is right and flags what is wrong.

Right mechanisms run on the generator that releases use; each may be accused falsely with probability at most 1e-7, all
of them together at most 1e-6. Wrong ones are planted on a seeded generator, so that what is flagged once always is.
"""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from workbench.data.schema import Attribute
from workbench.learners.naive_bayes.estimator import NaiveBayes
from workbench.learners.naive_bayes.parameters import NaiveBayesParameters
from workbench.params import ParameterError
from workbench.privacy.accounting.event import Cost
from workbench.privacy.accounting.gaussian import analytic_sigma
from workbench.privacy.audit import audit_mechanism, audit_table, epsilon_lower, worst_pair
from workbench.privacy.central.central_noise import CentralNoise
from workbench.privacy.central.laplace import ReleasedNoise, StudyNoise
from workbench.privacy.entropy import Entropy, OsEntropy, SeededEntropy
from workbench.privacy.local.cells import Cells
from workbench.privacy.local.mechanism_table import MechanismTable, integer_rows
from workbench.privacy.local.mechanisms import BOUNDED_LAPLACE, MECHANISMS, Randomiser, mechanism
from workbench.privacy.local.mechanisms.staircase import gamma_absolute
from workbench.work.ask import Ask, declared

ALPHA = 1e-7
DRAWS = 120_000


def draws(randomiser: Randomiser, cell: int, entropy: Entropy, count: int = DRAWS) -> NDArray[np.uint16]:
    """Outputs for ``count`` inputs of the same cell."""
    out: NDArray[np.uint16] = randomiser.sample(np.full(count, cell, dtype=np.uint16), entropy)
    return out


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: m.name)
@pytest.mark.parametrize("entropy", [OsEntropy(), SeededEntropy(3)], ids=["released", "seeded"])
def test_a_local_mechanism_is_never_seen_above_its_epsilon(mechanism, entropy):
    cells = Cells.line(0, 1, 2) if mechanism.two_values else Cells.line(-1, 1, 5)
    made = mechanism.build(cells, 1.0)
    assert isinstance(made, MechanismTable)
    found = epsilon_lower(*(draws(made, cell, entropy) for cell in worst_pair(made)), alpha=ALPHA)
    assert not found.refutes(made.exact_epsilon)
    # The auditor is not blind: it proves most of what is there (on the seeded stream, so always).
    assert entropy.releasable or found.epsilon > 0.85


def nominal_staircase() -> MechanismTable:
    """The classroom recipe at nominal ε = 1, redrawn into its interval: its true ε is 1.33."""
    cells = Cells.line(-1, 1, 101)
    rows = np.where(cells.distances() < gamma_absolute(1.0), 1.0, math.exp(-1.0))
    return MechanismTable(integer_rows(rows), claim=2.0)


def test_the_nominal_staircase_is_caught_in_every_run_at_the_defaults():
    """The power that is computed says so beforehand: below, a run that misses it is less likely than 1 in 1,000."""
    planted, runs = nominal_staircase(), 40
    found = [audit_table(planted, 1.0, entropy=SeededEntropy(seed)) for seed in range(runs)]
    assert sum(f.refuted for f in found) >= 0.95 * runs
    assert all(f.refuted for f in found)
    for f in found[:3]:
        assert not f.bound.refutes(planted.exact_epsilon)
        assert 1 - f.bound.confidence <= 1.1e-6
        assert f.bound.power(1.0, planted.exact_epsilon) > 0.999
        assert f.caught < 1.06


def test_the_right_staircase_passes_at_the_defaults():
    for seed in range(5):
        found = audit_mechanism(mechanism("staircase"), Cells.line(-1, 1, 101), 1.0, entropy=SeededEntropy(seed))
        assert not found.refuted
        assert found.bound.epsilon > 0.95


def test_the_stated_power_is_what_happens():
    """Fewer samples, so that some runs miss: as many of them catch the fault as was computed."""
    planted, runs = nominal_staircase(), 100
    found = [audit_table(planted, 1.0, samples=8_000, entropy=SeededEntropy(seed)) for seed in range(runs)]
    caught = sum(f.refuted for f in found) / runs
    # An event is chosen because it looked likely, and the staircase has no better one than it can find: a few points.
    told = sum(f.bound.power(1.0, planted.exact_epsilon, strata=200) for f in found) / runs
    assert 0.2 < caught < 0.95
    assert told == pytest.approx(caught, abs=0.15)


def test_power_is_little_where_little_was_drawn_and_grows_with_it():
    planted = nominal_staircase()
    few, many = (audit_table(planted, 1.0, samples=n, entropy=SeededEntropy(1)) for n in (1_000, 100_000))
    assert few.bound.power(1.0, 1.33) < 0.01
    assert few.caught > 2
    assert many.bound.power(1.0, 1.33) > 0.99
    assert 1.0 < many.caught < 1.2
    assert many.bound.power(1.0, many.caught) >= 0.95
    assert many.bound.power(1.0, 1.0) < 1e-3
    far = audit_mechanism(mechanism("grr"), Cells(size=4), 25.0, samples=1_000, entropy=SeededEntropy(1))
    assert (far.refuted, far.caught) == (False, math.inf)


def test_an_event_that_always_happens_has_no_power():
    found = audit_mechanism(mechanism("grr"), Cells(size=2), 1e-6, samples=10_000, entropy=SeededEntropy(2))
    assert not found.refuted
    assert 0.05 < found.bound.likely < 0.95
    sure = dataclasses.replace(found.bound, likely=1.0)
    assert sure.power(0.1, 5.0) < 0.01


def test_the_worst_pair_is_found_without_looking_at_all_of_them():
    for name in ("staircase", "bounded-laplace", "grr"):
        table = mechanism(name).build(Cells.line(-1, 1, 21, missing=True), 1.0)
        assert isinstance(table, MechanismTable)
        chances = table.probabilities()
        one, other = worst_pair(table)
        assert (chances[one] / chances[other]).max() == pytest.approx(math.exp(table.exact_epsilon), rel=1e-8)


def test_the_nominal_staircase_is_flagged():
    planted = nominal_staircase()
    entropy = SeededEntropy(1)
    found = epsilon_lower(*(draws(planted, cell, entropy) for cell in worst_pair(planted)), alpha=ALPHA)
    assert found.refutes(1.0)
    assert not found.refutes(planted.exact_epsilon)


def test_noise_that_is_rounded_before_it_is_added_is_flagged():
    noise = np.random.default_rng(2).laplace(scale=1.0, size=(2, DRAWS))
    rounded = np.round(noise, 1)
    assert epsilon_lower(rounded[0], 0.25 + rounded[1], alpha=ALPHA).refutes(1.0)
    # Rounding what comes out instead is post-processing.
    assert not epsilon_lower(np.round(noise[0], 1), np.round(0.25 + noise[1], 1), alpha=ALPHA).refutes(0.25)


def test_bounds_that_are_read_off_the_rows_are_flagged():
    """One person's value, with the bounds taken from a table in which another person's 10 is there or is empty."""
    entropy = SeededEntropy(4)

    def outputs(largest: float) -> NDArray[np.float64]:
        cells = Cells.line(0.0, largest, 11)
        assert cells.values is not None
        out: NDArray[np.float64] = cells.values[draws(BOUNDED_LAPLACE.build(cells, 1.0), 0, entropy)]
        return out

    assert epsilon_lower(outputs(10.0), outputs(7.0), alpha=ALPHA).refutes(1.0)
    assert not epsilon_lower(outputs(10.0), outputs(10.0), alpha=ALPHA).refutes(0.0)


def test_gaussian_noise_of_the_wrong_variance_is_flagged():
    """Variance σ²C instead of σ²C² on a sum whose rows are clipped to C = 10."""
    clip, delta = 10.0, 1e-5
    sigma = analytic_sigma(1.0, delta)
    normal = np.random.default_rng(5).normal(size=(2, DRAWS))
    right, wrong = normal * sigma * clip, normal * sigma * math.sqrt(clip)
    assert not epsilon_lower(clip + right[0], right[1], alpha=ALPHA, delta=delta).refutes(1.0)
    assert epsilon_lower(clip + wrong[0], wrong[1], alpha=ALPHA, delta=delta).refutes(1.0)


class Repeated:
    """A noise that draws every answer many times, and keeps the draws; the first one is what the learner gets."""

    name, releasable = "study", False

    def __init__(self, inner: CentralNoise, count: int, too_much: float = 1.0) -> None:
        self.inner, self.count, self.too_much = inner, count, too_much
        self.drawn: list[NDArray[np.int64]] = []

    def ask(self, cost: Cost | None) -> Ask:
        assert cost is not None
        return Ask(declared(cost.event), self, SeededEntropy(0))

    def integers(self, values: Sequence[int], sensitivity: int, epsilon: float) -> list[int]:
        many = self.inner.integers(list(values) * self.count, sensitivity, self.too_much * epsilon)
        self.drawn.append(np.array(many, dtype=np.int64).reshape(self.count, -1))
        return [int(v) for v in self.drawn[-1][0]]


ATTRIBUTES = (
    Attribute(name="x", kind="real", lower=-1, upper=1, missing="own-value"),
    Attribute(name="c", kind="category", domain=("u", "v")),
)
TARGET = Attribute(name="y", kind="category", domain=("0", "1"))
ROWS = np.array([[1.0, 0.0], [-1.0, 1.0], [math.nan, 1.0]])


def released(classes: Sequence[int], noise: Repeated, epsilon: float) -> NDArray[np.int64]:
    """The vectors of integers that fits of naive Bayes release (draws, integers)."""
    parameters = NaiveBayesParameters(epsilon=epsilon, noise_limit=1e6)
    NaiveBayes(ATTRIBUTES, TARGET, parameters, noise).fit(ROWS, np.array(classes))
    return np.hstack(noise.drawn)


@pytest.mark.parametrize(("emptied", "epsilon"), [(0, 1.0), pytest.param(2, 2.0, marks=pytest.mark.slow)])
def test_naive_bayes_is_never_seen_above_its_epsilon(emptied, epsilon):
    classes = [0, 1, 1]
    empty = [-1 if row == emptied else c for row, c in enumerate(classes)]
    sides = (released(c, Repeated(ReleasedNoise(), 8_000), epsilon) for c in (classes, empty))
    assert not epsilon_lower(*sides, alpha=ALPHA).refutes(epsilon)


@pytest.mark.slow
def test_naive_bayes_with_a_third_of_its_noise_is_flagged():
    generator = np.random.default_rng(6)
    sides = [released(c, Repeated(StudyNoise(generator), DRAWS, 3.0), 1.0) for c in ([0, 1, 1], [-1, 1, 1])]
    assert epsilon_lower(*sides, alpha=ALPHA).refutes(1.0)


def test_the_bound_is_wrong_no_more_often_than_it_says():
    """At α = 0.2, 500 audits of randomised response; the true rate would exceed 0.2 by this with odds below 1e-6."""
    generator = np.random.default_rng(7)
    keep = math.e / (1 + math.e)
    alarms = sum(
        epsilon_lower(generator.random(1000) < keep, generator.random(1000) >= keep, alpha=0.2).refutes(1.0)
        for _ in range(500)
    )
    assert alarms <= 148


@pytest.mark.parametrize(
    ("one", "other", "alpha", "delta"),
    [
        (np.zeros(99), np.zeros(99), 0.1, 0.0),
        (np.zeros(100), np.zeros(101), 0.1, 0.0),
        (np.zeros((100, 2, 2)), np.zeros((100, 2, 2)), 0.1, 0.0),
        (np.zeros(100), np.zeros(100), 0.0, 0.0),
        (np.zeros(100), np.zeros(100), math.nan, 0.0),
        (np.zeros(100), np.zeros(100), 0.1, 1.0),
    ],
)
def test_outputs_that_cannot_be_audited_are_refused(one, other, alpha, delta):
    with pytest.raises(ParameterError):
        epsilon_lower(one, other, alpha=alpha, delta=delta)


def test_outputs_of_which_few_come_twice_are_audited_by_their_tails():
    """Gaussian outputs to seven digits: σ is exact, so at least 0.5 is proved but with odds far below 1e-6."""
    for seed in range(40):
        generator = np.random.default_rng(seed)
        present, absent = (np.round(generator.normal(mean, 1, 8_000), 7) for mean in (1.24, 0))
        assert 0.5 < epsilon_lower(present, absent, delta=0.1).epsilon < 2.2


def test_names_can_be_audited():
    names = np.array(["no", "yes"])
    generator = np.random.default_rng(8)
    found = epsilon_lower(
        names[(generator.random(DRAWS) < 0.75).astype(int)], names[(generator.random(DRAWS) < 0.25).astype(int)]
    )
    assert 0.9 * math.log(3) < found.epsilon < math.log(3)
    assert found.tested == DRAWS // 2
