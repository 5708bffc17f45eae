"""The document of a released model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench import learners
from workbench.release.documents.common_sections import (
    account_section,
    check_section,
    day,
    document,
    figure,
    guarantee_section,
    not_covered_section,
    program,
    queries_note,
)
from workbench.release.model.card import MADE_FROM
from workbench.render.document import Block, Document, FactList, Grid, Paragraph, Section

_TRAINING = {
    "noise_multiplier": "Noise multiplier σ",
    "clip": "Clipping norm C",
    "noise_standard_deviation": "Standard deviation of the noise",
    "sample_rate": "Sample rate",
    "steps": "Steps",
    "batch": "Expected batch",
    "sampling": "Sampling",
    "accountant": "Privacy accountant",
    "delta_row": "δ of one row",
}
_NAMED = 8


def model_document(stated: dict[str, Any], name: str) -> Document:
    """Return the document of the model that ``stated``, a verified card, describes; ``name`` is its folder."""
    made = stated.get(MADE_FROM)
    people = int(stated["training"].get("rows_per_person", 1))
    facts = [
        ("Model", _title(stated["model"])),
        ("Trained on", f"the release {made['file']}" if made else f"{stated['rows']:,} rows"),
        ("Predicts or leaves out", stated["inputs"][-1]["name"]),
        ("Trained", day(stated["time"])),
        ("Made by", program(stated)),
    ]
    sections = [
        Section("What was released", (FactList(tuple(facts)),)),
        guarantee_section(stated, people),
        _training(stated, people),
        Section("The columns it reads", (_inputs(stated["inputs"]),)),
        not_covered_section(stated),
        account_section(stated),
        check_section(stated, tuple(stated["files"].items()), name),
    ]
    return document("Certificate of a private model", stated, name, sections)


def _training(stated: Mapping[str, Any], people: int) -> Section:
    facts = stated["training"]
    blocks: list[Block] = []
    if MADE_FROM in stated:
        blocks.append(Paragraph("It was trained on a release alone: it asked nothing of the rows and costs nothing."))
    if stated["parameters"]:
        blocks.append(FactList(tuple((name, _value(value)) for name, value in stated["parameters"].items())))
    if "queries" in facts:
        rows = tuple((q["label"], q["epsilon"]) for q in facts["queries"])
        blocks += [Grid(("asked of the rows", "ε"), rows, (1,)), Paragraph(queries_note(people), "muted")]
    known = tuple((word, _value(facts[key])) for key, word in _TRAINING.items() if key in facts)
    if known:
        blocks.append(FactList(known))
    architecture = facts.get("architecture")
    remarks = architecture.get("remarks", ()) if isinstance(architecture, Mapping) else ()
    blocks += [Paragraph(f"{remark[:1].upper()}{remark[1:]}.") for remark in remarks if isinstance(remark, str)]
    accuracy = facts.get("accuracy")
    if isinstance(accuracy, Mapping):
        accuracy_text = f"{_value(accuracy['value'])} on {accuracy['rows']:,} rows of {accuracy['on']}"
        blocks.append(FactList((("Accuracy", accuracy_text),)))
    else:
        blocks.append(
            Paragraph("The card gives no accuracy: measured on private rows, it would be a figure about them.", "muted")
        )
    return Section("How it was trained", tuple(blocks))


def _inputs(inputs: list[dict[str, Any]]) -> Grid:
    rows = []
    for column in inputs:
        if "lower" in column:
            values = f"{figure(column['lower'])} to {figure(column['upper'])}"
        else:
            domain = [str(value) for value in column.get("domain", ())]
            values = ", ".join(domain[:_NAMED]) + (f" and {len(domain) - _NAMED} more" if len(domain) > _NAMED else "")
        rows.append((column["name"], column.get("kind", ""), values))
    return Grid(("column", "kind", "public values"), tuple(rows))


def _title(name: str) -> str:
    return next((known.title for known in learners.LEARNERS if known.name == name), name)


def _value(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "–"}[value]
    if isinstance(value, float):
        return figure(value)
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
