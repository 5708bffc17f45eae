"""The profile of a table that is read in parts, and of a column with too many different values to keep them all."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_rows_in_parts import in_parts

from workbench.data.columns import profile as module
from workbench.data.columns.profile import profile
from workbench.data.read import ReadOptions, read_table

CELLS = {
    "age": lambda k: str(k % 37),
    "word": lambda k: ("yes", "no", "NA", "")[k % 4],
    "pay": lambda k: f"{k % 50},5" if k != 171 else "7.5",  # two ways of writing
    "day": lambda k: f"{k % 28 + 1:02}/{k % 12 + 1:02}/2020" if k != 60 else "x",
    "code": lambda k: f"00{k}",
    "id": lambda k: str(1000 + k),
    "real": lambda k: f"{k * 37 % 101}.25" if k % 9 else " ",
}


def written(path: Path, rows: int) -> Path:
    lines = [";".join(CELLS), *(";".join(cell(k) for cell in CELLS.values()) for k in range(rows))]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("missing", [None, ("no",)])
def test_the_profile_of_parts_is_that_of_the_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: tuple[str, ...] | None
) -> None:
    path = written(tmp_path / "a.csv", 400)
    options = ReadOptions(missing=missing)
    expected = profile(read_table(path, options))
    in_parts(monkeypatch, piece=300)
    table = read_table(path, options)
    assert profile(table) == expected
    assert table.in_parts
    assert any("row 172" in suspicion.why for suspicion in expected[2].suspicions)


def test_of_very_many_values_a_sample_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "a.csv", 30_000)
    whole = {column.name: column for column in profile(read_table(path))}
    in_parts(monkeypatch, piece=20_000)
    monkeypatch.setattr(module, "_TOGETHER", 7 * 5_000)
    sampled = {column.name: column for column in profile(read_table(path))}
    for name in ("age", "word", "real"):
        assert sampled[name] == whole[name]
    found, exact = sampled["id"], whole["id"]
    assert exact.distinct == 30_000
    assert abs(found.distinct - 30_000) < 1_500
    assert (found.kind, found.missing, found.lower, found.upper) == ("integer", 0, exact.lower, exact.upper)
    assert [one.label for one in found.histogram] == [one.label for one in exact.histogram]
    assert abs(sum(one.count for one in found.histogram) - 30_000) <= 20
    assert {s.what for s in found.suspicions} == {"identifier", "estimate"}
    assert sampled["code"].values == ()
