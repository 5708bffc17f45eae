"""``workbench curve`` by its contract, run as a person runs it."""

import csv
import json
import os
import re
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from workbench.cli import main
from workbench.paths import user_data
from workbench.release.ledger.study_note import NOTED

PLAN = """
version = 1
epsilon = 2.0
[[column]]
name = "Size"
kind = "real"
lower = 0
upper = 10
cells = 101
[[column]]
name = "Kind"
kind = "category"
domain = ["a", "b"]
mechanism = "grr"
"""


@pytest.fixture
def made(tmp_path):
    generator = np.random.default_rng(3)
    kinds = generator.integers(0, 2, 120)
    rows = [
        f"{v:.1f},{'ab'[k]}" for v, k in zip(np.clip(generator.normal(3 + 4 * kinds, 1), 0, 10), kinds, strict=True)
    ]
    (tmp_path / "data.csv").write_text("\n".join(["Size,Kind", *rows]) + "\n")
    (tmp_path / "plan.toml").write_text(PLAN)
    return tmp_path


def words(folder: Path, *more: str, bounds: bool = True) -> list[str]:
    data, plan = str(folder / "data.csv"), str(folder / "plan.toml")
    usual = ["curve", data, "--target", "Kind", "--model", "naive-bayes", "-o", str(folder / "out.csv")]
    return [*usual, *(["--bounds", plan] if bounds else []), *more]


def left(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir() if p.name not in ("data.csv", "plan.toml"))


def unfinished() -> list[Path]:
    return list((user_data() / "unfinished").glob("*"))


def test_the_corrected_table_stands_in_csv_text_and_plot(made, run):
    plot = made / "curve.svg"
    asked = ("--regimes", "sanitized:grr,corrected:grr,corrected:plan", "--epsilons", "3,300", "--repeats", "2")
    said = run(*words(made, *asked, "--jobs", "1", "--plot", str(plot))).shown
    assert "corrected:grr" in said
    assert "corrected:plan" in said
    with (made / "out.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert {r["regime"] for r in rows} == {"sanitized:grr", "corrected:grr", "corrected:plan"}
    assert len(rows) == 3 * 2 * 2 * 4
    last = {(r["regime"], r["repeat"]): r["value"] for r in rows if (r["epsilon"], r["metric"]) == ("300", "accuracy")}
    assert all(last["sanitized:grr", repeat] == last["corrected:grr", repeat] for repeat in "01")
    assert plot.stat().st_size > 1000


def test_a_model_without_a_corrected_form_says_so(made, run):
    said = run(*words(made, "--regimes", "corrected:grr"), "--model", "kmeans").error()
    assert "cannot correct for the mechanism" in said
    assert left(made) == []


def test_help_names_the_corrected_table(run):
    assert "corrected:MECHANISM" in run("curve", "--help").shown


def test_json_csv_and_plot_are_those_of_the_contract(made, capsys):
    plot = made / "curve.png"
    assert (
        main(words(made, "--epsilons", "0.5:50:3", "--repeats", "2", "--jobs", "1", "--plot", str(plot), "--json")) == 0
    )
    said = capsys.readouterr()
    told = json.loads(said.out)
    assert said.err == f"note: {NOTED}\n"
    assert [stat.S_IMODE(path.stat().st_mode) for path in (made / "out.csv", plot)] == [0o600, 0o600]  # a private study
    with (made / "out.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["regime", "epsilon", "repeat", "metric", "value"]
    assert told["rows"] == len(rows) == 3 * 3 * 2 * 4
    assert told["seconds"] > 0
    assert {r["regime"] for r in rows} == {"none", "sanitized:staircase", "private"}
    assert {r["epsilon"] for r in rows} == {"0.5", "5", "50"}
    assert {r["repeat"] for r in rows} == {"0", "1"}
    assert all(0 <= float(r["value"]) <= 1 for r in rows)
    assert plot.read_bytes()[:4] == b"\x89PNG"
    assert left(made) == ["curve.png", "out.csv"]
    assert unfinished() == []


def test_text_names_the_table_as_private(made, run):
    lines = run(
        *words(made, "--epsilons", "1,10", "--repeats", "1", "--jobs", "1", "--regimes", "none,private")
    ).shown.splitlines()
    assert "private – not for release" in lines[0]
    assert lines[1].split() == ["epsilon", "none", "private"]
    assert lines[2].split()[0] == "1"


def test_the_seed_and_nothing_else_decides_the_figures(made):
    usual = ["--epsilons", "1", "--repeats", "2"]
    files = []
    for more in (["--jobs", "1"], ["--jobs", "2"], ["--jobs", "1", "--seed", "1"]):
        assert main(words(made, *usual, *more, "--json")) == 0
        files.append((made / "out.csv").read_bytes())
    assert files[0] == files[1] != files[2]


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["--model", "median-forest"], "not as numeric"),
        (["--model", "nave-bayes"], "did you mean 'naive-bayes'"),
        (["--scheduler", "127.0.0.1"], "write tcp://HOST:PORT or tls://HOST:PORT"),
        (["--scheduler", "tcp://127.0.0.1:1", "--jobs", "2"], "keep one of them"),
        (["--regimes", "sanitized:starcase"], "did you mean 'staircase'"),
        (["--epsilons", "0.1:100"], "LOWEST:HIGHEST:HOW-MANY"),
        (["--epsilons", "nan"], "--epsilons"),
        (["--repeats", "0"], "--repeats"),
        (["--jobs", "0"], "--jobs"),
        (["--evaluate", "both"], "--evaluate"),
        (["--theme", "drak"], "did you mean 'dark'"),
        (["--target", "Sort"], "Sort"),
        (["--target", "Size"], "declared as real"),
        (["--plot", "curve.pdf"], ".png or .svg"),
        (["--plot", "no-such-folder/curve.png"], "cannot be written"),
        (["-o", "no-such-folder/out.csv"], "does not exist"),
        (["--bounds", "no-such-plan.toml"], "no-such-plan.toml"),
    ],
)
def test_bad_input_is_one_sentence_and_leaves_nothing(made, capsys, more, told):
    assert main(words(made, *more)) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("error: ")
    assert said.err.count("\n") == 1
    assert told in said.err
    assert left(made) == []


def test_without_declared_bounds_nothing_starts(made, run):
    assert "--bounds PLAN" in run(*words(made, bounds=False)).error()


def test_the_table_is_never_the_output(made, run):
    before = (made / "data.csv").read_bytes()
    assert "would overwrite an input of the study" in run(*words(made, "-o", str(made / "data.csv"))).error()
    assert (made / "data.csv").read_bytes() == before


def test_a_stray_part_of_a_killed_run_is_removed(made):
    (made / "out.csv.0123abcd.tmp.part").write_text("half")
    assert main(words(made, "--epsilons", "1", "--repeats", "1", "--jobs", "1", "--json")) == 0
    assert left(made) == ["out.csv"]


def console_script() -> list[str]:
    script = Path(sys.executable).with_name("workbench.exe" if sys.platform == "win32" else "workbench")
    if not script.exists():
        pytest.skip("the package is not installed with its console script")
    return [str(script)]


def start(folder: Path, *more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*console_script(), *words(folder, *more)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def wait_for_fits(process: subprocess.Popen[str], count: int) -> None:
    deadline = time.monotonic() + 300
    while process.poll() is None and time.monotonic() < deadline:
        if any(p.read_bytes().count(b"\n") >= count for p in unfinished()):
            return
        time.sleep(0.02)
    process.kill()
    pytest.fail(f"the study ended or stood still before it was stopped: {process.communicate()[1]}")


@pytest.mark.skipif(sys.platform == "win32", reason="signals of one process are a POSIX matter")
@pytest.mark.parametrize(
    ("number", "code"), [pytest.param(signal.SIGINT, 4, marks=pytest.mark.slow), (signal.SIGKILL, -9)]
)
def test_a_stopped_run_is_completed_by_the_next(made, number, code):
    import psutil

    long = ["--epsilons", "1", "--repeats", "400", "--regimes", "none,private"]
    process = start(made, *long, "--jobs", "2")
    wait_for_fits(process, 5)
    workers = psutil.Process(process.pid).children()
    os.kill(process.pid, number)
    out, err = process.communicate(timeout=300)
    assert (process.returncode, out) == (code, "")
    assert psutil.wait_procs(workers, timeout=300)[1] == []
    if number == signal.SIGINT:
        assert err == f"note: {NOTED}\nerror: curve was cancelled\n"
        assert left(made) == []
    else:
        assert [name.endswith(".part") for name in left(made)] == [True]
    kept = unfinished()[0].read_bytes().count(b"\n")
    assert 5 <= kept < 800

    again = start(made, *long, "--jobs", "2", "--json")
    out, err = again.communicate(timeout=600)
    assert again.returncode == 0
    assert re.fullmatch(rf"note: \d+ fits are kept from a run that was stopped\nnote: {NOTED}\n", err)
    assert json.loads(out)["rows"] == 400 * 2 * 4
    assert left(made) == ["out.csv"]
    assert unfinished() == []
    whole = (made / "out.csv").read_bytes()
    assert main(words(made, *long, "--jobs", "1", "--json")) == 0
    assert (made / "out.csv").read_bytes() == whole


def test_workers_of_the_installed_program_start_light():
    # A worker limits BLAS to one thread before numpy loads; the program's own start must not load it earlier.
    code = "import sys, workbench.cli; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout.strip() == "False"


@pytest.mark.slow
def test_a_report_says_on_every_page_that_it_is_private(made, run, capsys):
    report = made / "report.pdf"
    usual = words(made, "--regimes", "none,private", "--epsilons", "1", "--repeats", "2", "--report", str(report))
    assert run(*usual, "--json").done["report"] == str(report)
    assert report.read_bytes().startswith(b"%PDF")
    assert stat.S_IMODE(report.stat().st_mode) == 0o600
    capsys.readouterr()
    for wrong in ("report.txt", "out.csv", "data.csv"):
        assert "a report is a .pdf file" in run(*usual[:-1], str(made / wrong)).error()
    usual[usual.index("-o") + 1] = str(report)
    assert "two outputs are the same file" in run(*usual).error()
