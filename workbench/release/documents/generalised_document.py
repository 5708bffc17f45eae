"""The document of a generalised table: what it is not, what was asked for, and what became of each column."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.release.documents.release_document import day, program, release_id
from workbench.release.statements import CANNOT_KNOW
from workbench.render.document import Document, FactList, Grid, Paragraph, Section
from workbench.risk.generalise.models import MODELS


def generalised_document(stated: Mapping[str, Any], name: str) -> Document:
    """Return the document of the generalised table that ``stated``, a verified certificate, describes."""
    facts = [
        ("Rows", f"{stated['rows']:,}"),
        ("Rows left out", f"{stated['suppressed']:,}"),
        ("Rows of the smallest class", f"{stated['k']:,}"),
        *((_title(model["model"]), _parameters(model)) for model in stated["models"]),
        ("Method", stated["method"]),
        ("Order of rows", stated["order"]),
    ]
    lines = tuple((c["name"], c["role"], _level(c)) for c in stated["columns"])
    return Document(
        title="Certificate of a generalised table",
        subtitle=f"{name} · {day(stated['time'])} · no guarantee",
        sections=(
            Section("What this is not", (Paragraph(stated["statement"]),)),
            Section("What was published", (FactList(tuple(facts)),)),
            Section("The columns", (Grid(("column", "role", "level"), lines),)),
            Section("What no check can show", (Paragraph(f"{CANNOT_KNOW[0].upper()}{CANNOT_KNOW[1:]}."),)),
        ),
        foot=f"{program(stated)} · release {release_id(stated)} · checksum {stated['checksum'][:16]}…",
        time=stated["time"],
    )


def _title(name: str) -> str:
    return next((model.title for model in MODELS if model.name == name), name)


def _parameters(model: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} = {value}" for key, value in model.items() if key != "model")


def _level(column: Mapping[str, Any]) -> str:
    if "height" not in column:
        return f"as it is; distance: {column['distance']}" if "distance" in column else "as it is"
    if "level" not in column:
        return f"differs by row, of {column['height']}"
    return f"{column['level']} of {column['height']}"
