"""What the Synthetic rows page starts: a check of the settings, a private preview, and a look at what was released.

A preview is drawn from a key of this process: nobody can draw it again, and nothing of it can be released.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.gui.session.draft import DraftPlan
from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.session.session import OpenTable
from workbench.jobs import Job
from workbench.params import InputError
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit

if TYPE_CHECKING:
    import polars as pl

    from workbench.gui.pages.synthetic.comparing import Compared
    from workbench.sanitize.plan import Plan
    from workbench.synth.columns import CoarseColumn
    from workbench.synth.needs import Needs
    from workbench.synth.parameters import SynthesisParameters
    from workbench.work.work import Work

KEY_CHECK, KEY_PREVIEW, KEY_RELEASED = "synthetic-check", "synthetic-preview", "synthetic-released"
SHOWN_ROWS = 2000

_KEY = secrets.token_bytes(32)


@dataclass(frozen=True)
class Choice:
    """What the steward has chosen.

    Attributes:
        method: name of the synthesiser.
        target: the column that others are to predict, or ``None``.
        cuts: parts of the range of each column of numbers; ``None`` for what suits rows and ε.
        rows: rows to draw.
        epsilon: ε of one row's whole record.
        delta: δ of it, 0 for none.
    """

    method: str
    target: str | None
    cuts: int | None
    rows: int
    epsilon: Decimal
    delta: Decimal = Decimal(0)

    def parameters(self) -> SynthesisParameters:
        """Return the same as the engine takes it."""
        from workbench.synth.parameters import SynthesisParameters

        return SynthesisParameters(
            method=self.method,
            target=self.target,
            rows=self.rows,
            cuts=self.cuts,
        )

    def work(self, plan: Plan, rows: int, kind: str) -> Work:
        """Describe the release to the door; runs in a worker."""
        from workbench.release.synthetic.synthesis_work import synthesis_work

        return synthesis_work(plan, self.epsilon, rows, kind, self.parameters(), self.delta)


@dataclass(frozen=True)
class Checked:
    """What is known of a release of synthetic rows from public facts alone.

    Attributes:
        choice: what was chosen.
        cost: ε that is charged, for all rows of a person.
        tables: tables that are counted with noise.
        selections: choices of a pair of columns that are paid for.
        cuts: most parts of the range of a column of numbers; 0 where there is none.
        delta: δ that is charged.
        needs: time and memory that it is expected to take.
    """

    choice: Choice
    cost: Decimal
    tables: int
    selections: int
    cuts: int
    delta: Decimal
    needs: Needs


@dataclass(frozen=True, eq=False)
class ReleasedRows:
    """A released table as it can be looked at, and how far it is from the original.

    Attributes:
        path: the file.
        frame: its first rows as text; public.
        rows: how many it has.
        compared: the comparison with the table that is open; private.
    """

    path: Path
    frame: pl.DataFrame
    rows: int
    compared: Compared


def check(
    opened: OpenTable,
    draft: DraftPlan,
    choice: Choice,
    jobs: JobCenter,
    apply: Callable[[Checked], None],
    on_failure: Callable[[BaseException], None],
) -> JobHandle:
    """Find out what the release would count and cost, or why it is refused; looks at no row."""

    def work(emit: Emit, cancel: CancelToken) -> Checked:
        from workbench.release.delta_limit import require_small_cost
        from workbench.synth.base import COUNTS
        from workbench.synth.needs import needs_of
        from workbench.work.work import cost_of

        plan = draft.plan()
        made = choice.work(plan, opened.rows_under(draft), "csv")
        method, setting = _setting(plan, opened.rows_under(draft), choice)
        counted = [query.form == COUNTS for query in method.queries(setting)]
        cost = cost_of(made.events, plan.rows_per_person, made.budget)
        if cost.delta:
            require_small_cost(cost, opened.rows_under(draft), rows_per_person=plan.rows_per_person)
        needs = needs_of(method, setting, choice.rows)
        cuts = max((column.cuts for column in setting.columns if column.ordered), default=0)
        tables, selections = sum(counted), len(counted) - sum(counted)
        return Checked(choice, cost.epsilon, tables, selections, cuts, cost.delta, needs)

    job = Job("Checking the settings", work)
    return jobs.start(job, key=KEY_CHECK, shown=False, on_result=apply, on_failure=on_failure)


def preview(
    opened: OpenTable,
    draft: DraftPlan,
    choice: Choice,
    number: int,
    jobs: JobCenter,
    apply: Callable[[Compared], None],
    on_failure: Callable[[BaseException], None],
) -> JobHandle:
    """Draw synthetic rows from a seeded stream and compare them with the original; only the newest request counts."""

    def work(emit: Emit, cancel: CancelToken) -> Compared:
        return drawn_preview(opened, draft.plan(), choice, number, emit, cancel)

    job = Job("Drawing a private preview", work, about=opened.title)
    return jobs.start(job, key=KEY_PREVIEW, on_result=apply, on_failure=on_failure)


def drawn_preview(
    opened: OpenTable, plan: Plan, choice: Choice, number: int, emit: Emit, cancel: CancelToken
) -> Compared:
    """Return the comparison of one private draw; runs in a worker. Nothing is charged and nothing can be released."""
    import numpy as np

    from workbench.gui.pages.synthetic.comparing import coded_rows, compared
    from workbench.privacy.entropy import KeyedEntropy
    from workbench.release.ledger.study_note import note_study
    from workbench.sanitize.engine import check_columns
    from workbench.synth.columns import coarse_columns
    from workbench.synth.synthesis import cost_of_synthesis, synthesised
    from workbench.work.noise import Study

    check_columns(plan, opened.table)
    table = plan.rows_of(opened.table)
    if not table.rows:
        raise InputError("the table has no rows", hint="open another one")
    method, setting = _setting(plan, table.rows, choice)
    note_study(opened.table, "synthetic", emit=emit)
    name = str(number).encode()
    seed = [int(word) for word in KeyedEntropy(_KEY, b"noise", name).words(4)]
    entropy = KeyedEntropy(_KEY, b"rows", name)
    ask = Study(np.random.default_rng(seed), entropy).ask(cost_of_synthesis(method, setting))
    original = coded_rows(setting.columns, table, cancel)
    drawn = synthesised(method, setting, original, choice.rows, ask, emit, cancel)
    places = {column.name: place for place, column in enumerate(setting.columns)}

    def fine(column: CoarseColumn) -> Any:
        place = places[column.name]
        return setting.columns[place].draw(drawn.codes[:, place], entropy)

    columns = coarse_columns([column.facts() for column in plan.protected])
    return compared(columns, table, fine, choice.target, plan, emit, cancel)


def look_at_released(
    opened: OpenTable,
    path: Path,
    plan: Plan | None,
    jobs: JobCenter,
    apply: Callable[[ReleasedRows], None],
    on_failure: Callable[[BaseException], None],
) -> JobHandle:
    """Read a released table and compare it with the original.

    Args:
        opened: the original.
        path: the released file, its certificate beside it.
        plan: what it was released by, where that is known; else the certificate's is taken.
        jobs: runs it.
        apply: gets the result.
        on_failure: hears why there is none.
    """

    def work(emit: Emit, cancel: CancelToken) -> ReleasedRows:
        return released_rows(opened, path, plan, emit, cancel)

    job = Job("Comparing the release", work, about=path.name)
    return jobs.start(job, key=KEY_RELEASED, on_result=apply, on_failure=on_failure)


def released_rows(opened: OpenTable, path: Path, plan: Plan | None, emit: Emit, cancel: CancelToken) -> ReleasedRows:
    """Return a released table and its comparison with the original; runs in a worker."""
    from workbench.gui.pages.synthetic.comparing import compared
    from workbench.release.certificate import certificate_path, read_any_certificate
    from workbench.release.ledger.study_note import note_study
    from workbench.release.open_release import certified_rows, released_cells
    from workbench.sanitize.engine import check_columns
    from workbench.synth.columns import coarse_columns

    document = read_any_certificate(certificate_path(path))
    certified, released = certified_rows(path, document, certificate_path(path), cancel)
    plan = plan or certified
    check_columns(plan, opened.table)
    note_study(opened.table, "synthetic", emit=emit)
    columns = coarse_columns([column.facts() for column in plan.protected])
    stated = compared(
        columns,
        plan.rows_of(opened.table),
        lambda column: released_cells(column.grid, released),
        document["request"]["target"],
        plan,
        emit,
        cancel,
    )
    return ReleasedRows(path, released.frame.head(SHOWN_ROWS), released.rows, stated)


def _setting(plan: Plan, rows: int, choice: Choice) -> Any:
    from workbench.release.synthetic.synthesis_work import synthesis_setting

    return synthesis_setting(plan, choice.epsilon, rows, choice.parameters(), choice.delta)
