"""Cards of central mechanisms: losses under e^ε, tails that hold, golden figures, and sampling agreement."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

from workbench.cli.main import main
from workbench.params import ParameterError
from workbench.privacy.accounting.gaussian import gaussian_delta
from workbench.privacy.central.exponential import exponential_weights
from workbench.privacy.central.laplace import ReleasedNoise
from workbench.privacy.central.mechanisms import CENTRAL_MECHANISMS, Asked, central_mechanism

PURE = ("laplace", "discrete-laplace", "exponential", "report-noisy-max")
GAUSSIANS = ("gaussian", "gaussian-classic", "discrete-gaussian")


def asked_of(name: str, epsilon: float, sensitivity: float = 2.0) -> Asked:
    scores = (3.0, 2.0, 0.0, -4.0) if name in ("exponential", "report-noisy-max") else ()
    return Asked(epsilon, 1e-5 if name in GAUSSIANS else 0.0, sensitivity, scores)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("name", [m.name for m in CENTRAL_MECHANISMS])
def test_the_loss_is_within_epsilon_and_the_tails_hold(name: str, epsilon: float) -> None:
    card = central_mechanism(name).card(asked_of(name, epsilon))
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


def test_densities_are_those_of_a_distribution() -> None:
    for name in ("discrete-laplace", "exponential", "report-noisy-max", "discrete-gaussian"):
        card = central_mechanism(name).card(asked_of(name, 2.0))
        assert math.fsum(card.densities) == pytest.approx(1, abs=1e-3), name
        assert math.fsum(card.neighbours) == pytest.approx(1, abs=1e-2), name
    card = central_mechanism("gaussian").card(asked_of("gaussian", 2.0))
    step = card.outputs[1] - card.outputs[0]
    assert math.fsum(card.densities) * step == pytest.approx(1, abs=1e-3)


def test_golden_figures(golden_entries: list[dict[str, Any]]) -> None:
    seen = set()
    for entry in golden_entries:
        name, given = entry["name"], entry["inputs"]
        found = None
        if name.startswith(("exponential_mech_p", "permute_and_flip_p")):
            kind = "exponential" if name.startswith("exp") else "report-noisy-max"
            scores = tuple(map(float, given["u"]))
            found = (
                central_mechanism(kind).card(Asked(given["eps"], 0.0, given["sens"], scores)).densities[int(name[-1])]
            )
        elif name == "discrete_laplace_var":
            found = central_mechanism("discrete-laplace").card(Asked(given["eps"])).variance
        elif name == "discrete_laplace_P0":
            card = central_mechanism("discrete-laplace").card(Asked(given["eps"], 0.0, given["sensitivity"]))
            found = card.densities[card.outputs.index(0.0)]
        elif name == "analytic_gaussian_sigma":
            found = central_mechanism("gaussian").card(Asked(given["eps"], given["delta"], given["sensitivity"])).scale
        elif name == "classic_gaussian_sigma":
            asked = Asked(given["eps"], given["delta"], given["sensitivity"])
            found = central_mechanism("gaussian-classic").card(asked).scale
        if found is not None:
            assert found == pytest.approx(entry["value"], abs=entry["tolerance"]), entry
            seen.add(name)
    assert len(seen) == 10


def test_the_textbooks_sigma_is_refused_where_it_is_not_private() -> None:
    with pytest.raises(ParameterError, match="use gaussian"):
        central_mechanism("gaussian-classic").card(Asked(10.0, 1e-5))
    assert gaussian_delta(10.0, central_mechanism("gaussian").card(Asked(10.0, 1e-5)).scale) <= 1e-5


def test_what_is_drawn_has_the_cards_variance_and_chances() -> None:
    card = central_mechanism("discrete-laplace").card(Asked(0.5, 0.0, 2.0))
    drawn = np.array(ReleasedNoise().integers([0] * 20_000, 2, 0.5))
    assert drawn.var() == pytest.approx(card.variance, rel=0.15)
    for error, chance in card.tails[:3]:
        assert np.mean(np.abs(drawn) > error) <= chance + 5 * math.sqrt(chance / 20_000)
    choice = central_mechanism("exponential").card(Asked(1.0, 0.0, 1.0, (3.0, 2.0, 0.0)))
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
def test_bad_figures_are_one_sentence(capsys: pytest.CaptureFixture[str], words: list[str], said: str) -> None:
    assert main(["mechanism", *words]) == 2
    assert said in capsys.readouterr().err


def test_the_command_shows_the_card(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mechanism", "exponential", "--epsilon", "1", "--scores", "3,2,0", "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert found["central"]
    assert found["exact_epsilon"] <= 1
    assert [round(d["table"], 4) for d in found["density"]] == [0.5465, 0.3315, 0.122]
    assert main(["mechanism", "discrete-gaussian", "--epsilon", "1", "--delta", "1e-5"]) == 0
    assert "exact delta at this epsilon" in capsys.readouterr().out
