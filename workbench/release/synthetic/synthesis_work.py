"""A synthetic table as a central release: its queries, its file, and what its certificate says."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import polars as pl

from workbench.data.impossible import joined
from workbench.data.table import Table
from workbench.params import ParameterError
from workbench.release.kinds import Repeated
from workbench.release.rows_work import csv_bytes
from workbench.sanitize.plan import Plan
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit
from workbench.synth import MARGINALS, MST, Synthesiser, synthesiser
from workbench.synth.base import Answered, Setting, events
from workbench.synth.columns import CoarseColumn, coarse_columns, coded
from workbench.synth.needs import require_bounded
from workbench.synth.parameters import SynthesisParameters
from workbench.synth.setting import setting_for
from workbench.synth.synthesis import place_of_target, require_payable, synthesised
from workbench.work.ask import Ask
from workbench.work.work import Made, Work

KIND = "synthetic"
NO_DELTA = Decimal(0)
VALUES = "each value is drawn uniformly from the public values within its coarse cell"
"""How a cell becomes a value, for certificates."""


def synthesis_setting(
    plan: Plan, epsilon: Decimal, rows: int, chosen: SynthesisParameters, delta: Decimal = NO_DELTA
) -> tuple[Synthesiser, Setting]:
    """Return the method and the public facts of a synthesis by a plan.

    Args:
        plan: declares the columns, of which those it drops are left out, and what is impossible.
        epsilon: ε of one row's whole record.
        rows: of the table, public.
        chosen: what a person chose.
        delta: δ of one row's whole record; 0 for pure differential privacy.

    Raises:
        ParameterError: the plan publishes a column as it is, leaves none, or does not know the target; the method
            needs a target; the tables would be too large; ε is too small to be divided.
    """
    kept = [column.name for column in plan.columns if column.action == "keep"]
    if kept:
        raise ParameterError(
            f"the plan publishes the column {kept[0]!r} as it is, and no row of a synthetic table is anybody's",
            hint='write action = "protect" or "drop" for it',
        )
    roles = [column.name for column in plan.protected if column.role == "target"]
    target = chosen.target if chosen.target is not None else (roles[0] if len(roles) == 1 else None)
    method = synthesiser(chosen.method) if chosen.method is not None else (MST if target is None else MARGINALS)
    facts = [column.facts() for column in plan.protected]
    place = place_of_target(coarse_columns(facts), target, method)
    setting = setting_for(facts, place, rows, epsilon, chosen.cuts, delta, joined(plan.impossible, chosen.impossible))
    require_bounded(setting, method)
    require_payable(method, setting)
    return method, setting


def synthesis_work(
    plan: Plan, epsilon: Decimal, rows: int, kind: str, chosen: SynthesisParameters, delta: Decimal = NO_DELTA
) -> Work:
    """Return the central release of a synthetic table.

    Args:
        plan: declares the columns.
        epsilon: ε of one row's whole record; the door multiplies it by the rows of a person.
        rows: of the table, public.
        kind: ``csv``, ``tsv`` or ``parquet``.
        chosen: what a person chose.
        delta: δ of one row; where it is above 0, noise is discrete Gaussian.

    Raises:
        ParameterError: as :func:`synthesis_setting`.
    """
    method, setting = synthesis_setting(plan, epsilon, rows, chosen, delta)
    count = rows if chosen.rows is None else chosen.rows
    if count < 1:
        raise ParameterError("the table has no rows", hint="name the number of rows to draw by --rows")
    target = None if setting.target is None else setting.columns[setting.target].name

    declared: dict[str, Any] = {}
    impossible = joined(plan.impossible, chosen.impossible)
    if impossible is not None:
        declared = {"impossible": impossible, "equal_cuts": equal_cuts(setting)}

    def asked(table: Table, ask: Ask, emit: Emit, cancel: CancelToken) -> tuple[pl.DataFrame, tuple[Answered, ...]]:
        drawn = synthesised(method, setting, coded(setting.columns, table), count, ask, emit, cancel)
        return drawn.frame(ask.coins), drawn.answered

    def files(answers: tuple[pl.DataFrame, tuple[Answered, ...]], cancel: CancelToken) -> Made:
        frame, answered = answers
        return Made(_file(frame, setting.columns, kind), stated(answered, setting))

    return Work(
        kind=KIND,
        columns=tuple(column.name for column in setting.columns),
        events=events(method.queries(setting)),
        request={
            "method": method.name,
            "target": target,
            "rows": count,
            "cuts": cut_facts(setting),
            **declared,
        },
        room=_most_bytes(setting.columns, count),
        ask=asked,
        files=files,
        budget=setting.budget if setting.budget.gaussian else None,
    )


def asked_work(
    plan: Plan, asked: SynthesisParameters, epsilon: Decimal, delta: Decimal, rows: int, file_format: str
) -> Work:
    """Return the release of what a person asked for; reads no row."""
    return synthesis_work(plan, epsilon, rows, file_format, asked, delta)


def repeated(asked: Mapping[str, Any], plan: Plan) -> Repeated:
    """Return the request of a certificate, to be asked for once more; what is impossible is in its plan."""
    chosen = {key: asked[key] for key in ("method", "target", "rows") if asked.get(key) is not None}
    numbers = [asked["cuts"][column.name] for column in plan.protected if column.numeric]
    return chosen | ({"cuts": max(numbers)} if numbers else {}), {}


def cut_facts(setting: Setting) -> dict[str, int]:
    """Return by column the number of its coarse cells that hold a value."""
    return {column.name: column.cuts for column in setting.columns}


def equal_cuts(setting: Setting) -> int:
    """Return into how many equal parts ranges were cut, before the ends of what is impossible were added."""
    numbers = [c for c in setting.columns if c.ordered]
    return max([2, *(min(setting.equal_cuts, c.grid.cells.size) for c in numbers)])


def stated(answered: tuple[Answered, ...], setting: Setting) -> dict[str, Any]:
    """Return what was measured, as the certificate says it; each entry stands beside the query of the same number."""
    return {
        **public_facts(setting),
        "measured": [
            {"query": a.query.label, "form": a.query.form, "columns": list(a.columns), "cells": list(a.cells)}
            for a in answered
        ],
    }


def public_facts(setting: Setting) -> dict[str, Any]:
    """Return what a certificate says of the making, whatever was measured."""
    noise = {"noise": setting.budget.noise} if setting.budget.gaussian else {}
    return {**noise, "values": VALUES}


def _most_bytes(columns: tuple[CoarseColumn, ...], rows: int) -> int:
    longest = sum(2 * max(len(text.encode()) for text in column.grid.labels) + 12 for column in columns)
    header = sum(2 * len(column.name.encode()) + 4 for column in columns)
    return header + longest * rows + (1 << 16) * (len(columns) + 1)


def _file(frame: pl.DataFrame, columns: tuple[CoarseColumn, ...], kind: str) -> bytes:
    if kind != "parquet":
        return csv_bytes(frame, "\t" if kind == "tsv" else ",", header=True)
    types: dict[str | None, Callable[[pl.Expr], pl.Expr]] = {
        "integer": lambda cells: cells.cast(pl.Int64),
        "real": lambda cells: cells.cast(pl.Float64),
        "date": lambda cells: cells.str.to_date("%Y-%m-%d"),
    }
    kinds = {column.name: column.grid.attribute.kind for column in columns}
    buffer = io.BytesIO()
    frame.with_columns([types[k](pl.col(n)) for n, k in kinds.items() if k in types]).write_parquet(buffer)
    return buffer.getvalue()
