"""Whose reservation and whose part it is: recovery leaves what still runs, and what is not its own."""

import json
import os
import sqlite3
from decimal import Decimal
from pathlib import Path

import pytest
from release_cases import (
    forks,
    loss_of,
    names_in,
    raise_cap,
    release,
    release_and_die,
    run_to_exit,
    statuses,
)

from workbench.params import InputError
from workbench.release import recover as recover_module
from workbench.release.atomic import sole_user
from workbench.release.ledger import custody, processes
from workbench.release.ledger.ledger import Ledger
from workbench.release.ledger.processes import still_runs, this_process
from workbench.release.recover import recover
from workbench.release.verify import verify_release

EXPORT = "workbench.release.rows_work"
PART, RECOVER = "workbench.release.parts:DrawFile", "workbench.release.recover"
PAIR = {"people.csv", "people.csv.certificate.json"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "out"
    made.mkdir()
    return made


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


def recovered(ledger: Path) -> list[str]:
    with Ledger.open(ledger) as opened:
        return recover(opened)


def test_this_process_still_runs_and_a_dead_one_does_not() -> None:
    process = forks().Process(target=os.getpid)
    process.start()
    process.join()
    assert still_runs(this_process())
    assert not still_runs({**this_process(), "pid": process.pid})
    assert not still_runs({**this_process(), "started": 1.0})  # its number was given to another
    assert not still_runs({"host": this_process()["host"]})
    assert still_runs({**this_process(), "host": "another machine"})
    assert still_runs({})


def hold(ledger: Path, target: Path, ready: Path, go: Path) -> None:
    """Release, and wait before drawing until told to go on."""
    import time

    from workbench.release import rows_work

    real = rows_work.draw_prepared

    def wait(*arguments: object) -> object:
        ready.touch()
        while not go.exists():
            time.sleep(0.005)
        return real(*arguments)  # type: ignore[arg-type]

    rows_work.draw_prepared = wait  # type: ignore[assignment]
    release(ledger, target)


def test_a_release_that_still_runs_is_left_alone(folder: Path, ledger: Path, tmp_path: Path) -> None:
    target, ready, go = folder / "people.csv", tmp_path / "ready", tmp_path / "go"
    process = forks().Process(target=hold, args=(ledger, target, ready, go))
    process.start()
    while not ready.exists():
        assert process.is_alive()
    assert recovered(ledger) == []
    with pytest.raises(Exception, match="only 0 remain"):
        release(ledger, target)
    assert statuses(ledger) == ["reserved", "refused"]
    go.touch()
    process.join(60)
    assert process.exitcode == 0
    assert statuses(ledger) == ["charged", "refused"]
    assert verify_release(target) == []


def test_a_run_whose_reservation_was_taken_for_dead_writes_nothing(
    folder: Path, ledger: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may look dead because a clock was set, or because it runs in another container."""
    target, ready, go = folder / "people.csv", tmp_path / "ready", tmp_path / "go"
    process = forks().Process(target=hold, args=(ledger, target, ready, go))
    process.start()
    while not ready.exists():
        assert process.is_alive()
    with monkeypatch.context() as patch:
        patch.setattr(recover_module, "still_runs", lambda process: False)
        (told,) = recovered(ledger)
    assert "costs nothing" in told
    go.touch()
    process.join(60)
    assert process.exitcode == 1  # its charge is refused, so it ends before the first byte
    assert names_in(folder) == set()
    assert statuses(ledger) == ["void"]


def test_a_ledger_that_is_moved_under_a_running_release_lets_it_write_nothing(
    folder: Path, ledger: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, ready, go, new = folder / "people.csv", tmp_path / "ready", tmp_path / "go", tmp_path / "new.sqlite"
    process = forks().Process(target=hold, args=(ledger, target, ready, go))
    process.start()
    while not ready.exists():
        assert process.is_alive()
    with Ledger.open(ledger) as opened:
        with pytest.raises(InputError, match=f"is in progress, in process {process.pid}.*wait for it"):
            opened.move(new)
        with monkeypatch.context() as patch:  # as on another machine, whose processes nobody here can see
            patch.setattr(custody, "is_other_live_process", lambda process: False)
            opened.move(new)
    go.touch()
    process.join(60)
    assert process.exitcode == 1  # its charge is refused, so it ends before the first byte
    assert names_in(folder) == set()
    assert recovered(ledger) == []
    assert statuses(ledger) == ["reserved"]
    (told,) = recovered(new)
    assert "costs nothing" in told


def test_runs_at_once_publish_a_finished_draw_once(folder: Path, ledger: Path) -> None:
    target = folder / "people.csv"
    for _ in range(4):
        assert run_to_exit(release_and_die, ledger, target, RECOVER, "write_whole") == -9
        racers = [forks().Process(target=release, args=(ledger, target)) for _ in range(3)]
        for racer in racers:
            racer.start()
        for racer in racers:
            racer.join(60)
        assert 0 in [r.exitcode for r in racers]
        assert names_in(folder) == PAIR
        assert verify_release(target) == []
        raise_cap(ledger, str(3 * (statuses(ledger).count("charged") + 1)))


def test_a_reservation_of_another_machine_is_kept(folder: Path, ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run_to_exit(release_and_die, ledger, folder / "people.csv", EXPORT, "draw_prepared") == -9
    monkeypatch.setattr(processes.socket, "gethostname", lambda: "elsewhere")
    assert recovered(ledger) == []
    assert statuses(ledger) == ["reserved"]


def test_a_part_that_is_in_use_or_cannot_be_opened_stays(folder: Path, ledger: Path) -> None:
    target = folder / "people.csv"
    assert run_to_exit(release_and_die, ledger, target, PART, "finish", 1, True) == -9
    (part,) = folder.iterdir()
    raise_cap(ledger, "60")
    with sole_user(part, otherwise=False) as held:
        assert held
        release(ledger, target)
        assert names_in(folder) == PAIR | {part.name}
    release(ledger, target)
    assert names_in(folder) == PAIR


def test_a_reservation_of_an_older_version_stays_charged(ledger: Path) -> None:
    """That version wrote values before their charge was final."""
    with Ledger.open(ledger) as opened:
        opened.reserve("a" * 32, loss_of("1"), work="sanitize", details={"output": "/x/a.csv", "part": "/x/a.csv.part"})
        connection = sqlite3.connect(ledger)
        body = json.loads(connection.execute("SELECT body FROM entry WHERE kind = 'reserve'").fetchone()[0])
        connection.close()
        assert "charged-first" not in body
    dead = forks().Process(target=reserve_as_before, args=(ledger.with_name("dead.sqlite"),))
    dead.start()
    dead.join(60)
    (told,) = recovered(ledger.with_name("dead.sqlite"))
    assert "stays charged" in told
    assert statuses(ledger.with_name("dead.sqlite")) == ["charged"]


def reserve_as_before(ledger: Path) -> None:
    with Ledger.open(ledger) as opened:
        opened.reserve("a" * 32, loss_of("1"), work="sanitize", details={"output": "/x/a.csv", "part": "/x/a.csv.part"})


def test_recovery_over_a_tampered_ledger_decides_nothing(folder: Path, ledger: Path) -> None:
    assert run_to_exit(release_and_die, ledger, folder / "people.csv", EXPORT, "draw_prepared") == -9
    connection = sqlite3.connect(ledger)
    with connection:
        body = json.loads(connection.execute("SELECT body FROM entry WHERE seq = 3").fetchone()[0])
        body.pop("part")
        connection.execute("UPDATE entry SET body = ? WHERE seq = 3", (json.dumps(body),))
    connection.close()
    assert recovered(ledger) == []
    with Ledger.open(ledger) as opened:
        assert opened.verify() == ["entry 3 was changed after it was written"]
        (account,) = opened.caps()
        assert opened.account(account).used[0] == Decimal(3)
