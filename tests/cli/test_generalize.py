"""``workbench generalize`` by its contract: the file, its certificate, the ledger's note, and verification."""

import csv
import errno
import hashlib
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from command_cases import Run

from workbench.data.table_reader import read_table
from workbench.release.certificate import checksum
from workbench.release.described_release import is_release
from workbench.release.ledger.ledger import Ledger
from workbench.release.part_files import DrawFile
from workbench.release.statements import BESIDE

QUASI = ("--quasi", "age,sex,zip", "--hierarchies", "levels")


def made(run: Run, *more: str, out: str = "out.csv", data: str = "sample:people") -> dict[str, object]:
    if not Path("levels").exists():
        assert run("generalize", data, *QUASI, "--make").code == 0
    words = ("--k", "5", "--suppression", "0.05", "-o", out, "--ledger", "g.sqlite", "--json")
    return run("generalize", data, *QUASI, *words, *more).done


def test_the_keys_of_the_contract_and_what_the_file_is_like(folder, run):
    result = made(run, "--sensitive", "label", "--l", "2")
    assert set(result["levels"]) == {"age", "sex", "zip"}  # type: ignore[call-overload]
    assert isinstance(result["suppressed"], int)
    assert isinstance(result["loss"], float)
    rows = list(csv.reader(Path("out.csv").read_text("utf-8").splitlines()))
    assert rows[0] == ["age", "sex", "zip", "label"]  # identifiers and what nobody named are left out
    classes: dict[tuple[str, ...], set[str]] = {}
    sizes: dict[tuple[str, ...], int] = {}
    for *quasi, label in rows[1:]:
        classes.setdefault(tuple(quasi), set()).add(label)
        sizes[tuple(quasi)] = sizes.get(tuple(quasi), 0) + 1
    assert min(sizes.values()) == result["k"]
    assert min(sizes.values()) >= 5
    assert min(map(len, classes.values())) >= 2
    assert len(rows) - 1 + result["suppressed"] == 2000  # type: ignore[operator]
    assert run("verify", "out.csv", "--ledger", "g.sqlite", "--json").done["ok"] is True
    assert sorted(p.name for p in Path().glob("out*")) == ["out.csv", "out.csv.certificate.json"]
    words = ("--quasi", "age,sex,zip", "--sensitive", "label", "--ledger", "g.sqlite", "--json")
    measured = run("risk", "out.csv", *words).done
    assert (measured["k"], measured["private"]) == (result["k"], False)  # it is published: what it gives away is public


def test_what_is_certain_all_the_same_is_printed_beside_a_release_with_epsilon(folder, run):
    words = ("generalize", "sample:clinic", "--quasi", "age,town", "--sensitive", "diagnosis", "--hierarchies", "l")
    assert run(*words, "--make", "--build", "age=intervals:widths=20;lowest=40;highest=60").code == 0
    ask = (*words, "--k", "2", "-o", "o.csv", "--ledger", "g.sqlite")
    said = run(*ask).out
    assert "private – not for release" in said
    assert "rise to at most 57.6 %" in said
    assert "with probability 40.2 % on average" in said
    assert [len(one) for one in run(*ask, "--replace", "--json").done["failures"]] == [3, 3, 3]


def test_the_certificate_begins_with_what_it_is_not(folder, run):
    made(run)
    document = json.loads(Path("out.csv.certificate.json").read_text("utf-8"))
    first = "This is not differential privacy: ε does not bound it, and it costs no ε because nothing is promised."
    assert document["statement"].startswith(first)
    assert "epsilon" not in json.dumps(document)
    assert "loss" not in document  # a figure of rows that the file does not hold


def test_an_output_that_exists_is_refused(folder, run):
    made(run)
    before = Path("out.csv").read_bytes()
    words = ("--k", "5", "--suppression", "0.05", "-o", "out.csv", "--ledger", "g.sqlite")
    refused = run("generalize", "sample:people", *QUASI, *words)
    assert refused.code == 2
    assert "--replace" in refused.err
    assert "charged" not in refused.err
    assert Path("out.csv").read_bytes() == before
    made(run, "--replace")
    assert Path("out.csv").read_bytes() != before  # another random order
    assert run("verify", "out.csv", "--ledger", "g.sqlite").code == 0


def test_a_bundle_checks_itself_and_names_nothing_that_was_left_out(folder, run):
    done = made(run, "--sensitive", "label", "--l", "2", "--bundle", "b", "--html", "c.html", "--replace")
    assert done["bundle"] == "b"
    assert "Certificate of a generalised table" in Path("c.html").read_text("utf-8")
    files = {path.relative_to("b").as_posix() for path in Path("b").rglob("*") if path.is_file()}
    assert files == {
        *("README.txt", "MANIFEST.json", "certificate.html", "certificate.pdf", "ledger-entry.json", "verify.py"),
        *("release/out.csv", "release/out.csv.certificate.json"),
    }
    assert "no epsilon" in Path("b/README.txt").read_text("utf-8")
    assert run("verify", "b", "--ledger", "g.sqlite").code == 0

    def alone() -> subprocess.CompletedProcess[str]:
        words = [sys.executable, "-I", "b/verify.py"]
        return subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)

    assert alone().returncode == 0
    assert "not differential privacy" in alone().stdout
    entry = Path("b/ledger-entry.json").read_text("utf-8")
    Path("b/ledger-entry.json").write_text(entry.replace("noted", "charged"), "utf-8")
    assert run("verify", "b").code == 5
    assert alone().returncode == 1
    refused = run("certificate", "out.csv", "--bundle", "b", "--ledger", "g.sqlite")
    assert refused.code == 2
    assert "--replace" in refused.err
    assert "charged" not in refused.err
    assert run("certificate", "out.csv", "--bundle", "b", "--replace", "--ledger", "g.sqlite").code == 0
    assert alone().returncode == 0
    manifest = json.loads(Path("b/MANIFEST.json").read_text("utf-8"))
    rows = Path("b/release/out.csv").read_text("utf-8").splitlines(keepends=True)
    forged = "".join([rows[0], *rows[2:]]).encode()
    Path("b/release/out.csv").write_bytes(forged)
    certificate = json.loads(Path("b/release/out.csv.certificate.json").read_text("utf-8"))
    certificate["output"] |= {"sha256": hashlib.sha256(forged).hexdigest(), "bytes": len(forged)}
    certificate["checksum"] = checksum(certificate)
    Path("b/release/out.csv.certificate.json").write_text(json.dumps(certificate), "utf-8")
    for name in ("release/out.csv", "release/out.csv.certificate.json"):
        manifest["files"][name] = hashlib.sha256(Path("b", name).read_bytes()).hexdigest()
    Path("b/MANIFEST.json").write_text(json.dumps(manifest), "utf-8")
    assert "smallest class" in alone().stdout
    assert run("certificate", "out.csv", "--bundle", "other", "--ledger", "none.sqlite").code == 2


def test_raw_rows_beside_a_forged_certificate_are_neither_verified_nor_taken_for_released(folder, run):
    """Whatever is computed anew, the rows themselves are not k-anonymous."""
    made(run, "--sensitive", "label")
    assert is_release(read_table("out.csv"))
    rows = read_table("sample:people").frame.select("age", "sex", "zip", "label").cast(pl.String)
    Path("out.csv").write_text(rows.write_csv(), "utf-8")
    data = Path("out.csv").read_bytes()
    certificate = Path("out.csv.certificate.json")
    document = json.loads(certificate.read_text("utf-8"))
    output = {**document["output"], "sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
    own = [
        {**c, "level": 0, "height": 1, "labels": [[v, "*"] for v in sorted(rows[c["name"]].unique())]}
        if c["role"] == "quasi-identifier"
        else c
        for c in document["columns"]
    ]
    for changes in ({}, {"columns": own, "rows": rows.height, "suppressed": 0, "k": 1}):
        forged = {**document, "output": output, **changes}
        certificate.write_text(json.dumps({**forged, "checksum": checksum(forged)}), "utf-8")
        assert run("verify", "out.csv").code == 5
        assert not is_release(read_table("out.csv"))


def test_what_is_not_checked_is_said(folder, run):
    made(run, "--sensitive", "label", "--beta", "5")
    found = run("verify", "out.csv", "--json").done
    assert found["ok"] is True
    (said,) = found["not_checked"]
    assert said.startswith("beta-likeness: ")
    assert "left out" in said
    assert f"NOT CHECKED: {said}" in run("verify", "out.csv").shown
    made(run, out="plain.csv")
    assert run("verify", "plain.csv", "--json").done["not_checked"] == []


def test_the_ledger_notes_it_and_later_certificates_say_so(folder, run):
    made(run)
    shown = run("ledger", "show", "--ledger", "g.sqlite", "--json").done
    assert {f["study"] for f in shown["figures"]} == {"generalise", "generalised"}
    assert shown["entries"] == []  # nothing is charged, and no cap is set
    assert [t["output"] for t in shown["generalised"]] == [str(Path("out.csv").resolve())]
    text = run("ledger", "show", "--ledger", "g.sqlite").shown
    assert "no ε: not differential privacy" in text
    assert text.rstrip().endswith("out.csv")
    assert run("plan", "sample:people", "--epsilon", "3", "-o", "p.toml").code == 0
    assert run("sanitize", "sample:people", "--plan", "p.toml", "-o", "rows.csv", "--ledger", "g.sqlite").code == 0
    document = json.loads(Path("rows.csv.certificate.json").read_text("utf-8"))
    assert BESIDE in document["outside_guarantee"]
    assert run("verify", "rows.csv", "--ledger", "g.sqlite").code == 0


def test_a_ledger_that_cannot_be_written_leaves_no_file(folder, run):
    made(run)
    Path("bad").mkdir()
    words = ("--k", "5", "--suppression", "0.05", "-o", "other.csv", "--ledger", "bad")
    assert run("generalize", "sample:people", *QUASI, *words).code == 2
    assert not list(Path().glob("other*"))


def test_changes_are_found(folder, run):
    made(run, "--sensitive", "label", "--l", "2")
    certificate, rows = Path("out.csv.certificate.json"), Path("out.csv").read_text("utf-8")
    document = json.loads(certificate.read_text("utf-8"))

    def problems(file: str = rows, **changes: object) -> list[str]:
        """Return what is said of a forger who computes the checksums anew."""
        import hashlib

        Path("out.csv").write_text(file, "utf-8")
        data = file.encode()
        output = {**document["output"], "sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
        forged = {**document, "output": output, **changes}
        certificate.write_text(json.dumps({**forged, "checksum": checksum(forged)}), "utf-8")
        result = run("verify", "out.csv", "--json")
        assert result.code == (5 if json.loads(result.out)["problems"] else 0)
        return list(json.loads(result.out)["problems"])

    assert problems() == []
    lines = rows.splitlines(keepends=True)
    assert any("the file has" in p for p in problems("".join(lines[:-1])))
    assert any("label" in p for p in problems(rows.replace("female", "woman")))
    assert any("smallest class" in p for p in problems(k=9))
    assert any("k-anonymity" in p for p in problems(models=[{"model": "k-anonymity", "k": 500}]))
    assert any("distinct-l-diversity" in p for p in problems(models=[{"model": "distinct-l-diversity", "l": 3}]))
    columns = [{**c, "level": c["level"] + 1} if c["name"] == "age" else c for c in document["columns"]]
    assert any("level" in p for p in problems(columns=columns))
    assert problems(statement="This is differential privacy.") != []
    kept = [{**c, "role": "kept"} if c["role"] == "sensitive" else c for c in document["columns"]]
    assert any("no model covers" in p for p in problems(columns=kept, models=[{"model": "k-anonymity", "k": 5}]))
    assert any("parameter" in p for p in problems(models=[{"model": "k-anonymity"}]))
    ragged = [{**c, "labels": [["no", "*"], ["yes"]]} if c["name"] == "label" else c for c in document["columns"]]
    assert any("one level" in p for p in problems(columns=ragged))
    assert any("left out" in p for p in problems(suppressed=500))
    assert any("t-closeness" in p for p in problems(suppressed=1, models=[{"model": "t-closeness", "t": 0}]))
    assert any("method" in p for p in problems(method="magic"))
    levels_gone = [{k: v for k, v in c.items() if k != "level"} for c in document["columns"]]
    assert any("level" in p for p in problems(columns=levels_gone))


def test_the_certificate_has_no_value_of_a_row_that_was_left_out(folder, run):
    Path("t.csv").write_text("name;x\n" + "Ann;1\n" * 5 + "Bob;1\n" + "Zoe;1\n" * 5, "utf-8")
    words = ("--quasi", "name", "--hierarchies", "order")
    assert run("generalize", "t.csv", *words, "--make", "--build", "name=order:size=2").code == 0
    assert "Bob" in Path("order/name.csv").read_text("utf-8")
    assert run("generalize", "t.csv", *words, "--k", "5", "--suppression", "0.1", "-o", "o.csv").code == 0
    assert "Bob" not in Path("o.csv").read_text("utf-8") + Path("o.csv.certificate.json").read_text("utf-8")
    assert run("verify", "o.csv").code == 0


def test_a_mapping_that_cannot_be_written_is_refused_before_anything_is_published(folder, run):
    Path("age.csv").write_text("age\n" + "30\n" * 6, "utf-8")
    words = ("age.csv", "--quasi", "age", "--hierarchies", "levels")
    assert run("generalize", *words, "--make").code == 0
    ask = ("generalize", *words, "--k", "2", "-o", "o.csv", "--ledger", "g.sqlite", "--mapping")
    for place in (".", "age.csv"):  # it would replace the rows; it is a file
        assert run(*ask, place).code == 2
        assert not Path("o.csv").exists()
        assert Path("age.csv").read_text("utf-8").startswith("age\n30\n")


def test_the_certificate_of_a_run_that_was_killed_before_the_last_rename_is_replaced(folder, run):
    made(run)
    Path("out.csv").unlink()  # as after a kill between the two renames: the certificate is there, and the ledger's note
    part = Path("out.csv.0123abcd.tmp.part")
    part.write_text("half of it")
    made(run)
    assert run("verify", "out.csv", "--ledger", "g.sqlite").code == 0
    assert sorted(p.name for p in Path().glob("*out.csv*")) == ["out.csv", "out.csv.certificate.json"]
    Path("out.csv").unlink()
    words = ("--k", "5", "--suppression", "0.05", "-o", "out.csv", "--ledger", "another.sqlite")
    assert run("generalize", "sample:people", *QUASI, *words).code == 2  # somebody else's may not be


def test_mapping_is_what_became_of_each_value(folder, run):
    made(run, "--mapping", "map")
    pairs = dict(csv.reader(Path("map/age.csv").read_text("utf-8").splitlines(), delimiter=";"))
    assert pairs["23"] == "20-24"


def test_make_leaves_what_is_there_and_takes_ways(folder, run):
    words = ("generalize", "sample:people", "--quasi", "age,zip", "--hierarchies", "levels", "--make")
    first = run(*words, "--build", "age=intervals:widths=10,20", "--json").done
    assert first["made"] == ["age", "zip"]
    assert Path("levels/age.csv").read_text("utf-8").splitlines()[0] == "18;10-19;0-19;*"
    assert run(*words, "--json").done["made"] == []
    assert run(*words, "--build", "age=masking").code == 2


@pytest.mark.parametrize("method", ["greedy", "local", "cells"])
def test_the_other_methods_are_verified_as_well(method, folder, run):
    made(run, "--method", method, "--sensitive", "label", out=f"{method}.parquet")
    assert run("verify", f"{method}.parquet", "--ledger", "g.sqlite").code == 0


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--k", "5"), "--output is missing"),
        (("-o", "x.csv"), "--k is missing"),
        (("--k", "5", "--l", "2", "-o", "x.csv"), "sensitive column"),
        (("--k", "5", "-o", "x.csv", "--keep", "age"), "quasi-identifier"),
        (("--k", "9999", "-o", "x.csv"), "no generalisation"),
        (("--k", "5", "-o", "x.csv", "--seed", "1"), "seed"),
    ],
)
def test_refusals(words, sentence, folder, run):
    assert run("generalize", "sample:people", *QUASI, "--make").code == 0
    result = run("generalize", "sample:people", *QUASI, "--ledger", "g.sqlite", *words)
    assert result.code == 2
    assert sentence in result.err
    assert not list(Path().glob("x.csv*"))


def test_the_population_is_noted_as_well_and_a_hierarchy_is_not_replaced(folder, run):
    Path("t.csv").write_text("age\n" + "30\n" * 6, "utf-8")
    Path("all.csv").write_text("age\n" + "30\n" * 9 + "40\n" * 5, "utf-8")
    words = ("t.csv", "--quasi", "age", "--hierarchies", "levels")
    assert run("generalize", "all.csv", *words[1:], "--make").code == 0
    ask = ("generalize", *words, "--k", "2", "--k-map", "3", "--population", "all.csv", "--ledger", "g.sqlite")
    assert run(*ask, "-o", "levels/age.csv", "--replace").code == 2
    assert "30;" in Path("levels/age.csv").read_text("utf-8")
    assert run(*ask, "-o", "o.csv").code == 0
    with Ledger.read(Path("g.sqlite")) as book:
        assert len({one.dataset for one in book.figures() if one.study == "generalise"}) == 2


def test_a_value_without_a_line_is_named_with_its_file(folder, run):
    assert run("generalize", "sample:clinic", "--quasi", "age,town", "--hierarchies", "h", "--make").code == 0
    Path("h/town.csv").write_bytes(b"Arden;*\r\n")
    words = ("--quasi", "age,town", "--hierarchies", "h", "--k", "2", "-o", "x.csv", "--ledger", "g.sqlite")
    result = run("generalize", "sample:clinic", *words)
    assert result.code == 2
    said = "the value 'Brask' of the column town has no line in its hierarchy"
    assert result.err.splitlines()[-1].startswith(f"error: {said} ({Path('h') / 'town.csv'}); ")


@pytest.mark.parametrize("wrong", [("--suppression", "1.5"), ("--l", "2"), ("--k-map", "3")])
def test_what_is_wrong_in_the_options_is_said_before_figures_are_noted(wrong, folder, run):
    assert run("generalize", "sample:people", *QUASI, "--make").code == 0
    words = ("--k", "5", *wrong, "-o", "x.csv", "--ledger", "g.sqlite")
    result = run("generalize", "sample:people", *QUASI, *words)
    assert result.code == 2
    assert len(result.err.splitlines()) == 1
    assert not Path("g.sqlite").exists()


def test_help_states_no_empty_default(run):
    assert "(default )" not in run("generalize", "--help").out


def test_a_header_and_line_ends_of_windows_change_nothing(folder, run):
    assert run("generalize", "sample:people", *QUASI, "--make").code == 0
    bare = made(run)
    for path in Path("levels").glob("*.csv"):
        text = path.read_text("utf-8")
        levels = text.splitlines()[0].count(";") + 1
        header = ";".join(f"level{at}" for at in range(levels))
        path.write_bytes(f"\ufeff{header}\n{text}".replace("\n", "\r\n").encode())
    headed = made(run, out="headed.csv")
    assert [headed[key] for key in ("levels", "losses", "suppressed", "tried")] == [
        bare[key] for key in ("levels", "losses", "suppressed", "tried")
    ]


def test_models_about_a_population_need_and_read_its_table(folder, run):
    people = ["age,city", *(f"{20 + i % 40},{('Graz', 'Linz')[i % 2]}" for i in range(400))]
    Path("people.csv").write_text("\n".join(people) + "\n", "utf-8")
    Path("part.csv").write_text("\n".join([people[0], *people[1::5]]) + "\n", "utf-8")
    words = shlex.split("generalize part.csv --quasi age,city --hierarchies own --delimiter , --header yes")
    assert run("generalize", "people.csv", *words[2:], "--make").code == 0
    more = ("--k", "2", "--suppression", "0.1", "--ledger", "g.sqlite")
    assert "population" in run(*words, *more, "--k-map", "20", "-o", "a.csv").refused()
    done = run(*words, *more, "--k-map", "20", "--population", "people.csv", "-o", "a.csv", "--json").done
    assert {m["model"] for m in done["models"]} == {"k-anonymity", "k-map"}
    few = run(*words, *more, "--presence-upto", "0.1", "--population", "people.csv", "-o", "b.csv")
    assert "no generalisation" in few.refused()  # one in five of them is in the table, however coarse it is
    assert run(*words, *more, "--presence-upto", "0.3", "--population", "people.csv", "-o", "b.csv").code == 0
    assert run("verify", "a.csv").code == run("verify", "b.csv").code == 0


def test_a_table_made_at_t_has_that_t_by_what_anonymity_measures(folder, run):
    """Numbers are steps of a scale and towns are equally far apart for both, and the certificate says so."""
    rows = [f"{20 + i % 40};{1000 * (i * 7 % 11)};{'ABC'[i % 3]}" for i in range(240)]
    Path("pay.csv").write_text("age;pay;town\n" + "\n".join(rows) + "\n", "utf-8")
    words = ("--quasi", "age", "--sensitive", "pay,town")
    assert run("generalize", "pay.csv", *words, "--hierarchies", "ages", "--make").code == 0
    ask = ("generalize", "pay.csv", *words, "--hierarchies", "ages", "--k", "2", "--t", "0.3", "--ledger", "g.sqlite")
    found = {}
    for distance in ("auto", "equal"):
        more = () if distance == "auto" else ("--distance", distance)
        out = f"{distance}.csv"
        found[distance] = run(*ask, *more, "-o", out, "--json").done
        document = json.loads(Path(f"{out}.certificate.json").read_text("utf-8"))
        stated = {c["name"]: c.get("distance") for c in document["columns"]}
        fitting = {"age": None, "pay": "ordered", "town": "equal"}
        assert stated == (fitting if distance == "auto" else {"age": None, "pay": "equal", "town": "equal"})
        assert run("verify", out, "--ledger", "g.sqlite", "--json").done["ok"] is True
    measured = run("anonymity", "auto.csv", *words, "--json").done
    assert measured["t"] <= 0.3
    assert found["auto"]["levels"]["age"] < found["equal"]["levels"]["age"]


def test_certificates_that_name_no_distance_of_a_column_are_verified(folder, run):
    """Former versions stated the distance with t alone."""
    made(run, "--sensitive", "label", "--t", "0.4", "--distance", "equal")
    certificate = Path("out.csv.certificate.json")
    document = json.loads(certificate.read_text("utf-8"))
    for column in document["columns"]:
        column.pop("distance", None)
    certificate.write_text(json.dumps({**document, "checksum": checksum(document)}), "utf-8")
    assert run("verify", "out.csv", "--json").done["ok"] is True


def test_numbers_with_a_decimal_comma_are_ordered_by_size_and_verified(folder, run):
    rows = [f"{20 + i % 40};{(i * 7 % 11) + 2},5" for i in range(240)]
    Path("pay.csv").write_text("age;pay\n" + "\n".join(rows) + "\n", "utf-8")
    words = ("--quasi", "age", "--sensitive", "pay", "--decimal", ",")
    assert run("generalize", "pay.csv", *words, "--hierarchies", "ages", "--make").code == 0
    ask = ("--hierarchies", "ages", "--k", "2", "--t", "0.25", "--ledger", "g.sqlite")
    for out in ("out.csv", "out.parquet"):
        assert run("generalize", "pay.csv", *words, *ask, "-o", out).code == 0
        document = json.loads(Path(f"{out}.certificate.json").read_text("utf-8"))
        assert [c.get("distance") for c in document["columns"]] == [None, "ordered"]
        assert run("verify", out, "--ledger", "g.sqlite", "--json").done["ok"] is True
    measured = run("anonymity", "out.csv", *words, "--json").done
    assert measured["closeness"][0]["distance"] == "ordered"
    assert measured["t"] <= 0.25


@pytest.mark.parametrize("at", ["write", "finish"])
def test_a_full_disk_leaves_no_half_a_table_and_is_one_sentence(at, folder, run, monkeypatch):
    run("generalize", "sample:people", *QUASI, "--make")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(DrawFile, at, full)
    words = ("--k", "5", "--suppression", "0.05", "-o", "out.csv", "--ledger", "g.sqlite")
    refused = run("generalize", "sample:people", *QUASI, *words)
    assert refused.code == 2
    (said,) = [line for line in refused.err.splitlines() if line.startswith("error: ")]
    assert "space" in said
    assert "was not written" in said
    assert not list(Path().glob("*out*"))
