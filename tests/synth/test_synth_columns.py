"""Coarse columns: public cuts, values inside them, and empty rows."""

from __future__ import annotations

import numpy as np
import pytest
from synth_cases import names_of, rows_of, table_of

from workbench.data.schema import Attribute
from workbench.params import InputError, ParameterError
from workbench.privacy.entropy import SeededEntropy
from workbench.synth.columns import coarse_columns, coded

AGE = Attribute(name="age", kind="integer", lower=0.0, upper=120.0, missing="own-value")
PAY = Attribute(name="pay", kind="real", lower=0.0, upper=100.0, missing="own-value")
BORN = Attribute(name="born", kind="date", lower=719163.0, upper=730000.0, missing="own-value")
CITY = Attribute(name="city", kind="category", domain=("Graz", "Linz"), missing="own-value")
FLAG = Attribute(name="flag", kind="boolean", missing="own-value")
ALL = (AGE, PAY, BORN, CITY, FLAG)


@pytest.mark.parametrize("cuts", [2, 3, 16, 121, 256])
def test_a_drawn_value_lies_in_its_coarse_cell(cuts: int) -> None:
    for column in coarse_columns(ALL, cuts):
        codes = np.repeat(np.arange(column.size, dtype=np.int32), 50)
        fine = column.draw(codes, SeededEntropy(1))
        assert column.grid.decode(fine).null_count() == 50
        back = np.where(
            fine == column.grid.cells.size, column.cuts, fine.astype(int) * column.cuts // column.grid.cells.size
        )
        assert (back == codes).all()


def test_every_fine_cell_of_a_coarse_one_is_drawn_alike() -> None:
    (column,) = coarse_columns([AGE], 16)
    firsts = column.firsts()
    assert firsts[0] == 0
    assert firsts[-1] == 121
    assert set(np.diff(firsts)) <= {7, 8}
    fine = column.draw(np.full(8000, 3, dtype=np.int32), SeededEntropy(2))
    counts = np.bincount(fine.astype(int) - firsts[3])
    assert len(counts) == firsts[4] - firsts[3]
    assert counts.min() > 8000 / len(counts) * 0.8


def test_rows_are_encoded_by_public_facts_alone() -> None:
    columns = coarse_columns(ALL, 4)
    table = table_of(
        age=["0", "120", "999", None],
        pay=["0", "100", "-3", None],
        born=["1970-01-01", "1999-09-03", "2050-01-01", None],
        city=["Graz", "Linz", "Graz", None],
        flag=["false", "true", "no", None],
    )
    rows = coded(columns, table)
    assert rows.codes.tolist() == [[0, 0, 0, 0, 0], [3, 3, 3, 1, 1], [3, 0, 3, 0, 0], [4, 4, 4, 2, 2]]
    assert rows.present.tolist() == [True, True, True, False]


def test_a_row_with_one_value_counts_and_an_empty_one_does_not() -> None:
    columns = coarse_columns([CITY, FLAG])
    rows = coded(columns, table_of(city=["Graz", None, None], flag=[None, "yes", None]))
    assert rows.counts([0, 1], [3, 3]).sum() == 2
    assert rows.counts([0], [3]).tolist() == [1, 0, 1]


def test_an_unknown_value_is_refused_and_never_becomes_a_cell() -> None:
    columns = coarse_columns([Attribute(name="city", kind="category", domain=("Graz", "Linz"))])
    with pytest.raises(InputError, match="'Atlantis' is not in the domain"):
        coded(columns, table_of(city=["Graz", "Atlantis"]))


def test_no_column_is_refused() -> None:
    with pytest.raises(ParameterError, match="no column is left"):
        coarse_columns([])


def test_counts_are_those_of_the_rows() -> None:
    codes = np.random.default_rng(4).integers(0, 3, (200, 3))
    rows = rows_of(codes)
    table = rows.counts([2, 0], [3, 3])
    for a in range(3):
        for b in range(3):
            assert table[a, b] == ((codes[:, 2] == a) & (codes[:, 0] == b)).sum()
    assert [c.size for c in names_of(3, 3, 3)] == [3, 3, 3]
