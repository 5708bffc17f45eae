"""Kinds of release from Python, synthetic tables and statistics among them: computed from all rows at once."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import pandas as pd

from workbench.api.datasets import in_python, warn_of_study
from workbench.api.frames import Place, frame_of, restored
from workbench.api.release_input import ReleaseInput
from workbench.data.cluster_parts import LOCAL
from workbench.data.columns import values_file
from workbench.params import ParameterError
from workbench.privacy.accounting.event import exact
from workbench.release import kinds
from workbench.release.delta_limit import DELTA, EPSILON
from workbench.release.open_release import as_declared
from workbench.release.part_files import files_in_request
from workbench.release.table_formats import table_format
from workbench.sanitize.plan import Plan
from workbench.sanitize.writing import PLAIN
from workbench.statistics.release_file import decode
from workbench.statistics.sql import asked_in_sql, is_query
from workbench.studies.kind_questions import wished_figures


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
    join: pd.DataFrame | None = None,
    account: str | None = None,
    ledger: Place | bool | None = None,
    output: Place | None = None,
    replace: bool = False,
    seed: int | None = None,
    study_ledger: Place | None = None,
    engine: str = LOCAL,
    scheduler: str | None = None,
    scheduler_file: Place | None = None,
) -> pd.DataFrame:
    """Return synthetic rows of the same shape as ``frame``, drawn from noisy counts of it: none is of a real person.

    Args:
        frame: the rows. The plan names all of its columns.
        plan: declares the columns; those it drops are left out.
        epsilon: ε of one row's whole record; the plan's by default.
        method: ``marginals`` (every column with the target), ``mst`` (the strongest pairs, chosen for a part of ε),
            ``aim`` (one pair after the other, where the model is farthest off), ``tan`` (every column with the target
            and the column it depends on most), with a δ ``line`` (a target of numbers by a private line) or ``chances``
            (one of names by the chances of a private model), or ``auto`` (the default: the one that is forecast best,
            from public numbers alone).
        target: the column that others are to predict; by default the one with the role ``target``.
        rows: how many rows to draw; by default as many as there are.
        cuts: equal parts of the range of each column of numbers; by default a public number that fits rows and ε.
        delta: δ of one row's whole record, below 1/rows: noise is then discrete Gaussian. By default there is none.
        impossible: values that never occur together, as ``sex = male & pregnant = yes``; such a row is never drawn.
        join: as for :func:`release`.
        account: as for :func:`release`.
        ledger: as for :func:`release`; the charge comes before a row enters a count.
        output: the released file (.csv, .xlsx, .parquet, …), with its certificate beside it; only with a ledger.
        replace: whether an ``output`` that exists is replaced, which is charged again; it is refused otherwise.
        seed: makes a study repeatable; a release takes none.
        study_ledger: as for :func:`release`.
        engine: ``dask``: the rows are counted by the workers of ``scheduler``; noise is drawn here.
        scheduler: address of the Dask scheduler (``tcp://HOST:PORT`` or ``tls://HOST:PORT``), which receives the rows.
        scheduler_file: in its place, the file that ``dask scheduler --scheduler-file FILE`` has written.

    Returns:
        The rows: labels, order and dtypes of the columns as in ``frame``. Of a release ``attrs`` hold ``output``,
        ``certificate``, ``release_id``, ``epsilon`` and ``delta`` (charged), ``remaining`` and ``outside`` (what
        epsilon does not cover); of a study ``private``.

    Raises:
        InputError: frame and plan do not fit, or a cell cannot be used; the message names row and column.
        BudgetRefusedError: the cap does not allow it; nothing was released.
        ParameterError: the arguments contradict each other or the plan.
    """
    chosen = {"method": method, "target": target, "rows": rows, "cuts": cuts, "impossible": impossible}
    pays: dict[str, Any] = {"account": account, "ledger": ledger, "output": output, "replace": replace}
    on: Any = {"engine": engine, "scheduler": scheduler, "scheduler_file": scheduler_file}
    handed = ReleaseInput.of(frame, plan, join=join, **pays, seed=seed, study_ledger=study_ledger, **on)
    made = _published(handed, kinds.kind("synthetic"), chosen, epsilon, delta)
    if handed.pays is None:
        warn_of_study("this table")
    return made


def statistics(
    frame: pd.DataFrame,
    plan: Plan,
    figures: Sequence[Mapping[str, Any] | str] | Mapping[str, Any] | str | None = None,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    join: pd.DataFrame | None = None,
    account: str | None = None,
    ledger: Place | bool | None = None,
    output: Place | None = None,
    replace: bool = False,
    seed: int | None = None,
    study_ledger: Place | None = None,
    engine: str = LOCAL,
    scheduler: str | None = None,
    scheduler_file: Place | None = None,
) -> pd.DataFrame:
    """Return counts, means, sums, quantiles, regressions, ranges and tables of ``frame``, each with its 95 % interval.

    Args:
        frame: the rows. The plan names all of its columns.
        plan: declares the columns.
        figures: what is asked for, such as ``{"statistic": "mean", "column": "age", "by": ["sex", "born:month"]}`` or
            ``{"statistic": "correlation", "column": "age", "other": "pay"}`` or
            ``{"statistic": "regression", "column": "pay", "on": ["age", "stars"]}``, or a list of such; keys as in a
            ``[[figure]]`` of ``workbench statistics --request``. One may be written as a wish, ``"mean(age by sex)"``;
            a ``SELECT``, as of ``workbench sql``, is all of them. By default a histogram of every protected column and
            the mean of every number.
        epsilon: ε of one row for all figures together; the plan's by default.
        delta: δ of one row, below 1/rows: noise is then discrete Gaussian. By default there is none.
        join: as for :func:`release`.
        account: as for :func:`release`.
        ledger: as for :func:`release`.
        output: the released file (.csv or .json), with its certificate beside it; only with a ledger.
        replace: whether an ``output`` that exists is replaced, which is charged again; it is refused otherwise.
        seed: makes a study repeatable; a release takes none.
        study_ledger: as for :func:`release`.
        engine: as for :func:`synthesize`.
        scheduler: as for :func:`synthesize`.
        scheduler_file: as for :func:`synthesize`.

    Returns:
        One row a figure: ``statistic``, ``column``, ``group``, ``value``, ``estimate``, ``low``, ``high``, ``sparse``
        (too few rows to say), ``source``; in the order of ``figures``, those of one column together. ``attrs`` as for
        :func:`synthesize`.

    Raises:
        InputError: frame and plan do not fit, or a cell cannot be used; the message names row and column.
        BudgetRefusedError: the cap does not allow it; nothing was released.
        ParameterError: the arguments contradict each other or the plan.
    """
    pays: dict[str, Any] = {"account": account, "ledger": ledger, "output": output, "replace": replace}
    on: Any = {"engine": engine, "scheduler": scheduler, "scheduler_file": scheduler_file}
    handed = ReleaseInput.of(frame, plan, join=join, **pays, seed=seed, study_ledger=study_ledger, **on)
    made = _published(handed, kinds.kind("statistics"), {"figure": _figures(handed.plan, figures)}, epsilon, delta)
    if handed.pays is None:
        hint = "with a ledger and output= they are charged and can be published"
        warn_of_study("these figures", many=True, hint=hint)
    return made


def publish(
    frame: pd.DataFrame,
    plan: Plan,
    *,
    kind: str,
    epsilon: float | None = None,
    delta: float | None = None,
    join: pd.DataFrame | None = None,
    account: str | None = None,
    ledger: Place | bool | None = None,
    output: Place | None = None,
    replace: bool = False,
    seed: int | None = None,
    study_ledger: Place | None = None,
    engine: str = LOCAL,
    scheduler: str | None = None,
    scheduler_file: Place | None = None,
    **options: Any,
) -> pd.DataFrame:
    """Return what a kind of release makes of ``frame``; :func:`statistics` and :func:`synthesize` are two such kinds.

    Args:
        frame: the rows. The plan names all of its columns.
        plan: declares the columns.
        kind: its name, as in certificates: ``statistics``, ``synthetic``, ``rappor`` and what was added to the list.
        epsilon: ε of one row; the plan's by default. Of a kind whose cost follows from its options there is none.
        delta: δ of one row, below 1/rows. By default there is none.
        join: as for :func:`release`.
        account: as for :func:`release`.
        ledger: as for :func:`release`.
        output: the released file, with its certificate beside it; only with a ledger.
        replace: whether an ``output`` that exists is replaced, which is charged again; it is refused otherwise.
        seed: makes a study repeatable; a release takes none.
        study_ledger: as for :func:`release`.
        engine: as for :func:`synthesize`; kinds that are not made of counts refuse ``dask``.
        scheduler: as for :func:`synthesize`.
        scheduler_file: as for :func:`synthesize`.
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
        ways = ", ".join(k.name for k in kinds.KINDS if k.derived)
        raise ParameterError(f"releases of the kind {kind!r} have their own function", "kind", f"others: {ways}")
    pays: dict[str, Any] = {"account": account, "ledger": ledger, "output": output, "replace": replace}
    on: Any = {"engine": engine, "scheduler": scheduler, "scheduler_file": scheduler_file}
    plan = known.planned(plan, known.asked().from_plain(options))
    handed = ReleaseInput.of(frame, plan, join=join, **pays, seed=seed, study_ledger=study_ledger, **on)
    made = _published(handed, known, options, epsilon, delta)
    if handed.pays is None:
        warn_of_study("this result")
    return made


def _published(
    handed: ReleaseInput, kind: kinds.Kind, options: Mapping[str, Any], epsilon: float | None, delta: float | None
) -> pd.DataFrame:
    request = kind.asked().from_plain(options)
    if kind.own_cost and (epsilon is not None or delta is not None):
        raise ParameterError("its cost follows from its options", "epsilon", "leave epsilon and delta out")
    of_row = handed.plan.row_epsilon() if epsilon is None else exact(EPSILON.check(epsilon, "epsilon"))
    cost = (
        Decimal(0) if kind.own_cost else of_row,
        Decimal(0) if delta is None else exact(DELTA.check(delta, "delta")),
    )
    to = handed.to(kind.suffixes(), *files_in_request(request))
    file_format = kind.formats[0] if to is None else to.format
    with in_python():
        work = kind.work_of(handed.plan, request, *cost, handed.rows.rows, file_format)
    data, stated = handed.run_work(work, to)
    made = _READ.get(kind.name, _tabular)(handed, data, file_format)
    made.attrs.update(stated)
    return made


def _tabular(handed: ReleaseInput, data: bytes, file_format: str) -> pd.DataFrame:
    if file_format == "json":
        return pd.read_json(io.BytesIO(data))
    text = table_format(file_format).read(data, PLAIN)
    return pd.read_csv(io.BytesIO(text.write_csv().encode()))


def _rows(handed: ReleaseInput, data: bytes, file_format: str) -> pd.DataFrame:
    declared = {column.name: column for column in handed.plan.columns}
    text = as_declared(handed.plan, table_format(file_format).read(data, handed.plan.writing or PLAIN))
    return restored(handed.frame, {name: text[name].to_list() for name in text.columns}, declared)


def _records(handed: ReleaseInput, data: bytes, file_format: str) -> pd.DataFrame:
    records = decode(data, file_format, "the figures")
    return frame_of({name: [record[name] for record in records] for name in (records[0] if records else ())})


def _values(handed: ReleaseInput, data: bytes, file_format: str) -> pd.DataFrame:
    lines = values_file.decode(data, "the values")  # as text: 01010 is no number
    return frame_of({name: [getattr(line, name) for line in lines] for name in values_file.FIELDS})


_READ = {"synthetic": _rows, "statistics": _records, "values": _values}
"""How the file of a kind becomes a DataFrame, where it is not simply a table."""


def _figures(plan: Plan, given: Any) -> Any:
    """Return the figures in their order, of a ``SELECT`` or of wishes what they ask for, with ``by`` as a list."""
    if isinstance(given, str) and is_query(given):
        return asked_in_sql(given)
    if isinstance(given, str | Mapping):
        given = [given]
    if not isinstance(given, Sequence):
        return given
    wishes = [place for place, each in enumerate(given) if isinstance(each, str)]
    figures = {place: _listed(each) for place, each in enumerate(given) if not isinstance(each, str)}
    for place, figure in wished_figures(plan, [given[place] for place in wishes]):
        figures[wishes[place]] = figure.to_plain()
    return [figures[place] for place in sorted(figures)]


def _listed(figure: Any) -> Any:
    by = figure.get("by") if isinstance(figure, Mapping) else None
    return {**figure, "by": [by]} if isinstance(by, str) else figure
