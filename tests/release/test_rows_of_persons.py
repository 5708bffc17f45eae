"""How many rows of a person to keep, found privately: exact chances at the level of persons, planted faults, a plan."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from asks import exact_ask, study_ask
from release_cases import certificate_of

from workbench.data import persons, read
from workbench.data.columns import found
from workbench.data.csv import encoding, regular_rows
from workbench.data.read import read_table
from workbench.data.table import Table
from workbench.params import InputError, ParameterError
from workbench.privacy.audit import LowerBound, epsilon_lower
from workbench.privacy.central.quantile_choice import Segments, Weights, simple
from workbench.release.ledger.ledger import Ledger
from workbench.release.path import destination, prepare, release_prepared
from workbench.release.values_work import Asked, _rows_of_persons, planned, values_work
from workbench.release.verify import verify_release
from workbench.sanitize.plan import Column, Plan
from workbench.signals.cancel import CancelToken
from workbench.signals.events import ignore

EPSILON, SHARE, MOST = 1.5, 0.75, 4
ASKED = Asked(person="who", share=SHARE, most_rows=MOST)
OPEN = Plan(epsilon=1.0, columns=(Column(name="who", action="drop"), Column(name="x", action="drop")))


def table_of(who: list[str | None]) -> Table:
    return Table(pl.DataFrame({"who": pl.Series(who, dtype=pl.String), "x": ["1"] * len(who)}), "visits.csv")


def chances(table: Table) -> list[float]:
    """The exact chance of each number from 1 to ``MOST``, as the release draws it."""
    rows = _rows_of_persons(planned(OPEN, ASKED).rows_of(table, counted=True), ASKED, CancelToken())
    share = simple(SHARE)
    segments = Segments.of(rows, 1, MOST, share)
    weights = Weights(share, EPSILON)
    each = weights.of([min(loss, weights.limit) for loss in segments.loss.tolist()])
    whole = sum(weight * int(width) for weight, width in zip(each, segments.width, strict=True))
    spread = [[weight / whole] * int(width) for weight, width in zip(each, segments.width, strict=True)]
    return list(itertools.chain.from_iterable(spread))


def neighbours(persons_too: bool = True) -> Iterator[tuple[Table, Table]]:
    """All tables of five rows and three persons, each with a person emptied, or with one row emptied."""
    for who in itertools.product("abc", repeat=5):
        if list(dict.fromkeys(who)) != sorted(set(who)) or who[0] != "a":  # the same under other names
            continue
        groups = {name: [row for row in range(5) if who[row] == name] for name in set(who)}
        emptied = [*(groups.values() if persons_too else []), *([row] for row in range(5))]
        for rows in emptied:
            yield table_of(list(who)), table_of([None if row in rows else who[row] for row in range(5)])


def worst(pairs: Iterator[tuple[Table, Table]]) -> float:
    """The largest loss between neighbours, exactly."""
    return max(abs(math.log(one / other)) for a, b in pairs for one, other in zip(chances(a), chances(b), strict=True))


def test_a_person_emptied_with_all_her_rows_or_with_one_of_them_costs_no_more_than_epsilon() -> None:
    assert EPSILON / 2 < worst(neighbours()) <= EPSILON


def test_two_rows_of_a_person_that_tell_how_many_she_has_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = persons._lowest
    monkeypatch.setattr(persons, "_lowest", lambda parts, most: honest(parts, most + 1))
    assert worst(neighbours()) > EPSILON * 1.05


def test_rows_that_are_counted_without_a_limit_of_their_persons_are_found() -> None:
    """What a count of rows instead of persons would say of a person with five rows."""
    share, weights = simple(SHARE), Weights(simple(SHARE), EPSILON)

    def drawn(rows: list[int]) -> list[float]:
        loss = Segments.of(rows, 1, MOST, share)  # type: ignore[arg-type]
        return [w / sum(map(int, loss.width)) for w in weights.of([min(v, weights.limit) for v in loss.loss.tolist()])]

    assert abs(math.log(drawn([1] + [MOST] * 5)[0] / drawn([1])[0])) > EPSILON


def test_every_number_of_rows_is_that_of_a_person_and_a_row_without_a_name_is_none() -> None:
    table = table_of(["a", "b", "a", None, " a ", "", "b", "c", "d", "d", "d", "d", "d"])
    rows = _rows_of_persons(planned(OPEN, ASKED).rows_of(table, counted=True), ASKED, CancelToken())
    assert rows.tolist() == [1, 2, 3, MOST]  # d has five


@pytest.mark.parametrize("most", [1, 2])
def test_how_many_rows_a_person_has_stands_nowhere_unless_it_is_asked_for(most: int) -> None:
    plan = Plan(epsilon=1.0, unit="who", rows_per_person=most, invalid="replace", columns=OPEN.columns)
    rows = plan.rows_of(table_of(list("aaabbbccd")))
    assert rows.column("who").null_count() == 9
    # Rows that are read so once more are persons of their own, and nobody's row takes the place of another one's.
    assert plan.rows_of(rows).column("x").to_list() == rows.column("x").to_list()


def test_a_table_in_parts_has_the_same_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for place, name, value in (
        (read, "IN_PARTS_FROM", 0), (regular_rows, "PIECE", 64), (encoding, "CHUNK", 256), (persons, "_MERGED", 10),
    ):  # fmt: skip
        monkeypatch.setattr(place, name, value)
    who = [f"p{n % 40}" for n in range(395)] + [None] * 3
    pl.DataFrame({"who": who, "x": ["1"] * 398}).write_csv(tmp_path / "t.csv")
    asked, table = Asked(person="who"), read_table(str(tmp_path / "t.csv"))
    assert table.in_parts
    rows = _rows_of_persons(planned(OPEN, asked).rows_of(table, counted=True), asked, CancelToken())
    assert rows.tolist() == [9] * 5 + [10] * 35


@pytest.mark.parametrize(
    "wrong", [{"person": "who", "category": ("who",)}, {"share": 0.5, "number": ("x",)}, {"person": "who", "share": 1}]
)
def test_what_cannot_be_found_of_persons_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        Asked(**wrong)


def test_a_plan_by_which_more_rows_are_read_is_refused() -> None:
    for plan in (OPEN, Plan(epsilon=1.0, unit="who", rows_per_person=2, invalid="replace", columns=OPEN.columns)):
        with pytest.raises(ParameterError, match="one row of each person"):
            values_work(plan, ASKED, Decimal(1), Decimal(0), 100, "csv")


def lower_bound(ask_of: Any, many: int) -> LowerBound:
    """What releases of a table and of its neighbour prove of ε: a person with four rows, beside one with one."""
    plan, sides = planned(OPEN, ASKED), []
    work = values_work(plan, ASKED, Decimal(str(EPSILON)), Decimal(0), 5, "csv")
    for side, who in enumerate((["a"] * 4 + ["b"], [None] * 4 + ["b"])):
        table = plan.rows_of(table_of(who), counted=True)
        asks = (ask_of(work.events, 2 * draw + side) for draw in range(many))
        drawn = [work.ask(table, ask, ignore, CancelToken()).rows for ask in asks]
        sides.append(np.array([[rows] for rows in drawn], dtype=np.float64))
    return epsilon_lower(*sides, alpha=1e-6)


def test_releases_prove_no_more_than_what_is_charged_for_all_rows_of_a_person() -> None:
    """The bound is above the true ε in one of 10^6 runs at most."""
    found = lower_bound(study_ask, 3000)
    assert 0 < found.epsilon <= EPSILON
    assert not found.refutes(EPSILON)


def test_a_number_that_is_not_drawn_at_all_is_refuted() -> None:
    assert lower_bound(lambda events, seed: exact_ask(), 200).refutes(EPSILON)


# -- a release ---------------------------------------------------------------------------------------------------------


def test_a_number_that_was_changed_or_is_no_number_is_found(tmp_path: Path) -> None:
    plan, table = planned(OPEN, ASKED), table_of(list("aab") * 20)
    work = values_work(plan, ASKED, Decimal(3), Decimal(0), 60, "csv")
    with Ledger.open(tmp_path / "l.sqlite") as book:
        release_prepared(prepare(plan, table, destination(tmp_path / "f.csv"), work), book)
    assert not verify_release(tmp_path / "f.csv")
    method = certificate_of(tmp_path / "f.csv")["method"]
    assert work.answers is not None
    for wrong in (0, MOST + 1, "2", None, True):
        with pytest.raises(ParameterError, match="rows of a person"):
            work.answers({**method, "rows_of_a_person": wrong})
    line = found.encode([found.Found("who", count=2)]).decode()
    assert found.persons(found.decode(line.encode(), "f.csv")) == ("who", 2)
    for broken in (line.replace('"2"', '"-2"'), line.replace('"2",""', '"2","1"')):
        with pytest.raises(InputError):
            found.decode(broken.encode(), "f.csv")
