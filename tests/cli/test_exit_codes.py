"""Exit codes, interrupts, full disks and closed streams: no traceback, and no value of the data in any log."""

import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from command_cases import PLAN, TABLE, names, sanitize

from workbench.paths import user_data, user_log
from workbench.release import release_path as export
from workbench.release import rows_work
from workbench.release.ledger.ledger import Ledger

PROGRAM = [sys.executable, "-m", "workbench"]
PATIENCE = 300
"""Seconds within which something must come true, on a machine that is busy with other things too."""


SANITIZE = [*sanitize(), "--replace"]


def test_a_refusal_has_exit_code_3_and_both_numbers(folder, run):
    assert run(*SANITIZE).code == 0
    before = {p.name: p.read_bytes() for p in folder.iterdir() if p.suffix != ".sqlite"}
    for more in ([], ["--json"]):
        assert run(*SANITIZE, *more).error(3) == (
            "this release costs epsilon = 3 but nothing is left (cap epsilon = 3, spent or reserved 3); "
            "spend less, or raise the cap with `workbench ledger cap people.csv --epsilon 6 --ledger ledger.sqlite`"
        )
    assert {p.name: p.read_bytes() for p in folder.iterdir() if p.suffix != ".sqlite"} == before


def test_a_fault_found_has_exit_code_5_and_an_object(folder, run):
    assert run(*SANITIZE).code == 0
    answer = run("verify", "out.csv", "--json").json
    assert (answer["ok"], answer["problems"]) == (True, [])
    (folder / "out.csv").write_bytes((folder / "out.csv").read_bytes()[:-1])
    answer = run("verify", "out.csv", "--json")
    assert (answer.code, answer.err) == (5, "")
    assert answer.json["ok"] is False
    assert len(answer.json["problems"]) == 2
    told = run("verify", "out.csv")
    assert told.code == 5
    assert told.out.startswith("DOES NOT MATCH the certificate:\n")
    (folder / "out.csv.certificate.json").write_bytes(b"{")
    assert run("verify", "out.csv").code == 5


def test_a_bug_has_exit_code_1_and_a_log_without_data_values(folder, run, monkeypatch):
    secret = "Kuno-Wurzelsepp"
    (folder / "people.csv").write_text(TABLE.replace("Graz", secret))
    (folder / "plan.toml").write_text(PLAN.replace("Graz", secret))

    def planted(*arguments: Any, **named: Any) -> Any:
        local = [secret, arguments]
        try:
            raise KeyError(secret)
        except KeyError as error:
            raise RuntimeError(f"cannot handle {local}") from error

    monkeypatch.setattr(rows_work, "draw_prepared", planted)
    answer = run(*SANITIZE)
    told = answer.error(1)
    log = user_log() / "workbench.log"
    assert told == f"a bug in the program (RuntimeError in sanitize); its trace, without data values, is in {log}"
    text = log.read_text("utf-8")
    assert "RuntimeError" in text
    assert "planted" in text
    for place in (answer.err, text):
        assert secret not in place
        assert "cannot handle" not in place
    assert oct(log.parent.stat().st_mode & 0o777) == "0o700" or os.name == "nt"
    assert names(folder) == {"people.csv", "plan.toml", "ledger.sqlite", "ledger.sqlite.key"}
    with Ledger.open(folder / "ledger.sqlite") as ledger:
        assert [r.status for r in ledger.releases()] == ["void"]
    assert secret.encode() not in (folder / "ledger.sqlite").read_bytes()


def test_a_bug_in_telling_the_result_is_a_bug_too(folder, run, monkeypatch):
    from workbench.cli import samples

    command = samples.COMMAND
    broken = type(command)(**{**vars(command), "text": lambda result: 1 // 0, "run": lambda *_: {"x": float("nan")}})
    monkeypatch.setattr(samples, "COMMAND", broken)
    assert "ZeroDivisionError in samples" in run("samples").error(1)
    assert "ValueError in samples" in run("samples", "--json").error(1)


def test_a_log_that_cannot_be_written_is_told(folder, run, monkeypatch):
    monkeypatch.setattr("workbench.jobs.log.user_log", lambda: folder / "people.csv" / "log")
    monkeypatch.setattr(rows_work, "draw_prepared", lambda *_: 1 // 0)
    assert run(*SANITIZE).error(1) == (
        "a bug in the program (ZeroDivisionError in sanitize); its trace could not be written"
    )


def test_a_full_disk_has_exit_code_2_and_leaves_nothing(folder, run, monkeypatch):
    def full(*_: Any) -> Any:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(export._Drawing, "_write", full)
    assert run(*SANITIZE).error().startswith("the disk is full (out.csv)")
    assert names(folder) == {"people.csv", "plan.toml", "ledger.sqlite", "ledger.sqlite.key"}


# -- signals and streams, in processes of their own -------------------------------------------------------------------


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise there")
@pytest.mark.parametrize("inherited", ["default_int_handler", "SIG_IGN"])
def test_an_interrupt_while_the_program_is_loaded_is_no_bug(folder, inherited):
    """An exception in the middle of an import may come out of it as any other.

    Also where the signal was ignored before the start, as it is for ``nohup … &`` in a script.
    """
    planted = (
        f"import signal; signal.signal(signal.SIGINT, signal.{inherited})\n"
        "import builtins, os, signal, sys; import workbench.cli; real = builtins.__import__\n"
        "def interrupted(name, *rest):\n"
        "    if name == 'numpy' and 'numpy' not in sys.modules:\n"
        "        try: os.kill(os.getpid(), signal.SIGINT)\n"
        "        except KeyboardInterrupt: raise ImportError('half')\n"
        "    return real(name, *rest)\n"
        "builtins.__import__ = interrupted; sys.exit(workbench.cli.main(['describe', 'people.csv']))"
    )
    done = subprocess.run([sys.executable, "-c", planted], capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout, done.stderr) == (4, "", "error: cancelled\n")


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    python = f"'{sys.executable}' -m workbench"
    return subprocess.run(
        ["bash", "-c", command.replace("WB", python)], cwd=folder, capture_output=True, text=True, timeout=300
    )


@pytest.mark.skipif(sys.platform == "win32", reason="a shell of POSIX")
@pytest.mark.parametrize(
    ("command", "out", "err"),
    [
        ("WB samples | true; echo ${PIPESTATUS[0]}", "0\n", ""),
        ("WB --help | true; echo ${PIPESTATUS[0]}", "0\n", ""),
        ("WB sanitize --help | true; echo ${PIPESTATUS[0]}", "0\n", ""),
        ("WB samples >&-; echo $?", "0\n", ""),
        ("WB sanitise 2>&-; echo $?", "2\n", ""),
        ("WB sanitise 2>/dev/full; echo $?", "2\n", ""),
        (
            "WB samples >/dev/full; echo $?",
            "2\n",
            "error: the result cannot be printed: No space left on device (standard output); "
            "check where standard output goes\n",
        ),
    ],
)
def test_a_stream_that_is_closed_or_full_makes_no_traceback(folder, command, out, err):
    done = shell(f"sleep 0; {command}", folder)
    assert (done.stdout, done.stderr) == (out, err)


def test_a_terminal_of_another_encoding_makes_no_traceback(folder):
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    for words in (
        ["forecast", "--plan", "plan.toml"],
        ["forecast", "--plan", "plan.toml", "--json"],
        ["fit", "--help"],
    ):
        done = subprocess.run([*PROGRAM, *words], capture_output=True, env=environment, timeout=300)
        assert (done.returncode, done.stderr) == (0, b"")
        assert done.stdout.isascii()


def test_errors_touch_neither_the_users_ledger_nor_her_log(folder, run):
    run("sanitize", "none.csv", "--plan", "plan.toml", "-o", "out.csv").error()
    run("plan", "none.csv", "--epsilon", "1", "-o", "p").error()
    assert not (user_data() / "ledger.sqlite").exists()
    assert not user_log().exists()


def test_a_second_release_by_the_same_plan_tells_of_the_first(folder, run):
    assert run("ledger", "cap", "people.csv", "--epsilon", "9", "--ledger", "ledger.sqlite").code == 0
    assert run(*SANITIZE).code == 0
    second = run(*[word.replace("out.csv", "again.csv") for word in SANITIZE])
    assert second.code == 0
    earlier = "of this table, or an earlier version of it, by the same plan"
    assert f"{earlier} is {folder / 'out.csv'}; copying it costs nothing" in second.err
