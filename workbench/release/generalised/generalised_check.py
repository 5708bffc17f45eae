"""Whether a generalised file is what its certificate says: labels, classes and models are computed again from it.

What compares a class with rows that were left out, or with a population, cannot be.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from workbench.data.csv.options import Dialect
from workbench.data.schema import QUASI, SENSITIVE
from workbench.params import InputError, WorkbenchError, counted
from workbench.release.statements import PROMISES_NOTHING, kept_columns
from workbench.release.table_formats import released_table
from workbench.risk.generalise.generalised import METHODS
from workbench.risk.generalise.models import MODELS, ROUNDING, Closeness, PrivacyModel
from workbench.risk.generalise.problem import Asked, Problem, problem
from workbench.risk.hierarchies.hierarchy import ANY, Hierarchy
from workbench.signals.cancel import CancelToken

_OF_ALL_ROWS = ("beta-likeness",)
"""Models that compare a class with all rows: with rows left out, the file does not hold what they compare with."""


def generalised_problems(document: dict[str, Any], release: Path, cancel: CancelToken) -> Iterator[str]:
    """Yield a sentence for everything in a generalised file that is not as its certificate says."""
    if document["statement"] != PROMISES_NOTHING:
        yield "the certificate does not say that the table has no guarantee"
    if document["outside"] != kept_columns(document["columns"]):
        yield "the certificate does not name the columns that no model covers"
    if document["suppressed"] > document["suppression"] * (document["rows"] + document["suppressed"]) + ROUNDING:
        yield "more rows were left out than the certificate says could be"
    levels_for_all = document["method"] not in ("local", "cells")
    if document["method"] not in METHODS:
        yield "the certificate names a method that is not known"
    elif levels_for_all and any("level" not in c for c in document["columns"] if c["role"] == QUASI):
        yield "the certificate does not state the level of each quasi-identifier"
    if not document["models"]:
        yield "the certificate names no model, so any table would match it"
    names = [c["name"] for c in document["columns"]]
    if len(set(names)) < len(names) or not any(c["role"] == QUASI for c in document["columns"]):
        yield "the certificate names a column twice, or no quasi-identifier"
        return
    table = released_table(release, document["output"]["format"], names, cancel)
    if list(table.names) != names:
        yield "the file and its certificate have different columns"
        return
    if table.rows != document["rows"]:
        yield f"the file has {counted(table.rows, 'row')}, its certificate says {document['rows']:,}"
    for column in document["columns"]:
        cancel.check()
        if "labels" in column:
            found = table.column(column["name"]).cast(pl.String).unique().fill_null("")
            yield from _label_problems(column, set(found.to_list()), full_domain="level" in column)
    try:
        asked, hierarchies = _asked_of(document)
        if "decimal" in document:  # values are ordered by their size, as those of the original were
            as_read = replace(table.dialect or Dialect(), decimal=document["decimal"], decimal_given=True)
            table = table.replaced(dialect=as_read)
        made = _as_far_as_stated(problem(table, asked, hierarchies), document)
        models = [(_model_of(stated), stated["model"]) for stated in document["models"]]
    except WorkbenchError as error:
        yield str(error)
        return
    yield from _class_problems(document, made, models)


def not_checked(document: dict[str, Any]) -> list[str]:
    """Return what its models promise that no check of the file shows: a population and rows left out are not in it."""
    said, left_out = [], document["suppressed"]
    for stated in document["models"]:
        name = stated["model"]
        entry = next((model for model in MODELS if model.name == name), None)
        if entry is not None and entry.needs == "population":
            said.append(f"{name}: it compares the rows with a population, which is not in the file")
        elif name in _OF_ALL_ROWS and left_out:
            rows = counted(left_out, "row")
            said.append(f"{name}: it compares each class with all rows, those left out of the file included ({rows})")
        elif entry is Closeness and left_out:
            said.append(f"{name}: only as far as {counted(left_out, 'row')} left out of the file can change it")
    return said


def _asked_of(document: dict[str, Any]) -> tuple[Asked, dict[str, Hierarchy]]:
    roles: dict[str, list[str]] = {QUASI: [], SENSITIVE: [], "kept": []}
    hierarchies = {}
    for column in document["columns"]:
        roles[column["role"]].append(column["name"])
        chains = column.get("labels", [])
        if column["role"] == QUASI:  # what is published is what an outsider compares
            labels = tuple(chain[0] for chain in chains)
            hierarchies[column["name"]] = Hierarchy((labels, tuple(ANY for _ in labels)))
        elif chains:
            if len({len(chain) for chain in chains}) > 1:
                raise InputError(f"the labels of the column {column['name']} are not all at one level")
            hierarchies[column["name"]] = Hierarchy(tuple(zip(*chains, strict=True)))
    return Asked(tuple(roles[QUASI]), tuple(roles[SENSITIVE])), hierarchies


def _as_far_as_stated(made: Problem, document: dict[str, Any]) -> Problem:
    """Return the problem with the ground distances that the certificate names, which the original decided."""
    stated = {c["name"]: c["distance"] for c in document["columns"] if "distance" in c}
    return replace(
        made, sensitive=tuple(replace(of, distance=stated.get(of.name, of.distance)) for of in made.sensitive)
    )


def _label_problems(column: dict[str, Any], found: set[str], *, full_domain: bool) -> Iterator[str]:
    name, chains = column["name"], column["labels"]
    known = {chain[0] for chain in chains}
    if found != known or len(known) < len(chains):
        yield f"column {name}: the file has other labels than its certificate"
    lengths = {len(chain) for chain in chains}
    if full_domain and lengths != {column["height"] - column["level"] + 1}:
        yield f"column {name}: the labels are not those of level {column['level']} of {column['height']}"
    parent: dict[str, str] = {}
    for chain in chains:
        for label, above in itertools.pairwise(chain):
            if label != above and parent.setdefault(label, above) != above:
                yield f"column {name}: the label {label!r} has two labels above it"
                return


def _model_of(stated: dict[str, Any]) -> PrivacyModel:
    entry = next((model for model in MODELS if model.name == stated["model"]), None)
    if entry is None:
        raise InputError(f"the model {str(stated['model'])[:40]!r} is not known")
    found = entry.from_plain({k: v for k, v in stated.items() if k != "model"}, stated["model"])
    if not found.asked:
        raise InputError(f"the model {stated['model']} is named without its parameter")
    return found


def _class_problems(document: dict[str, Any], made: Problem, models: list[tuple[PrivacyModel, str]]) -> Iterator[str]:
    groups = made.grouped(made.bottom)
    smallest = int(groups.sizes.min())
    if smallest != document["k"]:
        yield f"the smallest class has {counted(smallest, 'row')}, the certificate says {document['k']}"
    for model, name in models:
        if model.needs == "population" or (name in _OF_ALL_ROWS and document["suppressed"]):
            continue
        if isinstance(model, Closeness):  # s of n rows left out are as far from the others as s/n at the most
            left_out = document["suppressed"] / (document["suppressed"] + made.rows)
            model = replace(model, t=min((model.t or 0.0) + left_out, 1.0))
        allowed = model.allows(made, groups, groups.occupied)
        kept = model.whole(made, groups, allowed)
        if not allowed.all() or kept is None or not kept.all():
            yield f"the file does not satisfy {name} as its certificate says"
