"""Real runs of the program, killed at random moments: never a table without its charge, never half a file."""

import json
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from release_cases import (
    assert_sound,
    certificate_of,
    forks,
    names_in,
    plan_of,
    raise_cap,
    statuses,
    table_of,
)

from workbench.cli import main
from workbench.release.ledger.ledger import Ledger
from workbench.release.recover import finished_draw, recover
from workbench.release.verify import verify_in_ledger, verify_release

Started = tuple[Callable[[], None], Callable[[], None]]
"""How to kill a run, and how to wait for its end."""

ROWS = 200_000
WHOLE = {"people.csv", "people.csv.certificate.json"}


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    folder = tmp_path_factory.mktemp("source")
    table_of(ROWS).frame.write_csv(folder / "people.csv")
    (folder / "plan.toml").write_text(plan_of(0.5).to_toml(), "utf-8")
    return folder


def words_for(source: Path, target: Path, ledger: Path) -> list[str]:
    table, plan = str(source / "people.csv"), str(source / "plan.toml")
    return ["sanitize", table, "--plan", plan, "-o", str(target), "--ledger", str(ledger), "--replace"]


def seconds_of(start: Callable[[], object]) -> float:
    began = time.monotonic()
    start()
    return time.monotonic() - began


def check_after_a_kill(folder: Path, target: Path, ledger: Path, before: list[str]) -> str:
    """Check what must hold at once, and what recovery makes of it; return the new status."""
    assert_sound(folder, target, ledger)
    with Ledger.open(ledger) as opened:
        recover(opened)
        waits = finished_draw(opened, target)
    after = statuses(ledger)
    assert after[: len(before)] == before
    new = after[len(before) :]
    assert new in ([], ["void"], ["charged"]), new
    if target.exists() and (waits is None or not waits.half_named):
        assert verify_release(target) == []
        with Ledger.open(ledger) as opened:
            assert verify_in_ledger(certificate_of(target), opened) == []
            assert opened.release(certificate_of(target)["release_id"]) is not None
    # At most one part is left, which the next run removes or, where the draw was finished, publishes.
    assert len(names_in(folder) - WHOLE) <= 1
    return "waits" if waits is not None else new[0] if new else "nothing"


def kill_at_random_moments(
    source: Path,
    tmp_path: Path,
    kills: int,
    start: Callable[[list[str]], tuple[Callable[[], None], Callable[[], None]]],
) -> list[str]:
    """Run the release again and again under a generous cap and kill each run; return what became of each.

    Args:
        source: folder of table and plan.
        tmp_path: where to work.
        kills: how many runs to kill.
        start: starts a run; returns (kill it, wait for its end).
    """
    folder, ledger = tmp_path / "out", tmp_path / "ledger.sqlite"
    folder.mkdir()
    target = folder / "people.csv"
    words = words_for(source, target, ledger)
    start(words)[1]()  # warm, and the cap's dataset is known
    raise_cap(ledger, "1000")
    whole = seconds_of(lambda: start(words)[1]())
    before, outcomes, generator = statuses(ledger), [], random.Random(11)

    def killed(seconds: float) -> None:
        nonlocal before
        kill, wait = start(words)
        time.sleep(seconds)
        kill()
        wait()
        outcomes.append(check_after_a_kill(folder, target, ledger, before))
        before = statuses(ledger)

    for number in range(kills):
        # Stratified: a moment in each stretch of a whole run and a little beyond.
        killed(1.1 * whole * (number + generator.random()) / kills)
    # A machine that has become slower since the whole run was timed: later moments, until one was late enough.
    while set(outcomes) == {"nothing"} and len(outcomes) < 3 * kills:
        whole *= 1.2
        killed(whole)
    start(words)[1]()
    assert statuses(ledger) == [*before, *(["charged"] if outcomes[-1] != "waits" else [])]
    assert names_in(folder) == WHOLE
    assert verify_release(target) == []
    return outcomes


def fork(words: list[str]) -> Started:
    process = forks().Process(target=main, args=(words,))
    process.start()
    return process.kill, lambda: process.join(60)


def program(words: list[str]) -> Started:
    process = subprocess.Popen(
        [sys.executable, "-m", "workbench", *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )

    def wait() -> None:
        process.wait(60)

    return process.kill, wait


@pytest.mark.skipif(sys.platform == "win32", reason="fork servers and SIGKILL are POSIX")
@pytest.mark.slow
def test_runs_killed_at_thirty_random_moments_leave_nothing_unpaid_and_nothing_half(source, tmp_path, capsys):
    outcomes = kill_at_random_moments(source, tmp_path, 30, fork)
    capsys.readouterr()
    assert "nothing" in outcomes  # the moments did spread over the run
    assert {"void", "charged", "waits"} & set(outcomes)


def test_programs_killed_at_random_moments_leave_nothing_unpaid_and_nothing_half(source, tmp_path, capsys):
    outcomes = kill_at_random_moments(source, tmp_path, 5, program)
    capsys.readouterr()
    assert len(outcomes) >= 5


@pytest.mark.slow
def test_programs_killed_at_a_hundred_random_moments_leave_nothing_unpaid_and_nothing_half(source, tmp_path, capsys):
    outcomes = kill_at_random_moments(source, tmp_path, 100, program)
    capsys.readouterr()
    # The short time between reservation and charge has its own test, which waits for it.
    assert "nothing" in outcomes
    assert {"charged", "waits"} & set(outcomes)


@pytest.mark.skipif(sys.platform == "win32", reason="fork servers and SIGKILL are POSIX")
@pytest.mark.parametrize(("status", "becomes"), [("reserved", {"void"}), ("charged", {"charged", "waits"})])
def test_a_run_killed_as_soon_as_it_is_reserved_or_charged(source, tmp_path, capsys, status, becomes):
    folder, ledger = tmp_path / "out", tmp_path / "ledger.sqlite"
    folder.mkdir()
    words = words_for(source, folder / "people.csv", ledger)
    fork(words)[1]()
    raise_cap(ledger, "1000")
    for _ in range(200):  # a busy machine looks too late in many of them
        before = statuses(ledger)
        kill, wait = fork(words)
        deadline = time.monotonic() + 300
        while statuses(ledger)[len(before) :] in ([], ["reserved"][: status == "charged"]):
            assert time.monotonic() < deadline
        kill()
        wait()
        caught = statuses(ledger)[len(before) :] == [status]
        outcome = check_after_a_kill(folder, folder / "people.csv", ledger, before)
        if caught:
            assert outcome in becomes
            break
        main(words)  # publishes a draw that was finished
    else:
        raise AssertionError(f"no run was caught while it was {status}")
    capsys.readouterr()


def test_a_killed_first_run_is_made_good_by_the_next(source, tmp_path, capsys):
    """Killed while it works; the next run removes what it left, or publishes the draw where it was finished."""
    folder, ledger = tmp_path / "out", tmp_path / "ledger.sqlite"
    folder.mkdir()
    words = words_for(source, folder / "people.csv", ledger)
    for _ in range(20):
        kill, wait = fork(words)
        deadline = time.monotonic() + 300
        while not any(folder.iterdir()) and time.monotonic() < deadline:
            time.sleep(0.001)
        time.sleep(0.05)
        kill()
        wait()
        if any(p.name.endswith(".part") for p in folder.iterdir()):
            break
    else:
        raise AssertionError("no run was caught while it wrote")
    assert main(["ledger", "cap", str(source / "people.csv"), "--epsilon", "1000", "--ledger", str(ledger)]) == 0
    capsys.readouterr()
    assert main([*words, "--json"]) == 0
    spent = 1000 - json.loads(capsys.readouterr().out)["epsilon_remaining"]
    assert names_in(folder) == WHOLE
    assert verify_release(folder / "people.csv") == []
    with Ledger.open(ledger) as opened:
        counted = [r.epsilon for r in opened.releases() if r.status == "charged"]
    assert spent == float(sum(counted))
    assert set(statuses(ledger)) <= {"void", "charged"}
    assert main(["ledger", "verify", "--ledger", str(ledger)]) == 0
