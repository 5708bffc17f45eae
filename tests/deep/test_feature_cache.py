"""Features of a frozen part on disk: private, found again, repaired, bounded, cleared."""

from __future__ import annotations

import hashlib
import stat
from pathlib import Path

import numpy as np
import pytest

from workbench.deep import feature_cache
from workbench.deep.feature_cache import BLOCK, KEY, FeatureCache, cache_state, clear

ROWS = BLOCK + 3
INPUTS = np.random.default_rng(0).random((ROWS, 4), dtype=np.float32)


class Maker:
    """Makes features, and counts how often."""

    def __init__(self) -> None:
        self.made: list[int] = []

    def all(self, cache: FeatureCache) -> np.ndarray:
        return np.concatenate([cache.block(start, lambda s=start: self.of(s)) for start in (0, BLOCK)])

    def of(self, start: int) -> np.ndarray:
        self.made.append(start)
        return INPUTS[start : start + BLOCK] * 2


def test_features_are_made_once_for_the_same_rows_and_part(tmp_path: Path) -> None:
    maker = Maker()
    for _ in range(2):
        assert np.array_equal(maker.all(FeatureCache(INPUTS, "twice", 4, tmp_path)), INPUTS * 2)
    assert maker.made == [0, BLOCK]
    maker.all(FeatureCache(INPUTS, "another part", 4, tmp_path))
    maker.all(FeatureCache(INPUTS[::-1], "twice", 4, tmp_path))
    assert maker.made == [0, BLOCK] * 3
    assert cache_state(tmp_path).sets == 3


def test_the_files_are_the_owners_alone(tmp_path: Path) -> None:
    Maker().all(FeatureCache(INPUTS, "twice", 4, tmp_path / "features"))
    files = list((tmp_path / "features").rglob("*"))
    assert {stat.S_IMODE(f.stat().st_mode) for f in files if f.is_file()} == {0o600}
    folders = [tmp_path / "features", *(f for f in files if f.is_dir())]
    assert {stat.S_IMODE(f.stat().st_mode) for f in folders} == {0o700}


def test_the_name_of_a_set_tells_nothing_of_the_rows_without_the_key(tmp_path: Path) -> None:
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


def test_an_interrupted_or_damaged_set_is_completed(tmp_path: Path) -> None:
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


def test_the_oldest_make_room_and_a_set_beyond_the_limit_is_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feature_cache, "LIMIT", 3 * INPUTS.nbytes // 2 * 2)
    for part in ("one", "two", "three"):
        Maker().all(FeatureCache(INPUTS, part, 4, tmp_path))
    assert cache_state(tmp_path).sets == 2
    monkeypatch.setattr(feature_cache, "LIMIT", INPUTS.nbytes - 1)
    maker = Maker()
    maker.all(FeatureCache(INPUTS, "four", 4, tmp_path))
    assert maker.made == [0, BLOCK]


def test_a_disk_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert np.array_equal(Maker().all(FeatureCache(INPUTS, "twice", 4, tmp_path / "file")), INPUTS * 2)


def test_clearing_removes_features_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    Maker().all(FeatureCache(INPUTS, "twice", 4, tmp_path))
    before = clear(tmp_path)
    assert before.sets == 1
    assert before.size > INPUTS.nbytes
    assert [f.name for f in tmp_path.iterdir()] == ["mine"]
    assert cache_state(tmp_path).sets == 0
