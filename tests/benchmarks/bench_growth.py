"""What releases cost as tables grow: measured by steps and by commands, and projected to a cluster.

``python tests/benchmarks/bench_growth.py FOLDER [ROWS ...]`` (default 100000 1000000 10000000; of more rows than that
only what :data:`LARGE` names is done). The tables are those of ``bench_stream.py``. What is in
``FOLDER/measured.json`` is not measured again, and all that is in ``results/growth.md`` is made here of it: processor
seconds, which other work on the machine inflates, but by no order.
"""

import contextlib
import json
import os
import pickle
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from bench_stream import measured, write_plan

HERE = Path(__file__).parent
COMMANDS = {
    "sanitize": ["--plan", "plan.toml"],
    "statistics": ["--plan", "plan.toml", "--epsilon", "1"],
    "synthesize": ["--plan", "plan.toml", "--epsilon", "1", "--method", "marginals", "--target", "c1"],
    "fit": ["--bounds", "plan.toml", "--epsilon", "1", "--target", "c1", "--model", "naive-bayes"],
}
KEPT = "sanitize, keep_order"
COMMANDS_AND_KEPT = {"sanitize": COMMANDS["sanitize"], KEPT: ["--plan", "kept.toml"], **COMMANDS}
LARGE, MOST = ("sanitize", "statistics", KEPT), 20_000_000
"""What is done of tables of more rows than so many."""
COMMAND, WORKERS = "command", "workers"
STEPS = {
    "form of the file": (COMMAND, "bytes"),
    "SHA-256 of the file": (COMMAND, "bytes"),
    "text of the cells": (WORKERS, "rows × columns"),
    "values checked, cells": (WORKERS, "rows × columns"),
    "marks of the account": (WORKERS, "rows × columns"),
    "counts": (WORKERS, "rows × questions"),
    "random order": (COMMAND, "rows"),
    "random bits, draws": (WORKERS, "rows × columns"),
    "rows of a model": (COMMAND, "rows × columns"),
    "lines of text": (COMMAND, "rows × columns"),
    "writing, SHA-256": (COMMAND, "bytes"),
}
TWICE = {"sanitize": ("text of the cells", "values checked, cells")}
"""Steps that workers take again, as they read their parts before the charge and after it."""
LINE = 100e6
"""Bytes a second from a worker to the command: a network of a gigabit."""


class _Clock:
    """Processor seconds of steps, each without those inside it."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(STEPS, 0.0)
        self._inside = [0.0]

    def step(self, place: Any, name: str, label: str) -> None:
        """Take the time of a function, which is called in one thread, as that of a step."""
        work = getattr(place, name)

        def timed(*given: Any, **named: Any) -> Any:
            self._inside.append(0.0)
            begun = time.process_time()
            try:
                return work(*given, **named)
            finally:
                took = time.process_time() - begun
                self.seconds[label] += took - self._inside.pop()
                self._inside[-1] += took

        setattr(place, name, timed)


@contextlib.contextmanager
def _one_after_the_other(views: Any, cancel: Any) -> Iterator[Future[bytes]]:
    from workbench.data import table_reader

    future: Future[bytes] = Future()
    future.set_result(table_reader._digest(views, cancel))
    yield future


def take_steps(arguments: list[str]) -> None:
    """Run a command in one thread, and print the processor seconds of its steps and the bytes that a part sends."""
    from workbench.cli import main
    from workbench.data import rows_in_parts, table_reader
    from workbench.data.csv import file
    from workbench.data.csv.regular_rows import RegularRows
    from workbench.release import spilled_rows
    from workbench.release.ledger.identity import Marking
    from workbench.release.part_files import DrawFile
    from workbench.release.synthetic import synthesis_work
    from workbench.release.table_formats import _Lines
    from workbench.statistics.queries import Counted
    from workbench.synth import synthesis
    from workbench.synth.columns import CountedTables
    from workbench.work.work import ColumnReader, Sums

    def in_order(items: Iterable[Any], work: Callable[[Any], Any], *_: Any) -> Iterator[Any]:
        return map(work, items)

    for place in (rows_in_parts, spilled_rows, synthesis_work):
        place.in_order = in_order  # type: ignore[attr-defined]
    table_reader.digesting = _one_after_the_other  # type: ignore[assignment]
    clock, sent = _Clock(), [0]
    whole = ColumnReader.take

    def taken(self: ColumnReader, found: Any) -> None:
        sent[0] += len(pickle.dumps(found, protocol=5))
        whole(self, found)

    for place, name, label in (
        (table_reader, "_digest", "SHA-256 of the file"),
        (file, "guess_encoding", "form of the file"),
        (file, "regular_shape", "form of the file"),
        (RegularRows, "_read", "text of the cells"),
        (ColumnReader, "of_part", "values checked, cells"),
        (Marking, "of_part", "marks of the account"),
        (Marking, "take", "marks of the account"),
        (Counted, "made", "counts"),
        (CountedTables, "made", "counts"),
        (Sums, "made", "counts"),
        (spilled_rows.SpilledRows, "_scattered", "random order"),
        (spilled_rows, "permutation", "random order"),
        (spilled_rows.Rows, "ordered", "random order"),
        (spilled_rows, "sampled", "random bits, draws"),
        (synthesis, "sampled_rows", "rows of a model"),
        (synthesis.SyntheticRows, "cells", "rows of a model"),
        (_Lines, "of", "lines of text"),
        (DrawFile, "write", "writing, SHA-256"),
    ):
        clock.step(place, name, label)
    ColumnReader.take = taken  # type: ignore[method-assign]
    begun = time.process_time()
    code = main(arguments)
    assert code == 0
    sys.stdout.write("\n" + json.dumps({**clock.seconds, "all": time.process_time() - begun, "sent": sent[0]}))


def run(folder: Path, rows: int, command: str, *, by_steps: bool) -> Any:
    """Return wall seconds, processor seconds and peak MB of a command; or the processor seconds of its steps."""
    for left in [*folder.glob("out*"), *folder.glob("ledger.*")]:
        subprocess.run(["rm", "-rf", str(left)], check=True)
    asked = [str(folder / word) if word.endswith(".toml") else word for word in COMMANDS_AND_KEPT[command]]
    output = str(folder / ("out" if command == "fit" else "out.csv"))
    asked += ["-o", output, "--ledger", str(folder / "ledger.sqlite")]
    words = [command.partition(",")[0], str(folder / f"{rows}.csv"), *asked]
    if not by_steps:
        return measured([sys.executable, "-m", "workbench", *words])
    alone = {**os.environ, "POLARS_MAX_THREADS": "1"}
    said = [sys.executable, str(Path(__file__).resolve()), "--steps", *words]
    found = subprocess.run(said, env=alone, check=True, capture_output=True, text=True)
    return json.loads(found.stdout.splitlines()[-1])


def table(folder: Path, rows: int) -> float:
    """Write a table by a process of its own, unless it is there; return its megabytes."""
    path = folder / f"{rows}.csv"
    if not path.exists():
        writer = [sys.executable, str(HERE / "bench_stream.py"), "--write", str(path), str(rows)]
        subprocess.run(writer, check=True)
    return path.stat().st_size / 1e6


def page(whole: dict[tuple[str, int], Any], steps: dict[tuple[str, int], dict[str, float]]) -> str:
    """Return the page."""
    few, many = min(rows for _, rows in whole), max(rows for _, rows in steps)
    machine = f"{os.cpu_count()} cores, Python {platform.python_version()}"
    out = [
        "# What releases cost as tables grow",
        "",
        f"Written by `bench_growth.py` of what it measured: {machine}.",
        "Tables of 8 columns, half of them numbers, half categories; processor seconds of all threads, resident memory",
        "of all processes together at its most, and how many processes waited for a core when the command had ended.",
        "",
        "| command | rows | MB of CSV | processor s | wall s | load | peak MB |",
        "|---|---|---|---|---|---|---|",
    ]
    for (command, rows), (size, load, wall, processor, peak) in sorted(whole.items(), key=lambda item: item[0][1]):
        row = f"| {command} | {rows:,} | {size:,.0f} | {processor:.1f} | {wall:.1f} | {load:.0f} | {peak:,.0f} |"
        out.append(row)
    each = {c: {k: v * 1e6 / many for k, v in steps[c, many].items()} for c in COMMANDS}
    out += [
        "",
        f"Processor seconds of a million rows by step, in one thread, of {many:,} rows. A cluster's workers take the",
        "steps that are theirs; the command takes the others, whatever the number of workers.",
        "",
        f"| step | who | grows with | {' | '.join(COMMANDS)} |",
        "|---|---|---|" + "---|" * len(COMMANDS),
    ]
    for label, (who, grows) in STEPS.items():
        shown = " | ".join(_few(each[c][label]) for c in COMMANDS)
        out.append(f"| {label} | {who} | {grows} | {shown} |")
    network = {c: each[c]["sent"] / LINE for c in COMMANDS}
    sent = " | ".join(_few(network[c]) for c in COMMANDS)
    out.append(f"| network, {LINE / 1e6:.0f} MB/s | {COMMAND} | answers | {sent} |")
    start = {c: max(whole[c, few][3] - few / 1e6 * each[c]["all"], 0.0) for c in COMMANDS}
    out += [
        "",
        "So n million rows on N workers take about a + n·(c + w/N) seconds: a is the start, w the steps of workers",
        "(of `sanitize` they read twice: before the charge and after it), c all others. What follows is a projection,",
        "for workers that each have a core like this one; nothing beyond the rows above was run.",
        "",
        "| command | a | c | w | 10¹⁰ rows on 1, 10, 100 workers | workers that keep it busy | its longest step |",
        "|---|---|---|---|---|---|---|",
    ]
    for command in COMMANDS:
        took, twice = each[command], TWICE.get(command, ())
        own = {k: took[k] for k, (who, _) in STEPS.items() if who == COMMAND} | {"network": network[command]}
        c, most = sum(own.values()), max(own, key=own.__getitem__)
        w = sum(took[k] * (1 + (k in twice)) for k, (who, _) in STEPS.items() if who == WORKERS)
        long = ", ".join(_time(start[command] + 1e4 * (c + w / n)) for n in (1, 10, 100))
        out.append(f"| `{command}` | {start[command]:.1f} | {c:.2f} | {w:.2f} | {long} | {-(-w // c):.0f} | {most} |")
    return "\n".join(out) + "\n"


def _few(seconds: float) -> str:
    return f"{seconds:.2f}" if seconds >= 0.005 else "–"


def _time(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def main() -> None:
    """Measure, and write the page."""
    if sys.argv[1] == "--steps":
        take_steps(sys.argv[2:])
        return
    folder = Path(sys.argv[1]).resolve()
    sizes = [int(text) for text in sys.argv[2:]] or [100_000, 1_000_000, 10_000_000]
    folder.mkdir(parents=True, exist_ok=True)
    for name, keep_order in (("plan", False), ("kept", True)):
        write_plan(folder / f"{name}.toml", keep_order=keep_order)
    kept = folder / "measured.json"
    found: dict[str, dict[str, Any]] = json.loads(kept.read_text()) if kept.exists() else {"whole": {}, "steps": {}}
    warm = [] if kept.exists() else [sizes[0]]  # the first time mechanisms are solved, a machine keeps their facts
    for rows in [*warm, *sizes]:
        megabytes = table(folder, rows)
        for command in COMMANDS_AND_KEPT if rows <= MOST else LARGE:
            name = f"{command};{rows}"
            if name in found["whole"] and not (warm and rows == sizes[0]):
                continue
            took = run(folder, rows, command, by_steps=False)
            found["whole"][name] = [megabytes, os.getloadavg()[0], *took]
            sys.stderr.write(f"{command} {rows}: {took}\n")
            if 1_000_000 <= rows <= MOST and command in COMMANDS:
                found["steps"][name] = run(folder, rows, command, by_steps=True)
            kept.write_text(json.dumps(found))
    whole, steps = (
        {(k.split(";")[0], int(k.split(";")[1])): v for k, v in found[n].items()} for n in ("whole", "steps")
    )
    (HERE / "results" / "growth.md").write_text(page(whole, steps), encoding="utf-8")


if __name__ == "__main__":
    main()
