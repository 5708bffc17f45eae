"""Real runs of the program, killed at random moments: never a table without its charge, never half a file."""

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from release_cases import (
    assert_sound,
    certificate_of,
    names_in,
    plan_of,
    raise_cap,
    statuses,
    table_of,
)

from workbench.release.ledger.ledger import Ledger
from workbench.release.recover import finished_draw, recover
from workbench.release.verify import verify_in_ledger, verify_release

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


def start(words: list[str]) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "workbench", *words]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


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


def kill_at_random_moments(source: Path, tmp_path: Path, kills: int) -> list[str]:
    """Run the release again and again under a generous cap and kill each run; return what became of each."""
    folder, ledger = tmp_path / "out", tmp_path / "ledger.sqlite"
    folder.mkdir()
    target = folder / "people.csv"
    words = words_for(source, target, ledger)
    start(words).wait(60)  # warm, and the cap's dataset is known
    raise_cap(ledger, "1000")
    began = time.monotonic()
    start(words).wait(60)
    whole = time.monotonic() - began
    before, outcomes, generator = statuses(ledger), [], random.Random(11)

    def killed(seconds: float) -> None:
        nonlocal before
        process = start(words)
        time.sleep(seconds)
        process.kill()
        process.wait(60)
        outcomes.append(check_after_a_kill(folder, target, ledger, before))
        before = statuses(ledger)

    for number in range(kills):
        # Stratified: a moment in each stretch of a whole run and a little beyond.
        killed(1.1 * whole * (number + generator.random()) / kills)
    # A machine that has become slower since the whole run was timed: later moments, until one was late enough.
    while set(outcomes) == {"nothing"} and len(outcomes) < 3 * kills:
        whole *= 1.2
        killed(whole)
    start(words).wait(60)
    assert statuses(ledger) == [*before, *(["charged"] if outcomes[-1] != "waits" else [])]
    assert names_in(folder) == WHOLE
    assert verify_release(target) == []
    return outcomes


def test_programs_killed_at_random_moments_leave_nothing_unpaid_and_nothing_half(source, tmp_path, capsys):
    outcomes = kill_at_random_moments(source, tmp_path, 5)
    capsys.readouterr()
    assert len(outcomes) >= 5


@pytest.mark.slow
def test_programs_killed_at_a_hundred_random_moments_leave_nothing_unpaid_and_nothing_half(source, tmp_path, capsys):
    outcomes = kill_at_random_moments(source, tmp_path, 100)
    capsys.readouterr()
    # The short time between reservation and charge is among the moments of ``test_recover``.
    assert "nothing" in outcomes
    assert {"charged", "waits"} & set(outcomes)
