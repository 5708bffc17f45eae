"""Reads a released table by its certificate; no raw data is involved."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import polars.selectors as cs

from workbench.data.columns.grid import Grid
from workbench.data.columns.values import doubles
from workbench.data.rows_in_parts import each_part
from workbench.data.table import Table
from workbench.params import InputError, ParameterError, parse_toml
from workbench.params.remedies import run
from workbench.privacy.local.mechanisms import mechanism
from workbench.release.atomic import sha256_of
from workbench.release.certificate import SUFFIX
from workbench.release.table_formats import released_table
from workbench.sanitize.plan import AUTO, VALUES, Plan
from workbench.sanitize.writing import PLAIN, headers, shielded
from workbench.signals.cancel import NEVER, CancelToken


def certified_rows(
    path: Path, document: dict[str, Any], certificate: Path, cancel: CancelToken = NEVER
) -> tuple[Plan, Table]:
    """Return plan and rows of a release, without rebuilding a mechanism.

    Raises:
        InputError: the file is not the one that was certified, or they do not belong together.
    """
    if sha256_of(path) != document["output"]["sha256"]:
        raise InputError(
            "this is not the file that the certificate was written for",
            str(path),
            run("run", "verify", str(path)),
        )
    plan = plan_of(document, certificate)
    names = [c.name for c in plan.columns if c.action != "drop"]
    written = released_table(path, document["output"]["format"], names, cancel, plan.writing or PLAIN)
    table = without_apostrophes(plan, written)
    if sorted(table.names) != sorted(names):
        raise InputError("the table and its certificate name different columns", str(path))
    return with_mechanisms_used(_with_released_values(plan, table), document, certificate), table


def without_apostrophes(plan: Plan, table: Table) -> Table:
    """Return a released table with its defused names and values as they are declared."""
    names = tuple(_declared_names(plan, table.names))
    return table.rewritten(partial(_bare, plan), names) if plan.defuses_formulas else table


def _bare(plan: Plan, frame: pl.DataFrame) -> pl.DataFrame:
    names = dict(zip(frame.columns, _declared_names(plan, frame.columns), strict=True))
    values = [pl.col(name).replace(found) for name, found in _formulas_of(plan).items() if name in names.values()]
    return frame.rename(names).with_columns(values)


def as_declared(plan: Plan, frame: pl.DataFrame) -> pl.DataFrame:
    """Return the text of a released file as the plan declares it, whatever commas and apostrophes the file has."""
    frame = _bare(plan, frame)
    comma = plan.writing is not None and plan.writing.decimal == ","
    real = [c.name for c in plan.protected if comma and c.kind == "real" and c.name in frame.columns]
    return frame.with_columns(cs.by_name(real).str.replace(",", ".", literal=True))


def _declared_names(plan: Plan, written: Sequence[str]) -> Sequence[str]:
    """Return the names of columns as the plan has them; former versions and databases write them as they are."""
    names = [column.name for column in plan.columns if column.action != "drop"] if plan.defuses_formulas else []
    bare = dict(zip(headers(names), names, strict=True))
    return [bare[name] for name in written] if set(written) == set(bare) else written


def _formulas_of(plan: Plan) -> dict[str, dict[str, str]]:
    """Return by column the declared values that were defused: how each one is written, and what it is."""
    if not plan.defuses_formulas:
        return {}
    found: dict[str, dict[str, str]] = {}
    for column in plan.protected:
        values = () if column.numeric or column.counted else column.values()
        changed = {new: old for new, old in zip(shielded(values), values, strict=True) if new != old}
        found |= {column.name: changed} if changed else {}
    return found


def _with_released_values(plan: Plan, table: Table) -> Plan:
    """Return ``plan`` with the values of ``table`` where the certificate only counts them.

    Raises:
        InputError: the table has more different values than the certificate counts.
    """
    counted = [c.name for c in plan.columns if c.counted]
    values = {name: [pl.Series([], dtype=pl.String)] for name in counted}
    for part in each_part(table, lambda part: [(name, part.column(name).drop_nulls().unique()) for name in counted]):
        for name, found in part:
            values[name].append(found)
    try:
        columns = tuple(c.with_values_of(pl.concat(values[c.name])) if c.counted else c for c in plan.columns)
    except ParameterError as error:
        raise InputError(error.what, f"{table.source}, {error.where}", "it does not match the certificate") from None
    return dataclasses.replace(plan, columns=columns)


def located(path: Path, certificate: Path | None = None) -> tuple[Path, Path]:
    """Return (table, certificate) for a table, its certificate, or a folder that holds one release.

    Raises:
        InputError: there is none, or there are several.
    """
    if os.path.isdir(path):
        found = sorted(path.glob(f"*{SUFFIX}"))
        if len(found) != 1:
            count = "no certificate" if not found else f"{len(found)} certificates"
            raise InputError(f"the folder holds {count}", str(path), "give the released file")
        path = found[0]
    if path.name == SUFFIX:
        raise InputError("the certificate has no file name before its suffix", str(path), "give the released file")
    if path.name.endswith(SUFFIX):
        return path.with_name(path.name.removesuffix(SUFFIX)), certificate or path
    if not os.path.exists(path):
        raise InputError("the file does not exist", str(path), "check the name")
    certificate = certificate or path.with_name(path.name + SUFFIX)
    if not os.path.exists(certificate):
        raise InputError("there is no certificate next to the file", str(certificate), "put its certificate next to it")
    return path, certificate


def plan_of(document: Mapping[str, Any], where: Path) -> Plan:
    """Return the plan that a certificate holds.

    Raises:
        InputError: it is not a plan.
    """
    raw = parse_toml(document["plan"], "certificate's plan", str(where))
    for column in raw["column"] if isinstance(raw.get("column"), list) else ():
        if isinstance(column, dict) and column.get("action", "protect") == "protect":
            column.setdefault("purpose", VALUES)  # what certificates that do not name it meant
    try:
        return Plan.from_plain(raw, where=str(where))
    except ParameterError as error:
        raise InputError(f"the certificate's plan is not usable: {error}", str(where)) from None


def with_mechanisms_used(plan: Plan, document: Mapping[str, Any], where: Path) -> Plan:
    """Return ``plan`` with the mechanisms that ran, where it left the choice to the advisor, who may choose anew.

    Raises:
        InputError: the certificate names none that is known.
    """
    ran = {c.get("name"): c.get("mechanism") for c in document["columns"] if isinstance(c, dict)}
    columns = []
    for column in plan.columns:
        name = ran.get(column.name)
        if column.action == "protect" and column.mechanism == AUTO and isinstance(name, str):
            try:
                column = dataclasses.replace(column, mechanism=mechanism(name).name)
            except ParameterError as error:
                raise InputError(f"the certificate's plan is not usable: {error}", str(where)) from None
        columns.append(column)
    return dataclasses.replace(plan, columns=tuple(columns))


def released_cells(grid: Grid, table: Table) -> Any:
    """Return the cells of released text.

    Raises:
        InputError: a value is not one of the grid's; its row is named.
    """
    series = table.column(grid.attribute.name)
    labels = pl.Series(grid.labels, dtype=pl.String)
    if grid.cells.numeric and grid.attribute.kind != "date":
        # A typed file writes 0.50 as 0.5: numbers are compared as numbers.
        keys, labels = doubles(series, table.decimal), labels.cast(pl.Float64)
    else:
        keys = series
    index = pl.DataFrame({"key": labels, "cell": np.arange(len(labels), dtype=np.uint32)})
    found = pl.DataFrame({"key": keys}).join(index, on="key", how="left", maintain_order="left")["cell"]
    if grid.cells.missing:
        found = found.zip_with(series.is_not_null(), pl.Series([grid.cells.size], dtype=pl.UInt32))
    if found.null_count():
        row = int(found.is_null().arg_true()[0])
        raise InputError(
            f"{series[row]!r} is not a value that column {grid.attribute.name} can release",
            f"{table.source}, {table.row_name(row)}",
            "the file was changed after its release, or belongs to another certificate",
        )
    dtype = np.uint16 if grid.cells.total <= np.iinfo(np.uint16).max else np.uint32
    return found.to_numpy().astype(dtype)
