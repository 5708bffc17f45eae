"""``workbench quality``: a certified release and any other table beside the original; private and noted."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_cases import Run, cities

from workbench.release.ledger.ledger import Ledger


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to stand in, with a table and its plan."""
    monkeypatch.chdir(tmp_path)
    return cities(tmp_path)


def test_synthetic_rows_are_scored_and_the_ledger_notes_it(folder: Path, run: Run) -> None:
    book = ("--ledger", "book.sqlite")
    run("synthesize", "t.csv", "--plan", "plan.toml", "--epsilon", "3", "-o", "s.csv", *book)
    words = ("quality", "s.csv", "--original", "t.csv", "--target", "city", *book)
    found = run(*words, "--json").done
    assert found["private"] is True
    assert found["left_out"] == {}
    assert [c["metric"] for c in found["columns"]] == ["KSComplement", "TVComplement"]
    assert [p["columns"] for p in found["pairs"]] == [["age", "city"]]
    assert set(found["scores"]) == {"column_shapes", "pair_trends", "two_way", "pmse", "training"}
    for one in found["scores"].values():
        assert {"value", "held_out", "share", "level"} <= set(one)
        assert one["value"] <= 1
    assert found["scores"]["pmse"]["ratio"] > 0
    with Ledger.read(Path("book.sqlite")) as ledger:
        assert [shown.study for shown in ledger.figures()] == ["quality"]
    shown = run(*words).shown
    assert "private – not for release" in shown
    assert "Training a model" in shown
    again = run(*words, "--json").done
    assert again == found


def test_any_table_and_a_control_set_will_do(folder: Path, run: Run) -> None:
    rows = Path("t.csv").read_text().splitlines()
    Path("copy.csv").write_text("\n".join(rows[:9]) + "\n")
    Path("others.csv").write_text("\n".join([rows[0], *rows[9:]]) + "\n")
    words = ("quality", "copy.csv", "--original", "copy.csv", "--control", "others.csv", "--ledger", "b.sqlite")
    found = run(*words, "--json").done
    assert found["held_out"] == "control"
    assert found["scores"]["column_shapes"]["value"] == 1


def test_what_is_no_table_of_rows_is_refused(folder: Path, run: Run) -> None:
    book = ("--ledger", "book.sqlite")
    run("statistics", "t.csv", "--plan", "plan.toml", "--epsilon", "1", "-o", "f.csv", *book)
    assert "no rows of people" in run("quality", "f.csv", "--original", "t.csv", *book).refused()
    run("sanitize", "t.csv", "--plan", "plan.toml", "-o", "n.csv", "--ledger", "other.sqlite")
    Path("n.csv").write_text(Path("n.csv").read_text() + "1,Graz\n")
    assert "not the file" in run("quality", "n.csv", "--original", "t.csv", *book).refused()
    assert "no column 'age2'" in run("quality", "t.csv", "--original", "t.csv", "--target", "age2", *book).refused()


def test_numbers_nearer_than_the_steps_of_a_double_are_scored(folder: Path, run: Run) -> None:
    lines = [f"{10**18 + i},{'xy'[i % 2]}" for i in range(60)]
    Path("long.csv").write_text("\n".join(["n,c", *lines]) + "\n", "utf-8")
    assert run("quality", "long.csv", "--original", "long.csv", "--json").done["overall"] is not None


def test_the_original_is_no_control_set_and_rows_without_a_certificate_are_noted(folder: Path, run: Run) -> None:
    book = ("--ledger", "book.sqlite")
    assert run("quality", "t.csv", "--original", "t.csv", "--control", "t.csv", *book).code == 2
    Path("other.csv").write_text("age,city\n" + "\n".join(f"{20 + i},x{i % 3}" for i in range(40)) + "\n", "utf-8")
    run("quality", "other.csv", "--original", "t.csv", "--ledger", "two.sqlite")
    with Ledger.read(Path("two.sqlite")) as ledger:
        assert len({shown.dataset for shown in ledger.figures()}) == 2
