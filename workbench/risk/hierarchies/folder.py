"""A folder of hierarchies: a file for each column."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import polars as pl

from workbench.data.table import Table
from workbench.params import InputError, ParameterError, Parameters
from workbench.risk.hierarchies import Builder, Hierarchy, file_name, read_hierarchy
from workbench.risk.hierarchies import builder as builder_of
from workbench.risk.hierarchies.builder import in_order
from workbench.risk.hierarchies.suggested import Declared, public_values, suggested

Way = tuple[Builder, Parameters]


def read_hierarchies(folder: Path, quasi: Iterable[str], sensitive: Iterable[str] = ()) -> dict[str, Hierarchy]:
    """Return the hierarchies of columns; a sensitive one need not have any.

    Raises:
        InputError: a quasi-identifier has no file, or a file is no hierarchy.
    """
    found = {}
    for name in quasi:
        path = folder / file_name(name)
        if not path.is_file():
            hint = f"put {path.name} there, or let --make write one"
            raise InputError(f"the column {name} has no hierarchy", str(path), hint, code="no-hierarchy", field=name)
        found[name] = read_hierarchy(path)
    for name in sensitive:
        path = folder / file_name(name)
        if path.is_file():
            found[name] = read_hierarchy(path)
    return found


def values_of(table: Table, name: str, attribute: Declared | None = None) -> list[str]:
    """Return the values of a column in order: those that are declared and those that occur."""
    own = table.column(name).cast(pl.String).drop_nulls().unique().to_list()
    return in_order(list({*own, *([] if attribute is None else public_values(attribute))}))


def made(table: Table, name: str, way: Way | None = None, attribute: Declared | None = None) -> Hierarchy:
    """Return a hierarchy of the values of a column, made in one way, or as its values suggest.

    Raises:
        InputError: the column is empty.
        ParameterError: its values cannot be made into one in this way.
    """
    values = values_of(table, name, attribute)
    if not values:
        raise InputError(f"the column {name} has no value", table.source, "leave it out of the quasi-identifiers")
    builder, parameters = suggested(values) if way is None else way
    try:
        return builder.build(values, parameters)
    except ParameterError as error:
        raise error.at(f"column {name}") from None


def way_of(words: str) -> tuple[str, Way]:
    """Return a column and the way to make its hierarchy, written ``COLUMN=BUILDER`` or ``COLUMN=BUILDER:key=value;…``.

    Raises:
        ParameterError: it is not written so, or the builder or one of its parameters is not known.
    """
    column, equals, rest = words.partition("=")
    if not equals:
        raise ParameterError(f"{words!r} is no way to make a hierarchy", "--build", "write COLUMN=BUILDER:key=value;…")
    name, _, stated = rest.partition(":")
    builder = builder_of(name.strip())
    declared = builder.parameters.declared()
    given: dict[str, object] = {}
    for pair in filter(None, (part.strip() for part in stated.split(";"))):
        key, _, value = (part.strip() for part in pair.partition("="))
        if key not in declared:
            known = ", ".join(declared)
            raise ParameterError(f"{key!r} is no parameter of {builder.name}", "--build", f"choose of {known}")
        given[key] = declared[key].parse(value, f"{builder.name} {key}")
    return column.strip(), (builder, builder.parameters(**given))


def absent(folder: Path, names: Iterable[str]) -> Mapping[str, Path]:
    """Return the file of each column that has none in the folder yet."""
    return {name: folder / file_name(name) for name in names if not (folder / file_name(name)).exists()}
