"""What a generalised table still reveals: the six-row example, by hand."""

import dataclasses
import itertools
import math

import pytest

from workbench.data.samples.sample_tables import sample_table
from workbench.params import InputError, ParameterError
from workbench.risk.generalise.failures import failures
from workbench.risk.generalise.generalised import Generalised, Method, generalise
from workbench.risk.generalise.models import Closeness, DistinctDiversity, KAnonymity
from workbench.risk.generalise.problem import Asked
from workbench.risk.hierarchies.builders import made, way_of

ASKED = Asked(("age", "town"), ("diagnosis",))


def clinic(*models: KAnonymity | DistinctDiversity | Closeness, method: Method | None = None) -> Generalised:
    table = sample_table("clinic")
    ages = way_of("age=intervals:widths=20;lowest=40;highest=60")[1]
    levels = {"age": made(table, "age", ages), "town": made(table, "town")}
    return generalise(table, ASKED, levels, models, method)


def test_the_six_rows_at_k_2_are_as_in_the_text_book():
    found = clinic(KAnonymity(k=2))
    assert found.levels == {"age": 1, "town": 0}
    assert (found.k, found.outcome.suppressed) == (2, 0)
    rows = [tuple(row) for row in found.frame().iter_rows()]
    assert rows == [
        ("<40", "Arden", "asthma"),
        ("<40", "Arden", "flu"),
        ("40-59", "Brask", "flu"),
        ("40-59", "Brask", "diabetes"),
        (">=60", "Arden", "cancer"),
        (">=60", "Arden", "cancer"),
    ]
    # Two of six values share a label in age, in none of town: (1/5 + 0) / 2. Three classes of 2: 3 · 2².
    assert found.losses["granularity"] == pytest.approx(0.1)
    assert (found.losses["discernibility"], found.losses["class-size"]) == (12, 2)


def test_each_failure_is_found_with_what_epsilon_would_allow():
    homogeneity, background, composition = failures(clinic(KAnonymity(k=2)), epsilon=1.0)
    assert (homogeneity.rows, homogeneity.example, homogeneity.value) == (2, (">=60", "Arden"), "cancer")
    # 1/3 against e times 1/3: e/3 / (e/3 + 2/3)
    assert homogeneity.allowed == pytest.approx(2.718281828 / (2.718281828 + 2))
    assert background.rows == 6
    assert composition.rows >= 1
    assert composition.epsilon == 2.0
    assert "57.6 %" in homogeneity.instead
    assert "cancer" in homogeneity.sentence


def test_what_an_attacker_gets_from_the_same_rows_with_epsilon():
    homogeneity, background, composition = failures(clinic(KAnonymity(k=2)), epsilon=1.0)
    # Four values: p = e/(e + 3), q = 1/(e + 3). Cancer and flu have 1/3 of the rows, asthma and diabetes 1/6.
    p, q = 2.718281828 / 5.718281828, 1 / 5.718281828
    flu, rare = (q / 3) / (p / 3 + 2 * q / 3), (q / 3) / (p / 6 + 5 * q / 6)
    assert homogeneity.believed == pytest.approx(p * homogeneity.allowed + q * (flu + 2 * rare))
    assert homogeneity.reached.endswith("would believe a true “cancer” with probability 40.2 % on average.")
    rare_prior = dataclasses.replace(homogeneity, prior=1 / 1983).instead
    assert "a belief of 0.05 % in" in rare_prior  # 0.1 % would be twice that
    # Asthma is published beside flu alone. Without flu it has 1/4 of the rows, cancer 1/2, diabetes 1/4, and each
    # answer is asthma or diabetes with 1/4, cancer with (p + q)/2, flu with q.
    assert (background.value, background.ruled_out, background.prior) == ("asthma", "flu", 0.25)
    assert background.allowed == pytest.approx(2.718281828 / 5.718281828)
    assert background.believed == pytest.approx(p * p + q * (q + q / 4 / ((p + q) / 2) + 0.25))
    # Two answers, 16 pairs: the belief in each, weighed by how often it comes.
    shares = {"cancer": 1 / 3, "flu": 1 / 3, "asthma": 1 / 6, "diabetes": 1 / 6}
    assert composition.value in {"asthma", "diabetes"}
    believed = 0.0
    for pair in itertools.product(shares, repeat=2):
        joint = {v: shares[v] * math.prod(p if answer == v else q for answer in pair) for v in shares}
        believed += joint["asthma"] / shares["asthma"] * joint["asthma"] / sum(joint.values())
    assert composition.believed == pytest.approx(believed)
    for failure in (homogeneity, background, composition):
        assert failure.prior < failure.believed < failure.allowed < 1


def test_of_two_values_it_is_no_news_that_one_follows_from_the_other():
    table = sample_table("clinic")
    found = generalise(table, Asked(("age",), ("town",)), {"age": made(table, "age")}, (KAnonymity(k=2),))
    assert "background" not in [failure.name for failure in failures(found)]


def test_diversity_closes_homogeneity_at_a_loss():
    found = clinic(KAnonymity(k=2), DistinctDiversity(l=2))
    homogeneity = failures(found)[0]
    assert homogeneity.rows == 0
    assert "No class" in homogeneity.sentence
    assert found.losses["granularity"] > clinic(KAnonymity(k=2)).losses["granularity"]


def test_what_is_missing_is_said():
    with pytest.raises(ParameterError, match="no privacy model"):
        clinic()
    with pytest.raises(ParameterError, match="sensitive"):
        generalise(sample_table("clinic"), Asked(("age",)), {}, (DistinctDiversity(l=2),))
    with pytest.raises(InputError, match="the column age has no hierarchy"):
        generalise(sample_table("clinic"), Asked(("age",)), {}, (KAnonymity(k=2),))
    with pytest.raises(InputError, match="no generalisation"):
        clinic(KAnonymity(k=7))
