"""Values nobody declared: exact output chances of small tables, faults that break them, and what a release shows."""

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pytest
from asks import ask_by
from hypothesis import given
from hypothesis import strategies as st
from release_cases import certificate_of

from workbench.data import persons, table_reader
from workbench.data.columns import values_file
from workbench.data.csv import encoding, regular_rows
from workbench.data.table import Table
from workbench.data.table_reader import read_table
from workbench.params import InputError, ParameterError
from workbench.privacy.accounting.event import ApproximateDp, PureDp, group
from workbench.privacy.central.quantile_choice import Segments, Weights, simple
from workbench.privacy.central.threshold import least_with_tail, threshold
from workbench.release.ledger.ledger import Ledger
from workbench.release.release_path import destination, prepare, release_prepared
from workbench.release.values_work import ValuesOptions, _counts, _rows_of_persons, planned, values_work
from workbench.release.verify import verify_release
from workbench.sanitize.plan import Column, Plan
from workbench.signals.cancel import CancelToken
from workbench.work import ask as ask_module
from workbench.work.ask import Ask, UndeclaredError

EPSILON, DELTA = Decimal("1.5"), Decimal("0.02")
FAR = 14
"""Noise beyond it has the chance e^(−21)."""
SLACK = 1e-7
Outcome = tuple[tuple[str, int], ...]


class Given:
    releasable = False

    def __init__(self, noise: Sequence[int]) -> None:
        self.noise = noise

    def integers(self, values: Sequence[int], sensitivity: int, epsilon: float) -> list[int]:
        assert (sensitivity, epsilon) == (1, float(EPSILON))
        return [value + noise for value, noise in zip(values, self.noise, strict=True)]

    gaussian = below = words = integers  # type: ignore[assignment]


def table_of(cells: Sequence[str | None], name: str = "town") -> Table:
    return Table(pl.DataFrame({name: pl.Series(cells, dtype=pl.String)}), "small.csv")


def plan_of(*names: str) -> Plan:
    return Plan(epsilon=1.0, columns=tuple(Column(name=name, action="drop") for name in names))


def chances(cells: Sequence[str | None], noisy: bool = True) -> dict[Outcome, float]:
    """Return the exact chance of each answer about a table."""
    counts = _counts(table_of(cells), ValuesOptions(category=("town",)), CancelToken())[0]["town"]
    b = math.exp(-float(EPSILON))
    out: dict[Outcome, float] = defaultdict(float)
    for noise in itertools.product(range(-FAR, FAR + 1) if noisy else [0], repeat=len(counts)):
        ask = ask_by(Given(noise), [ApproximateDp(EPSILON, DELTA, "values")])  # type: ignore[arg-type]
        chance = math.prod((1 - b) / (1 + b) * b ** abs(k) for k in noise) if noisy else 1.0
        out[tuple(sorted(ask.occurring("values", counts).items()))] += chance
    return out


def beyond(one: dict[Outcome, float], other: dict[Outcome, float], epsilon: float) -> float:
    """Return the least δ with P(S) ≤ e^ε·P'(S) + δ for every set S of answers."""
    return sum(max(0.0, chance - math.exp(epsilon) * other.get(answer, 0.0)) for answer, chance in one.items())


TABLES: list[list[str | None]] = [["a"], ["a", "b"], ["a", "a", "b"], ["a", "a", "a", "b", "b"], ["a", None, "a"]]


def worst(noisy: bool = True) -> float:
    """Return the least δ for which all neighbours of the tables are as alike as ε says."""
    most = 0.0
    for cells in TABLES:
        whole = chances(cells, noisy)
        for row in range(len(cells)):
            emptied = chances([None if i == row else cell for i, cell in enumerate(cells)], noisy)
            most = max(most, beyond(whole, emptied, float(EPSILON)), beyond(emptied, whole, float(EPSILON)))
    return most


def test_an_emptied_row_changes_the_chance_of_no_set_of_answers_by_more_than_epsilon_and_delta():
    b = math.exp(-float(EPSILON))
    named_alone = b ** (threshold(EPSILON, DELTA) - 1) / (1 + b)
    assert worst() == pytest.approx(named_alone, abs=SLACK)  # as the formula has it, and as near to δ as T allows
    assert float(DELTA) * b < named_alone <= float(DELTA)


def test_a_threshold_that_is_one_too_low_is_found(monkeypatch):
    monkeypatch.setattr(ask_module, "threshold", lambda epsilon, delta: threshold(epsilon, delta) - 1)
    assert worst() > float(DELTA) + SLACK


def test_counts_without_noise_are_found(monkeypatch):
    monkeypatch.setattr(ask_module, "threshold", lambda epsilon, delta: 2)
    assert worst(noisy=False) == pytest.approx(1)


@pytest.mark.parametrize("own", [("a", "a"), ("a", "b"), ("b", "b")])
@pytest.mark.parametrize("others", [(), ("a",), ("a", "a")])
def test_all_rows_of_a_person_emptied_cost_what_the_formula_says_and_no_more_than_is_charged(own, others):
    whole, emptied = chances([*own, *others]), chances([*([None] * len(own)), *others])
    epsilon, b = float(EPSILON), math.exp(-float(EPSILON))
    once = b ** (threshold(EPSILON, DELTA) - 1) / (1 + b)
    found_delta = max(beyond(whole, emptied, 2 * epsilon), beyond(emptied, whole, 2 * epsilon))
    assert found_delta <= max(2, math.exp(epsilon)) * once + SLACK
    assert found_delta <= group(epsilon, float(DELTA), 2)[1]


@given(
    epsilon=st.decimals("1e-5", "50", places=6, allow_nan=False), exponent=st.integers(2, 40), digit=st.integers(1, 9)
)
def test_the_threshold_is_the_least_that_keeps_delta(epsilon, exponent, digit):
    delta = Decimal(digit).scaleb(-exponent)
    least = threshold(epsilon, delta)

    def log_tail(count: int) -> float:
        return -float(epsilon) * count - math.log1p(math.exp(-float(epsilon)))

    aim = math.log(delta)
    assert log_tail(least - 1) <= aim + 1e-9
    assert least == 1 or log_tail(least - 2) > aim - 1e-9 * max(1.0, abs(aim))


@pytest.mark.parametrize(("epsilon", "chance"), [("1e-300", "1e-9"), ("1", "0"), ("1", "1"), ("1e-17", "0.01")])
def test_a_threshold_that_no_count_reaches_is_refused(epsilon, chance):
    with pytest.raises(ParameterError, match="threshold"):
        least_with_tail(Decimal(epsilon), Decimal(chance))


def test_the_threshold_allows_for_noise_of_a_slightly_larger_scale():
    """At the edge, where the next double of ε would need one more, one more is taken."""
    epsilon = Decimal("0.5")
    edge = Decimal(math.exp(-0.5 * 40) / (1 + math.exp(-0.5)))
    assert least_with_tail(epsilon, edge * (1 - Decimal("1e-13"))) == 41
    assert least_with_tail(epsilon, edge * (1 + Decimal("1e-9"))) == 40


def test_only_values_of_an_event_with_a_delta_are_served_and_once():
    loose, pure = ApproximateDp(EPSILON, DELTA, "values"), PureDp(EPSILON, "pure")
    refused: list[Callable[[Ask], object]] = [
        lambda ask: ask.occurring("pure", {"a": 9}),
        lambda ask: ask.occurring("other", {"a": 9}),
        lambda ask: ask("values", [9], 1),
        lambda ask: ask.divided("values", {"half": (1, 2)}),
        lambda ask: ask.into("values", []),
        lambda ask: ask.largest("values", [[9]], 1),
        lambda ask: ask.local("values", 0.1),
        lambda ask: (ask.occurring("values", {}), ask.occurring("values", {})),
    ]
    for question in refused:
        with pytest.raises(UndeclaredError):
            question(ask_by(Given([0]), [loose, pure]))  # type: ignore[arg-type]


# -- bounds -----------------------------------------------------------------------------------------------------------


@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=20))
def test_each_number_is_in_one_cell_whose_edges_hold_it(numbers):
    counts = values_file.scale_counts(np.array(numbers))
    assert counts.sum() == len(numbers)
    for number in numbers:
        (cell,) = np.flatnonzero(values_file.scale_counts(np.array([number])))
        lower, upper = values_file._edges(int(cell))
        assert lower <= number <= upper or abs(number) > 2.0**64


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ([18.0, 90.0], (16.0, 128.0)),
        ([1.0, 8000.0], (0.0, 8192.0)),
        ([-5.0, 3.0], (-8.0, 4.0)),
        ([-9000.0, -1.0], (-16384.0, 0.0)),
        ([0.0], (0.0, 2.0**-16)),
        ([64.0, 128.0], (32.0, 128.0)),
    ],
)
def test_bounds_hold_every_cell_with_enough_rows(numbers, expected):
    counts = values_file.scale_counts(np.array(numbers * 10)).tolist()
    assert values_file.noisy_bounds(counts, 5) == expected
    assert values_file.noisy_bounds(counts, 11 * len(numbers)) is None


# -- a release --------------------------------------------------------------------------------------------------------


def test_a_release_has_a_delta_for_values_and_none_for_bounds_alone():
    plan, both = plan_of("a", "b"), ValuesOptions(category=("a",), number=("b",))
    work = values_work(plan, both, Decimal(1), Decimal("1e-6"), 100, "csv")
    assert (work.cost().epsilon, work.cost().delta) == (1, Decimal("1e-6"))
    assert values_work(plan, ValuesOptions(number=("b",)), Decimal(1), Decimal(0), 100, "csv").cost().delta == 0
    for asked, delta in ((both, "0"), (ValuesOptions(number=("b",)), "1e-6")):
        with pytest.raises(ParameterError, match="delta"):
            values_work(plan, asked, Decimal(1), Decimal(delta), 100, "csv")
    for nothing in ({}, {"category": ("a",), "number": ("a",)}):
        with pytest.raises(ParameterError):
            ValuesOptions(**nothing)


def test_missing_unreadable_and_overlong_cells_count_for_nothing():
    frame = pl.DataFrame({"g": ["x", "", "NA", None, "y" * 201], "n": ["3", "three", "inf", None, "nan"]})
    values, cells = _counts(Table(frame, "small.csv"), ValuesOptions(category=("g",), number=("n",)), CancelToken())
    assert (values["g"], cells["n"].sum()) == (Counter({"x": 1}), 1)


def test_a_file_that_holds_something_else_is_refused():
    text = values_file.encode(
        [values_file.FoundValue("g", "x", 40), values_file.FoundValue("n", lower=0.0, upper=8.0)]
    ).decode()
    assert len(values_file.decode(text.encode(), "found.csv")) == 2
    more = ('"n","","0","",""\n', '"n","","","3","2"\n', '"n"\n', '"g","x","4","1","2"\n', '"g","x","many","",""\n')
    for broken in ("", "a,b\n", *(text + line for line in more)):
        with pytest.raises(InputError):
            values_file.decode(broken.encode(), "found.csv")


# -- How many rows of a person to keep, found privately: exact chances at the level of persons, planted faults, a plan


PERSON_EPSILON, SHARE, MOST = 1.5, 0.75, 4
ASKED = ValuesOptions(person="who", share=SHARE, most_rows=MOST)
OPEN = Plan(epsilon=1.0, columns=(Column(name="who", action="drop"), Column(name="x", action="drop")))


def table_of_persons(who: list[str | None]) -> Table:
    return Table(pl.DataFrame({"who": pl.Series(who, dtype=pl.String), "x": ["1"] * len(who)}), "visits.csv")


def chances_of_rows(table: Table) -> list[float]:
    """The exact chance of each number from 1 to ``MOST``, as the release draws it."""
    rows = _rows_of_persons(planned(OPEN, ASKED).rows_of(table, counted=True), ASKED, CancelToken())
    share = simple(SHARE)
    segments = Segments.of(rows, 1, MOST, share)
    weights = Weights(share, PERSON_EPSILON)
    each = weights.of([min(loss, weights.limit) for loss in segments.loss.tolist()])
    whole = sum(weight * int(width) for weight, width in zip(each, segments.width, strict=True))
    spread = [[weight / whole] * int(width) for weight, width in zip(each, segments.width, strict=True)]
    return list(itertools.chain.from_iterable(spread))


def neighbours() -> Iterator[tuple[tuple[str | None, ...], ...]]:
    """All tables of five rows and three persons, each with a person emptied, or with one row emptied."""
    for who in itertools.product("abc", repeat=5):
        if list(dict.fromkeys(who)) != sorted(set(who)) or who[0] != "a":  # the same under other names
            continue
        groups = {name: [row for row in range(5) if who[row] == name] for name in set(who)}
        emptied = [*groups.values(), *([row] for row in range(5))]
        for rows in emptied:
            yield who, tuple(None if row in rows else who[row] for row in range(5))


def worst_of_persons() -> float:
    """The largest loss between neighbours, exactly; each table is asked once."""
    pairs = list(neighbours())
    chances = {who: chances_of_rows(table_of_persons(list(who))) for who in {*itertools.chain.from_iterable(pairs)}}
    return max(abs(math.log(one / other)) for a, b in pairs for one, other in zip(chances[a], chances[b], strict=True))


def test_a_person_emptied_with_all_her_rows_or_with_one_of_them_costs_no_more_than_epsilon():
    assert PERSON_EPSILON / 2 < worst_of_persons() <= PERSON_EPSILON


def test_two_rows_of_a_person_that_tell_how_many_she_has_are_found(monkeypatch):
    honest = persons._lowest
    monkeypatch.setattr(persons, "_lowest", lambda parts, most: honest(parts, most + 1))
    assert worst_of_persons() > PERSON_EPSILON * 1.05


def test_rows_that_are_counted_without_a_limit_of_their_persons_are_found():
    """What a count of rows instead of persons would say of a person with five rows."""
    share, weights = simple(SHARE), Weights(simple(SHARE), PERSON_EPSILON)

    def drawn(rows: list[int]) -> list[float]:
        loss = Segments.of(rows, 1, MOST, share)  # type: ignore[arg-type]
        return [w / sum(map(int, loss.width)) for w in weights.of([min(v, weights.limit) for v in loss.loss.tolist()])]

    assert abs(math.log(drawn([1] + [MOST] * 5)[0] / drawn([1])[0])) > PERSON_EPSILON


def test_every_number_of_rows_is_that_of_a_person_and_a_row_without_a_name_is_none():
    table = table_of_persons(["a", "b", "a", None, " a ", "", "b", "c", "d", "d", "d", "d", "d"])
    rows = _rows_of_persons(planned(OPEN, ASKED).rows_of(table, counted=True), ASKED, CancelToken())
    assert rows.tolist() == [1, 2, 3, MOST]  # d has five


@pytest.mark.parametrize("most", [1, 2])
def test_how_many_rows_a_person_has_stands_nowhere_unless_it_is_asked_for(most):
    plan = Plan(epsilon=1.0, unit="who", rows_per_person=most, invalid="replace", columns=OPEN.columns)
    rows = plan.rows_of(table_of_persons(list("aaabbbccd")))
    assert rows.column("who").null_count() == 9
    # Rows that are read so once more are persons of their own, and nobody's row takes the place of another one's.
    assert plan.rows_of(rows).column("x").to_list() == rows.column("x").to_list()


def test_a_table_in_parts_has_the_same_numbers(tmp_path, monkeypatch):
    for place, name, value in (
        (table_reader, "IN_PARTS_FROM", 0),
        (regular_rows, "PIECE", 64),
        (encoding, "CHUNK", 256),
        (persons, "_MERGED", 10),
    ):
        monkeypatch.setattr(place, name, value)
    who = [f"p{n % 40}" for n in range(395)] + [None] * 3
    pl.DataFrame({"who": who, "x": ["1"] * 398}).write_csv(tmp_path / "t.csv")
    asked, table = ValuesOptions(person="who"), read_table(str(tmp_path / "t.csv"))
    assert table.in_parts
    rows = _rows_of_persons(planned(OPEN, asked).rows_of(table, counted=True), asked, CancelToken())
    assert rows.tolist() == [9] * 5 + [10] * 35


@pytest.mark.parametrize(
    "wrong", [{"person": "who", "category": ("who",)}, {"share": 0.5, "number": ("x",)}, {"person": "who", "share": 1}]
)
def test_what_cannot_be_found_of_persons_is_refused(wrong):
    with pytest.raises(ParameterError):
        ValuesOptions(**wrong)


def test_a_plan_by_which_more_rows_are_read_is_refused():
    for plan in (OPEN, Plan(epsilon=1.0, unit="who", rows_per_person=2, invalid="replace", columns=OPEN.columns)):
        with pytest.raises(ParameterError, match="one row of each person"):
            values_work(plan, ASKED, Decimal(1), Decimal(0), 100, "csv")


# -- a release ---------------------------------------------------------------------------------------------------------


def test_a_release_asks_for_one_number_of_each_person(tmp_path, monkeypatch):
    asked, honest = [], Ask.quantiles

    def quantiles(ask: Ask, label: str, parts: Any, *more: Any) -> Any:
        asked.append(parts)
        return honest(ask, label, parts, *more)

    monkeypatch.setattr(Ask, "quantiles", quantiles)
    plan, table = planned(OPEN, ASKED), table_of_persons([*"aab", *[None] * 57])
    work = values_work(plan, ASKED, Decimal(3), Decimal(0), 60, "csv")
    with Ledger.open(tmp_path / "l.sqlite") as book:
        release_prepared(prepare(plan, table, destination(tmp_path / "f.csv"), work), book)
    ((held,),) = asked
    assert (held.cells.tolist(), held.upto.tolist()) == ([1, 2], [0, 1, 2])


def test_a_number_that_was_changed_or_is_no_number_is_found(tmp_path):
    plan, table = planned(OPEN, ASKED), table_of_persons(list("aab") * 20)
    work = values_work(plan, ASKED, Decimal(3), Decimal(0), 60, "csv")
    with Ledger.open(tmp_path / "l.sqlite") as book:
        release_prepared(prepare(plan, table, destination(tmp_path / "f.csv"), work), book)
    assert not verify_release(tmp_path / "f.csv")
    method = certificate_of(tmp_path / "f.csv")["method"]
    assert work.answers is not None
    for wrong in (0, MOST + 1, "2", None, True):
        with pytest.raises(ParameterError, match="rows of a person"):
            work.answers({**method, "rows_of_a_person": wrong})
    line = values_file.encode([values_file.FoundValue("who", count=2)]).decode()
    assert values_file.person_limit(values_file.decode(line.encode(), "f.csv")) == ("who", 2)
    for broken in (line.replace('"2"', '"-2"'), line.replace('"2",""', '"2","1"')):
        with pytest.raises(InputError):
            values_file.decode(broken.encode(), "f.csv")
