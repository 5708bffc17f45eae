"""What a sweep runs: a TOML file with settings of DP-SGD, each of them one value or a list."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.deep.plan import FORMER, DpSgdPlan
from workbench.params import ParameterError, Parameters, integer, text
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
        default=1, at_least=1, upto=10**6, help="maximum rows per person, of images; of a table its plan says it"
    )
    repeats: int = integer(default=3, at_least=1, upto=10_000, help="80/20 splits of each setting")
    seed: int = integer(default=0, at_least=0, upto=2**63 - 1, help="seed of splits and draws")


@dataclass(frozen=True)
class GridSpec:
    """A sweep.

    Attributes:
        file: the keys beside the settings.
        settings: every combination, in the order of the file: the last list changes fastest.
        varied: the names of the settings that were given as lists of two values or more.
    """

    file: GridFile
    settings: tuple[DpSgdPlan, ...]
    varied: tuple[str, ...]

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
        raise ParameterError("the sweep has no [settings]", where, "write them below [settings], a list for a sweep")
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
            raise ParameterError(f"the list of {name} names a value twice", where, "name each value once")
        lists[name] = values
        count *= len(values)
        if count > MOST_RUNS:
            raise ParameterError(
                f"the sweep has {count:,} runs or more", where, f"{MOST_RUNS:,} are possible: shorten a list"
            )
    made = []
    for chosen in itertools.product(*lists.values()):
        given = dict(zip(lists, chosen, strict=True))
        made.append(DpSgdPlan.from_plain(given, where=f"{where}, {_stated(given, lists)}"))
    if len(set(made)) < len(made):
        raise ParameterError("two combinations of the settings are the same", where, "name each value once")
    return tuple(made), tuple(name for name, values in lists.items() if len(values) > 1)


def _stated(given: Mapping[str, Any], lists: Mapping[str, list[Any]]) -> str:
    return ", ".join(f"{n}={_short(v)}" for n, v in given.items() if len(lists[n]) > 1) or SETTINGS


def _short(value: Any) -> str:
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)[:40]
