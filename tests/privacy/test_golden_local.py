"""Golden values of local mechanisms: every entry whose subject exists."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from workbench.privacy.local.calibrate import float_epsilon
from workbench.privacy.local.cells import Cells
from workbench.privacy.local.error_profile import duchi_sd, error_profile
from workbench.privacy.local.frequency import OUE, SUE, variance
from workbench.privacy.local.frequency.olh import best_cells
from workbench.privacy.local.mechanism_table import MechanismTable
from workbench.privacy.local.mechanisms import BOUNDED_LAPLACE, DUCHI, GRR, HYBRID, PIECEWISE, WARNER
from workbench.privacy.local.mechanisms.exponential import textbook
from workbench.privacy.local.mechanisms.hybrid import DUCHI_UPTO
from workbench.privacy.local.mechanisms.square_wave import half_wave
from workbench.privacy.local.mechanisms.staircase import gamma_absolute, gamma_variance, nominal_epsilon, true_epsilon
from workbench.privacy.local.mechanisms.warner import epsilon_of_truth
from workbench.privacy.local.unbiased import direct
from workbench.sanitize.estimates import estimate_names

Inputs = dict[str, Any]


def _grr_p(inputs: Inputs) -> float:
    return float(GRR.build(Cells(size=inputs["k"]), inputs["eps"]).probabilities()[0, 0])


def _grr_other_variance(inputs: Inputs) -> float:
    cells = Cells(size=inputs["k"])
    return float(error_profile(GRR.build(cells, inputs["eps"]), cells).variance[-1])


def _grr_variance(inputs: Inputs) -> float:
    """n·Var/n of the estimate of a frequency f: the mixture of the two variances."""
    cells = Cells(size=inputs["k"])
    chances = GRR.build(cells, inputs["eps"]).probabilities()
    p, q = chances[0, 0], chances[0, 1]
    f, n = inputs["f"], inputs["n"]
    return float((f * p * (1 - p) + (1 - f) * q * (1 - q)) / (n * (p - q) ** 2))


def _laplace_true_epsilon(inputs: Inputs) -> float:
    cells = Cells.line(inputs["L"], inputs["U"], 101)
    return BOUNDED_LAPLACE.build(cells, inputs["eps_nominal"]).exact_epsilon


def _laplace_naive_epsilon(inputs: Inputs) -> float:
    """Noise for a sensitivity below the range, on neighbours a sensitivity apart (the central use)."""
    cells = Cells.line(inputs["L"], inputs["U"], 2001)
    assert cells.values is not None
    rows = np.exp(-np.abs(cells.values[:, None] - cells.values[None, :]) / inputs["scale"])
    step = round(inputs["sensitivity"] / (cells.values[1] - cells.values[0]))
    return max(float_epsilon(rows[[i, i + step]]) for i in (0, (2001 - step) // 2, 2000 - step))


def _stairs_mean_absolute(eps: float) -> float:
    """E|noise| of the unbounded staircase of sensitivity 1, by its series."""
    return _stairs_moment(eps, gamma_absolute(eps), 1)


def _stairs_moment(eps: float, gamma: float, power: int) -> float:
    b = math.exp(-eps)
    height = (1 - b) / (2 * (gamma + b * (1 - gamma)))
    total, k = 0.0, 0
    while b**k > 1e-18:
        first = ((k + gamma) ** (power + 1) - k ** (power + 1)) / (power + 1)
        second = ((k + 1) ** (power + 1) - (k + gamma) ** (power + 1)) / (power + 1)
        total += 2 * height * (b**k * first + b ** (k + 1) * second)
        k += 1
    return total


def _mean_at_upper_end(inputs: Inputs) -> float:
    cells = Cells.line(inputs["L"], inputs["U"], 2001)
    known = error_profile(BOUNDED_LAPLACE.build(cells, inputs["eps"]), cells)
    return float(known.bias[-1] + inputs["U"])


def _warner_estimate(inputs: Inputs) -> float:
    yes = round(inputs["r"] * 10_000)
    made = estimate_names(
        "q", ("no", "yes"), WARNER.build(Cells(size=2), math.log(3)), np.array([10_000 - yes, yes]), False, 0.95
    )
    assert made.frequencies is not None
    return made.frequencies["yes"].estimate


LINE = Cells.line(-1, 1, 2001)


def _straight_variances(table: MechanismTable) -> np.ndarray:
    """The variances of the straight-line estimator of x, for each x: that of the papers, scaled to the grid."""
    channel, values = table.channel(), np.asarray(LINE.values)
    linear = direct(channel, values)
    assert linear is not None
    assert np.ptp(np.diff(linear.values)) < 1e-6  # a straight line in the answers
    return linear.variance(channel)


def _piecewise_at_the_end(inputs: Inputs) -> float:
    return float(_straight_variances(PIECEWISE.build(LINE, inputs["eps"]))[-1])


def _hybrid_worst(inputs: Inputs) -> float:
    return float(_straight_variances(HYBRID.build(LINE, inputs["eps"])).max())


def _duchi_in_the_middle(inputs: Inputs) -> float:
    return float(_straight_variances(DUCHI.build(LINE, inputs["eps"]))[1000])


def _least_size_where_oue_wins(inputs: Inputs) -> float:
    """The k at which the variances of a rare value's frequency are equal, from those of two tables about it."""
    eps = inputs["eps"]
    of_oue = variance(OUE.build(2, eps), 0.0)
    sizes = [int(inputs.get("k", 3 * math.exp(eps) + 2)) + step for step in (0, 1)]
    of_grr = [_grr_other_variance({"eps": eps, "k": k}) for k in sizes]
    return sizes[0] + (of_oue - of_grr[0]) / (of_grr[1] - of_grr[0])


def _unary_variance(inputs: Inputs) -> float:
    return variance(OUE.build(9, inputs["eps"]), inputs["f"]) / inputs["n"]


def _exponential(at: int) -> Callable[[Inputs], float]:
    return lambda i: float(textbook(i["u"], i["eps"], i["sens"])[at])


FUNCTIONS: dict[str, tuple[Callable[[Inputs], float], float]] = {
    # name → (what the program computes, tolerance beside the golden one: a table of cells is not the line)
    "grr_p": (_grr_p, 0.0),
    "grr_nvar_f0": (_grr_other_variance, 1e-9),
    "grr_var": (_grr_variance, 0.0),
    "warner_eps": (lambda i: epsilon_of_truth(i["p_truth"]), 0.0),
    "warner_estimate": (_warner_estimate, 1e-9),
    "warner_var": (lambda i: 4 * (0.25 + i["pi"] / 2) * (0.75 - i["pi"] / 2) / i["N"], 0.0),
    "ldp_bounded_laplace_rejection_true_eps": (_laplace_true_epsilon, 1e-7),
    "central_bounded_laplace_naive_true_eps": (_laplace_naive_epsilon, 2e-2),
    "ldp_bounded_staircase_rejection_true_eps": (lambda i: true_epsilon(i["eps_nominal"]), 0.0),
    "ldp_bounded_staircase_corrected_nominal_eps": (lambda i: nominal_epsilon(i["eps_target"]), 0.0),
    "staircase_gamma_L1": (lambda i: gamma_absolute(i["eps"]), 0.0),
    "staircase_gamma_L2": (lambda i: gamma_variance(i["eps"]), 0.0),
    "staircase_min_E_abs": (lambda i: _stairs_mean_absolute(i["eps"]), 0.0),
    "staircase_min_variance": (lambda i: _stairs_moment(i["eps"], gamma_variance(i["eps"]), 2), 0.0),
    "bounded_laplace_rejection_mean_at_x1": (_mean_at_upper_end, 1e-3),
    "duchi_var_x0": (lambda i: duchi_sd(i["eps"]) ** 2, 0.0),
    "pm_var_x1": (_piecewise_at_the_end, 2e-3),
    "hm_worst_var": (_hybrid_worst, 2e-3),
    "hm_eps_star": (lambda _: DUCHI_UPTO, 0.0),
    "square_wave_b": (lambda i: half_wave(i["eps"]), 0.0),
    "oue_q": (lambda i: OUE.build(2, i["eps"]).other, 0.0),
    "oue_nvar_f0": (lambda i: variance(OUE.build(2, i["eps"]), 0.0), 0.0),
    "oue_var": (_unary_variance, 0.0),
    "sue_p": (lambda i: SUE.build(2, i["eps"]).own, 0.0),
    "sue_nvar_f0": (lambda i: variance(SUE.build(2, i["eps"]), 0.0), 0.0),
    "olh_optimal_g": (lambda i: best_cells(i["eps"]), 0.0),
    "grr_better_than_oue_iff_k_below": (_least_size_where_oue_wins, 1e-9),
    **{f"exponential_mech_p{at}": (_exponential(at), 0.0) for at in range(3)},
}


def test_every_golden_value_of_a_local_mechanism_is_met(golden_entries: list[dict[str, Any]]) -> None:
    met = 0
    for entry in golden_entries:
        if entry["name"] not in FUNCTIONS:
            continue
        if entry["name"].startswith("central_") and entry["inputs"]["U"] / entry["inputs"]["scale"] > 100:
            continue  # the grid of 2,001 cells is too coarse for a scale below a hundredth of the range
        compute, slack = FUNCTIONS[entry["name"]]
        tolerance = max(entry["tolerance"], slack * max(1.0, abs(entry["value"])))
        assert compute(entry["inputs"]) == pytest.approx(entry["value"], abs=tolerance), entry
        met += 1
    assert met >= 80, met
    assert set(FUNCTIONS) <= {e["name"] for e in golden_entries}


def test_duchis_table_has_the_variance_of_the_closed_form() -> None:
    for eps in (0.5, 1.0, 2.0):
        assert _duchi_in_the_middle({"eps": eps}) == pytest.approx(duchi_sd(eps) ** 2, rel=1e-9)
