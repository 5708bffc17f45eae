"""The ledger's list of private figures that were shown: by account, once a kind, with the first time of each."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from workbench.data.table import Table
from workbench.paths import user_data
from workbench.release.ledger.figures import FIGURES, STUDIES
from workbench.release.ledger.ledger import Ledger
from workbench.release.ledger.study_note import NOTED, note_study
from workbench.signals import Event, Notice


def table(first: int, count: int = 400) -> Table:
    rows = range(first, first + count)
    cells = {"a": [str(i) for i in rows], "b": [f"{i * 7919 % 100003}" for i in rows]}
    return Table(pl.DataFrame(cells), "made")


def told(book: Ledger) -> list[tuple[str, str, str]]:
    return [(f.time, f.dataset, f.study) for f in book.figures()]


def test_the_notes_of_versions_stand_with_their_account(tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "book.sqlite") as book:
        assert book.figures() == []
        account = book.enter(book.identify(table(0)))
        book.enter(book.identify(table(3)))  # most rows in common: a version
        book.note_figures(book.identify(table(3)), "why")
        book.note_figures(book.identify(table(0)), "why")
        book.note_figures(book.identify(table(5_000)), "curve")
        own = book.figures(account)
        assert [(f.dataset, f.study) for f in own] == [(account, "why")]
        assert [f.study for f in book.figures()] == ["why", "curve"]
        assert own[0].words == STUDIES["why"]
        assert own[0].time == min(e.time for e in book.entries(FIGURES))


def test_a_kind_of_a_later_version_is_listed_by_its_own_name(tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "book.sqlite") as book:
        account = book.enter(book.identify(table(0)))
        for body in ({"study": "telepathy"}, {}):
            with book._transaction():
                book._append(FIGURES, account, body)
        assert [f.words for f in book.figures()] == ["telepathy", "figures of a study"]
        assert book.figures_shown(account)


@pytest.mark.parametrize("again", [False, True])
def test_a_merge_keeps_every_note_with_its_own_time(tmp_path: Path, again: bool) -> None:
    one, two, three = (tmp_path / f"{name}.sqlite" for name in ("one", "two", "three"))
    with Ledger.open(two) as other:
        other.note_figures(other.identify(table(0)), "grid")
        other.note_figures(other.identify(table(0)), "why")
        other.note_figures(other.identify(table(9_000)), "curve")
        theirs = [(time, study) for time, _, study in told(other)]
    with Ledger.open(one) as book, Ledger.open(two) as other:
        book.note_figures(book.identify(table(0)), "why")
        book.note_figures(book.identify(table(0)), "accuracy")
        own = [(time, study) for time, _, study in told(book)]
        book.merge(other)
        if again:  # an interrupted merge is repeated
            book.merge(other)
        book.enter(book.identify(table(0)))  # under both keys: only now its two accounts become one
        found = [(time, study) for time, _, study in told(book)]
        assert sorted(found) == sorted([*theirs, *(pair for pair in own if pair[1] == "accuracy")])
        assert book.verify() == []
    with Ledger.open(three) as last, Ledger.open(one) as book:
        last.merge(book)
        assert sorted((time, study) for time, _, study in told(last)) == sorted(found)
        assert last.figures_shown(last.enter(last.identify(table(0))))
        assert last.verify() == []


def test_one_function_notes_it_and_says_so_once(tmp_path: Path) -> None:
    events: list[Event] = []
    for study in ("curve", "curve", "why"):
        note_study(table(0), study, tmp_path / "book.sqlite", events.append)
    assert events == [Notice("info", NOTED)] * 2
    note_study(table(0), "curve")
    with Ledger.read(tmp_path / "book.sqlite") as book, Ledger.read() as usual:
        assert [f.study for f in book.figures()] == ["curve", "why"]
        assert [f.study for f in usual.figures()] == ["curve"]
        assert user_data() in usual.path.parents


def test_a_generalised_table_is_noted_once_for_each_certificate_and_goes_along_in_a_merge(tmp_path: Path) -> None:
    table = Table(pl.DataFrame({"a": [str(i) for i in range(40)]}), "t.csv")
    one, other = "1" * 64, "2" * 64
    with Ledger.open(tmp_path / "a.sqlite") as first, Ledger.open(tmp_path / "b.sqlite") as second:
        for checksum in (one, one, other):
            first.note_generalised(first.identify(table), checksum, "out.csv")
        assert len(list(first.entries(FIGURES))) == 2
        assert first.published_generalised(one)
        assert not first.published_generalised("3" * 64)
        second.merge(first)
        assert second.published_generalised(one)
        assert second.published_generalised(other)
        dataset = second.find(second.identify(table)).dataset
        assert second.figures_shown(dataset, study="generalised")
        assert not second.figures_shown(dataset, study="curve")
