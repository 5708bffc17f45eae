"""The most frequent value: exact chances within e^ε of a neighbour's, right as often as is said, released, verified."""

import itertools
import json
import math
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from asks import released_ask
from statistics_cases import asks, people, plan_of

from workbench.cli.main import main
from workbench.params import ParameterError
from workbench.privacy.central.central_noise import CentralNoise
from workbench.privacy.central.exponential import clear_lead, noisy_max, noisy_max_weights
from workbench.privacy.central.laplace import ReleasedNoise, StudyNoise
from workbench.release.certificate import certificate_path
from workbench.release.ledger.ledger import Ledger
from workbench.release.release_path import destination, prepare, release_prepared
from workbench.release.statistics.statistics_work import statistics_work
from workbench.release.verification import verify_any
from workbench.statistics.figures import figures_of
from workbench.statistics.forecast import forecast
from workbench.statistics.queries import queries_of
from workbench.statistics.release_file import FORMATS

CITY = asks({"statistic": "mode", "column": "city"})


def chances(scores: tuple[int, ...], epsilon: float) -> list[Fraction]:
    """The exact chance of each choice, from every set that may be accepted."""
    weights = noisy_max_weights(scores, 1, epsilon)
    accepts = [Fraction(w, max(weights)) for w in weights]
    found = [Fraction(0)] * len(scores)
    for taken in itertools.product((False, True), repeat=len(scores)):
        chance = math.prod((p if yes else 1 - p for p, yes in zip(accepts, taken, strict=True)), start=Fraction(1))
        for place, yes in enumerate(taken):
            if yes:
                found[place] += chance / sum(taken)
    return found


@pytest.mark.parametrize("epsilon", [0.05, 0.7, 3.0])
def test_emptying_any_row_changes_no_chance_by_more_than_a_factor_of_e_to_the_epsilon(epsilon):
    most = Fraction(math.exp(epsilon))
    worst = Fraction(0)
    for scores in itertools.product(range(4), repeat=3):
        own = chances(scores, epsilon)
        assert sum(own) == 1
        for place in range(3):
            other = chances((*scores[:place], scores[place] + 1, *scores[place + 1 :]), epsilon)
            worst = max(worst, *(max(a / b, b / a) for a, b in zip(own, other, strict=True)))
    assert worst <= most
    assert float(worst) > 1 + 0.5 * math.expm1(epsilon)  # the budget is used


def test_a_count_beyond_any_other_and_many_values_are_drawn_exactly():
    far = chances((0, 10**6, 10**6 - 1), 1.0)
    assert far[1] > far[2] > Fraction(1, 6) > far[0] > 0
    assert noisy_max([5] * 3 + [10**9], 1, 1.0, ReleasedNoise()) == 3


def test_draws_have_the_exact_chances():
    scores, drawn = (7, 6, 4, 0), 12_000
    noise = StudyNoise(np.random.default_rng(3))
    counts = np.bincount([noisy_max(scores, 1, 0.5, noise) for _ in range(drawn)], minlength=4)
    for count, chance in zip(counts, chances(scores, 0.5), strict=True):
        p = float(chance)
        assert abs(count / drawn - p) < 5.5 * math.sqrt(p * (1 - p) / drawn) + 1e-9


@pytest.mark.parametrize(("word", "rest", "kept"), [(-1, 0, True), (0, -1, True), (0, 0, False), (1, -1, False)])
def test_a_word_that_ties_with_the_chance_is_decided_by_what_is_left_of_it(word, rest, kept):
    weight, top = noisy_max_weights([2, 3], 1, 0.5)
    tie, left = divmod(weight << 64, top)
    below = iter([*([left + rest] if word == 0 else []), 0])
    words = np.array([tie + word, 0], np.uint64)
    noise = SimpleNamespace(words=lambda count: words, below=lambda total: next(below))
    assert noisy_max([2, 3], 1, 0.5, cast("CentralNoise", noise)) == 1 - kept


@pytest.mark.parametrize("off", [0, 1, 1 << 16, 1 << 23, 1 << 25, 1 << 40, 1 << 52])
def test_doubles_decide_as_the_exact_chances_do(off):
    generator = np.random.default_rng(7)
    for epsilon in (0.01, 0.3, 2.0, 40.0):
        scores = [int(s) for s in generator.integers(0, 200, 300)]
        weights = noisy_max_weights(scores, 1, epsilon)
        firsts = [(weight << 64) // max(weights) for weight in weights]
        words = [
            min(max(f + off * int(s), 0), 2**64 - 1)
            for f, s in zip(firsts, generator.choice([-1, 1], 300), strict=True)
        ]
        right = [word < first for word, first in zip(words, firsts, strict=True)]
        asked = []

        def below(total: int, asked: list[int] = asked) -> int:
            asked.append(total)
            return total - 1

        noise = SimpleNamespace(words=lambda count, words=words: np.array(words, np.uint64), below=below)
        last = noisy_max(scores, 1, epsilon, cast("CentralNoise", noise))
        assert (asked[-1], last) == (sum(right), max(place for place, kept in enumerate(right) if kept))


@pytest.mark.parametrize(("choices", "epsilon"), [(2, 0.1), (3, 1.0), (6, 0.4), (6, 8.0)])
def test_a_lead_as_forecast_is_told_apart_with_95_percent_and_one_row_less_is_not(choices, epsilon):
    lead = clear_lead(choices, epsilon)
    assert float(chances((lead, *[0] * (choices - 1)), epsilon)[0]) >= 0.95
    assert float(chances((lead - 1, *[0] * (choices - 1)), epsilon)[0]) < 0.95
    assert clear_lead(1, epsilon) == 0


def test_what_is_forecast_is_what_the_figure_says_and_groups_cost_one_share():
    plan, table = plan_of(), people(400)
    asked = asks({"statistic": "mode", "column": "city"}, {"statistic": "mode", "column": "city", "by": ("stars",)})
    queries = queries_of(asked.checked(plan), plan, 1.0, 400)
    assert sum((q.event.epsilon for q in queries), Decimal(0)) == 1
    assert [q.length for q in queries] == [1, 5]
    told = forecast(queries)
    assert [t.figures for t in told] == [1, 5]
    exact = queries[0].answer(plan.rows_of(table))
    (figure,) = figures_of(queries[0], queries[0].noisy(released_ask([queries[0].event]), exact))
    assert (figure.statistic, figure.value) == ("mode", "Graz")  # 280 of 400 rows
    assert figure.high == told[0].half_width - 1
    with pytest.raises(ParameterError, match="none of 3 values"):
        figures_of(queries[0], [3])


@pytest.mark.parametrize("delta", ["0", "1e-4"])
def test_a_mode_is_released_charged_verified_and_holds_no_count(tmp_path, delta):
    plan, table = plan_of(), people(300)
    to = destination(tmp_path / "mode.json", formats=FORMATS)
    work = statistics_work(CITY, plan, 1.0, 300, to.format, Decimal(delta))
    prepared = prepare(plan, table, to, work)
    with Ledger.open(tmp_path / "l.sqlite") as ledger:
        done = release_prepared(prepared, ledger)
    assert (done.epsilon_charged, done.delta_charged) == (1, Decimal(delta))
    (figure,) = json.loads((tmp_path / "mode.json").read_text("utf-8"))["figures"]
    assert figure["value"] == "Graz"
    assert verify_any(tmp_path / "mode.json") == []
    path = certificate_path(tmp_path / "mode.json")
    told = json.loads(path.read_text("utf-8"))
    assert told["method"]["noise"].startswith("report-noisy-max")
    assert list(told["method"]["answers"].values()) == ["0"]
    other = (tmp_path / "mode.json").read_text("utf-8").replace("Graz", "Linz")
    (tmp_path / "mode.json").write_text(other, "utf-8")
    assert verify_any(tmp_path / "mode.json") != []


def test_numbers_have_no_mode_and_the_command_releases_one(tmp_path, capsys):
    with pytest.raises(ParameterError, match="need a categorical column"):
        asks({"statistic": "mode", "column": "age"}).checked(plan_of())
    plan = tmp_path / "plan.toml"
    assert main(["plan", "sample:people", "--epsilon", "1", "-o", str(plan)]) == 0
    given = ["statistics", "--plan", str(plan), "--epsilon", "1", "--forecast", "--rows", "1000"]
    capsys.readouterr()
    assert main([*given, "--mode", "sex"]) == 0
    assert "right if it leads by" in capsys.readouterr().out
