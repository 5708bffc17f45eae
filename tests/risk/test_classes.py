"""Equivalence classes over chosen columns."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from workbench.data.samples.sample_tables import sample_table
from workbench.data.table import Table
from workbench.data.table_reader import read_table
from workbench.params import InputError, ParameterError
from workbench.risk.attacks import attack
from workbench.risk.attacks.base import Subject
from workbench.risk.attacks.common_columns import common_columns
from workbench.risk.attacks.reconstruction import Reconstruction, _of_rows
from workbench.risk.distances import classes, coded
from workbench.risk.hierarchies import BUILDERS, Hierarchy, builder, file_name, read_hierarchy
from workbench.risk.hierarchies.builders import made, way_of
from workbench.signals.cancel import CancelToken
from workbench.signals.events import ignore


@given(arrays(np.int64, st.tuples(st.integers(0, 40), st.integers(0, 4)), elements=st.integers(0, 3)))
def test_rows_share_a_class_exactly_where_all_their_values_agree(values):
    found = classes(list(values.T), len(values))
    alike = (values[:, None, :] == values[None, :, :]).all(axis=2)
    assert (found.of[:, None] == found.of[None, :]).tolist() == alike.tolist()
    assert found.of_rows.tolist() == alike.sum(axis=1).tolist()


def test_a_missing_value_is_a_value_of_its_own():
    table = Table(pl.DataFrame({"a": ["x", None, "x", None, "b"]}), source="t.csv")
    codes, values = coded(table, "a")
    assert [values[code] for code in codes] == ["x", None, "x", None, "b"]
    assert classes([codes], 5).sizes.tolist() == [1, 2, 2]


# -- Columns that attacks compare: words are words, though no cell of them is a number --------------------------------


def test_words_have_codes_and_numbers_are_numbers():
    found = common_columns([read_table("sample:people")], ("age", "sex", "label"))
    assert found.numeric.tolist() == [True, False, False]
    assert found.words[1:] == (("female", "male"), ("no", "yes"))
    assert not np.isnan(found.tables[0]).any()


def test_long_numbers_that_one_double_stands_for_are_told_apart():
    frame = pl.DataFrame({"account": [str(10**18 + i) for i in range(3)], "mass": ["1e20", "2e20", "3e20"]})
    found = common_columns([Table(frame, "t.csv")])
    assert found.numeric.tolist() == [False, True]
    assert len(np.unique(found.tables[0][:, 0])) == 3


# -- Bounds rest on this: a person who was released and one of the control set may change places in what is asked


def table(**columns: object) -> Table:
    return Table(pl.DataFrame({name: np.asarray(v).astype(str) for name, v in columns.items()}), "t.csv")


def test_the_questions_of_a_reconstruction_are_made_of_the_control_set_too():
    """Else a person who was released meets more questions of her own than one who was not."""
    rng = np.random.default_rng(0)
    numbers = np.r_[0, 9, rng.integers(1, 9, 48)]
    cells = {"a": numbers, "b": np.where(np.arange(50) < 40, "here", "there"), "bit": rng.integers(0, 2, 50)}
    people, others = (table(**{n: v[part] for n, v in cells.items()}) for part in (slice(40), slice(40, 50)))
    shared = common_columns([people, people, others])
    asked = _of_rows(shared, ["a", "b"], 2, 1.0, Reconstruction(secret="bit"), np.random.default_rng(1))[0]
    of_others = asked.strangers.any(axis=1) & ~asked.people.any(axis=1)
    assert of_others.any()


def test_how_near_a_guess_must_be_does_not_depend_on_who_was_released():
    """Twenty different numbers in one table and one more in the other: a guess within 5 % is right in both orders."""
    key = np.arange(40)
    one, other = 1000 + 50 * (key % 20), 1000 + 50 * (key % 21)
    released = table(key=key, secret=one * 1.01)
    tables = table(key=key, secret=one), table(key=key, secret=other)
    found = []
    for original, control in (tables, tables[::-1]):
        subject = Subject(release=released, tables={"original": original, "control": control})
        chosen = attack("inference")
        found.append(chosen.run(subject, chosen.asked()(secret="secret"), ignore, CancelToken()))
    assert found[0].main.value == 1.0
    assert found[1].control is not None
    assert found[1].control.value == found[0].main.value


# -- Builders of hierarchies, and their files -------------------------------------------------------------------------


CASES: dict[str, tuple[list[str], dict[str, Any], list[str]]] = {
    "intervals": (
        ["7", "23", "38", "99"],
        {"widths": (5, 10), "lowest": 10, "highest": 90},
        ["7;<10;<10;*", "23;20-24;20-29;*", "38;35-39;30-39;*", "99;>=90;>=90;*"],
    ),
    "dates": (
        ["1984-03-07", "1984-11-30", "1991-01-01"],
        {"steps": ("decade", "month", "year")},
        ["1984-03-07;1984-03;1984;1980s;*", "1984-11-30;1984-11;1984;1980s;*", "1991-01-01;1991-01;1991;1990s;*"],
    ),
    "masking": (["81667", "81925", "9"], {"keep": 3}, ["81667;8166*;816**;*", "81925;8192*;819**;*", "9;*;**;*"]),
    "rounding": (["3", "37", "44.9"], {"steps": (5, 10)}, ["3;5;10;*", "37;35;40;*", "44.9;45;50;*"]),
    "order": (["10", "9", "1"], {"size": 2}, ["10;10;*", "9;1 - 9;*", "1;1 - 9;*"]),
    "tree": (
        ["Bremen", "Ulm", "Lyon", "Oslo"],
        {"groups": ("Germany = Bremen | Ulm", "France = Lyon", "EU = Germany | France")},
        ["Bremen;Germany;EU;*", "Ulm;Germany;EU;*", "Lyon;France;EU;*", "Oslo;Oslo;Oslo;*"],
    ),
}


def test_every_builder_has_a_case():
    assert set(CASES) == {one.name for one in BUILDERS}


@pytest.mark.parametrize("name", CASES)
def test_a_builder_makes_these_levels_and_the_file_gives_them_back(name, tmp_path):
    values, parameters, lines = CASES[name]
    if name == "masking":  # a single "9" is "*" at level 1: the next level would be of another width
        values, lines = values[:2], lines[:2]
    made_ = builder(name)(**parameters).build(values)
    assert made_.to_text().splitlines() == lines
    path = tmp_path / "h.csv"
    path.write_text(made_.to_text(), encoding="utf-8")
    assert read_hierarchy(path) == made_


def test_every_builder_works_as_it_is_declared_first():
    suited = {"dates": ["2020-02-29", "1999-12-31"]}
    for one in BUILDERS:
        found = one().build(suited.get(one.name, ["12", "47"]))
        assert found.levels[-1] == ("*", "*")


def test_a_level_never_separates_what_the_one_below_joins():
    with pytest.raises(InputError, match="level 2 splits"):
        Hierarchy.from_text("a;x;1\nb;x;2\n")
    with pytest.raises(ParameterError, match="15 is not a multiple of 10"):
        builder("intervals")(widths=(10, 15))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a;*\na;*\n", "two lines"),
        ("a;*\nb\n", "line 2 of the hierarchy has 1 columns"),
        ("", "no value"),
        ("a,*\nb,*\n", "not separated by semicolons"),
    ],
)
def test_a_file_that_is_none_is_refused(text, message):
    with pytest.raises(InputError, match=message):
        Hierarchy.from_text(text)


def test_an_unknown_value_is_named_with_its_column():
    hierarchy = Hierarchy.from_text("a;*\nb;*\n")
    with pytest.raises(InputError, match="'c' of the column town"):
        hierarchy.of(["a", "c"], "town")
    missing = hierarchy.of(["a", None], "town")
    assert missing.levels == (("a", ""), ("*", "*"))


@pytest.mark.parametrize("header", ["Town;level 1", "level0;level1"])
def test_a_header_is_no_value(header):
    bare = Hierarchy.from_text("a;*\nb;*\n")
    assert Hierarchy.from_text(f"{header}\na;*\nb;*\n").without_header("town", ["a", "b"]) == bare
    assert bare.without_header("town", ["b"]) == bare  # a value that does not occur has the label of the others
    assert bare.without_header("a", ["a", "b"]) == bare


def test_labels_with_separators_and_quotes_survive_the_file():
    odd = Hierarchy((("a;b", 'say "x"', "line\nbreak"), ("*", "*", "*")))
    assert Hierarchy.from_text(odd.to_text()) == odd


@pytest.mark.parametrize(("column", "levels"), [("age", 6), ("sex", 2), ("zip", 6), ("income", 6)])
def test_a_suggestion_fits_what_the_values_look_like(column, levels):
    found = made(sample_table("people"), column)
    assert len(found.levels) == levels
    assert found.levels[-1][0] == "*"


def test_a_way_in_words():
    column, way = way_of("age = intervals : widths=10,20; start=5")
    assert (column, way.name) == ("age", "intervals")
    assert way.to_plain() == {"widths": [10, 20], "start": 5}
    with pytest.raises(ParameterError, match="did you mean 'intervals'"):
        way_of("age=interval")
    with pytest.raises(ParameterError, match="is not a parameter of masking"):
        way_of("zip=masking:width=2")


def test_a_column_whose_name_is_no_file_name_has_a_file():
    assert file_name("age") == "age.csv"
    assert file_name("a/b") == "a%2Fb.csv"
    assert "/" not in file_name("../x")
