"""``workbench grid``: what it prints and draws, and what it refuses before it trains anything."""

import json

import numpy as np
import pytest
from command_cases import PLAN, TABLE
from sweeps import SETTINGS

pytest.importorskip("torch")

SWEEP = """\
data = "t.csv"
target = "city"
bounds = "plan.toml"
repeats = 1
""" + SETTINGS.replace("batch = 20", "batch = 8")  # of 16 rows to learn from


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text(TABLE, "utf-8")
    (tmp_path / "plan.toml").write_text(PLAN, "utf-8")
    (tmp_path / "sweep.toml").write_text(SWEEP, "utf-8")
    return tmp_path


def test_a_sweep_is_told_drawn_and_gone_on_with(folder, run):
    words = ["grid", "sweep.toml", "-o", "out.csv", "--jobs", "1"]
    told = run(*words, "--plot", "out.png")
    assert told.code == 0, told
    assert "private – not for release" in told.out
    assert "Publishing the best of these 4 settings" in told.out
    assert (folder / "out.png").read_bytes().startswith(b"\x89PNG")
    again = run(*words, "--json")
    assert "4 of 4 runs are in out.csv already" in again.err
    answer = json.loads(again.out)
    assert answer["rows"] == 4
    assert {line["setting"] for line in answer["lines"]} == {"lr=0.1", "lr=1"}
    assert answer["publishing"]["one_run"] < answer["publishing"]["all_runs"] < answer["publishing"]["plain_sum"]


def test_a_path_is_seen_from_the_folder_of_the_sweep(folder, run, monkeypatch):
    (folder / "else").mkdir()
    monkeypatch.chdir(folder / "else")
    assert run("grid", "../sweep.toml", "-o", "out.csv", "--jobs", "1").code == 0


def test_images_are_swept_over_without_target_and_bounds(folder, run):
    generator = np.random.default_rng(5)
    classes = np.arange(60) % 2
    pixels = (generator.integers(0, 100, (60, 4, 4)) + 150 * classes[:, None, None]).astype(np.uint8)
    np.savez(folder / "few.npz", x=pixels, y=classes)
    lines = [line for line in SWEEP.splitlines() if not line.startswith(("target", "bounds"))]
    (folder / "sweep.toml").write_text("\n".join(lines).replace("t.csv", "few.npz"), "utf-8")
    told = run("grid", "sweep.toml", "-o", "o.csv", "--jobs", "1")
    assert told.code == 0, told
    assert "±" not in told.out.split("setting")[1].split("always")[0]  # one repeat has no standard error
    (folder / "sweep.toml").write_text(SWEEP.replace("t.csv", "few.npz"), "utf-8")
    error = run("grid", "sweep.toml", "-o", "p.csv").error()
    assert error == "target and bounds are for tables, but these are images (sweep.toml); leave them out"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["sweep.toml"], "the option --output is missing (workbench grid); add -o CSV"),
        (
            ["sweep.toml", "-o", "t.csv"],
            "the output would overwrite an input of the study (t.csv); use another file name",
        ),
        (
            ["sweep.toml", "-o", "plan.toml"],
            "the output would overwrite an input of the study (plan.toml); use another file name",
        ),
        (["no.toml", "-o", "o.csv"], "the sweep does not exist (no.toml); check the name"),
        (["sweep.toml", "--template"], "the file already exists (sweep.toml); use a new file name"),
        (["sweep.toml", "-o", "o.csv", "--plot", "o.gif"], "o.gif"),
        (
            ["sweep.toml", "-o", "o.csv", "--jobs", "1", "--scheduler", "tcp://127.0.0.1:1"],
            "--jobs and --scheduler cannot be combined (workbench grid); keep one of them",
        ),
    ],
)
def test_what_cannot_be_run_is_refused_in_one_sentence(folder, run, words, told):
    before = (folder / "t.csv").read_bytes()
    assert told in run("grid", *words).error()
    assert (folder / "t.csv").read_bytes() == before
    assert not (folder / "o.csv").exists()


@pytest.mark.parametrize("missing", ["target", "bounds"])
def test_a_table_needs_target_and_bounds(folder, run, missing):
    lines = [line for line in SWEEP.splitlines() if not line.startswith(missing)]
    (folder / "sweep.toml").write_text("\n".join(lines), "utf-8")
    error = run("grid", "sweep.toml", "-o", "o.csv").error()
    assert error == f"the sweep has no {missing} (sweep.toml); a table needs target and bounds"
