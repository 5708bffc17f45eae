"""Tables, plans and processes for the tests of the release door; importable by processes that tests start."""

import importlib
import json
import os
import signal
from collections.abc import Callable
from decimal import Decimal
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from forked import forks
from released import release_table

from workbench.data.table import Table
from workbench.params import BudgetRefusedError
from workbench.privacy.accounting.event import Cost, PureDp
from workbench.release.certificate import checksum
from workbench.release.ledger.ledger import Ledger
from workbench.release.release_path import Released
from workbench.release.verify import verify_release
from workbench.sanitize.plan import Plan

CITIES = ("Graz", "Linz", "Wien")


def table_of(rows: int, seed: int = 7) -> Table:
    """A table of an age, a city and a pay, in the order of the ages."""
    generator = np.random.default_rng(seed)
    return Table(
        pl.DataFrame(
            {
                "age": np.sort(generator.integers(0, 121, rows)).astype(str),
                "city": generator.choice(CITIES, rows),
                "pay": np.round(generator.uniform(0, 100, rows), 1).astype(str),
            }
        ),
        "people.csv",
    )


def plan_of(epsilon: float = 3.0, **keys: Any) -> Plan:
    """A plan that protects the three columns of :func:`table_of`."""
    return Plan.from_plain(
        {
            "epsilon": epsilon,
            "column": [
                {"name": "age", "kind": "integer", "lower": 0, "upper": 120, "mechanism": "staircase"},
                {"name": "city", "kind": "category", "domain": list(CITIES), "mechanism": "grr"},
                {"name": "pay", "kind": "real", "lower": 0, "upper": 100, "cells": 51, "mechanism": "bounded-laplace"},
            ],
            **keys,
        }
    )


def release(
    ledger: Path, target: Path, rows: int = 50, epsilon: float = 3.0, *, seed: int = 7, **keys: Any
) -> Released:
    """Release the little table into ``target``; with another seed it is about other people."""
    with Ledger.open(ledger) as opened:
        return release_table(plan_of(epsilon, **keys), table_of(rows, seed), target, opened, replace=True)


def loss_of(epsilon: str, delta: str = "0") -> Cost:
    """The cost of a release of ``epsilon`` and ``delta``."""
    return Cost(Decimal(epsilon), Decimal(delta), PureDp(Decimal(epsilon)))


def charge(ledger: Ledger, epsilon: str, delta: str = "0", dataset: str = "a" * 32) -> str:
    """Reserve and complete a release; return its id."""
    release_id = ledger.reserve(dataset, loss_of(epsilon, delta), work="test")
    ledger.charge(release_id)
    return release_id


def raise_cap(ledger: Path, epsilon: str) -> None:
    """Raise the cap of the only dataset of ``ledger``."""
    with Ledger.open(ledger) as opened:
        (dataset,) = opened.caps()
        opened.set_cap(dataset, Decimal(epsilon))


def statuses(ledger: Path) -> list[str]:
    """The present status of each release, in order."""
    with Ledger.open(ledger) as opened:
        return [r.status for r in opened.releases()]


def names_in(folder: Path) -> set[str]:
    return {p.name for p in folder.iterdir()}


def contents(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in folder.iterdir()}


def certificate_of(target: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(target.with_name(target.name + ".certificate.json").read_text("utf-8"))
    return document


def forge(target: Path, change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    """Change the certificate beside ``target``, its checksum with it; return what it says now."""
    document = certificate_of(target)
    change(document)
    document["checksum"] = checksum(document)
    target.with_name(target.name + ".certificate.json").write_text(json.dumps(document), "utf-8")
    return document


def assert_sound(folder: Path, target: Path, ledger: Path, *, allowed: frozenset[str] = frozenset()) -> str | None:
    """Check what must hold after a kill at any moment; return the status of the release that stands in ``target``.

    Nothing is in the folder but the output, its certificate and one part file; the ledger's chain is whole; and an
    output that verifies has been paid for.
    """
    named = {target.name, f"{target.name}.certificate.json", *allowed}
    strange = names_in(folder) - named
    assert len(strange) <= 1, strange
    assert all(n.startswith(f"{target.name}.") and n.endswith(".part") for n in strange), strange
    if not ledger.exists():
        assert not target.exists()
        return None
    with Ledger.open(ledger) as opened:
        assert opened.verify() == []
        if not target.exists():
            return None
        document = certificate_of(target)
        found = opened.release(document["release_id"])
    assert found is not None
    assert found.status in ("reserved", "charged")
    assert found.epsilon == Decimal(document["guarantee"]["epsilon"])
    if not strange:  # while a part file waits to replace an older output, the new certificate may stand already
        assert verify_release(target) == []
    return found.status


def race(work: Callable[..., None], *arguments: Any, hands: int) -> None:
    racers = [forks().Process(target=work, args=arguments) for _ in range(hands)]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join(1800)
    assert [racer.exitcode for racer in racers] == [0] * hands


def run_to_exit(work: Callable[..., None], *arguments: Any) -> int:
    """Run ``work`` in a process of its own and return its exit code."""
    process: BaseProcess = forks().Process(target=work, args=arguments)
    process.start()
    process.join(60)
    if process.is_alive():
        process.kill()
        process.join()
        raise AssertionError("the process did not end")
    code = process.exitcode
    assert code is not None
    return code


def reserve_many(ledger: Path, dataset: str, epsilon: str, times: int) -> None:
    """Reserve again and again until refused; complete every second one."""
    with Ledger.open(ledger) as opened:
        for count in range(times):
            try:
                release_id = opened.reserve(dataset, loss_of(epsilon), work="race")
            except BudgetRefusedError:
                return
            if count % 2:
                opened.charge(release_id)


FAST = os.environ.get("PYTEST_DEBUG_TEMPROOT")
"""Where the folders of tests lie, in memory if there is room: for tests of many examples, which have one each."""

MARKS = "ledger-heads"
"""The folder of what a computer has seen last of each ledger."""


def die_at(owner: str, attribute: str, call: int, after: bool) -> None:
    """Let this process die as by SIGKILL at a call of an inner function.

    Args:
        owner: where the function is looked up: ``module`` or ``module:Class``.
        attribute: its name there.
        call: which call of it, counted from 1.
        after: die when the call has returned, instead of before it.

    A call about the marks that the ledger keeps elsewhere of itself is not counted.
    """
    module, _, cls = owner.partition(":")
    place: Any = importlib.import_module(module)
    place = getattr(place, cls) if cls else place
    real = getattr(place, attribute)
    calls = 0

    def deadly(*arguments: Any, **named: Any) -> Any:
        nonlocal calls
        calls += not any(MARKS in str(value) for value in arguments)
        if calls < call:
            return real(*arguments, **named)
        if after:
            real(*arguments, **named)
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("killed")

    setattr(place, attribute, deadly)


def release_and_die(ledger: Path, target: Path, owner: str, attribute: str, call: int = 1, after: bool = False) -> None:
    """Release the little table and die at a call of an inner function."""
    die_at(owner, attribute, call, after)
    release(ledger, target)
