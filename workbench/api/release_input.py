"""A DataFrame passed by the caller, with its plan, account and ledger, ready to be released or studied."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd

from workbench.api.datasets import PRIVATE, Payment, in_python, note, opened, payment_for, workers_from
from workbench.api.frames import Place, columns_beside, table_for, table_of
from workbench.api.plans import for_frame
from workbench.data.cluster_parts import LOCAL, PartsOnWorkers, Workers
from workbench.data.databases.address import shown
from workbench.data.person_join import join_on_person
from workbench.data.table import Table
from workbench.params import ParameterError
from workbench.privacy.entropy import OsEntropy, SeededEntropy
from workbench.release.release_path import (
    Destination,
    Prepared,
    Released,
    check_values,
    destination,
    prepare,
    release_prepared,
)
from workbench.release.table_output import certified_copy
from workbench.sanitize.plan import Plan
from workbench.signals import CancelToken, ignore
from workbench.work.noise import Study
from workbench.work.work import Work, take_from_workers


@dataclass(frozen=True, eq=False)
class ReleaseInput:
    """Rows, a plan, and who pays.

    Attributes:
        frame: the rows as they were given; where a second table is joined, the columns of both without a row.
        table: the rows as text.
        plan: declares the columns, with the kinds that follow from the frame, and the account that pays.
        pays: who pays, and what is written; ``None`` of a study.
        replace: whether an output that exists is replaced.
        seed: makes a study repeatable.
        study_ledger: the ledger that notes a study, where it is named.
        workers: of a cluster, who read the rows in parts; ``None`` for this computer.
        join: the second table as it was given, where one is joined.
    """

    frame: pd.DataFrame
    table: Table
    plan: Plan
    pays: Payment | None
    replace: bool = False
    seed: int | None = None
    study_ledger: Place | None = None
    workers: Workers | None = None
    join: pd.DataFrame | None = None

    @classmethod
    def of(
        cls,
        frame: pd.DataFrame,
        plan: Plan,
        *,
        account: str | None,
        ledger: Place | bool | None,
        output: Place | None,
        engine: str = LOCAL,
        scheduler: str | None = None,
        scheduler_file: Place | None = None,
        **more: Any,
    ) -> Self:
        """Return what was handed in; nothing is read before it is clear who pays.

        A second table that is joined gives ``frame`` more columns, of which it then has the types alone.

        Raises:
            InputError: ``frame`` or ``join`` is not a table of plain values, or the plan joins otherwise.
            ParameterError: who pays is not said or said twice, an output has no ledger, the reverse, or a release has
                a seed.
        """
        workers = workers_from(engine, scheduler, scheduler_file)
        join = more.get("join")
        pays = payment_for(frame, join, account=account, ledger=ledger, output=output, planned=plan.account)
        if pays is not None and more.get("seed") is not None:
            raise ParameterError("a release draws fresh randomness", "seed", "leave it out")
        table = table_for(plan, frame)
        if join is not None:
            table = _joined(table, join, plan, more.get("seed"))
            frame = columns_beside(frame, join, plan.joined_on or "")
        with in_python():
            plan.require_joined(table)
        stated = for_frame(plan, frame)
        if pays is not None:
            stated = dataclasses.replace(stated, account=pays.account)
        return cls(frame, table, stated, pays, workers=workers, **more)

    @property
    def rows(self) -> Table:
        """The rows as the plan reads them."""
        return self._rows_of()

    def _rows_of(self, *, counted: bool = False) -> Table:
        coins = None if self.seed is None else SeededEntropy(self.seed)
        return self.plan.rows_of(self.table, coins, counted=counted)

    def to(self, formats: Mapping[str, str], *files: str | Path | None) -> Destination | None:
        """Return where a release goes, which is none of the ``files`` that it is made from; ``None`` of a study."""
        if self.pays is None:
            return None
        with in_python():
            return destination(self.pays.output, self.pays.ledger, *files, formats=formats, replace=self.replace)

    def run_work(self, work: Work, to: Destination | None, study: str = "preview") -> tuple[bytes, dict[str, Any]]:
        """Return the file of ``work``, released where there is a destination, and what the ``attrs`` say of it."""
        if to is not None:
            done = self.released(prepare(self.plan, self.table, to, work, self.workers))
            with certified_copy(done.output, done.certificate) as file:
                return file.read_bytes(), facts_of(done)
        self.note(study)
        if self.workers is not None:
            take_from_workers(work.reader_for_workers(), PartsOnWorkers(self.rows, self.workers))
        elif work.check is not None:
            work.check(self.rows, CancelToken())
        if self.seed is None:  # answers that RAPPOR keeps may be continued by a release
            noise = Study(np.random.default_rng(), OsEntropy())
        else:
            own = np.random.SeedSequence(self.seed)
            noise = Study(np.random.default_rng(own), SeededEntropy(own.spawn(1)[0]))
        rows = self._rows_of(counted=work.counts_persons)
        return work.run(rows, noise.ask(work.cost()), ignore, CancelToken()).whole, {"private": PRIVATE}

    def released(self, prepared: Prepared) -> Released:
        """Release what was prepared, charged to who pays."""
        assert self.pays is not None
        check_values(prepared, CancelToken())
        with opened(self.pays) as book:
            return release_prepared(prepared, book)

    def note(self, study: str) -> None:
        """Note that private figures are going to be shown."""
        note(study, self.table, self.frame, self.join, study_ledger=self.study_ledger)


def _joined(table: Table, join: pd.DataFrame, plan: Plan, seed: int | None) -> Table:
    if plan.unit is None or plan.joined_on is None:
        what = "the plan has no join"
        raise ParameterError(what, "join", 'make it with unit="COLUMN" and the same join=', code="join-unplanned")
    coins = None if seed is None else SeededEntropy(seed + 1)
    return join_on_person(table, table_of(join, "join"), plan.unit, plan.joined_on, coins)


def facts_of(done: Released) -> dict[str, Any]:
    """Return what the ``attrs`` of a released DataFrame say."""
    return {
        "output": shown(done.output),
        "certificate": str(done.certificate),
        "release_id": done.release_id,
        "epsilon": float(done.epsilon_charged),
        "delta": float(done.delta_charged),
        "remaining": float(done.epsilon_remaining),
        "outside": list(done.outside),
    }
