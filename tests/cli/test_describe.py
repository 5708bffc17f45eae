"""``workbench describe`` and ``workbench samples`` by their contract."""

import json
from pathlib import Path

import pytest

from workbench.cli import main


def test_json_has_the_keys_of_the_contract(tmp_path, run):
    path = tmp_path / "t.csv"
    path.write_text("zip;age;note\n007;31;\n010;45;x\n")
    told = run("describe", str(path), "--json").done
    assert told["rows"] == 2
    keys = ("name", "kind", "missing", "distinct")
    assert [tuple(column[key] for key in keys) for column in told["columns"]] == [
        ("zip", "category", 0, 2),
        ("age", "integer", 0, 2),
        ("note", "category", 1, 1),
    ]
    dialect = {key: told["dialect"][key] for key in ("encoding", "delimiter", "quote", "header")}
    assert dialect == {"encoding": "utf-8", "delimiter": ";", "quote": '"', "header": True}


def test_text_is_aligned_and_says_that_it_is_private(tmp_path, run):
    lines = run("describe", "sample:people").shown.splitlines()
    assert lines[0] == "sample:people: 2,000 rows, 7 columns"
    assert "private" in lines[-1]
    header = next(line for line in lines if line.startswith("column"))
    end = header.index("missing") + len("missing")
    assert all(line[end - 1] == "0" for line in lines[3:10])


def test_reading_options_win_over_the_guess(tmp_path, run):
    path = tmp_path / "t.csv"
    path.write_bytes("Größe;Jahr\n'1,5';2019\n".encode("cp1252"))
    stated = {"--encoding": "cp1252", "--delimiter": ";", "--quote": "'", "--decimal": ",", "--header": "no"}
    words = [word for option in stated.items() for word in option]
    told = run("describe", str(path), *words, "--json").done
    assert told["rows"] == 2
    assert [column["name"] for column in told["columns"]] == ["column1", "column2"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["absent.csv"], "error: there is no such file (absent.csv); check the path"),
        (["sample:peple"], "error: there is no sample 'peple', did you mean 'people'?"),
        (["sample:people", "--header", "maybe"], "error: --header = 'maybe' is not known"),
        (["."], "error: this is a folder, not a file (.); give a file in it"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(words, sentence, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["describe", *words]) == 2
    streams = capsys.readouterr()
    assert streams.out == ""
    assert streams.err.startswith(sentence)
    assert streams.err.count("\n") == 1


def test_samples_are_listed(run):
    names = run("samples", "--json").done["samples"]
    assert names[:2] == ["people", "iris"]
    told = run("samples").shown
    assert all(f"sample:{name} " in told for name in names)


def legacy(tmp_path: Path) -> Path:
    path = tmp_path / "t.csv"
    path.write_bytes("id;size\n1;'25 m²'\n2;'30 €'\n".encode("cp1252"))
    return path


def test_notes_of_guesses_reach_a_pipe(tmp_path, capsys):
    path = legacy(tmp_path)
    told = "note: the file is not UTF-8; its encoding was guessed as cp1252"
    for words in (["describe", str(path)], ["plan", str(path), "--epsilon", "1", "-o", str(tmp_path / "plan.toml")]):
        for more in ([], ["--json"]):
            assert main([*words, *more]) == 0
            streams = capsys.readouterr()
            assert streams.err.startswith(told)
            assert told not in streams.out
            if more:
                assert isinstance(json.loads(streams.out), dict)


def test_a_doubt_shows_the_same_cells_under_each_candidate(tmp_path, run):
    path = legacy(tmp_path)
    encoding, quote = run("describe", str(path), "--json").done["doubts"]
    assert (encoding["about"], encoding["option"]) == ("encoding", "--encoding cp1252")
    assert encoding["candidates"][0] == {"option": "--encoding cp1252", "fits": True, "cells": ["25 m²", "30 €"]}
    assert {"option": "--encoding cp1250", "fits": True, "cells": ["25 m˛", "30 €"]} in encoding["candidates"]
    assert [c["cells"] for c in quote["candidates"]] == [["25 m²", "30 €"], ["'25 m²'", "'30 €'"]]
    lines = run("describe", str(path)).shown.splitlines()
    assert "    --encoding cp1252     25 m²   30 €" in lines
    assert any(line.endswith("'25 m²'   '30 €'") for line in lines)


def test_no_option_and_no_doubt_is_told_of_a_plain_table(tmp_path, capsys):
    path = tmp_path / "t.csv"
    path.write_text("id,age\n1,31\n2,45\n")
    assert main(["describe", str(path), "--json"]) == 0
    streams = capsys.readouterr()
    assert (json.loads(streams.out)["doubts"], streams.err) == ([], "")


def test_a_flag_takes_no_value(tmp_path, run):
    path = tmp_path / "t.csv"
    path.write_text("made by x\n# one\n1 , x\n2 , y\n")
    words = ["--trim", "--skip-lines", "1", "--comment", "#", "--names", "id, word", "--json"]
    told = run("describe", str(path), *words).done
    assert (told["rows"], [(c["name"], c["distinct"]) for c in told["columns"]]) == (2, [("id", 2), ("word", 2)])
    assert "--trim" in run("describe", str(path), "--trim=yes").error()


def test_repeated_names_are_said_where_a_table_is_described_or_planned_and_nowhere_else(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "twice.csv").write_text("age,age\n" + "31,1\n47,2\n" * 6, "utf-8")
    described = run("describe", "twice.csv")
    assert (described.shown + described.err).count("age.1") == 2  # once as said, once as a column
    assert "age.1" in run("describe", "twice.csv", "--json").done["notices"][0]
    planned = run("plan", "twice.csv", "--epsilon", "1", "--header", "yes", "--from-data", "-o", "plan.toml")
    assert planned.err.count("the same name more than once") == 1
    assert run("plan", "--confirm", "plan.toml").code == 0
    done = run("sanitize", "twice.csv", "--plan", "plan.toml", "-o", "out.csv", "--ledger", "l.sqlite")
    assert (done.code, "more than once" in done.err) == (0, False)
