"""Inputs come from declared facts alone."""

import hashlib
import math
import stat

import numpy as np
import pytest
from array_data import ArrayData
from hypothesis import given
from hypothesis import strategies as st

from workbench.data.schema import Attribute
from workbench.deep import feature_cache
from workbench.deep.feature_cache import BLOCK, KEY, FeatureCache, cache_state, clear
from workbench.deep.features import Features
from workbench.params import InputError, ParameterError

AGE = Attribute(name="age", kind="integer", lower=0, upper=100)
BMI = Attribute(name="bmi", kind="real", lower=10, upper=60, missing="own-value")
SEX = Attribute(name="sex", kind="category", domain=("f", "m"))
BLOOD = Attribute(name="blood", kind="category", domain=("0", "A", "B"), missing="own-value")
LABEL = Attribute(name="label", kind="boolean")
FEATURES = Features((AGE, BMI, SEX, BLOOD), LABEL)


def test_numbers_scale_to_declared_bounds_and_categories_are_indicators():
    X = [[0, 60, 0, 2], [100, math.nan, 1, 3], [50, 10, 0, 0]]
    assert FEATURES.width == 1 + 2 + 2 + 4
    assert FEATURES.encode(X).tolist() == [
        [-1, 1, 0, 1, 0, 0, 0, 1, 0],
        [1, 0, 1, 0, 1, 0, 0, 0, 1],
        [0, -1, 0, 1, 0, 1, 0, 0, 0],
    ]


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=20))
def test_a_rows_inputs_depend_on_that_row_alone_and_stay_in_bounds(ages):
    features = Features((AGE,), LABEL)
    together = features.encode([[a] for a in ages])
    assert np.abs(together).max() <= 1
    for age, inputs in zip(ages, together, strict=True):
        assert features.encode([[age]]).tolist() == [inputs.tolist()]


def test_wide_bounds_do_not_overflow():
    wide = Features((Attribute(name="x", kind="real", lower=-1e150, upper=1e150),), LABEL)
    assert wide.encode([[-1e150], [0.0], [1e150]]).tolist() == [[-1], [0], [1]]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ([math.inf, 20, 0, 0], "row 1, column age"),
        ([math.nan, 20, 0, 0], "missing"),
        ([1, 20, 2, 0], "sex"),
        ([1, 20, 0.5, 0], "sex"),
        ([1, 20, 0, 4], "blood"),
    ],
)
def test_a_value_that_is_none_of_its_column_is_named(row, said):
    with pytest.raises(InputError, match=said):
        FEATURES.encode([row])


def test_undeclared_facts_are_refused_before_any_row_is_seen():
    with pytest.raises(ParameterError, match="bound is not declared"):
        Features((Attribute(name="x", kind="real"),), LABEL)
    with pytest.raises(ParameterError, match="domain is not declared"):
        Features((AGE,), Attribute(name="y", kind="category"))
    with pytest.raises(ParameterError, match="two columns have the same name"):
        Features((AGE, AGE), LABEL)


def test_classes_outside_the_domain_are_refused_and_empty_rows_are_not():
    features = Features((AGE,), LABEL)
    with pytest.raises(InputError, match="row 2"):
        ArrayData(features, [[1], [2]], [0, 2]).load()
    assert ArrayData(features, [[1], [2]], [1, -1]).load()[1].tolist() == [1, -1]
    assert ArrayData(features, [[1], [2]], [1, -1]).rows == 2


# -- Features of a frozen part on disk: private, found again, repaired, bounded, cleared ------------------------------


ROWS = BLOCK + 3
INPUTS = np.random.default_rng(0).random((ROWS, 4), dtype=np.float32)


class Maker:
    def __init__(self) -> None:
        self.made: list[int] = []

    def all(self, cache: FeatureCache) -> np.ndarray:
        return np.concatenate([cache.block(start, lambda s=start: self.of(s)) for start in (0, BLOCK)])

    def of(self, start: int) -> np.ndarray:
        self.made.append(start)
        return INPUTS[start : start + BLOCK] * 2


def test_features_are_made_once_for_the_same_rows_and_part(tmp_path):
    maker = Maker()
    for _ in range(2):
        assert np.array_equal(maker.all(FeatureCache(INPUTS, "twice", 4, tmp_path)), INPUTS * 2)
    assert maker.made == [0, BLOCK]
    maker.all(FeatureCache(INPUTS, "another part", 4, tmp_path))
    maker.all(FeatureCache(INPUTS[::-1], "twice", 4, tmp_path))
    assert maker.made == [0, BLOCK] * 3
    assert cache_state(tmp_path).sets == 3


def test_the_files_are_the_owners_alone(tmp_path):
    Maker().all(FeatureCache(INPUTS, "twice", 4, tmp_path / "features"))
    files = list((tmp_path / "features").rglob("*"))
    assert {stat.S_IMODE(f.stat().st_mode) for f in files if f.is_file()} == {0o600}
    folders = [tmp_path / "features", *(f for f in files if f.is_dir())]
    assert {stat.S_IMODE(f.stat().st_mode) for f in folders} == {0o700}


def test_the_name_of_a_set_tells_nothing_of_the_rows_without_the_key(tmp_path):
    names, keys = set(), []
    for folder in (tmp_path / "one", tmp_path / "two"):
        Maker().all(FeatureCache(INPUTS, "twice", 4, folder))
        names |= {path.name for path in folder.iterdir() if path.is_dir()}
        keys.append((folder / KEY).read_bytes())
    assert len(names) == 2, "the same rows and part under another key"
    assert len({*keys}) == 2
    assert all(len(key) == 32 for key in keys)
    plain = hashlib.sha256(f"twice\0{INPUTS.shape}\0004\0".encode() + INPUTS.tobytes()).hexdigest()
    assert plain not in names
    maker = Maker()
    (tmp_path / "one" / KEY).write_bytes(b"short")
    assert np.array_equal(maker.all(FeatureCache(INPUTS, "twice", 4, tmp_path / "one")), INPUTS * 2)
    assert maker.made == [0, BLOCK], "where there is no key nothing is kept"


def test_an_interrupted_or_damaged_set_is_completed(tmp_path):
    maker = Maker()
    FeatureCache(INPUTS, "twice", 4, tmp_path).block(0, lambda: maker.of(0))
    assert np.array_equal(maker.all(FeatureCache(INPUTS, "twice", 4, tmp_path)), INPUTS * 2)
    assert maker.made == [0, BLOCK]
    file = next(tmp_path.rglob("0.features"))
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    for damage in (bytes(data), bytes(data[:-1]), b""):
        file.write_bytes(damage)
        assert np.array_equal(maker.all(FeatureCache(INPUTS, "twice", 4, tmp_path)), INPUTS * 2)
    assert maker.made == [0, BLOCK, 0, 0, 0]


def test_the_oldest_make_room_and_a_set_beyond_the_limit_is_not_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(feature_cache, "LIMIT", 3 * INPUTS.nbytes // 2 * 2)
    for part in ("one", "two", "three"):
        Maker().all(FeatureCache(INPUTS, part, 4, tmp_path))
    assert cache_state(tmp_path).sets == 2
    monkeypatch.setattr(feature_cache, "LIMIT", INPUTS.nbytes - 1)
    maker = Maker()
    maker.all(FeatureCache(INPUTS, "four", 4, tmp_path))
    assert maker.made == [0, BLOCK]


def test_a_disk_that_cannot_be_written_is_no_error(tmp_path):
    (tmp_path / "file").write_text("")
    assert np.array_equal(Maker().all(FeatureCache(INPUTS, "twice", 4, tmp_path / "file")), INPUTS * 2)


def test_clearing_removes_features_and_nothing_else(tmp_path):
    (tmp_path / "mine").mkdir()
    Maker().all(FeatureCache(INPUTS, "twice", 4, tmp_path))
    before = clear(tmp_path)
    assert before.sets == 1
    assert before.size > INPUTS.nbytes
    assert [f.name for f in tmp_path.iterdir()] == ["mine"]
    assert cache_state(tmp_path).sets == 0
