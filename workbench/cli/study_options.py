"""Options common to all studies: workers, plots and private outputs."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from workbench.cli.command import Context, flag_of
from workbench.cli.common_options import SCHEDULER_FILE
from workbench.data.table import Table
from workbench.data.table_reader import ReadOptions
from workbench.params import InputError, ParameterError, Parameters, choice, integer, text
from workbench.processes.dask_address import FORMS, scheduler_named
from workbench.processes.executor import MOST_JOBS, cores
from workbench.release.ledger import study_note
from workbench.release.part_files import refuse_replacing_inputs
from workbench.render.offscreen import check_plot_path
from workbench.render.palette import THEMES
from workbench.signals import Notice


def note_study(
    options: argparse.Namespace, context: Context, table: Table, study: str, account: str | None = None
) -> None:
    """Note in the ledger that figures of ``table`` are going to be shown, and say so; call it before they are made."""
    study_note.note_study(table, study, options.ledger, account=account)
    context.emit(Notice("info", study_note.NOTED))


@dataclass(frozen=True, kw_only=True)
class Workers(Parameters):
    """Who does the work of a study."""

    jobs: int | None = integer(
        default=None, at_least=1, upto=MOST_JOBS, symbol="N", help="number of worker processes (default: one per core)"
    )
    scheduler: str | None = text(
        default=None,
        symbol="ADDRESS",
        help=f"a Dask scheduler ({FORMS}) whose workers train the models, instead of --jobs. They receive the raw "
        "rows, encrypted only with tls://",
    )
    scheduler_file: str | None = text(default=None, symbol="FILE", help=SCHEDULER_FILE)

    def __post_init__(self) -> None:
        """Check that they are named in one way, and find the address."""
        super().__post_init__()
        ways = [f"--{name.replace('_', '-')}" for name in self.declared() if getattr(self, name) is not None]
        if len(ways) > 1:
            raise ParameterError(f"{ways[0]} and {ways[1]} cannot be combined", hint="keep one of them")
        self.address  # noqa: B018  # raises where it is none

    @cached_property
    def address(self) -> str | None:
        """The address of the scheduler."""
        return scheduler_named(self.scheduler, self.scheduler_file, "--")

    @property
    def processes(self) -> int:
        """How many worker processes there are."""
        return self.jobs or cores()


@dataclass(frozen=True, kw_only=True)
class Picture(Parameters):
    """The picture of a study."""

    plot: str | None = text(default=None, symbol="PNG", help="also draw a plot (.png or .svg)")
    theme: str = choice(choices=tuple(THEMES), default="light", symbol="light|dark", help="plot theme, light or dark")

    @property
    def path(self) -> Path | None:
        """Where it is drawn, if it is."""
        return None if self.plot is None else Path(self.plot)


def check_outputs(
    outputs: Iterable[Path | None], ledger: Path | None, picture: Picture, inputs: Iterable[str | Path | None]
) -> None:
    """Refuse, before any work, outputs that would replace what a study is made from or one another, and a bad plot."""
    if picture.path is not None:
        check_plot_path(picture.path)
    read = [Path(path).resolve() for path in inputs if path is not None]
    written: list[Path] = []
    for path in (path for path in (*outputs, picture.path) if path is not None):
        refuse_replacing_inputs(path, ledger)
        if path.resolve() in read:
            raise InputError("the output would overwrite an input of the study", str(path), "use another file name")
        if path.resolve() in written:
            raise InputError("two outputs are the same file", str(path), "use different names")
        written.append(path.resolve())


def refuse_reading(options: argparse.Namespace, rows: str) -> None:
    """Refuse the reading options where ``rows`` are not read from a file."""
    for name in ReadOptions.declared():
        if getattr(options, f"{ReadOptions.__name__}.{name}", None) is not None:
            flag = flag_of(ReadOptions, name)
            raise ParameterError(f"rows that are {rows} are not read from a file", hint=f"leave {flag} out")


def files_text(result: Mapping[str, Any]) -> str:
    """Return what else was written, and how long it took, as the end of a line."""
    more = "".join(f", {name} in {result[name]}" for name in ("plot", "report") if name in result)
    return f"{more}, {result['seconds']:.0f} s"
