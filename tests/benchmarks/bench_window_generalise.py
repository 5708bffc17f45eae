"""How long the event loop stands still while levels of generalisation are searched.

Run with ``pytest -m benchmark tests/benchmarks/bench_window_generalise.py -s``.
"""

from __future__ import annotations

import itertools
import random
import time
from pathlib import Path

import pytest

pytest.importorskip("PySide6.QtWidgets")

from PySide6.QtCore import QTimer
from window_tools import Heartbeat, at, click, go, open_table, run_for, shown_window, until, verdict, write_section

ROWS, TARGET_MS, MOST_SECONDS = 60_000, 50.0, 120.0
PLACES = ("data", "ways", "generalise", "released", "generalise", "protect")
KNOWN = ("age", "zip", "day", "job", "region")


def write_table(path: Path) -> None:
    made = random.Random(7)
    lines = ["age,zip,day,job,region,illness"]
    for _ in range(ROWS):
        day = f"{made.randint(1940, 2005)}-{made.randint(1, 12):02}-{made.randint(1, 28):02}"
        place = f"{made.randint(10000, 10400)},{day},job {made.randint(1, 40)},region {made.randint(1, 12)}"
        lines.append(f"{made.randint(18, 90)},{place},illness {made.randint(1, 9)}")
    path.write_text("\n".join(lines) + "\n", "utf-8")


@pytest.mark.benchmark
def test_the_window_answers_while_levels_are_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "LOCALAPPDATA", "APPDATA"):
        monkeypatch.setenv(variable, str(tmp_path / "home"))
    write_table(tmp_path / "census.csv")
    heart = Heartbeat()
    with shown_window() as window:
        open_table(window, str(tmp_path / "census.csv"))
        roles = {name: {"role": "quasi-identifier"} for name in KNOWN} | {"illness": {"role": "sensitive"}}
        window.session.edit("roles", window.session.plan.with_columns(roles))
        for page in PLACES:  # every page is made once before
            go(window, page)
            until(lambda: not window.jobs.running, MOST_SECONDS)
        go(window, "generalise")
        until(lambda: not window.jobs.running, MOST_SECONDS)
        click(window, "generalise_run")
        until(lambda: any(job.shown for job in window.jobs.running))
        began, person = time.monotonic(), QTimer(interval=120)
        places = itertools.chain(PLACES, itertools.repeat("generalise"))

        def step() -> None:
            heart.doing = next(places)
            go(window, heart.doing)

        person.timeout.connect(step)
        heart.start()
        person.start()
        while any(job.shown for job in window.jobs.running) and time.monotonic() - began < MOST_SECONDS:
            run_for(0.2)
        person.stop()
        heart.doing = "its end"
        run_for(1.0)
        heart.stop()
        took = time.monotonic() - began - 1.0
    late = [ms for ms, _ in heart.late]
    slow = sorted(zip(heart.busy, (doing for _, doing in heart.late), strict=True), reverse=True)[:6]
    cells = [" | ".join(f"{at(share, values):.1f}" for share in (0.5, 0.99, 1.0)) for values in (late, heart.busy)]
    lines = [
        f"A search of {len(KNOWN)} hierarchies over {ROWS:,} rows, {took:.1f} s, while somebody switches pages.",
        "",
        "| of a beat, ms | median | 99 % | worst |",
        "|---|---|---|---|",
        f"| late | {cells[0]} |",
        f"| computed by the GUI thread | {cells[1]} |",
        "",
        f"Of {len(late):,} beats {sum(ms > TARGET_MS for ms in late)} were over {TARGET_MS:g} ms late; the GUI thread "
        f"computed for over {TARGET_MS:g} ms in {sum(ms > TARGET_MS for ms in heart.busy)}: "
        f"{verdict(max(heart.busy), TARGET_MS)}.",
        "Longest by what was done: " + ", ".join(f"{doing or 'the search'} {ms:.0f} ms" for ms, doing in slow) + ".",
    ]
    write_section("Generalise", lines)
    print("\n".join(lines))  # noqa: T201 - the figures are what a benchmark is run for
