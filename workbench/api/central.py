"""Synthetic tables and statistics from Python: computed from all rows at once, studied or released."""

from __future__ import annotations

import dataclasses
import io
import secrets
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl

from workbench.api.datasets import Paid, note, opened, paid
from workbench.api.frames import frame_of, restored, table_of
from workbench.api.places import Place
from workbench.api.plans import for_frame
from workbench.api.study_warning import PRIVATE, warn_of_study
from workbench.api.tables import refuse_seed, texts
from workbench.data.table import Table
from workbench.params import ParameterError
from workbench.params.field import RealField
from workbench.privacy.accounting.event import exact
from workbench.privacy.entropy import SeededEntropy
from workbench.privacy.local.mechanism_table import EPSILON_LEAST, EPSILON_MOST
from workbench.release import kinds
from workbench.release.path import Destination, Released, check_values, destination, prepare, release_prepared
from workbench.release.statistics.statistics_work import statistics_work
from workbench.release.synthetic.synthesis_work import synthesis_setting, synthesis_work
from workbench.sanitize.plan import Plan
from workbench.signals.cancel import CancelToken
from workbench.signals.events import ignore
from workbench.statistics.asked import Request, usual_request
from workbench.statistics.release_file import FORMATS, decode
from workbench.synth.columns import coded
from workbench.synth.parameters import SynthesisParameters
from workbench.synth.synthesis import cost_of_synthesis, synthesised
from workbench.work.noise import Study
from workbench.work.work import Work

_EPSILON = RealField(help="privacy loss of one row", symbol="ε", at_least=EPSILON_LEAST, upto=EPSILON_MOST)

_DELTA = RealField(help="chance that the guarantee fails", symbol="δ", above=0, below=1)


def synthesize(
    frame: pd.DataFrame,
    plan: Plan,
    *,
    epsilon: float | None = None,
    method: str | None = None,
    target: str | None = None,
    rows: int | None = None,
    cuts: int | None = None,
    delta: float | None = None,
    impossible: str | None = None,
    account: str | None = None,
    ledger: Place | bool | None = None,
    output: Place | None = None,
    replace: bool = False,
    seed: int | None = None,
    study_ledger: Place | None = None,
) -> pd.DataFrame:
    """Return synthetic rows of the same shape as ``frame``, drawn from noisy counts of it: no row is anybody's.

    Args:
        frame: the rows. The plan names all of its columns.
        plan: declares the columns; those it drops are left out.
        epsilon: ε of one row's whole record; the plan's by default.
        method: ``marginals`` (every column with the target), ``mst`` (the strongest pairs, chosen for a part of ε) or
            ``aim`` (one pair after the other, where the model is farthest off).
        target: the column that others are to predict; by default the one with the role ``target``.
        rows: how many rows to draw; by default as many as there are.
        cuts: equal parts of the range of each column of numbers; by default a public number that fits rows and ε.
        delta: δ of one row's whole record, below 1/rows: noise is then discrete Gaussian. By default there is none.
        impossible: values that never occur together, as ``sex = male & pregnant = yes``; such a row is never drawn.
        account: as for :func:`release`.
        ledger: as for :func:`release`; the charge comes before a row enters a count.
        output: the released file (.csv, .tsv or .parquet), with its certificate beside it; only with a ledger.
        replace: whether an ``output`` that exists is replaced, which is charged again; it is refused otherwise.
        seed: makes a study repeatable; a release takes none.
        study_ledger: as for :func:`release`.

    Returns:
        The rows: labels, order and dtypes of the columns as in ``frame``. Of a release ``attrs`` hold ``output``,
        ``certificate``, ``release_id``, ``epsilon`` and ``delta`` (charged), ``remaining`` and ``outside`` (what
        epsilon does not cover); of a study ``private``.

    Raises:
        InputError: frame and plan do not fit, or a cell cannot be used; the message names row and column.
        BudgetRefusedError: the cap does not allow it; nothing was released.
        ParameterError: the arguments contradict each other or the plan.
    """
    pays = paid(frame, account=account, ledger=ledger, output=output, planned=plan.account)
    refuse_seed(pays, seed)
    plan, table = for_frame(plan, frame), table_of(frame)
    declared = {column.name: column for column in plan.columns}
    chosen = SynthesisParameters(method=method, target=target, rows=rows, cuts=cuts, impossible=impossible)
    of_row, beside = _of_row(plan, epsilon), _delta(delta)
    count = plan.rows_of(table).rows
    if pays is None:
        way, setting = synthesis_setting(plan, of_row, count, chosen, beside)
        own = np.random.SeedSequence(secrets.randbits(128) if seed is None else seed).spawn(2)
        entropy = SeededEntropy(own[1])
        noise = Study(np.random.Generator(np.random.PCG64(own[0])), entropy)
        note("preview", table, frame, study_ledger=study_ledger)
        read = coded(setting.columns, plan.rows_of(table))
        made = synthesised(way, setting, read, chosen.rows or count, noise.ask(cost_of_synthesis(way, setting)))
        warn_of_study("this table")
        return restored(frame, texts(made.frame(entropy)), declared, private=PRIVATE)
    to = destination(pays.output, replace=replace)
    done = _done(plan, table, synthesis_work(plan, of_row, count, to.format, chosen, beside), to, pays)
    return restored(frame, texts(_cells(done.output, to.format)), declared, **_stated(done))


def statistics(
    frame: pd.DataFrame,
    plan: Plan,
    figures: Sequence[Mapping[str, Any]] | None = None,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    account: str | None = None,
    ledger: Place | bool | None = None,
    output: Place | None = None,
    replace: bool = False,
    seed: int | None = None,
    study_ledger: Place | None = None,
) -> pd.DataFrame:
    """Return counts, histograms, means, sums and quantiles of ``frame``, each with its 95 % interval.

    Args:
        frame: the rows. The plan names all of its columns.
        plan: declares the columns.
        figures: what is asked for, such as ``{"statistic": "mean", "column": "age", "by": ["sex"]}``; keys as in a
            ``[[figure]]`` of ``workbench statistics --request``. By default a histogram of every protected column and
            the mean of every number.
        epsilon: ε of one row for all figures together; the plan's by default.
        delta: δ of one row, below 1/rows: noise is then discrete Gaussian. By default there is none.
        account: as for :func:`release`.
        ledger: as for :func:`release`.
        output: the released file (.csv or .json), with its certificate beside it; only with a ledger.
        replace: whether an ``output`` that exists is replaced, which is charged again; it is refused otherwise.
        seed: makes a study repeatable; a release takes none.
        study_ledger: as for :func:`release`.

    Returns:
        One row a figure: ``statistic``, ``column``, ``group``, ``value``, ``estimate``, ``low``, ``high``, ``sparse``
        (too few rows to say), ``source``. ``attrs`` as for :func:`synthesize`.

    Raises:
        InputError: frame and plan do not fit, or a cell cannot be used; the message names row and column.
        BudgetRefusedError: the cap does not allow it; nothing was released.
        ParameterError: the arguments contradict each other or the plan.
    """
    pays = paid(frame, account=account, ledger=ledger, output=output, planned=plan.account)
    refuse_seed(pays, seed)
    plan, table = for_frame(plan, frame), table_of(frame)
    request = (
        usual_request(plan)
        if figures is None
        # Not a list, or not of mappings: the request refuses it in words.
        else Request.from_plain({"figure": _figures(figures)}, "figures")
    )
    of_row, beside = _of_row(plan, epsilon), _delta(delta)
    rows = plan.rows_of(table)
    if pays is None:
        work = statistics_work(request, plan, of_row, rows.rows, "json", beside)
        note("preview", table, frame, study_ledger=study_ledger)
        made = _studied(work, rows, seed)
        warn_of_study(
            "these figures", many=True, hint="with a ledger and output= they are charged and can be published"
        )
        return _frame(decode(made, "json", "the study"), private=PRIVATE)
    to = destination(pays.output, formats=FORMATS, replace=replace)
    done = _done(plan, table, statistics_work(request, plan, of_row, rows.rows, to.format, beside), to, pays)
    return _frame(decode(done.output.read_bytes(), to.format, str(done.output)), **_stated(done))


def publish(
    frame: pd.DataFrame,
    plan: Plan,
    *,
    kind: str,
    epsilon: float | None = None,
    delta: float | None = None,
    account: str | None = None,
    ledger: Place | bool | None = None,
    output: Place | None = None,
    replace: bool = False,
    seed: int | None = None,
    study_ledger: Place | None = None,
    **options: Any,
) -> pd.DataFrame:
    """Return what a kind of release makes of ``frame``, of a kind that has no function of its own.

    Args:
        frame: the rows. The plan names all of its columns.
        plan: declares the columns.
        kind: its name, which is also that of its command.
        epsilon: ε of one row; the plan's by default.
        delta: δ of one row, below 1/rows. By default there is none.
        account: as for :func:`release`.
        ledger: as for :func:`release`.
        output: the released file, with its certificate beside it; only with a ledger.
        replace: whether an ``output`` that exists is replaced, which is charged again; it is refused otherwise.
        seed: makes a study repeatable; a release takes none.
        study_ledger: as for :func:`release`.
        options: those of the command, by their names.

    Returns:
        What the file holds. ``attrs`` as for :func:`synthesize`.

    Raises:
        InputError: the kind is not known, frame and plan do not fit, or a cell cannot be used.
        BudgetRefusedError: the cap does not allow it; nothing was released.
        ParameterError: an option is refused, or the arguments contradict each other or the plan.
    """
    known = kinds.kind(kind)
    if not known.derived:
        ways = ", ".join(k.name for k in kinds.KINDS if k.derived) or "none in this version"
        raise ParameterError(f"releases of the kind {kind!r} have a function of their own", "kind", f"others: {ways}")
    request = known.asked().from_plain(options)
    pays = paid(frame, account=account, ledger=ledger, output=output, planned=plan.account)
    refuse_seed(pays, seed)
    plan, table = for_frame(plan, frame), table_of(frame)
    of_row, beside = _of_row(plan, epsilon), _delta(delta)
    rows = plan.rows_of(table)
    to = None if pays is None else destination(pays.output, formats=known.suffixes(), replace=replace)
    file_format = known.formats[0] if to is None else to.format
    work = known.work_of(plan, request, of_row, beside, rows.rows, file_format)
    if pays is None or to is None:
        note("preview", table, frame, study_ledger=study_ledger)
        made = _studied(work, rows, seed)
        warn_of_study("this result")
        return _tabular(made, file_format, private=PRIVATE)
    done = _done(plan, table, work, to, pays)
    return _tabular(done.output.read_bytes(), file_format, **_stated(done))


def _studied(work: Work, rows: Table, seed: int | None) -> bytes:
    """Return what a study of ``work`` would write."""
    own = np.random.SeedSequence(secrets.randbits(128) if seed is None else seed)
    study = Study(np.random.default_rng(own), SeededEntropy(own.spawn(1)[0]))
    return work.run(rows, study.ask(work.cost()), ignore, CancelToken()).whole


def _tabular(data: bytes, file_format: str, **stated: Any) -> pd.DataFrame:
    """Return what a file of one of the formats of a kind holds."""
    readers: dict[str, Callable[[io.BytesIO], pd.DataFrame]] = {
        "csv": pd.read_csv,
        "tsv": lambda file: pd.read_csv(file, sep="\t"),
        "parquet": pd.read_parquet,
        "json": pd.read_json,
    }
    made = readers[file_format](io.BytesIO(data))
    made.attrs.update(stated)
    return made


def _of_row(plan: Plan, epsilon: float | None) -> Decimal:
    """Return ε of one row: the plan's unless one was given.

    Raises:
        ParameterError: it is no number, or out of range.
    """
    return plan.row_epsilon() if epsilon is None else exact(_EPSILON.check(epsilon, "epsilon"))


def _delta(delta: float | None) -> Decimal:
    """Return δ of one row, 0 where none was given.

    Raises:
        ParameterError: it is no number between 0 and 1.
    """
    return Decimal(0) if delta is None else exact(_DELTA.check(delta, "delta"))


def _done(plan: Plan, table: Table, work: Work, to: Destination, pays: Paid) -> Released:
    prepared = prepare(dataclasses.replace(plan, account=pays.account), table, to, work)
    check_values(prepared, CancelToken())
    with opened(pays) as book:
        return release_prepared(prepared, book)


def _cells(path: Path, kind: str) -> pl.DataFrame:
    """Return a released table as text; null where a value is missing."""
    if kind == "parquet":
        return pl.read_parquet(path).cast(pl.String)
    read = pl.read_csv(path, separator="\t" if kind == "tsv" else ",", infer_schema=False)
    # A missing value alone in its row is written "", as an empty line would be no row; no released value is empty.
    return read.with_columns(pl.all().replace("", None))


def _stated(done: Released) -> dict[str, Any]:
    return {
        "output": str(done.output),
        "certificate": str(done.certificate),
        "release_id": done.release_id,
        "epsilon": float(done.epsilon_charged),
        "delta": float(done.delta_charged),
        "remaining": float(done.epsilon_remaining),
        "outside": list(done.document["outside_guarantee"]),
    }


def _frame(records: list[dict[str, Any]], **stated: Any) -> pd.DataFrame:
    names = list(records[0]) if records else []
    return frame_of({name: [record[name] for record in records] for name in names}, **stated)


def _figures(given: Any) -> Any:
    """Return the figures with ``by`` as a list where one column is named."""
    if isinstance(given, str) or not isinstance(given, Sequence):
        return given
    one = (each.get("by") if isinstance(each, Mapping) else None for each in given)
    return [{**each, "by": [by]} if isinstance(by, str) else each for each, by in zip(given, one, strict=True)]
