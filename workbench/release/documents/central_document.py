"""The document of a central release: statistics, or a synthetic table."""

from __future__ import annotations

import math
from typing import Any

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
from workbench.release.kinds import kind
from workbench.render.document import Block, Document, FactList, Grid, Paragraph, Section
from workbench.statistics.queries import DRAWN
from workbench.synth.base import CHOICE

_ERRORS = (
    "Expected error: the mean absolute noise of each number, counted in rows that contribute as much as a row may. "
)
_LAPLACE = "The noise is discrete Laplace: 1 / sinh(ε/Δ) for a query of sensitivity Δ."
_GAUSSIAN = "The noise is discrete Gaussian: σ² = Δ²/(2ρ) for a query of sensitivity Δ."
_FAR = 50.0
"""From this σ on, the mean absolute noise is that of the continuous normal distribution in all digits shown."""


def central_document(stated: dict[str, Any]) -> Document:
    """Return the document of the central release that ``stated``, a verified certificate, describes."""
    output, name = stated["output"], stated["output"]["file"]
    made = kind(stated["kind"])
    asked = stated["request"]
    facts = [
        ("File", name),
        ("Contents", made.gives),
        ("Computed from", f"{stated['rows']:,} rows, columns {', '.join(stated['columns'])}"),
        ("Size", f"{output['bytes']:,} bytes of {output['format']}"),
        ("Released", day(stated["time"])),
        ("Made by", program(stated)),
    ]
    facts += [
        (spec.title or key.replace("_", " ").capitalize(), f"{value:,}" if isinstance(value, int) else str(value))
        for key, spec in made.asked().declared().items()
        if isinstance(value := asked.get(key), (str, int, float))
    ]
    sections = (
        Section("What was released", (FactList(tuple(facts)),)),
        guarantee_section(stated, stated["guarantee"]["rows_per_person"]),
        _queries(stated),
        not_covered_section(stated),
        account_section(stated),
        check_section(stated, (("Released file", output["sha256"]),), name),
        Section("The plan", (Paragraph(stated["plan"], "code"),)),
    )
    return document(f"Certificate of {made.released}", stated, name, sections)


def _queries(stated: dict[str, Any]) -> Section:
    method, people, made = stated["method"], stated["guarantee"]["rows_per_person"], kind(stated["kind"])
    about = method.get("queries") or method.get("measured") or [{}] * len(stated["queries"])
    gaussian = "rho" in stated["queries"][0]
    key, unit, noise = ("rho", "ρ", "Gaussian") if gaussian else ("epsilon", "ε", "Laplace")
    rows = []
    for query, more in zip(stated["queries"], about, strict=True):
        if more.get("form") == CHOICE:
            rows.append((query["label"], "a choice by the exponential mechanism", query[key], "–"))
            continue
        if more.get("form") == DRAWN:
            what = f"cells drawn by the exponential mechanism, and counts around them with discrete {noise} noise"
            rows.append((query["label"], what, query[key], "–"))
            continue
        if made.local:
            rows.append((query["label"], "every row randomised by itself", query[key], "–"))
            continue
        size, share = more.get("sensitivity", 1), float(query[key])
        numbers = more.get("numbers") or math.prod(more.get("cells") or [1])
        what = f"{numbers:,} number{'' if numbers == 1 else 's'} with discrete {noise} noise"
        error = (expected_gaussian_error if gaussian else expected_error)(share, size) / size
        rows.append((query["label"], what, query[key], figure(error)))
    errors = f"{made.randomness[:1].upper()}{made.randomness[1:]}."
    if not made.local:
        errors = _ERRORS + (_GAUSSIAN if gaussian else _LAPLACE)
    note = f"{queries_note(people, unit)} {errors}"
    blocks: list[Block] = [
        Grid(("asked of the rows", "answered by", unit, "expected error"), tuple(rows), (2, 3)),
        Paragraph(note, "muted"),
    ]
    blocks += [Paragraph(method[key], "muted") for key in ("intervals",) if isinstance(method.get(key), str)]
    if isinstance(method.get("values"), str):
        values = method["values"]
        blocks.append(Paragraph(f"How rows are made of the noisy counts: {values}.", "muted"))
    return Section("What was asked of the rows", tuple(blocks))


def expected_error(epsilon: float, sensitivity: int) -> float:
    """Return the mean absolute discrete Laplace noise: with b = e^(−ε/Δ) it is 2b/(1 − b²) = 1/sinh(ε/Δ)."""
    ratio = epsilon / sensitivity
    return 1 / math.sinh(ratio) if ratio < 700 else 0.0


def expected_gaussian_error(rho: float, sensitivity: int) -> float:
    """Return the mean absolute discrete Gaussian noise, P(k) ∝ e^(−k²/(2σ²)) with σ = Δ/√(2ρ)."""
    sigma = sensitivity / math.sqrt(2 * rho)
    if sigma > _FAR:
        return sigma * math.sqrt(2 / math.pi)
    weights = [math.exp(-(k * k) / (2 * sigma * sigma)) for k in range(1, int(12 * sigma) + 3)]
    return 2 * math.fsum(k * w for k, w in enumerate(weights, 1)) / (1 + 2 * math.fsum(weights))
