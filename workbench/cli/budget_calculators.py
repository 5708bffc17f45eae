"""The calculators of ``workbench budget``: what one mechanism, or many shuffled reports, cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from workbench.cli.tables import figure
from workbench.params import ParameterError, Parameters, integer, real
from workbench.privacy.accounting.calculators import (
    MOST_REPORTS,
    laplace,
    laplace_within,
    randomised_response,
    shuffled,
    staircase,
)
from workbench.privacy.accounting.compose import round_up
from workbench.privacy.accounting.neighbours import RELATION, group

Action = tuple[str, type[Parameters], Callable[[Any], dict[str, Any]], Callable[[Any], str]]
"""What it is for, its parameters, what it computes, and that as text."""

_LIKELY = 0.95


@dataclass(frozen=True, kw_only=True)
class NoiseBudget(Parameters):
    """Noise that is added to one number."""

    epsilon: float = real(at_least=1e-6, upto=700, symbol="ε", help="privacy loss")
    sensitivity: float = real(above=0, upto=1e9, default=1.0, symbol="Δ", help="how far one row moves the number")


@dataclass(frozen=True, kw_only=True)
class ResponseBudget(Parameters):
    """Randomised response."""

    epsilon: float = real(at_least=1e-6, upto=700, symbol="ε", help="privacy loss of one answer")
    values: int = integer(at_least=2, upto=10**9, default=2, help="how many answers there are")
    rows: int = integer(at_least=1, upto=10**12, default=1000, help="how many people answer")


@dataclass(frozen=True, kw_only=True)
class ShuffleBudget(Parameters):
    """Local reports that reach the analyst in random order, without names."""

    epsilon: float = real(at_least=1e-6, upto=700, symbol="ε₀", help="privacy loss of one local report")
    rows: int = integer(at_least=1, upto=MOST_REPORTS, help="how many reports are shuffled")
    delta: float = real(above=0, below=1, symbol="δ", help="chance that the guarantee fails")


@dataclass(frozen=True, kw_only=True)
class GroupBudget(Parameters):
    """What a release guarantees to somebody with several rows."""

    epsilon: float = real(at_least=0, upto=1e6, symbol="ε", help="privacy loss of one row")
    delta: float = real(at_least=0, below=1, default=0.0, symbol="δ", help="chance that the guarantee of one row fails")
    rows: int = integer(at_least=1, upto=10**6, help="rows of one person")


def _laplace(asked: NoiseBudget) -> dict[str, Any]:
    noise = laplace(asked.epsilon, asked.sensitivity)
    return {
        "epsilon": asked.epsilon,
        "sensitivity": asked.sensitivity,
        "scale": noise.scale,
        "expected_absolute_error": noise.absolute,
        "variance": noise.variance,
        "within_95": laplace_within(asked.epsilon, asked.sensitivity, _LIKELY),
    }


def _laplace_text(result: Any) -> str:
    return (
        f"scale b = {round_up(result['scale'], 6)}; expected absolute error "
        f"{figure(result['expected_absolute_error'])}, variance {figure(result['variance'])}\n"
        f"95 % of the noise is within ± {figure(result['within_95'])}"
    )


def _staircase(asked: NoiseBudget) -> dict[str, Any]:
    found, other = staircase(asked.epsilon, asked.sensitivity), laplace(asked.epsilon, asked.sensitivity)
    return {
        "epsilon": asked.epsilon,
        "sensitivity": asked.sensitivity,
        "gamma_absolute": found.gamma_absolute,
        "expected_absolute_error": found.absolute,
        "gamma_variance": found.gamma_variance,
        "variance": found.variance,
        "laplace_absolute_error": other.absolute,
        "laplace_variance": other.variance,
    }


def _staircase_text(result: Any) -> str:
    return (
        f"least expected absolute error {figure(result['expected_absolute_error'])} at gamma = "
        f"{figure(result['gamma_absolute'])} (Laplace: {figure(result['laplace_absolute_error'])})\n"
        f"least variance {figure(result['variance'])} at gamma = {figure(result['gamma_variance'])} "
        f"(Laplace: {figure(result['laplace_variance'])})"
    )


def _response(asked: ResponseBudget) -> dict[str, Any]:
    found = randomised_response(asked.epsilon, asked.values)
    return {
        "epsilon": asked.epsilon,
        "values": asked.values,
        "rows": asked.rows,
        "truth": found.truth,
        "other": found.other,
        "share_sd": (found.variance_rare / asked.rows) ** 0.5,
    }


def _response_text(result: Any) -> str:
    return (
        f"the true answer with probability {figure(result['truth'])}, each other one with {figure(result['other'])}\n"
        f"of {result['rows']} people, the share of a rare answer is estimated to ± {figure(result['share_sd'])} "
        "(one standard deviation)"
    )


def _shuffle(asked: ShuffleBudget) -> dict[str, Any]:
    found = shuffled(asked.epsilon, asked.rows, asked.delta)
    return {
        "epsilon": found.epsilon,
        "epsilon_local": asked.epsilon,
        "delta": asked.delta,
        "rows": asked.rows,
        "exact": found.exact,
        "closed_form": found.closed,
        "relation": "replace-one",
        "trust": "somebody other than the analyst shuffles the reports and removes every name",
    }


def _shuffle_text(result: Any) -> str:
    closed = result["closed_form"]
    stated = "does not hold for so few reports" if closed is None else f"would give {round_up(closed, 4)}"
    return (
        f"epsilon at most {round_up(result['epsilon'], 6)} at delta = {result['delta']:g} for the shuffled reports "
        f"(Feldman, McMillan & Talwar 2021; the closed form {stated})\n"
        f"neighbours: replace-one. It holds only if {result['trust']}."
    )


def _group(asked: GroupBudget) -> dict[str, Any]:
    epsilon, delta = group(asked.epsilon, asked.delta, asked.rows)
    if delta >= 1:
        raise ParameterError(
            f"the delta of {asked.rows} rows is 1 or more, which guarantees nothing",
            "--delta",
            "give a smaller delta, a smaller epsilon or fewer rows",
        )
    return {
        "epsilon": epsilon,
        "delta": delta,
        "rows": asked.rows,
        "epsilon_row": asked.epsilon,
        "delta_row": asked.delta,
        "relation": RELATION,
    }


def _group_text(result: Any) -> str:
    return (
        f"a person with {result['rows']} rows: epsilon {figure(result['epsilon'])}, delta {figure(result['delta'])}\n"
        "Where a mechanism is known, `budget compose` with rows_per_person may show a smaller cost."
    )


CALCULATORS: dict[str, Action] = {
    "laplace": ("error of Laplace noise", NoiseBudget, _laplace, _laplace_text),
    "staircase": ("error of staircase noise, beside Laplace's", NoiseBudget, _staircase, _staircase_text),
    "randomised-response": ("error of randomised response", ResponseBudget, _response, _response_text),
    "shuffle": ("what shuffling local reports adds", ShuffleBudget, _shuffle, _shuffle_text),
    "group": ("what a person with several rows is guaranteed", GroupBudget, _group, _group_text),
}
