"""Cards of central mechanisms: losses under e^ε, tails that hold, golden figures, and sampling agreement."""

import json
import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import binomtest, chi2, norm

from workbench.cli.main import main
from workbench.params import ParameterError
from workbench.privacy.accounting.gaussian import gaussian_delta
from workbench.privacy.central.central_noise import CentralNoise, NoNoise
from workbench.privacy.central.exponential import exponential_weights
from workbench.privacy.central.laplace import ReleasedNoise, StudyNoise
from workbench.privacy.central.mechanisms import CENTRAL_MECHANISMS, Asked

PURE = ("laplace", "discrete-laplace", "exponential", "report-noisy-max")
CARDS = {mechanism.name: mechanism.card for mechanism in CENTRAL_MECHANISMS}
GAUSSIANS = ("gaussian", "gaussian-classic", "discrete-gaussian")


def asked_of(name: str, epsilon: float, sensitivity: float = 2.0) -> Asked:
    scores = (3.0, 2.0, 0.0, -4.0) if name in ("exponential", "report-noisy-max") else ()
    return Asked(epsilon, 1e-5 if name in GAUSSIANS else 0.0, sensitivity, scores)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("name", [m.name for m in CENTRAL_MECHANISMS])
def test_the_loss_is_within_epsilon_and_the_tails_hold(name, epsilon):
    card = CARDS[name](asked_of(name, epsilon))
    if name in PURE:
        assert 0 < card.loss <= epsilon * (1 + 1e-9)
        assert card.delta == 0
    else:
        assert 0 < card.delta <= 1e-5
    errors, chances = zip(*card.tails, strict=True)
    assert list(errors) == sorted(errors)
    if card.variance is not None:
        assert card.absolute**2 <= card.variance
        for error, chance in card.tails:  # Chebyshev bounds what an exact tail may be
            assert chance <= min(1.0, card.variance / max(error, 1e-9) ** 2) + 1e-9 or error == 0
    assert all(0 < c <= 1 for c in chances)


def test_densities_are_those_of_a_distribution():
    for name in ("discrete-laplace", "exponential", "report-noisy-max", "discrete-gaussian"):
        card = CARDS[name](asked_of(name, 2.0))
        assert math.fsum(card.densities) == pytest.approx(1, abs=1e-3), name
        assert math.fsum(card.neighbours) == pytest.approx(1, abs=1e-2), name
    card = CARDS["gaussian"](asked_of("gaussian", 2.0))
    step = card.outputs[1] - card.outputs[0]
    assert math.fsum(card.densities) * step == pytest.approx(1, abs=1e-3)


def test_golden_figures(golden_entries):
    seen = set()
    for entry in golden_entries:
        name, given = entry["name"], entry["inputs"]
        found = None
        if name.startswith(("exponential_mech_p", "permute_and_flip_p")):
            kind = "exponential" if name.startswith("exp") else "report-noisy-max"
            scores = tuple(map(float, given["u"]))
            found = CARDS[kind](Asked(given["eps"], 0.0, given["sens"], scores)).densities[int(name[-1])]
        elif name == "discrete_laplace_var":
            found = CARDS["discrete-laplace"](Asked(given["eps"])).variance
        elif name == "discrete_laplace_P0":
            card = CARDS["discrete-laplace"](Asked(given["eps"], 0.0, given["sensitivity"]))
            found = card.densities[card.outputs.index(0.0)]
        elif name == "analytic_gaussian_sigma":
            found = CARDS["gaussian"](Asked(given["eps"], given["delta"], given["sensitivity"])).scale
        elif name == "classic_gaussian_sigma":
            asked = Asked(given["eps"], given["delta"], given["sensitivity"])
            found = CARDS["gaussian-classic"](asked).scale
        if found is not None:
            assert found == pytest.approx(entry["value"], abs=entry["tolerance"]), entry
            seen.add(name)
    assert len(seen) == 10


def test_the_textbooks_sigma_is_refused_where_it_is_not_private():
    with pytest.raises(ParameterError, match="use gaussian"):
        CARDS["gaussian-classic"](Asked(10.0, 1e-5))
    assert gaussian_delta(10.0, CARDS["gaussian"](Asked(10.0, 1e-5)).scale) <= 1e-5


def test_what_is_drawn_has_the_cards_variance_and_chances():
    card = CARDS["discrete-laplace"](Asked(0.5, 0.0, 2.0))
    drawn = np.array(ReleasedNoise().integers([0] * 20_000, 2, 0.5))
    assert drawn.var() == pytest.approx(card.variance, rel=0.15)
    for error, chance in card.tails[:3]:
        assert np.mean(np.abs(drawn) > error) <= chance + 5 * math.sqrt(chance / 20_000)
    choice = CARDS["exponential"](Asked(1.0, 0.0, 1.0, (3.0, 2.0, 0.0)))
    weights = exponential_weights([3, 2, 0], 1, 1.0)
    assert [w / sum(weights) for w in weights] == pytest.approx(choice.densities, abs=1e-9)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["gaussian", "--epsilon", "1"], "needs a delta"),
        (["laplace", "--epsilon", "1", "--delta", "0.1"], "has no delta"),
        (["discrete-laplace", "--epsilon", "1", "--sensitivity", "0.5"], "whole number"),
        (["report-noisy-max", "--epsilon", "1"], "2 to 12 scores"),
        (["report-noisy-max", "--epsilon", "1", "--scores", "a,b"], "score is not a number"),
        (["laplace", "--epsilon", "1", "--table", "t.npy"], "no table"),
    ],
)
def test_bad_figures_are_one_sentence(capsys, words, said):
    assert main(["mechanism", *words]) == 2
    assert said in capsys.readouterr().err


def test_the_command_shows_the_card(capsys):
    assert main(["mechanism", "exponential", "--epsilon", "1", "--scores", "3,2,0", "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert found["central"]
    assert found["exact_epsilon"] <= 1
    assert [round(d["table"], 4) for d in found["density"]] == [0.5465, 0.3315, 0.122]
    assert main(["mechanism", "discrete-gaussian", "--epsilon", "1", "--delta", "1e-5"]) == 0
    assert "exact delta at this epsilon" in capsys.readouterr().out


# -- Discrete Laplace noise: released and studied draws follow the closed form ----------------------------------------


DRAWS = 40_000
FALSE_ALARM = 1e-7


def study() -> StudyNoise:
    return StudyNoise(np.random.default_rng(11))


NOISES = pytest.mark.parametrize("noise", [ReleasedNoise(), study()], ids=["released", "study"])


def draws(noise: CentralNoise, sensitivity: int, epsilon: float, count: int = DRAWS) -> np.ndarray:
    return np.array(noise.integers([0] * count, sensitivity, epsilon))


def probability(k: np.ndarray, sensitivity: int, epsilon: float) -> np.ndarray:
    b = np.exp(-epsilon / sensitivity)
    return (1 - b) / (1 + b) * b ** np.abs(k)


@NOISES
def test_golden_probability_of_zero(golden, noise):
    entries = golden["discrete_laplace_P0"]
    assert len(entries) == 2
    for entry in entries:
        sensitivity, epsilon = entry["inputs"]["sensitivity"], entry["inputs"]["eps"]
        assert probability(np.array(0), sensitivity, epsilon) == pytest.approx(entry["value"], abs=entry["tolerance"])
        zeros = int((draws(noise, sensitivity, epsilon) == 0).sum())
        assert binomtest(zeros, DRAWS, entry["value"]).pvalue > FALSE_ALARM


@NOISES
def test_golden_variance(golden, noise):
    for entry in golden["discrete_laplace_var"]:
        squares = draws(noise, 1, entry["inputs"]["eps"]).astype(float) ** 2
        support = np.arange(-200, 201)
        fourth = (support.astype(float) ** 4 * probability(support, 1, entry["inputs"]["eps"])).sum()
        deviation = np.sqrt((fourth - entry["value"] ** 2) / DRAWS)
        # A mean of 40,000 squares is normal to well within the factor that is left below 1e-7 at 7 deviations.
        assert abs(squares.mean() - entry["value"]) < 7 * deviation


@NOISES
@pytest.mark.parametrize(("sensitivity", "epsilon"), [(1, 1.0), (5, 0.5), (1024, 2.5)])
def test_draws_follow_the_closed_form(noise, sensitivity, epsilon):
    scale = sensitivity / epsilon
    edges = np.unique(np.rint(np.arange(-5, 5.5, 0.5) * scale)).astype(int)
    support = np.arange(edges[0] - int(60 * scale), edges[-1] + int(60 * scale))
    weights = probability(support, sensitivity, epsilon)
    expected = np.bincount(np.searchsorted(edges, support, side="right"), weights) * DRAWS
    seen = np.bincount(
        np.searchsorted(edges, draws(noise, sensitivity, epsilon), side="right"), minlength=len(expected)
    )
    assert expected.min() > 20
    statistic = ((seen - expected) ** 2 / expected).sum()
    # The chi-square limit is approximate: a further factor 10 in the level pays for it.
    assert statistic < chi2.isf(FALSE_ALARM / 10, len(expected) - 1)


@NOISES
def test_noise_is_centred_on_the_value_and_independent_between_entries(noise):
    values = np.array(noise.integers([100, -7] * DRAWS, 1, 1.0)).reshape(-1, 2)
    limit = norm.isf(FALSE_ALARM / 2) * 1.1
    spread = np.sqrt(1.8413471884155848 / DRAWS)
    assert abs(values[:, 0].mean() - 100) < limit * spread
    assert abs(values[:, 1].mean() + 7) < limit * spread
    product = (values[:, 0] - 100) * (values[:, 1] + 7)
    assert abs(product.mean()) < limit * 1.8413471884155848 / np.sqrt(DRAWS)


def test_no_noise_returns_the_values():
    assert NoNoise().integers([3, -4, 0], 1, 0.1) == [3, -4, 0]


def test_only_the_cryptographic_noise_is_releasable():
    assert [n.releasable for n in (ReleasedNoise(), study(), NoNoise())] == [True, False, False]


@NOISES
@pytest.mark.parametrize(("sensitivity", "epsilon"), [(1, 1e-9), (2**30, 0.05), (2**40, 1e-3), (1, 1e6)])
def test_extreme_scales_stay_integers(noise, sensitivity, epsilon):
    found = noise.integers([5, -5, 0], sensitivity, epsilon)
    assert all(type(v) is int and abs(v) < 2**62 for v in found)


@NOISES
@pytest.mark.parametrize(
    ("sensitivity", "epsilon"),
    [(0, 1.0), (-1, 1.0), (True, 1.0), (1, 0.0), (1, -1.0), (1, float("nan")), (1, float("inf"))],
)
def test_impossible_calibrations_are_refused(noise, sensitivity, epsilon):
    with pytest.raises(ParameterError):
        noise.integers([1], sensitivity, epsilon)


def test_studies_are_reproducible_and_releases_are_not():
    one, two = (StudyNoise(np.random.default_rng(3)).integers([0] * 64, 1, 0.1) for _ in range(2))
    assert one == two
    assert draws(ReleasedNoise(), 1, 0.1, 64).tolist() != draws(ReleasedNoise(), 1, 0.1, 64).tolist()
