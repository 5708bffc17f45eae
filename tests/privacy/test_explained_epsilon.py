"""Every number of an explanation follows from ε and δ; the guided choice and the published values are in order."""

import itertools
import math
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.params import ParameterError
from workbench.privacy.accounting.accountant import event_of, loss
from workbench.privacy.accounting.budget_calculators import solve
from workbench.privacy.accounting.epsilon_curve import EpsilonCurve
from workbench.privacy.accounting.event import PoissonGaussian
from workbench.privacy.accounting.posterior import DELTA_NOTE, posterior
from workbench.privacy.explain.deployments import DEPLOYMENTS, published_between
from workbench.privacy.explain.guide import QUESTIONS, advice
from workbench.privacy.explain.sections import PRIORS, Section, factor, percent, sections, small


def named(epsilon: float, delta: float = 0.0) -> dict[str, Section]:
    return {section.name: section for section in sections(epsilon, delta)}


def share(text: str) -> float:
    return float(text.removesuffix(" %").removesuffix("%")) / 100


def test_the_belief_table_is_bayes_rule():
    table = named(1.3)["belief"].table
    assert table is not None
    for prior, line in zip(PRIORS, table.rows, strict=True):
        odds = prior / (1 - prior)
        low, high = odds * math.exp(-1.3), odds * math.exp(1.3)
        assert share(line[1]) == pytest.approx(low / (1 + low), rel=5e-3)
        assert share(line[2]) == pytest.approx(high / (1 + high), rel=5e-3)


def test_the_best_guess_is_that_of_the_worst_mechanism():
    """Kairouz, Oh and Viswanath's mechanism attains (ε, δ): its best test is right as often as the text says."""
    epsilon, delta = 0.8, 0.05
    keep = (1 - delta) * math.exp(epsilon) / (1 + math.exp(epsilon))
    yes = np.array([delta, keep, 1 - delta - keep, 0.0])
    no = yes[::-1]
    right = np.maximum(yes, no).sum() / 2
    assert f"is right in at most {percent(right)} of such games" in named(epsilon, delta)["belief"].text[2]


def test_a_belief_about_a_fact_is_referred_to_the_replace_one_figure():
    """A row in place of another is two steps of zero-out: of a central release they may cost twice the ε."""
    assert (
        "enter the replace-one ε from the certificate here, which is at most twice as large"
        in named(1.0)["belief"].text[3]
    )


def test_the_insurer_pays_by_e_to_the_epsilon():
    assert "you pay at most 2,718 on average: e^ε = 2.718 times" in named(1.0)["insurance"].text[0]
    assert "δ times the highest possible premium" in named(1.0, 1e-6)["insurance"].text[0]
    assert "δ" not in named(1.0)["insurance"].text[0]


def test_a_row_in_each_release_with_probability_one_over_n_is_out_in_63_percent():
    for rows in (1000, 10**6):
        assert f"{100 * (1 - (1 - 1 / rows) ** rows):.0f} %" in named(1.0)["delta"].text[2]


def test_several_releases_and_several_rows_are_counted():
    several, group = named(0.5, 1e-7)["composition"].table, named(0.5, 1e-7)["group"].table
    assert several is not None
    assert group is not None
    assert [line[1] for line in several.rows] == ["0.5, δ = 1e-7", "1, δ = 2e-7", "2.5, δ = 5e-7", "5, δ = 1e-6"]
    k, fails = 5, 5 * math.exp(4 * 0.5) * 1e-7
    assert group.rows[2][:2] == ("5", f"{k * 0.5:g}, δ = {small(fails)}")


@pytest.mark.parametrize("epsilon", [0.0, 1e-6, 0.1, 1.0, 3.0, 20.0, 1000.0])
def test_any_epsilon_is_explained_without_a_false_certainty(epsilon):
    told = "\n".join(
        "\n".join((*s.text, *(" ".join(r) for r in s.table.rows if s.table))) if s.table else "\n".join(s.text)
        for s in sections(epsilon)
    )
    assert "inf" not in told.replace("information", "")
    assert "nan" not in told
    if epsilon:
        assert "100%" not in told


def test_numbers_are_written_as_people_read_them():
    assert (factor(1.0), factor(9.21), factor(12.0), factor(20.0)) == ("2.718", "9,997", "162,755", "10^8.7")
    assert (small(1e-6), small(0.25), small(5.4366e-6)) == ("1e-6", "0.25", "5.44e-6")


@pytest.mark.parametrize(("epsilon", "delta"), [(-1.0, 0.0), (math.nan, 0.0), (1001.0, 0.0), (1.0, 1.0), (1.0, -0.1)])
def test_what_is_no_guarantee_is_not_explained(epsilon, delta):
    with pytest.raises(ParameterError):
        sections(epsilon, delta)


def test_every_choice_leads_to_a_range_and_a_careful_answer_never_to_a_higher_one():
    for answers in itertools.product(*([a.name for a in q.answers] for q in QUESTIONS)):
        found = advice(*answers)
        assert 0 < found.low <= found.high <= 10
        for place, question in enumerate(QUESTIONS):
            careful = list(answers)
            careful[place] = question.answers[0].name
            assert advice(*careful).high <= found.high


def test_published_values_ascend_and_each_has_a_source():
    assert [d.low for d in DEPLOYMENTS] == sorted(d.low for d in DEPLOYMENTS)
    assert all(d.source and d.unit and d.low <= d.high and d.trust in ("central", "local") for d in DEPLOYMENTS)
    assert published_between(3, 10) == tuple(d for d in DEPLOYMENTS if d.what.startswith(("RAPPOR", "emoji")))


def test_the_rappor_values_are_those_of_its_parameters():
    f, p, q, hashes = 0.5, 0.5, 0.75, 2
    permanent = 2 * hashes * math.log((1 - f / 2) / (f / 2))
    high, low = f * (p + q) / 2 + (1 - f) * q, f * (p + q) / 2 + (1 - f) * p
    once = hashes * math.log(high * (1 - low) / (low * (1 - high)))
    rappor = next(d for d in DEPLOYMENTS if d.what.startswith("RAPPOR"))
    assert (rappor.low, rappor.high) == (round(once, 2), round(permanent, 2))


# -- Bounds on what an observer can come to believe -------------------------------------------------------------------


def test_posterior_bounds_are_the_golden_ones(golden):
    entries = golden["posterior_upper"]
    assert len(entries) >= 7
    for entry in entries:
        belief = posterior(entry["inputs"]["eps"], entry["inputs"]["prior"])
        assert belief.high == pytest.approx(entry["value"], abs=entry["tolerance"])


def test_total_variation_is_the_golden_one(golden):
    (entry,) = golden["tv_bound_eps_dp"]
    even = posterior(entry["inputs"]["eps"], 0.5)  # right less wrong, of the best guess
    assert even.high - even.low == pytest.approx(entry["value"], abs=entry["tolerance"])


@given(epsilon=st.floats(0, 2000), prior=st.floats(0, 1))
def test_bounds_enclose_the_prior(epsilon, prior):
    belief = posterior(epsilon, prior)
    assert 0 <= belief.low <= prior * (1 + 1e-15)
    assert prior * (1 - 1e-15) <= belief.high <= 1


@given(epsilon=st.floats(0, 30), prior=st.floats(1e-6, 1 - 1e-6))
def test_the_odds_move_by_e_to_the_epsilon(epsilon, prior):
    belief = posterior(epsilon, prior)
    odds = prior / (1 - prior)
    assert belief.low / (1 - belief.low) == pytest.approx(odds * math.exp(-epsilon), rel=1e-6)
    doubt = posterior(epsilon, 1 - prior)
    assert belief.high == pytest.approx(1 - doubt.low, abs=1e-9), "the doubt falls as far as the belief rises"


def test_certainty_and_zero_epsilon_do_not_move():
    assert (posterior(3.0, 0.0).high, posterior(3.0, 1.0).low) == (0.0, 1.0)
    assert posterior(0.0, 0.3).low == posterior(0.0, 0.3).high == pytest.approx(0.3)


@pytest.mark.parametrize(("epsilon", "prior"), [(-1, 0.5), (math.nan, 0.5), (math.inf, 0.5), (1, -0.1), (1, math.nan)])
def test_impossible_beliefs_are_refused(epsilon, prior):
    with pytest.raises(ParameterError):
        posterior(epsilon, prior)


def test_the_note_says_that_delta_can_break_the_bounds():
    assert "δ > 0" in DELTA_NOTE


# -- One figure of a training run from the others; and an ε for each of a million steps -------------------------------


GIVEN = {"rows": 60_000, "delta": 1e-5}


def test_epsilon_is_the_accountants():
    found = solve(**GIVEN, sigma=1.0, epochs=15, batch=64)
    assert found.epsilon == pytest.approx(0.6111, abs=2e-3)


@pytest.mark.parametrize("accountant", ["rdp", "rdp-classic"])
@pytest.mark.parametrize("missing", ["sigma", "epochs", "batch"])
def test_what_is_found_fits_epsilon_and_one_percent_more_does_not(missing, accountant):
    asked = {"epsilon": 1.5, "sigma": 1.0, "epochs": 15, "batch": 64}
    asked[missing] = None
    found = solve(**GIVEN, **asked, accountant=accountant)
    assert found.epsilon <= 1.5
    more = {
        "sigma": (found.batch, found.epochs, found.sigma / 1.01),
        "epochs": (found.batch, int(found.epochs * 1.01) + 1, found.sigma),
        "batch": (int(found.batch * 1.01) + 2, found.epochs, found.sigma),
    }[missing]
    batch, epochs, sigma = more
    assert loss(event_of(60_000, batch, epochs, sigma), 1e-5, accountant).epsilon > 1.5


def test_the_tightest_accountant_finds_at_least_as_many_epochs():
    by_pld = solve(rows=1000, delta=1e-4, epsilon=2.0, sigma=2.0, batch=100)
    by_rdp = solve(rows=1000, delta=1e-4, epsilon=2.0, sigma=2.0, batch=100, accountant="rdp")
    assert by_pld.epsilon <= 2.0
    assert by_pld.epochs > by_rdp.epochs


def test_exactly_one_figure_has_to_be_open():
    with pytest.raises(ParameterError, match="2 of epsilon"):
        solve(**GIVEN, sigma=1.0, epochs=15)
    with pytest.raises(ParameterError, match="0 of epsilon"):
        solve(**GIVEN, sigma=1.0, epochs=15, batch=64, epsilon=1.0)
    with pytest.raises(ParameterError, match="even one epoch"):
        solve(**GIVEN, epsilon=1e-5, sigma=0.5, batch=600)


@pytest.mark.slow
def test_a_million_steps_within_ten_seconds_and_ten_microseconds_a_lookup():
    run = PoissonGaussian(0.001, 1.2, 10**6)
    start = time.process_time()  # of this process alone: the machine may have other work
    curve = EpsilonCurve.build(run, 1e-6)
    assert time.process_time() - start < 10
    start = time.process_time()
    for step in range(1, 10**6, 10):
        curve.at(step)
    assert (time.process_time() - start) / 10**5 < 1e-5


@pytest.mark.slow
def test_a_lookup_never_reports_less_than_the_truth():
    run = PoissonGaussian(0.001, 1.2, 10**6)
    curve = EpsilonCurve.build(run, 1e-6)
    for step in (1, 2, 17, 999, 12_345, 250_000, 777_777, 999_999):
        truth = loss(PoissonGaussian(0.001, 1.2, step), 1e-6).epsilon
        # The truth is itself an upper bound, by a finer grid: the curve may be below it by the grids' difference alone.
        assert curve.at(step) >= truth * (1 - 1e-3), step
