"""Coarse columns: public cuts, values inside them, and empty rows."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtr
from synth_cases import names_of, rows_of, run, setting_of, table_of

from workbench.data.schema import Attribute
from workbench.params import CancelledError, InputError, ParameterError
from workbench.privacy.entropy import SeededEntropy
from workbench.signals.cancel import CancelToken
from workbench.synth import synthesiser
from workbench.synth.base import pair_numbers
from workbench.synth.columns import coarse_columns, coded
from workbench.synth.density import density
from workbench.synth.fit import Measured
from workbench.synth.mst import shares_alone
from workbench.synth.positions import latent_correlation, order_of

AGE = Attribute(name="age", kind="integer", lower=0.0, upper=120.0, missing="own-value")
PAY = Attribute(name="pay", kind="real", lower=0.0, upper=100.0, missing="own-value")
BORN = Attribute(name="born", kind="date", lower=719163.0, upper=730000.0, missing="own-value")
CITY = Attribute(name="city", kind="category", domain=("Graz", "Linz"), missing="own-value")
FLAG = Attribute(name="flag", kind="boolean", missing="own-value")
ALL = (AGE, PAY, BORN, CITY, FLAG)


@pytest.mark.parametrize("cuts", [2, 3, 16, 121, 256])
def test_a_drawn_value_lies_in_its_coarse_cell(cuts):
    for column in coarse_columns(ALL, cuts):
        codes = np.repeat(np.arange(column.size, dtype=np.int32), 50)
        fine = column.draw(codes, SeededEntropy(1))
        assert column.grid.decode(fine).null_count() == 50
        back = np.where(
            fine == column.grid.cells.size, column.cuts, fine.astype(int) * column.cuts // column.grid.cells.size
        )
        assert (back == codes).all()


def test_every_fine_cell_of_a_coarse_one_is_drawn_alike():
    (column,) = coarse_columns([AGE], 16)
    firsts = column.firsts()
    assert firsts[0] == 0
    assert firsts[-1] == 121
    assert set(np.diff(firsts)) <= {7, 8}
    fine = column.draw(np.full(8000, 3, dtype=np.int32), SeededEntropy(2))
    counts = np.bincount(fine.astype(int) - firsts[3])
    assert len(counts) == firsts[4] - firsts[3]
    assert counts.min() > 8000 / len(counts) * 0.8


def test_rows_are_encoded_by_public_facts_alone():
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


def test_a_row_with_one_value_counts_and_an_empty_one_does_not():
    columns = coarse_columns([CITY, FLAG])
    rows = coded(columns, table_of(city=["Graz", None, None], flag=[None, "yes", None]))
    assert rows.counts([0, 1], [3, 3]).sum() == 2
    assert rows.counts([0], [3]).tolist() == [1, 0, 1]


def test_an_unknown_value_is_refused_and_never_becomes_a_cell():
    columns = coarse_columns([Attribute(name="city", kind="category", domain=("Graz", "Linz"))])
    with pytest.raises(InputError, match="'Atlantis' is not in the domain"):
        coded(columns, table_of(city=["Graz", "Atlantis"]))


def test_no_column_is_refused():
    with pytest.raises(ParameterError, match="no columns to synthesise"):
        coarse_columns([])


def test_counts_are_those_of_the_rows():
    codes = np.random.default_rng(4).integers(0, 3, (200, 3))
    rows = rows_of(codes)
    table = rows.counts([2, 0], [3, 3])
    for a in range(3):
        for b in range(3):
            assert table[a, b] == ((codes[:, 2] == a) & (codes[:, 0] == b)).sum()
    assert [c.size for c in names_of(3, 3, 3)] == [3, 3, 3]


# -- The smooth density of a column alone, and where values lie in a model's cells: post-processing of noisy counts


N = 4000


def _normal_cells(correlation: float, cells: int, rows: int = N) -> np.ndarray:
    """Cells of two normal columns, cut into parts of equal share."""
    made = np.random.default_rng(2)
    a = made.normal(size=rows)
    b = correlation * a + np.sqrt(1 - correlation**2) * made.normal(size=rows)
    return np.minimum((ndtr(np.column_stack([a, b])) * cells).astype(np.int64), cells - 1)


def test_empty_parts_of_wide_bounds_stay_nearly_empty():
    """All values lie in 8 of 64 cells; the noise of a cell is a fifth of the fullest one's count."""
    true = np.zeros(64)
    true[4:12] = 200, 400, 700, 900, 800, 500, 300, 200
    noisy = true + np.random.default_rng(1).laplace(0, 180 / np.sqrt(2), 64)
    found = density(noisy, 180.0**2, N, CancelToken())
    assert found is not None
    plain = shares_alone([Measured((0,), (None,), noisy, 180.0**2, (64,))], N, CancelToken())[0]
    assert found.sum() == pytest.approx(1)
    assert (found >= 0).all()
    assert found[20:].sum() < 0.02 < plain[20:].sum()


def test_without_noise_the_density_is_the_counts_even_where_most_values_are_0():
    true = np.array([2000.0, 0, 0, 100, 300, 700, 500, 300, 80, 20])
    found = density(true, 1e-2, N, CancelToken())
    assert found is not None
    assert np.abs(found - true / N).max() < 2e-3


def test_few_cells_or_rows_have_no_density_and_cancel_is_heard():
    assert density(np.ones(5), 1.0, 5, CancelToken()) is None
    assert density(np.ones(9), 1.0, 0, CancelToken()) is None
    cancel = CancelToken()
    cancel.cancel()
    with pytest.raises(CancelledError):
        density(np.ones(9), 1.0, 9, cancel)


@pytest.mark.parametrize("correlation", [-0.9, -0.3, 0.0, 0.5, 0.93])
@pytest.mark.parametrize("cells", [2, 4])
def test_the_correlation_behind_a_table_is_found(correlation, cells):
    table = np.zeros((cells, cells))
    np.add.at(table, tuple(_normal_cells(correlation, cells).T), 1)
    # Five standard errors of a tetrachoric correlation of 4,000 rows, at most π/2 · 1/√n.
    assert latent_correlation(table) == pytest.approx(correlation, abs=0.15)


def test_no_correlation_is_found_in_an_empty_table_or_a_single_cell():
    assert latent_correlation(np.zeros((3, 3))) == 0.0
    assert latent_correlation(np.ones((1, 3))) == 0.0


def test_each_column_is_placed_once_behind_the_one_that_it_is_paired_with():
    assert order_of(5, [(3, 1), (0, 3), (0, 4)], 2) == [(2, ()), (0, (2,)), (3, (2, 0)), (4, (2, 0)), (1, (2, 3))]
    assert order_of(3, [(1, 2)], None) == [(0, ()), (1, ()), (2, (1,))]


def test_values_in_few_wide_cells_keep_their_correlation(monkeypatch):
    """At this ε a column has few parts; the same cells are filled as other columns suggest, and at random."""
    columns = names_of(40, 40, 40, ordered=True)
    made = np.random.default_rng(5)
    a = made.normal(size=N)
    numbers = np.column_stack([a, *(0.97 * a + np.sqrt(1 - 0.97**2) * made.normal(size=N) for _ in range(2))])
    setting = setting_of(columns, N, "0.5", target=2)
    rows = rows_of(np.clip(20 + 6 * numbers, 0, 39).astype(np.int64))

    def correlation() -> float:
        return float(np.corrcoef(run("tan", setting, rows, N).codes[:, [0, 2]].T)[0, 1])

    following = correlation()
    monkeypatch.setattr("workbench.synth.positions.positions", lambda *_: {})
    assert following > correlation() + 0.03


def test_no_pair_is_called_like_a_column():
    assert pair_numbers(["age", "pair 3"], 2) == ["1", "2"]
    assert pair_numbers(["pair 2", "pair 1 chosen"], 2) == ["1 chosen chosen", "2 chosen chosen"]


@pytest.mark.parametrize("method", ["mst", "aim", "tan"])
def test_labels_differ_where_a_column_is_called_like_a_pair(method):
    columns = names_of(3, 3, 3, 3)
    renamed = tuple(
        replace(c, grid=replace(c.grid, attribute=replace(c.grid.attribute, name=f"pair {k}")))
        for k, c in enumerate(columns)
    )
    labels = [query.label for query in synthesiser(method).queries(setting_of(renamed, 400))]
    assert len(set(labels)) == len(labels)


def test_a_column_with_all_rows_in_one_cell_is_correlated_with_nothing():
    for table in (np.diag([1.0, 0.0, 0.0]), np.array([[0.5, 0.5], [0.0, 0.0]]), np.array([[0.2, 0.0], [0.8, 0.0]])):
        assert latent_correlation(table) == pytest.approx(0.0, abs=1e-12)
