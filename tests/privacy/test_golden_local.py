"""Golden values of local mechanisms: every entry whose subject exists."""

import ast
import itertools
import math
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import binom

from workbench.privacy import audit
from workbench.privacy.accounting.accountant import event_of, loss
from workbench.privacy.accounting.compose import total
from workbench.privacy.central.mechanisms.choice import exponential_chances
from workbench.privacy.central.share import discrete_laplace_variance
from workbench.privacy.local.cells import Cells
from workbench.privacy.local.error_profile import duchi_sd, error_profile
from workbench.privacy.local.frequency import OUE, SUE, variance
from workbench.privacy.local.frequency.olh import best_cells
from workbench.privacy.local.mechanism_table import MechanismTable
from workbench.privacy.local.mechanisms import BOUNDED_LAPLACE, DUCHI, GRR, HYBRID, PIECEWISE, WARNER
from workbench.privacy.local.mechanisms.hybrid import DUCHI_UPTO
from workbench.privacy.local.mechanisms.square_wave import half_wave
from workbench.privacy.local.mechanisms.staircase import gamma_absolute, gamma_variance, nominal_epsilon
from workbench.privacy.local.unbiased import direct
from workbench.privacy.rappor.parameters import RapporParameters
from workbench.rappor.decode import corrected
from workbench.rappor.files import Counts
from workbench.sanitize.estimates import estimate_names
from workbench.sanitize.plan import Column, Plan
from workbench.statistics.interval_widths import laplace_width

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


def _staircase_true_epsilon(inputs: Inputs) -> float:
    """Of a staircase of nominal ε that is redrawn into its interval."""
    nominal = inputs["eps_nominal"]
    found = nominal + math.log(2 - math.exp(-nominal / 2))
    assert nominal_epsilon(found) == pytest.approx(nominal, rel=1e-9)
    return found


def _laplace_naive_epsilon(inputs: Inputs) -> float:
    """Noise for a sensitivity below the range, on neighbours a sensitivity apart (the central use)."""
    cells = Cells.line(inputs["L"], inputs["U"], 2001)
    assert cells.values is not None
    rows = np.exp(-np.abs(cells.values[:, None] - cells.values[None, :]) / inputs["scale"])
    step = round(inputs["sensitivity"] / (cells.values[1] - cells.values[0]))
    rows /= rows.sum(axis=1, keepdims=True)
    return max(float(np.log(rows[i] / rows[i + step]).max()) for i in (0, (2001 - step) // 2, 2000 - step))


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
    return lambda i: exponential_chances(i["u"], i["eps"] / (2 * i["sens"]))[at]


FUNCTIONS: dict[str, tuple[Callable[[Inputs], float], float]] = {
    # name → (what the program computes, tolerance beside the golden one: a table of cells is not the line)
    "grr_p": (_grr_p, 0.0),
    "grr_nvar_f0": (_grr_other_variance, 1e-9),
    "grr_var": (_grr_variance, 0.0),
    "warner_eps": (lambda i: math.log(i["p_truth"] / (1 - i["p_truth"])), 0.0),
    "warner_estimate": (_warner_estimate, 1e-9),
    "warner_var": (lambda i: 4 * (0.25 + i["pi"] / 2) * (0.75 - i["pi"] / 2) / i["N"], 0.0),
    "ldp_bounded_laplace_rejection_true_eps": (_laplace_true_epsilon, 1e-7),
    "central_bounded_laplace_naive_true_eps": (_laplace_naive_epsilon, 2e-2),
    "ldp_bounded_staircase_rejection_true_eps": (_staircase_true_epsilon, 0.0),
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


def test_every_golden_value_of_a_local_mechanism_is_met(golden_entries):
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


def test_duchis_table_has_the_variance_of_the_closed_form():
    for eps in (0.5, 1.0, 2.0):
        assert _duchi_in_the_middle({"eps": eps}) == pytest.approx(duchi_sd(eps) ** 2, rel=1e-9)


# -- The thesis's table of thirteen training runs on 102 kinds of flowers: 6,552 rows, δ = 1e-4 -----------------------


ROWS, DELTA = 6_552, 1e-4
PRINTED = [
    # batch, σ, epochs, ε as printed
    (64, 1.0, 150, 8.3),
    (64, 1.0, 143, 8.1),
    (64, 1.0, 125, 7.5),
    (64, 1.0, 120, 6.2),
    (64, 1.0, 105, 5.8),
    (32, 0.9, 97, 5.4),
    (64, 1.2, 105, 5.0),
    (64, 1.2, 102, 4.9),
    (32, 0.9, 95, 5.3),
    (32, 0.9, 77, 4.8),
    (64, 1.2, 95, 4.7),
    (32, 0.9, 60, 4.2),
    (64, 1.2, 69, 4.0),
]
MISPRINTED = {(64, 1.0, 120): (7.33, 6.18), (64, 1.0, 105): (6.81, 5.74)}
"""Two rows do not follow from the printed σ = 1: what it gives, and what σ = 1.1 would."""


def classic(batch: int, sigma: float, epochs: int) -> float:
    return loss(event_of(ROWS, batch, epochs, sigma), DELTA, "rdp-classic").epsilon


@pytest.mark.parametrize(("batch", "sigma", "epochs", "printed"), PRINTED)
def test_a_printed_epsilon_is_the_published_conversions(batch, sigma, epochs, printed):
    found = classic(batch, sigma, epochs)
    if (batch, sigma, epochs) not in MISPRINTED:
        assert found == pytest.approx(printed, abs=0.05 + 1e-9)
        return
    true, with_more_noise = MISPRINTED[batch, sigma, epochs]
    assert found == pytest.approx(true, abs=0.006)
    assert abs(found - printed) > 0.9
    assert classic(batch, 1.1, epochs) == pytest.approx(with_more_noise, abs=0.02)
    assert with_more_noise == pytest.approx(printed, abs=0.07)


@pytest.mark.slow
@pytest.mark.parametrize(("batch", "sigma", "epochs", "printed"), PRINTED)
def test_every_row_overstates_the_tightest_epsilon(batch, sigma, epochs, printed):
    by_pld = loss(event_of(ROWS, batch, epochs, sigma), DELTA, "pld").epsilon
    assert 1.22 <= classic(batch, sigma, epochs) / by_pld <= 1.30


# -- Golden values of selection, sensitivities and classroom recipes, and the rule that no golden value is left out


TESTS = Path(__file__).resolve().parents[1]


def costs(*epsilons: float | str) -> float:
    """Return what the ledger charges for answers of these costs about the same rows."""
    return float(total(Decimal(str(e)) for e in epsilons))


def mass(scale: float, at: float, width: float) -> float:
    """Return the chance that Laplace noise of ``scale`` at ``at`` stays within [0, width]."""
    return 1 - (math.exp(-at / scale) + math.exp(-(width - at) / scale)) / 2


def redrawn_epsilon(scale: float, sensitivity: float, width: float) -> float:
    """Return the true ε of Laplace noise redrawn until it is within [0, width] (Holohan et al. 2020)."""
    return sensitivity / scale + math.log(mass(scale, sensitivity, width) / mass(scale, 0.0, width))


def _right_scale(inputs: Inputs) -> float:
    width = 1e6 if inputs["diam"] == "inf" else float(inputs["diam"])
    wanted, sensitivity = float(inputs["eps"]), float(inputs["sensitivity"])
    return float(brentq(lambda b: redrawn_epsilon(b, sensitivity, width) - wanted, 0.02, 1e3, xtol=1e-13))


def _of_redrawing(inputs: Inputs) -> float:
    return redrawn_epsilon(inputs["scale"], inputs["sensitivity"], inputs["U"] - inputs["L"])


def _kept_at_once(at: int) -> Callable[[Inputs], float]:
    """The chance that the classroom's first draw is inside: read off the program's table, which never redraws."""

    def chance(inputs: Inputs) -> float:
        cells = Cells.line(0, 1, 1001)
        table = BOUNDED_LAPLACE.build(cells, inputs["eps"]).probabilities(slice(at, at + 1))[0]
        # A cell of the grid's width at the peak has the density ε/2 divided by that chance.
        return float(inputs["eps"] / 2 / 1000 / table[at])

    return chance


def _slides_staircase_mass(inputs: Inputs) -> float:
    """The mass of the slide's density: a on [0, γ) and a·b^j on [j + γ, j + 1 + γ), where a·b^(j+1) would make it 1."""
    b, gamma = math.exp(-inputs["eps"]), gamma_variance(inputs["eps"])
    height = (1 - b) / (2 * (gamma + b * (1 - gamma)))
    assert 2 * height * (gamma + b / (1 - b)) == pytest.approx(1)
    return 2 * height * (gamma + 1 / (1 - b))


def _permute_and_flip(at: int) -> Callable[[Inputs], float]:
    def chance(inputs: Inputs) -> float:
        top = max(inputs["u"])
        heads = [math.exp(inputs["eps"] * (u - top) / (2 * inputs["sens"])) for u in inputs["u"]]
        orders = list(itertools.permutations(range(len(heads))))
        return sum(heads[at] * math.prod(1 - heads[j] for j in o[: o.index(at)]) for o in orders) / len(orders)

    return chance


def zeros_and_ones(rows: int) -> list[np.ndarray]:
    """Return the tables of so many zeros and ones; the extremes of mean and variance are among them."""
    return [np.repeat([0.0, 1.0], [rows - k, k]) for k in range(rows + 1)]


def _moved(statistic: Callable[[np.ndarray], float], replaced: bool = False) -> Callable[[Inputs], float]:
    """The most that one more row, or another one, moves a statistic of values in [0, R]."""

    def most(inputs: Inputs) -> float:
        found = 0.0
        for table in zeros_and_ones(inputs["n"]):
            rest = table[1:] if replaced else table
            found = max(found, *(abs(statistic(np.append(rest, v)) - statistic(table)) for v in (0.0, 1.0)))
            if replaced:
                rest = table[:-1]
                found = max(found, *(abs(statistic(np.append(rest, v)) - statistic(table)) for v in (0.0, 1.0)))
        return found * float(inputs["R"])

    return most


def _laplace_variance(inputs: Inputs) -> float:
    steps = 10**6  # of the whole-number grid in the range [-1, 1]
    return discrete_laplace_variance(steps, inputs["eps"]) * (2 / steps) ** 2


def _vaidya(inputs: Inputs) -> float:
    each = inputs["eps_i"]
    whole = 2 * inputs["d_num"] * each + 1  # the prior's noise Laplace(0, 1) is worth ε = 1, whatever was asked for
    assert whole > (inputs["d_num"] + 1) * each
    return float(whole)


def _ones_before_the_noise(inputs: Inputs) -> float:
    parameters = RapporParameters(k=1, h=1, m=1, f=inputs["f"], p=inputs["p"], q=inputs["q"])
    return float(corrected(Counts(np.array([inputs["N"]]), np.array([[inputs["c"]]])), parameters)[0, 0])


def _three_counts(inputs: Inputs) -> float:
    return costs(*[inputs["eps_claimed"] / inputs["sens"]] * inputs["counts"])


def _swapped_budgets(inputs: Inputs) -> float:
    """What the peer's k-means spends of an iteration's ε: the part of the counts is used for each of d sums."""
    d = inputs["d"]
    counts = float(np.cbrt(4 * d * 0.225**2))  # the sums have 1 each
    return (1 + d * counts) / (d + counts)


def _peers_regression(inputs: Inputs) -> float:
    share = inputs["eps"] / (inputs["d"] + 1)
    return costs(share, share, inputs["eps"] - share)  # both means are paid from one share


def _toy_of_noisy_distances(inputs: Inputs) -> float:
    """One row moves all n distances by 1: inside the radius or outside of it by half, and counted n times."""
    n, needed = inputs["n"], inputs["minpts"]
    near, far = 1 - math.exp(-0.5 * inputs["eps"]) / 2, math.exp(-0.5 * inputs["eps"]) / 2
    return float(math.log(binom.sf(needed - 1, n, near) / binom.sf(needed - 1, n, far)))


def _indefinite(inputs: Inputs) -> float:
    """The share of noisy objectives of the slide's example that have no least point."""
    random, scale = np.random.default_rng(7), inputs["Delta"] / inputs["eps"]
    a, b, c = (value + random.laplace(0, scale, 2_000_000) for value in (3.0, 2.8, 2.06))
    return float(1 - np.mean((a > 0) & (a * c > b * b / 4)))


def _gini(sizes: tuple[int, int]) -> Fraction:
    whole = sum(sizes)
    return 1 - sum((Fraction(s, whole) ** 2 for s in sizes), Fraction(0)) if whole else Fraction(0)


def _gini_moved(weighted: bool, most: int) -> float:
    """The most that one more row moves the impurity of a leaf with two classes of up to ``most`` rows."""
    found = Fraction(0)
    for a, b in itertools.product(range(4), (*range(10), most)):
        before, after = (_gini(sizes) * (sum(sizes) if weighted else 1) for sizes in ((a, b), (a + 1, b)))
        found = max(found, abs(after - before))
    return float(found)


OTHER_FUNCTIONS: dict[str, tuple[Callable[[Inputs], float], float]] = {
    # name → (how the value is found, tolerance beside the golden one)
    "central_bounded_laplace_naive_true_eps": (_of_redrawing, 0.0),
    "holohan_scale_diam_eq_sens": (_right_scale, 0.0),
    "holohan_scale_diam_2sens": (_right_scale, 0.0),
    "holohan_scale_diam_inf": (_right_scale, 0.0),
    "staircase_slide_pdf_total_mass": (_slides_staircase_mass, 0.0),
    "rejection_accept_prob_edge": (_kept_at_once(0), 5e-3),
    "rejection_accept_prob_mid": (_kept_at_once(500), 5e-3),
    **{f"permute_and_flip_p{at}": (_permute_and_flip(at), 0.0) for at in range(3)},
    "laplace_var_range2": (_laplace_variance, 0.0),
    "laplace_95pct_halfwidth": (lambda i: laplace_width(((i["sensitivity"], 1),)) / i["eps"], 1e-6),
    "ldp_total_eps_seed002": (lambda i: float(nine_columns(i).row_epsilon()), 0.0),
    "clopper_pearson_lower": (lambda i: audit._bounds(i["k"], 0, i["n"], i["alpha"])[0], 0.0),
    "clopper_pearson_upper": (lambda i: audit._bounds(0, i["k"], i["n"], i["alpha"])[1], 0.0),
    "clopper_pearson_upper_zero": (lambda i: audit._bounds(0, i["k"], i["n"], i["alpha"])[1], 0.0),
    "mean_sens_add": (_moved(np.mean), 0.0),
    "popvar_sens_add": (_moved(np.var), 0.0),
    "popstd_sens_add": (_moved(np.std), 0.0),
    "popvar_sens_replace": (_moved(np.var, replaced=True), 0.0),
    "samplevar_sens_add": (_moved(lambda x: float(np.var(x, ddof=1))), 0.0),
    "variance_true_eps_with_slide_noise": (lambda i: i["R"] / (i["n"] + 1) * i["eps"], 0.0),
    "vaidya_alg1_total_eps": (_vaidya, 0.0),
    "kmeans_count_scale": (lambda i: 2 * i["t"] / i["eps"], 0.0),
    "kmeans_sum_scale": (lambda i: 2 * i["t"] * i["d"] * i["r"] / i["eps"], 0.0),
    "kmeans_sum_scale_if_centred_domain": (lambda i: 2 * i["t"] * i["d"] * (i["r"] / 2) / i["eps"], 0.0),
    "diffprivlib_0_6_6_kmeans_overspend_factor": (_swapped_budgets, 0.0),
    "diffprivlib_0_6_6_linreg_total_eps": (_peers_regression, 0.0),
    "best_of_k_laplace_true_eps": (lambda i: costs(*[i["eps"]] * i["k"]), 0.0),
    "rappor_decode_t": (_ones_before_the_noise, 0.0),
    "seed001_three_counts_true_eps": (_three_counts, 0.0),
    "dbscan_noisy_distance_toy_eps_lower": (_toy_of_noisy_distances, 0.0),
    "functional_mech_P_indefinite": (_indefinite, 0.0),
    # D_α with the exponent left out is ln E_Q[P/Q] / (α − 1) = ln 1: no distance at all.
    "renyi_div_as_printed": (lambda i: math.log(sum(q * (p / q) for p, q in ((0.9, 0.2), (0.1, 0.8)))), 1e-15),
    "gini_weighted_sensitivity": (lambda _: _gini_moved(weighted=True, most=10**14), 0.0),
    "gini_unweighted_sensitivity": (lambda _: _gini_moved(weighted=False, most=10**6), 0.0),
}


def nine_columns(inputs: Inputs) -> Plan:
    """Return a plan that gives each of its columns the classroom's ε."""
    each, count = float(inputs["eps_each"]), inputs["attributes"]
    columns = [Column(name=f"c{j}", kind="category", domain=("0", "1"), epsilon=each) for j in range(count)]
    return Plan(epsilon=each * count, columns=tuple(columns))


def test_every_other_golden_value_is_met(golden_entries):
    for entry in golden_entries:
        if entry["name"] in OTHER_FUNCTIONS:
            compute, slack = OTHER_FUNCTIONS[entry["name"]]
            tolerance = max(entry["tolerance"], slack * max(1.0, abs(entry["value"])))
            assert compute(entry["inputs"]) == pytest.approx(entry["value"], abs=tolerance), entry
    assert set(OTHER_FUNCTIONS) <= {e["name"] for e in golden_entries}


def test_permute_and_flip_is_never_worse_than_the_exponential_mechanism():
    for scores in ([3, 2, 0], [0, 0, 0, 0], [5, 4, 4, 1]):
        inputs = {"u": scores, "eps": 1.0, "sens": 1.0}
        flipped = [_permute_and_flip(at)(inputs) for at in range(len(scores))]
        assert sum(flipped) == pytest.approx(1)
        assert np.dot(flipped, scores) >= np.dot(exponential_chances(scores, 0.5), scores) - 1e-12


def literals(tree: ast.AST) -> Iterator[str]:
    """Yield every text of a module as a pattern; what an f-string fills in may be anything."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield re.escape(node.value)
        elif isinstance(node, ast.JoinedStr):
            parts = [re.escape(v.value) if isinstance(v, ast.Constant) else ".+" for v in node.values]
            if any(len(part) > 5 for part in parts):
                yield "".join(str(part) for part in parts)


def unasserted(names: set[str], folder: Path) -> set[str]:
    """Return the names that stand in no test module that reads the golden values."""
    left = set(names)
    for file in sorted(folder.rglob("test_*.py")):
        text = file.read_text("utf-8")
        if "golden" in text:
            patterns = [re.compile(pattern) for pattern in set(literals(ast.parse(text)))]
            left -= {name for name in left if any(pattern.fullmatch(name) for pattern in patterns)}
    return left


def test_no_golden_value_is_left_out(golden_entries):
    assert unasserted({entry["name"] for entry in golden_entries}, TESTS) == set()


def test_a_golden_value_without_a_test_is_found(tmp_path):
    (tmp_path / "test_some.py").write_text('golden = ("a_known_value", f"a_family_{1}")\n', "utf-8")
    (tmp_path / "test_other.py").write_text('names = ("stands_elsewhere",)\n', "utf-8")
    names = {"a_known_value", "a_family_q*", "stands_elsewhere", "never_heard_of"}
    assert unasserted(names, tmp_path) == {"stands_elsewhere", "never_heard_of"}
