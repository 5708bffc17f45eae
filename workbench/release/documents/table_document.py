"""The document of a sanitised table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from workbench.privacy.local.mechanisms import mechanism
from workbench.release.documents.common_sections import (
    account_section,
    check_section,
    day,
    document,
    figure,
    guarantee_section,
    not_covered_section,
    program,
)
from workbench.release.open_release import as_it_ran, plan_of
from workbench.render.document import Block, Document, FactList, Grid, Paragraph, Section
from workbench.sanitize.calibrated import each_protected_column

_ERRORS = (
    "Expected error: of a number, the mean distance between the released and the true value, in its own unit; of a "
    "category, the chance that it was changed. Each is the mean over the values that the column can have. It follows "
    "from the mechanism alone and is the same whatever the rows say."
)
_MOST_SHOWN = 120


def table_document(stated: dict[str, Any]) -> Document:
    """Return the document of the sanitised table that ``stated``, a verified certificate, describes."""
    output, name = stated["output"], stated["output"]["file"]
    acts = [c["action"] for c in stated["columns"]]
    counts = f"{acts.count('protect')} protected, {acts.count('drop')} left out, {acts.count('keep')} as they are"
    facts = (
        ("File", name),
        ("Contents", f"{stated['rows']:,} rows, each value drawn at random from its column's mechanism"),
        ("Columns", counts),
        ("Order of rows", "as in the original" if stated["keep_order"] else "random"),
        ("Size", f"{output['bytes']:,} bytes of {output['format']}"),
        ("Released", day(stated["time"])),
        ("Made by", program(stated)),
    )
    sections = (
        Section("What was released", (FactList(facts),)),
        guarantee_section(stated, stated["guarantee"]["rows_per_person"]),
        _columns(stated),
        not_covered_section(stated),
        account_section(stated),
        check_section(stated, (("Released file", output["sha256"]),), name),
        Section("The plan", (Paragraph(stated["plan"], "code"),)),
    )
    return document("Certificate of a sanitised table", stated, name, sections)


def _columns(stated: dict[str, Any]) -> Section:
    where = Path(stated["output"]["file"])
    plan = as_it_ran(plan_of(stated, where), stated, where)
    protected = (c for c in each_protected_column(plan))
    errors = {c.column.name: c.facts.expected_absolute_error for c in protected}
    rows = []
    for column in stated["columns"]:
        if column["action"] != "protect":
            done = "left out" if column["action"] == "drop" else "published as it is: not covered"
            rows.append((column["name"], column.get("kind", ""), done, "–", "–", "–", ""))
            continue
        title = mechanism(column["mechanism"]).title
        exact, error = f"{column['exact_epsilon']:.10g}", figure(errors.get(column["name"]))
        rows.append((column["name"], column["kind"], title, column["epsilon"], exact, error, _domain(column)))
    header = ("column", "kind", "mechanism", "ε, its share", "exact ε", "expected error", "public values")
    notes = [f"{c['name']}: {c['note']}" for c in stated["columns"] if c.get("note")]
    blocks: list[Block] = [
        Grid(header, tuple(rows), (3, 4, 5)),
        Paragraph(
            "The shares add up to the ε of one row. The exact ε is the largest log-ratio of probabilities in the "
            "table that the values were drawn from; it is never above the share.",
            "muted",
        ),
        Paragraph(_ERRORS, "muted"),
        *(Paragraph(note, "muted") for note in notes),
    ]
    return Section("What was done with each column", tuple(blocks))


def _domain(column: dict[str, Any]) -> str:
    origin = ", read off the data" if column.get("bounds_origin") == "data" else ""
    if "lower" in column:
        return f"{column['lower']} to {column['upper']}, {column['cells']:,} cells{origin}"
    if "domain" not in column:
        return f"{column['cells']:,} values{origin}"
    names = ", ".join(column["domain"])
    listed = names if len(names) <= _MOST_SHOWN else f"{len(column['domain']):,} values"
    return f"{listed}{origin}"
