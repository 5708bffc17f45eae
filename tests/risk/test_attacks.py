"""Attacks on released tables: what they find, how sure that is, and that what ε allows is a bound."""

import dataclasses
import importlib
import itertools
import math
import pkgutil
from collections.abc import Mapping

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.data.table import Table
from workbench.params import InputError, ParameterError
from workbench.risk import attacks
from workbench.risk.attacks import singling_out, traces
from workbench.risk.attacks.base import Subject
from workbench.risk.attacks.bound import NOTHING, Guarantee, most, most_of_coin
from workbench.risk.attacks.common_columns import common_columns, written_as
from workbench.risk.attacks.outcome import Outcome, Rate, beyond, bounded
from workbench.risk.attacks.reconstruction import solved
from workbench.signals.cancel import CancelToken
from workbench.signals.events import ignore

ALPHA = 1e-7
"""Chance that one of the statistical statements below is wrong by accident; a test makes at most ten."""

THREE = ("singling-out", "linkability", "inference")


def table(columns: Mapping[str, object]) -> Table:
    frame = pl.DataFrame({name: np.asarray(values).astype(str) for name, values in columns.items()})
    return Table(frame, "t.csv")


def people(rng: np.random.Generator, rows: int = 800) -> Table:
    age, level = rng.integers(18, 90, rows), rng.integers(0, 3, rows)
    return table(
        {
            "age": age,
            "town": rng.choice(list("abcdefgh"), rows),
            "income": np.round(rng.lognormal(10, 0.5, rows) + 100 * age),
            "size": rng.integers(150, 200, rows),
            "level": level,
            "ill": np.where(rng.random(rows) < 0.2 + 0.2 * level, "yes", "no"),
        }
    )


def run(
    name: str, release: Table, guarantee: Guarantee = NOTHING, *, of: Mapping[str, Table], **asked: object
) -> Outcome:
    chosen = attacks.attack(name)
    return chosen.run(Subject(guarantee, release, None, of), chosen.asked()(**asked), ignore, CancelToken())


def surely(rate: Rate | None) -> Rate:
    """The same count with an interval that is wrong with chance ALPHA."""
    assert rate is not None
    assert rate.count is not None
    assert rate.of is not None
    return Rate.counted(rate.count, rate.of, 1 - ALPHA)


# -- shares, risk, bound -----------------------------------------------------------------------------------------------


def test_the_interval_of_a_share_is_wilsons():
    found = Rate.counted(5, 10)
    assert (found.value, round(found.low, 4), round(found.high, 4)) == (0.5, 0.2366, 0.7634)
    assert Rate.counted(0, 50).low == 0.0
    assert Rate.counted(50, 50).high == 1.0
    assert Rate.counted(0, 0) == Rate(0.0, 0.0, 1.0, 0, 0)


def test_the_risk_is_what_a_control_set_leaves():
    assert beyond(Rate.known(0.6), Rate.known(0.2)).value == pytest.approx(0.5)
    assert beyond(Rate.known(0.2), Rate.known(0.6)) == Rate(0.0, 0.0, 0.0)
    assert beyond(Rate.known(1.0), Rate.known(1.0)) == Rate(0.0, 0.0, 1.0)
    main, base = Rate.counted(60, 100), Rate.counted(20, 100)
    risk = beyond(main, base)
    assert (
        beyond(Rate.known(main.low), base).value > risk.low > beyond(Rate.known(main.low), Rate.known(base.high)).value
    )


@given(
    st.floats(0.01, 4),
    st.lists(st.floats(0.01, 1), min_size=2, max_size=6),
    st.lists(st.floats(0, 1), min_size=6, max_size=6),
    st.sampled_from([0.0, 0.01, 0.2]),
)
def test_no_event_of_any_private_pair_is_above_the_bound(epsilon, weights, moves, delta):
    """Two distributions whose ratios are at most e^ε but for a mass of δ: every event obeys f."""
    q = np.array(weights) / sum(weights)
    p = q * np.exp(epsilon * (np.array(moves[: len(q)]) - 0.5))
    p = (1 - delta) * p / p.sum()
    if np.max(np.maximum(p / q, q / p)) > math.exp(epsilon):  # the scaling took it out of the promise
        return
    for chosen in itertools.product([0.0, 1.0], repeat=len(q)):
        event = np.array(chosen)
        for own in ((p @ event) + delta * event[0], (p @ event)):
            assert own <= most(float(q @ event), epsilon, delta) + 1e-12


def test_the_bound_is_reached_by_randomised_response_and_never_below_the_control():
    epsilon = 1.0
    keep = math.exp(epsilon) / (1 + math.exp(epsilon))
    assert most(1 - keep, epsilon) == pytest.approx(keep)
    assert most_of_coin(epsilon) == pytest.approx(keep)
    assert most_of_coin(1.0, 0.01) == pytest.approx((math.e + 0.01) / (1 + math.e))
    for p in np.linspace(0, 1, 11):
        assert p <= most(float(p), 0.3, 1e-6) <= 1
        assert most(float(p), 0.0) == pytest.approx(p)


def test_no_bound_follows_without_a_promise_or_a_control_set():
    promise = Guarantee(1.0, 0.0, (2.0, 0.0))
    assert bounded(NOTHING, Rate.known(0.1)) is None
    assert bounded(promise, None) is None
    assert bounded(dataclasses.replace(promise, why_not="kept"), Rate.known(0.1)) is None
    assert bounded(promise, Rate.known(0.1)) == most(0.1, 2.0)
    assert bounded(promise, None, Rate.known(0.5)) == most(0.5, 1.0)
    found = Outcome(attack="a", main=Rate.known(0.5), naive=Rate.known(0.5), guarantee=NOTHING)
    assert found.plain()["allowed"] is None
    assert "certificate" in found.why_not
    assert "control set" in dataclasses.replace(found, guarantee=promise).why_not
    allowed = dataclasses.replace(found, guarantee=promise, allowed=0.73105, control=Rate.counted(5, 10))
    assert allowed.words()[0].endswith("± 0.0 %; ε = 1 allows at most 73.1 %.")


# -- the three risks ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", THREE)
def test_a_copy_is_found(name):
    rng = np.random.default_rng(1)
    original, control = people(rng), people(rng)
    found = run(name, original, of={"original": original, "control": control}, attacks=500)
    assert found.risk.low >= 0.9
    assert found.naive.value < found.main.value


@pytest.mark.parametrize("name", THREE)
def test_rows_that_were_not_used_reveal_nothing(name):
    rng = np.random.default_rng(2)
    release, original, control = people(rng, 600), people(rng, 600), people(rng, 600)
    found = run(name, release, of={"original": original, "control": control}, attacks=400)
    assert beyond(surely(found.main), surely(found.control)).low == 0.0


@pytest.mark.parametrize("name", THREE)
def test_without_a_control_set_the_risk_says_that_it_is_not_corrected(name):
    original = people(np.random.default_rng(3), 100)
    found = run(name, original, Guarantee(1.0, 0.0, (2.0, 0.0)), of={"original": original}, attacks=50)
    assert found.allowed is None
    assert found.risk.value == found.main.value
    assert any("not corrected" in sentence for sentence in found.words())


def noisy(rng: np.random.Generator, rows: Table, epsilon: float) -> Table:
    """Each value of five categories kept with e^ε/(e^ε + 4) each, so that a row of three has 3ε."""
    keep = math.exp(epsilon) / (math.exp(epsilon) + 4)
    columns = {}
    for name in rows.names:
        cells = rows.column(name).to_numpy().astype(int)
        other = (cells + rng.integers(1, 5, len(cells))) % 5
        columns[name] = np.where(rng.random(len(cells)) < keep, cells, other)
    return table(columns)


@pytest.mark.parametrize("name", THREE)
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_what_is_found_in_private_rows_stays_below_what_epsilon_allows(name, epsilon):
    rng = np.random.default_rng(4)
    original, control = (table({c: rng.integers(0, 5, 800) for c in "abc"}) for _ in range(2))
    total = 3 * epsilon
    found = run(
        name,
        noisy(rng, original, epsilon),
        Guarantee(total, 0.0, (total, 0.0)),
        of={"original": original, "control": control},
        attacks=400,
    )
    assert found.allowed is not None
    assert surely(found.main).low <= found.allowed
    assert found.risk.low <= found.allowed


def test_the_bound_of_singling_out_holds_on_average_over_small_releases():
    """60 releases of 40 rows: mean of the main share against the mean of the bound's right side, by 5.5 sigma."""
    rng = np.random.default_rng(5)
    gaps = []
    for _ in range(60):
        original, control = (table({c: rng.integers(0, 5, 40) for c in "abc"}) for _ in range(2))
        release, promise = noisy(rng, original, 0.2), Guarantee(0.6, 0.0, (0.6, 0.0))
        found = run(
            "singling-out", release, promise, of={"original": original, "control": control}, attacks=20, columns=3
        )
        assert found.allowed is not None
        gaps.append(found.main.value - found.allowed)
    assert np.mean(gaps) <= 5.5 * np.std(gaps) / math.sqrt(len(gaps))


def test_singling_out_ends_where_a_release_has_few_unique_rows():
    rng = np.random.default_rng(6)
    release = table({c: rng.integers(0, 2, 3000) for c in "abcd"})
    found = run("singling-out", release, of={"original": release, "control": release}, attacks=50)
    assert found.main.value == 0.0
    assert any("No condition was found" in note for note in found.notes)


@pytest.mark.parametrize("mode", ["univariate", "multivariate"])
def test_conditions_hold_for_one_row_of_the_release_and_are_all_different(mode):
    rng = np.random.default_rng(7)
    rows = common_columns([people(rng, 300)])
    values = rows.tables[0]
    watch = singling_out._Watch(10, ignore, CancelToken())
    if mode == "univariate":
        found = singling_out._of_one_column(values, rows.numeric, 100, rng)
    else:
        found = singling_out._of_columns(values, rows.numeric, 100, 3, rng, watch)
    assert len(found) == len(set(found)) == 100
    assert [int(condition.matches(values).sum()) for condition in found] == [1] * 100


def test_singling_out_in_fewer_people_is_counted_as_drawing_them_shows():
    matches, rng = np.array([0, 1, 3, 10]), np.random.default_rng(8)
    drawn = rng.permuted(np.broadcast_to(np.arange(40), (20_000, 40)), axis=1)[:, :15]
    seen = sum(float(((drawn < m).sum(axis=1) == 1).mean()) for m in matches)
    assert singling_out._singled(matches, 40, 15) == pytest.approx(seen, abs=0.05)
    assert singling_out._singled(matches, 40, 40) == pytest.approx(1.0)
    assert 0 < singling_out._singled(matches, 40, 400) <= 4


@pytest.mark.parametrize("have", [80, 200, 400])
@pytest.mark.parametrize("scale", [0.0005, 0.004, 0.02])
def test_a_small_control_set_is_continued_to_what_a_large_one_shows(scale, have):
    """Conditions of exponential weights: the mean over 40 control sets is near what 800 other people show."""
    rng = np.random.default_rng(11)
    weights = np.minimum(0.2, rng.exponential(scale, 500))
    truth = float((800 * weights * (1 - weights) ** 799).sum())
    few = [rng.binomial(have, weights) for _ in range(40)]
    continued = np.mean([singling_out._singled(counts, have, 800) for counts in few])
    assert continued == pytest.approx(truth, rel=0.2)


def test_linkability_and_inference_name_columns_that_do_not_fit():
    rows = people(np.random.default_rng(9), 50)
    of = {"original": rows}
    with pytest.raises(ParameterError, match="in both files"):
        run("linkability", rows, of=of, known=("age",), others=("age", "town"))
    with pytest.raises(ParameterError, match="cannot be known"):
        run("inference", rows, of=of, known=("age",), secret="age")
    with pytest.raises(InputError, match="agee"):
        run("inference", rows, of=of, known=("agee",))
    with pytest.raises(InputError, match="have no column in common"):
        run("inference", table({"x": [1, 2]}), of=of)


def test_a_planted_coin_needs_no_control_set():
    rng = np.random.default_rng(10)
    original = table({"a": rng.permutation(500), "coin": rng.integers(0, 2, 500)})
    promise = Guarantee(1.0, 0.0, (2.0, 0.0))
    found = run("inference", original, promise, of={"original": original}, secret="coin", chance=0.5)
    assert found.allowed == most(0.5, 1.0)
    assert found.risk.value == pytest.approx(1.0)


# -- reconstruction ----------------------------------------------------------------------------------------------------


def counts_of(rows: Table, noise: np.ndarray) -> Table:
    """Released statistics: the histogram of the secret by each pair of the other columns."""
    known = rows.names[:-1]
    values = {name: rows.column(name).to_numpy() for name in rows.names}
    found = []
    for a, b in itertools.combinations(known, 2):
        for x, y in itertools.product("01", "01"):
            count = int(((values[a] == x) & (values[b] == y) & (values["secret"] == "1")).sum())
            found.append({"group": f"{a}={x}, {b}={y}", "estimate": str(count + int(noise[len(found)]))})
    frame = pl.DataFrame(found).select(
        statistic=pl.lit("histogram"),
        column=pl.lit("secret"),
        group="group",
        value=pl.lit("1"),
        estimate="estimate",
        low=pl.lit(""),
        high=pl.lit(""),
        sparse=pl.lit("no"),
        source=pl.lit(""),
    )
    return Table(frame, "figures.csv")


def coins(rng: np.random.Generator) -> Table:
    return table({**{f"q{i}": rng.integers(0, 2, 200) for i in range(24)}, "secret": rng.integers(0, 2, 200)})


def test_exact_counts_give_back_a_secret_bit_and_noisy_ones_no_more_than_epsilon_allows():
    rng = np.random.default_rng(11)
    original = coins(rng)
    queries = 24 * 23 // 2
    exact = run("reconstruction", counts_of(original, np.zeros(4 * queries)), of={"original": original})
    assert exact.main.value >= 0.95
    # ε = 1 for all histograms together: each has 1/276, and one row moves one of its counts by 1.
    noise = np.round(rng.laplace(0, queries, 4 * queries))
    promise = Guarantee(1.0, 0.0, (2.0, 0.0))
    found = run("reconstruction", counts_of(original, noise), promise, of={"original": original}, chance=0.5)
    assert found.allowed == most(0.5, 1.0)
    assert surely(found.main).low <= found.allowed
    assert found.main.value <= found.allowed


def test_counts_of_the_other_value_are_used_as_well():
    rng = np.random.default_rng(12)
    original = coins(rng)
    found = run("reconstruction", counts_of(original, np.zeros(1104)), of={"original": original}, value="0")
    assert found.main.value >= 0.95


def test_a_copy_gives_back_the_secret_of_people_whom_the_attacker_knows():
    rng = np.random.default_rng(13)
    original, control = people(rng, 400), people(rng, 100)
    of = {"original": original, "control": control}
    found = run("reconstruction", original, of=of, secret="ill", attacks=60, counts=200)
    assert found.main.value >= 0.9
    assert found.control is not None
    assert found.control.value <= 0.9


def test_a_secret_that_everybody_shares_is_none():
    alike = table({"age": [30 + at for at in range(20)], "town": ["H"] * 20})
    with pytest.raises(InputError, match="'town' has only one released value"):
        run("reconstruction", alike, of={"original": alike}, secret="town")


def test_an_attack_that_fails_tells_no_figure_of_the_rows(monkeypatch):
    monkeypatch.setattr("workbench.risk.attacks.reconstruction._MOST_PEOPLE", 30)
    alike = table({"age": [7] * 97, "ill": [at % 2 for at in range(97)]})
    with pytest.raises(InputError, match="more than 30 people have the same known values") as told:
        run("reconstruction", alike, of={"original": alike}, secret="ill", attacks=10)
    assert "97" not in str(told.value)


def test_the_linear_programme_finds_the_only_solution():
    rng = np.random.default_rng(14)
    bits, met = rng.random(12) < 0.5, rng.random((80, 12)) < 0.5
    assert solved(met, met @ bits.astype(float)) == pytest.approx(bits.astype(float), abs=1e-7)


# -- linking and traces ------------------------------------------------------------------------------------------------


def test_people_are_found_where_one_row_has_their_values():
    release = table({"zip": [1, 1, 2, 3], "sex": ["f", "m", "f", "f"], "ill": ["a", "b", "c", "d"]})
    known = table({"zip": [1, 2, 2, 9], "sex": ["f", "f", "m", "f"], "ill": ["a", "x", "c", "d"]})
    found = run("link", release, of={"known": known}, on=("zip", "sex"))
    assert found.figures["reidentified_fraction"] == 0.5
    assert found.figures["confirmed"] == 0.5
    by_sex = run("link", release, of={"known": known}, on=("sex",))
    assert by_sex.figures["reidentified_fraction"] == 0.25


def test_four_points_single_out_as_many_as_a_plain_count_says():
    asked = traces.Traces(people=100, days=3, places=16, visits=20, hours=6)
    who, point = traces.sample(asked, np.random.default_rng(15), ignore, CancelToken())
    every = {person: set(point[who == person].tolist()) for person in range(100)}
    for points in (1, 3):
        found = traces.singled_out(who, point, np.arange(100), points, np.random.default_rng(16), CancelToken())
        rng, plain = np.random.default_rng(16), 0
        order = np.argsort(who, kind="stable")
        own = np.split(point[order], np.cumsum(np.bincount(who))[:-1])
        for person in range(100):
            chosen = set(rng.choice(own[person], size=min(points, len(own[person])), replace=False).tolist())
            plain += sum(chosen <= trace for trace in every.values()) == 1
        assert found == plain


def test_more_points_single_out_more_people():
    found = run("traces", table({"a": [1]}), of={}, people=2000, attacks=400).plain()
    assert found["by_points"] == sorted(found["by_points"])
    assert found["unique_fraction"] >= 0.9
    assert found["private"] is False


# -- the list ----------------------------------------------------------------------------------------------------------


def test_every_attack_of_the_folder_is_listed():
    folder = attacks.__name__
    listed = {known.asked().__module__ for known in attacks.ATTACKS}
    for module in pkgutil.iter_modules(attacks.__path__):
        name = f"{folder}.{module.name}"
        if hasattr(importlib.import_module(name), "run"):
            assert name in listed, name
    assert len({known.name for known in attacks.ATTACKS}) == len(attacks.ATTACKS)


# -- generalised releases ----------------------------------------------------------------------------------------------


def test_people_are_written_as_a_generalised_release_writes_them():
    labels = pl.Series(["40-44", "[50, 60)", "<18", ">=90", "012**", "2024-05", "*", "Graz"])
    values = pl.Series(["43", "50", "59.5", "60", "7", "95", "01230", "2024-05-17", "Graz", None])
    found = written_as(labels, values).to_list()
    assert found == ["40-44", "[50, 60)", "[50, 60)", "*", "<18", ">=90", "012**", "2024-05", "Graz", None]
    assert written_as(pl.Series(["40-44", "40-49"]), pl.Series(["41", "47"])).to_list() == ["40-44", "40-49"]
    assert written_as(pl.Series(["a", "b"]), pl.Series(["a", "c"])).to_list() == ["a", "c"]


def test_a_generalised_copy_is_attacked_through_its_labels():
    rng = np.random.default_rng(20)
    original = table(
        {"age": rng.integers(20, 60, 400), "job": rng.integers(0, 400, 400), "ill": rng.integers(0, 2, 400)}
    )
    ages = original.column("age").cast(pl.Int64).to_numpy() // 10 * 10
    coarse = original.frame.with_columns(age=pl.Series([f"{a}-{a + 9}" for a in ages]))
    found = run("inference", Table(coarse, "g.csv"), of={"original": original}, known=("age", "job"), secret="ill")
    assert found.main.value > 0.9
