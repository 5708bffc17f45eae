"""No name and no value of somebody's file commands the terminal, whichever command shows it, as text or as JSON."""

import json
import re
import shlex
import tempfile
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from test_progress_bar import Terminal

from workbench.cli.catalogue import COMMANDS
from workbench.cli.console import ProgressBar
from workbench.data.table_reader import read_table
from workbench.params.errors import visible
from workbench.release.certificate import checksum
from workbench.risk.hierarchies import file_name
from workbench.signals import Notice, Progress

CLEAR, C1, TURNED, ISOLATE = "\x1b[2J", "\x9b2J", "\u202e", "\u2066"
AGE, CITY = f"age{CLEAR}{TURNED}\x07", f"city\nok: all is well{C1}{ISOLATE}\u2028\x7f"
GRAZ, LINZ = f"Graz{CLEAR}{C1}", f"Linz{TURNED}\r"
COMMANDING = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder to stand in, with a table and a plan whose names and values command a terminal."""
    monkeypatch.chdir(tmp_path)
    cells = [f'{20 + i % 50},"{(GRAZ, LINZ)[i % 2]}"' for i in range(60)]
    (tmp_path / "t.csv").write_text("\n".join([f'"{AGE}","{CITY}"', *cells]) + "\n", "utf-8", newline="")
    (tmp_path / "r.csv").write_text("k,h,m,p,q,f\n32,2,2,0.5,0.75,0\n", "utf-8")
    (tmp_path / "cand.txt").write_text(f'"{GRAZ}"\n"{LINZ}"\n', "utf-8", newline="")
    (tmp_path / "bad.txt").write_text(f'"{GRAZ}"\n"{GRAZ}"\n', "utf-8", newline="")
    (tmp_path / "wrong").mkdir()
    for name in (AGE, CITY):
        (tmp_path / "wrong" / file_name(name)).write_text(f"a{CLEAR};*\n", "utf-8")
    write_plan("plan.toml")
    sweep = {"data": "t.csv", "target": CITY, "bounds": "plan.toml", "repeats": 1, "settings": SWEEP}
    (tmp_path / "sweep.toml").write_text(tomli_w.dumps(sweep), "utf-8")
    (tmp_path / "wrong.toml").write_text(tomli_w.dumps({**sweep, f"no{CLEAR}": 1}), "utf-8")
    return tmp_path


def write_plan(name: str, city: str = CITY, mechanism: str = "grr") -> None:
    columns = [
        {"name": AGE, "kind": "integer", "lower": 0, "upper": 120},
        {"name": city, "kind": "category", "domain": [GRAZ, LINZ], "mechanism": mechanism},
    ]
    Path(name).write_text(tomli_w.dumps({"version": 1, "epsilon": 2.0, "column": columns}), "utf-8")


READING = ["--encoding", "utf-8", "--delimiter", ",", "--quote", '"', "--header", "yes"]
LEDGER = ["--ledger", "l.sqlite"]
ATTACK = ["--original", "t.csv", *LEDGER]
REPORT = ["--quasi", AGE, "--sensitive", CITY, "--attacks", "20"]
GENERAL = ["--quasi", f"{AGE},{CITY}", "--hierarchies", "levels"]
FIT = ["--target", CITY, "--model", "naive-bayes", "--bounds", "plan.toml"]
MEDIAN = ["--target", AGE, "--model", "median-forest", "--bounds", "plan.toml"]
SYNTHESIS = ["--plan", "plan.toml", "--epsilon", "1", "--ledger", "s.sqlite"]
NETWORK = shlex.split("--network mlp --epsilon 1 --delta 1e-5 --batch 8 --epochs 1 --lr 1 --clip 1")
SWEEP = {"network": "logistic", "noise": 2.0, "delta": 1e-5, "batch": 8, "epochs": 1, "lr": 1, "clip": 1}
STATISTICS = ["--plan", "plan.toml", "--epsilon", "1"]
RAPPOR, LEDGER_R, BITS = ["--params", "r.csv"], ["--ledger", "r.sqlite"], ["--k=32", "--m=2"]
WALK: list[tuple[list[str], int]] = [
    (["describe", "t.csv", *READING], 0),
    (["plan", "t.csv", "--epsilon", "1", "--from-data", "-o", "made.toml", *READING], 0),
    (["plan", "t.csv", "--epsilon", "1", "--target", "ag" + CLEAR, "-o", "no.toml", *READING], 2),
    (["forecast", "--plan", "plan.toml"], 0),
    (["forecast", "--plan", "made.toml"], 0),
    (["forecast", "--plan", "unknown.toml"], 2),
    (["mechanism", "grr", "--epsilon", "1", "--domain", f"a{CLEAR},b{TURNED}"], 0),
    (["mechanism", f"grr{CLEAR}", "--epsilon", "1", "--domain", "a,b"], 2),
    (["sanitize", "t.csv", "--plan", "plan.toml", "-o", f"out{CLEAR}.csv", *LEDGER, *READING], 0),
    (["sanitize", "t.csv", "--plan", "other.toml", "-o", "no.csv", *LEDGER, *READING], 2),
    (["generalize", "t.csv", *GENERAL, "--make", *READING], 0),
    (["generalize", "t.csv", *GENERAL, "--k", "2", "-o", f"k{CLEAR}.csv", *LEDGER, *READING], 0),
    (["generalize", "t.csv", *GENERAL, "--k", "2", "--sensitive", f"no{CLEAR}", "-o", "no.csv", *LEDGER, *READING], 2),
    (["generalize", "t.csv", *GENERAL[:2], "--hierarchies", "wrong", "--k", "2", "-o", "no.csv", *LEDGER, *READING], 2),
    (["synthesize", "t.csv", *SYNTHESIS, "--target", CITY, "-o", f"made{CLEAR}.csv", *READING], 0),
    (["synthesize", "t.csv", *SYNTHESIS, "--target", f"no{CLEAR}", "-o", "no.csv", *READING], 2),
    (["synthesize", "t.csv", *SYNTHESIS, "--method", f"mst{CLEAR}", "-o", "no.csv", *READING], 2),
    (["verify", f"out{CLEAR}.csv", *LEDGER], 0),
    (["verify", f"k{CLEAR}.csv", *LEDGER], 0),
    (["quality", f"out{CLEAR}.csv", "--original", "t.csv", "--target", CITY, *LEDGER, *READING], 0),
    (["solve", "plan.toml", "--rows", "9", "--want", f"mean({AGE})<=5"], 0),
    (["solve", "plan.toml", "--rows", "9", "--want", f"mean(no{CLEAR})<=5"], 2),
    (["quality", f"out{CLEAR}.csv", "--original", "t.csv", "--target", f"no{CLEAR}", *LEDGER, *READING], 2),
    (["attack", "inference", f"out{CLEAR}.csv", *ATTACK, "--secret", CITY, "--known", AGE, *READING], 0),
    (["attack", "inference", f"k{CLEAR}.csv", *ATTACK, "--secret", f"no{CLEAR}", *READING], 2),
    (["attack", "link", f"k{CLEAR}.csv", "--known", "t.csv", "--on", CITY, *LEDGER, *READING], 0),
    (["attack", "link", f"no{CLEAR}.csv", "--known", "t.csv", "--on", f"no{C1}", *LEDGER, *READING], 2),
    (["attack", f"link{CLEAR}"], 2),
    (["report", f"out{CLEAR}.csv", *ATTACK, *REPORT, "-o", f"report{CLEAR}.html", *READING], 0),
    (["report", "t.csv", "--quasi", f"no{CLEAR}", "-o", "no.html", *LEDGER, *READING], 2),
    (["verify", f"made{CLEAR}.csv"], 0),
    (["certificate", f"out{CLEAR}.csv", "--html", f"out{CLEAR}.html"], 0),
    (["certificate", f"made{CLEAR}.csv", "--html", f"made{C1}.html"], 0),
    (["certificate", f"no{CLEAR}.csv", "--html", "no.html"], 2),
    (["key", "show"], 0),
    (["key", "forget", "--name", f"a{CLEAR}"], 2),
    (["estimate", f"out{CLEAR}.csv", "--certificate", f"out{CLEAR}.csv.certificate.json"], 0),
    (["statistics", "t.csv", *STATISTICS, "-o", f"sta{CLEAR}.csv", "--ledger", "f.sqlite", *READING], 0),
    (["statistics", *STATISTICS, "--forecast", "--rows", "50", "--mean", AGE, "--by", CITY], 0),
    (["statistics", *STATISTICS, "--forecast", "--rows", "50", "--mean", f"a{C1}"], 2),
    (["sql", "SELECT AVG(a) FROM t", *STATISTICS, "--forecast", "--rows", "50"], 2),
    (["sql", f"SELECT AVG({CLEAR} FROM t", *STATISTICS, "--forecast", "--rows", "50"], 2),
    (["sql", f'SELECT MAX("{AGE}") FROM t', *STATISTICS, "--forecast", "--rows", "50"], 2),
    (["sql", f'SELECT AVG("{AGE}") FROM t', *STATISTICS, "--forecast", "--rows", "50"], 0),
    (["verify", f"sta{CLEAR}.csv", "--ledger", "f.sqlite"], 0),
    (["curve", "t.csv", *FIT, "--regimes=none", "--epsilons=1", "--repeats=1", "-o", f"curve{C1}.csv", *READING], 0),
    (["why", "t.csv", *FIT, "--epsilon=1", "--repeats=2", "--jobs=1", *READING], 0),
    (["risk", "t.csv", "--quasi", CITY, "--sensitive", AGE, *LEDGER, *READING], 0),
    (["risk", "t.csv", "--quasi", f"no{CLEAR}", *LEDGER, *READING], 2),
    (["anonymity", "t.csv", "--quasi", AGE, "--sensitive", CITY, *LEDGER, *READING], 0),
    (["fit", "t.csv", *FIT, "--epsilon", "1", "-o", f"model{TURNED}", "--ledger", "m.sqlite", *READING], 0),
    (["fit", "t.csv", *FIT, "--epsilon", "1", "-o", f"model{TURNED}", "--ledger", "m.sqlite", *READING], 2),
    (["fit", "t.csv", *FIT, "--epsilon", "1", "-o", "no", "--ask", f"no{CLEAR}.csv", *LEDGER, *READING], 2),
    (["fit", "t.csv", *MEDIAN, "--epsilon", "1", "-o", "no", "--ask", f"no{CLEAR}.csv", *LEDGER, *READING], 2),
    (["predict", "t.csv", "--model", f"model{TURNED}", "-o", f"told{CLEAR}.csv", *READING], 0),
    (["fit", "--on-release", f"out{CLEAR}.csv", *FIT[:4], "-o", f"free{TURNED}"], 0),
    (["fit", "--on-release", f"out{CLEAR}.csv", *FIT[2:4], "--target", f"no{CLEAR}", "-o", f"no{TURNED}"], 2),
    (["fit", "--on-release", f"no{CLEAR}.csv", *FIT[:4], "-o", f"no{TURNED}"], 2),
    (["predict", "t.csv", "--model", f"free{TURNED}", "-o", f"free{CLEAR}.csv", *READING], 0),
    (["cache"], 0),
    (["predict", "t.csv", "--model", f"no{CLEAR}", "-o", "no.csv", *READING], 2),
    (["grid", "sweep.toml", "-o", f"sweep{CLEAR}.csv", "--jobs=1", *READING], 0),
    (["grid", "wrong.toml", "-o", "no.csv", *READING], 2),
    (["grid", f"no{CLEAR}.toml", "-o", "no.csv"], 2),
    (["dpsgd", "t.csv", "--target", CLEAR, "--bounds", "plan.toml", *NETWORK, "-o", "net", *LEDGER, *READING], 2),
    (["accuracy", "t.csv", "--target", CITY, "--bounds", "plan.toml", *NETWORK, *READING], 0),
    (["accuracy", "--rows", "60", "--target", CITY, "--bounds", "plan.toml", *NETWORK], 0),
    (["accuracy", "t.csv", "--target", CLEAR, "--bounds", "plan.toml", *NETWORK, *READING], 2),
    (["accuracy", "--rows", "60", "--public", f"no{CLEAR}.npz", *NETWORK], 2),
    (["budget", "belief", "--epsilon", "1", "--prior", f"0.5{CLEAR}"], 2),
    (["explain", "--epsilon", "1"], 0),
    (["explain", "--reader", f"a{CLEAR}"], 2),
    (["budget", "compose", f"no{CLEAR}.toml"], 2),
    (["audit", "grr", "--epsilon", "1", "--domain", f"a{CLEAR},b{TURNED}", "--samples", "1000"], 0),
    (["audit", f"grr{CLEAR}", "--epsilon", "1"], 2),
    (["memory", "--network", "mlp", "--batch", "64", "--batches", "8,16", "-o", f"memory{CLEAR}.csv"], 0),
    (["memory", "--network", f"mlp{CLEAR}", "--batch", "64"], 2),
    (["rappor", "encode", "t.csv", *RAPPOR, "--column", CITY, "-o", f"rep{CLEAR}.csv", *LEDGER_R, *READING], 0),
    (["rappor", "encode", "t.csv", *RAPPOR, "--column", f"no{CLEAR}", "-o", "no.csv", *LEDGER_R, *READING], 2),
    (["rappor", "encode", "t.csv", *RAPPOR, "-o", "no.csv", *LEDGER_R, *READING], 2),
    (["rappor", "sum", f"rep{CLEAR}.csv", *RAPPOR, "-o", f"sum{CLEAR}.csv"], 0),
    (["rappor", "map", "cand.txt", *RAPPOR, "-o", f"map{CLEAR}.csv"], 0),
    (["rappor", "map", "bad.txt", *RAPPOR, "-o", f"no{CLEAR}.csv"], 2),
    (["rappor", "decode", "--counts", f"sum{CLEAR}.csv", "--map", f"map{CLEAR}.csv", *RAPPOR, "-o", "res.csv"], 0),
    (["rappor", "simulate", "--data", "t.csv", "--column", CITY, "--f=0", "--reports=20000", *BITS], 0),
    (["rappor", "simulate", "--preset", f"no{CLEAR}"], 2),
    (["ledger", "show", *LEDGER], 0),
    (["ledger", "show", "--ledger", f"{CLEAR}"], 2),
    (["ledger", "backup", "-o", f"copy{CLEAR}.sqlite", *LEDGER], 0),
    (["ledger", "merge", f"copy{CLEAR}.sqlite", *LEDGER], 0),
    (["ledger", "merge", f"{CLEAR}", *LEDGER], 2),
    (["ledger", "accept", "--ledger", f"{CLEAR}"], 2),
    (["samples"], 0),
    (["gui", f"--sample={CLEAR}"], 2),
    ([f"sani{CLEAR}tize"], 2),
]  # fmt: skip


PATTERNS = st.sampled_from(["*", "^a$", "^.*$", "a", "*a*", "^(a|b)$"]) | st.text(
    "^$.*ab|[]() \\", min_size=1, max_size=5
)


NAMES = st.lists(PATTERNS.filter(str.strip), min_size=3, max_size=3, unique_by=str.strip)


@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(["^a$", "a", "*"], "jsonl")
@given(NAMES, st.sampled_from(("csv", "parquet", "jsonl")))
def test_a_column_may_have_the_name_of_a_pattern(folder, run, names, form):
    where = Path(tempfile.mkdtemp(dir=folder))
    rows = "".join(f"{20 + i},{'xy'[i % 2]},free {i}\n" for i in range(30))
    (where / "t.csv").write_text(",".join(f'"{name}"' for name in names) + "\n" + rows, "utf-8")
    kinds: list[dict[str, Any]] = [
        {"kind": "integer", "lower": 0, "upper": 120},
        {"kind": "category", "domain": ["x", "y"]},
        {"action": "keep"},
    ]
    columns = [{"name": name, **kind} for name, kind in zip(names, kinds, strict=True)]
    (where / "p.toml").write_text(tomli_w.dumps({"version": 1, "epsilon": 100.0, "column": columns}), "utf-8")
    shown = run("describe", f"{where}/t.csv", *READING, "--json").done["columns"]
    assert [(c["name"], c["distinct"]) for c in shown] == list(zip(names, (30, 2, 30), strict=True))
    ledger = ["--ledger", f"{where}/l.sqlite"]
    words = ["--plan", f"{where}/p.toml", "-o", f"{where}/o.{form}", *READING, *ledger]
    assert run("sanitize", f"{where}/t.csv", *words).code == 0
    assert run("verify", f"{where}/o.{form}", *ledger, "--json").done["ok"]
    out = read_table(where / f"o.{form}")
    assert out.names == tuple(names)
    assert sorted(out.column(names[2])) == sorted(f"free {i}" for i in range(30))


@pytest.mark.parametrize("more", [[], ["--json"]], ids=["text", "json"])
def test_no_command_prints_what_a_terminal_would_obey(folder, run, more):
    write_plan("other.toml", city=f"town{C1}")
    write_plan("unknown.toml", mechanism=f"gr{CLEAR}")
    walked = set()
    for words, code in WALK:
        answer = run(*words, *([] if words[0] == "gui" else more))
        assert answer.code == code, (words, answer)
        assert COMMANDING.search(answer.out + answer.err) is None, (words, answer)
        assert "\nok: all is well" not in answer.out + answer.err
        if code == 0 and more:
            json.loads(answer.out)
        walked.add(words[0])
    assert walked & set(COMMANDS) == set(COMMANDS)


def test_a_hostile_certificate_commands_nobody(folder, run):
    words = ["sanitize", "t.csv", "--plan", "plan.toml", "-o", "out.csv", *LEDGER, *READING]
    assert run(*words).code == 0
    path = folder / "out.csv.certificate.json"
    whole = json.loads(path.read_text("utf-8"))
    hostile = f"{CLEAR}{C1}{TURNED}\n"
    for key, value in {
        "outside_guarantee": [hostile],
        "plan": hostile,
        "version": hostile,
        "columns": [{**c, "mechanism": hostile} for c in whole["columns"]],
        hostile: hostile,
    }.items():
        document = {**whole, key: value}
        document["checksum"] = checksum(document)
        path.write_text(json.dumps(document, ensure_ascii=False), "utf-8")
        for command in (["verify", "out.csv"], ["estimate", "out.csv", "--certificate", str(path)]):
            for more in ([], ["--json"]):
                answer = run(*command, *more)
                assert COMMANDING.search(answer.out + answer.err) is None, (key, answer)


def test_json_says_the_very_name(folder, run):
    answer = run("forecast", "--plan", "plan.toml", "--json")
    assert [c["name"] for c in answer.json["columns"]] == [AGE, CITY]


def test_notes_and_labels_of_a_long_run_command_nobody():
    screen = Terminal()
    bar = ProgressBar("curve", screen)
    bar(Progress(1, 2, f"label{CLEAR}{TURNED}"))
    bar(Notice("warning", f"note{CLEAR}\nok{C1}"))
    said = screen.bytes.getvalue().decode()
    assert COMMANDING.search(said.replace("\r", "")) is None
    assert said.count("\n") == 1


def test_what_commands_is_written_out():
    assert visible(f"a{CLEAR}b{C1}") == "a\\u001b[2Jb\\u009b2J"
    assert visible("ε ± 3 – naïve 東京 🎉") == "ε ± 3 – naïve 東京 🎉"
