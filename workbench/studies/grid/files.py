"""The files of a sweep: settings of DP-SGD as TOML (each a value or a list), and runs as CSV."""

from __future__ import annotations

import csv
import hashlib
import io
import itertools
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from workbench.deep.plan import FORMER, DpSgdPlan
from workbench.params import InputError, ParameterError, Parameters, integer, text
from workbench.params.codec import read_toml, require_table
from workbench.params.field import Field, did_you_mean

SETTINGS = "settings"
MOST_RUNS = 100_000

TEMPLATE = """\
# A sweep of DP-SGD: every combination of the settings below is trained `repeats` times.
# A path is seen from the folder of this file; sample:NAME is a bundled table.
data = "sample:iris"
target = "species"        # the column to predict
bounds = "plan.toml"      # the plan that declares the columns; `workbench plan` writes one
repeats = 2               # 80/20 splits, each with noise of its own
seed = 0                  # a study is seeded, and nothing of it can be released

[settings]                # those of `workbench dpsgd`; a list is swept over
network = "logistic"
epsilon = [1, 3]
delta = 1e-3
batch = 30
epochs = 20
lr = [0.3, 1]
clip = 1
"""


@dataclass(frozen=True, kw_only=True)
class GridFile(Parameters):
    """The keys of a sweep beside its settings."""

    data: str = text(help="the table: a file, or sample:NAME")
    target: str | None = text(default=None, help="the column to predict")
    bounds: str | None = text(default=None, help="the plan that declares the columns")
    rows_per_person: int = integer(
        default=1, at_least=1, upto=10**6, help="maximum rows per person, for images only (a table's plan has its own)"
    )
    repeats: int = integer(default=3, at_least=1, upto=10_000, help="number of 80/20 splits per setting")
    seed: int = integer(default=0, at_least=0, upto=2**63 - 1, help="seed of the splits and the noise")


@dataclass(frozen=True)
class GridSpec:
    """A sweep."""

    file: GridFile  # the keys beside the settings
    settings: tuple[DpSgdPlan, ...]  # every combination, in the order of the file: the last list changes fastest
    varied: tuple[str, ...]  # the names of the settings that were given as lists of two values or more

    def label(self, setting: DpSgdPlan, *, without: tuple[str, ...] = ()) -> str:
        """Return what distinguishes ``setting`` from the others, such as ``lr=0.3, batch=64``."""
        return ", ".join(f"{n}={_short(getattr(setting, n))}" for n in self.varied if n not in without)


def load_spec(path: Path) -> GridSpec:
    """Return the sweep in ``path``.

    Raises:
        InputError: the file cannot be read or is no TOML.
        ParameterError: a key or a value is refused; the message names it and the combination.
    """
    where = str(path)
    raw = read_toml(path, "sweep")
    if SETTINGS not in raw:
        raise ParameterError(
            "the sweep has no [settings]", where, "write them under [settings]; a list of values is swept"
        )
    table = require_table(raw.pop(SETTINGS), SETTINGS, where)
    file = GridFile.from_plain(raw, where=where)
    return GridSpec(file, *_combinations(table, file.repeats, where))


def settings() -> dict[str, Field]:
    """Return the settings that a sweep may have: all but how many processes train, which changes no figure."""
    return {name: spec for name, spec in DpSgdPlan.declared().items() if name != "processes"}


def _combinations(table: Mapping[str, Any], repeats: int, where: str) -> tuple[tuple[DpSgdPlan, ...], tuple[str, ...]]:
    declared = settings()
    lists: dict[str, list[Any]] = {}
    count = repeats
    for name, value in table.items():
        if name not in declared and name not in FORMER:
            raise ParameterError(
                f"{name!r} is not a setting of DP-SGD{did_you_mean(name, declared)}",
                where,
                f"choose among {', '.join(declared)}",
            )
        values = value if isinstance(value, list) else [value]
        if not values:
            raise ParameterError(f"the list of {name} is empty", where, "give a value, or leave the key out")
        if len({repr(value) for value in values}) < len(values):
            raise ParameterError(f"the list of {name} has a value twice", where, "list each value once")
        lists[name] = values
        count *= len(values)
        if count > MOST_RUNS:
            raise ParameterError(
                f"the sweep has {count:,} runs or more", where, f"the limit is {MOST_RUNS:,}: shorten a list"
            )
    made = []
    for chosen in itertools.product(*lists.values()):
        given = dict(zip(lists, chosen, strict=True))
        made.append(DpSgdPlan.from_plain(given, where=f"{where}, {_stated(given, lists)}"))
    if len(set(made)) < len(made):
        raise ParameterError("two combinations of the settings are the same", where, "list each value once")
    return tuple(made), tuple(name for name, values in lists.items() if len(values) > 1)


def _stated(given: Mapping[str, Any], lists: Mapping[str, list[Any]]) -> str:
    return ", ".join(f"{n}={_short(v)}" for n, v in given.items() if len(lists[n]) > 1) or SETTINGS


def _short(value: Any) -> str:
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)[:40]


# -- the runs: a row for each, written as it ends, and read again to go on ---------------------------------------------

NOTE = "private - not for release"
RUN, REPEAT = "run", "repeat"
FIGURES = ("accuracy", "majority", "epsilon_spent", "noise_multiplier", "steps", "train_seconds", "peak_memory_bytes")
"""What a run measures: accuracy on the held-out rows, that of the largest class, the ε of its steps, and its needs."""

_MOST_BYTES = 256 * 2**20


def header() -> tuple[str, ...]:
    """Return the columns: the run, its settings, which repeat, its figures, and what the file is."""
    return (RUN, *settings(), REPEAT, *FIGURES, "note")


def run_name(study: str, setting: DpSgdPlan, repeat: int) -> str:
    """Return the name of a run: eight digits of the study, then of setting and repeat."""
    stated = repr((sorted(setting.to_plain().items()), repeat))  # without those left at their defaults
    return f"{study}-{hashlib.sha256(stated.encode()).hexdigest()[:12]}"


@dataclass(frozen=True)
class FinishedRun:
    """One row."""

    name: str  # as `run_name` makes it
    setting: Mapping[str, Any]  # every setting, as TOML holds it; those that are not given are left out
    repeat: int  # number of the split, from 0
    figures: Mapping[str, float]  # the values of `FIGURES`


def row_of(name: str, setting: DpSgdPlan, repeat: int, figures: Mapping[str, float]) -> str:
    """Return a run as one line of the CSV."""
    stated = [_cell(spec.plain(getattr(setting, n))) for n, spec in settings().items()]
    stream = io.StringIO(newline="")
    csv.writer(stream, lineterminator="\n").writerow(
        [name, *stated, repeat, *(repr(figures[n]) for n in FIGURES), NOTE]
    )
    return stream.getvalue()


def _cell(value: Any) -> str:
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def read_runs(path: Path) -> tuple[FinishedRun, ...]:
    """Return the runs in ``path``; a last line that was cut off by a crash is left out.

    Raises:
        InputError: the file cannot be read, or is not CSV of a sweep; the row is named.
    """
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise InputError("the file is too large to be a sweep", str(path), "name the CSV of a sweep")
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"the sweep cannot be read: {error.strerror}", str(path), "check the name") from None
    whole = data[: data.rfind(b"\n") + 1]
    try:
        rows = list(csv.reader(io.StringIO(whole.decode("utf-8"), newline=""), strict=True))
    except (UnicodeDecodeError, csv.Error):
        raise _no_sweep(path) from None
    if not rows or tuple(name for name in rows[0] if name not in FORMER) != header():
        raise _no_sweep(path)
    return tuple(_run(rows[0], row, f"{path}, row {number}") for number, row in enumerate(rows[1:], 2))


def _no_sweep(path: Path) -> InputError:
    return InputError("the file is not the CSV of a sweep of this version", str(path), "use another file name")


def _run(columns: list[str], row: list[str], where: str) -> FinishedRun:
    if len(row) != len(columns):
        raise InputError(f"the row has {len(row)} cells instead of {len(columns)}", where, "use another file name")
    cells = dict(zip(columns, row, strict=True))
    setting = {}
    try:
        for name, spec in settings().items():
            if cells[name] != "":
                setting[name] = spec.plain(spec.parse(cells[name], name))
        figures = {name: float(cells[name]) for name in FIGURES}
        return FinishedRun(cells[RUN], setting, int(cells[REPEAT]), figures)
    except (ValueError, InputError) as error:
        raise InputError("the row is not a run of a sweep", where, "use another file name") from error


class RunsFile:
    """The CSV while a sweep runs: a run is on disk when :meth:`append` returns. Only its owner may read it.

    Attributes:
        path: the file.
        done: the runs that were in it when it was opened, by name.
    """

    def __init__(self, path: Path, study: str) -> None:
        """Open the file of ``study``, new or to go on with it.

        Raises:
            InputError: it cannot be written, is not CSV of a sweep, or is of another table, plan, seed, version or kind
                of device.
        """
        self.path, self.done = path, dict[str, FinishedRun]()
        here = path.exists()
        if here:
            self.done = {run.name: run for run in read_runs(path)}
            first, _, _ = path.read_text("utf-8").partition("\n")
            if first.rstrip() != ",".join(header()) or any(not name.startswith(f"{study}-") for name in self.done):
                raise InputError(
                    "the file has a sweep of another table, plan, seed, version or kind of device",
                    str(path),
                    "use another file name",
                )
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
            self._stream = os.fdopen(descriptor, "r+b")
            # A line that a kill or a power cut left half-written goes; the next one starts where it began.
            self._stream.truncate(self._stream.read().rfind(b"\n") + 1)
            self._stream.seek(0, os.SEEK_END)
        except OSError as error:
            raise _unwritten(error, path) from None
        if not here:
            self.append(",".join(header()) + "\n")

    def append(self, line: str) -> None:
        """Add a run."""
        try:
            self._stream.write(line.encode())
            self._stream.flush()
            os.fsync(self._stream.fileno())
        except OSError as error:
            raise _unwritten(error, self.path) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()


def _unwritten(error: OSError, path: Path) -> InputError:
    return InputError(f"the sweep cannot be written: {error.strerror}", str(path), "use another file name")
