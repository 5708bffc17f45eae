"""The internal report of a study: its picture and its figures; what is private says so across every page."""

from __future__ import annotations

import csv
import io

import workbench
from workbench.render.document import Block, Document, Grid, Paragraph, Picture, Section
from workbench.render.values import CurveFigure

_PRIVATE = (
    "This report is private. Its figures were computed from the rows themselves, without noise, and no ε covers them. "
    "They help to choose a release and must not be published."
)
_PUBLIC = "The figures of this report were not computed from private rows."
MOST_ROWS = 2000
"""Lines of the table; a longer one ends with a sentence that says so."""


def study_report(figure: CurveFigure, figures: str) -> Document:
    """Return the report of a study.

    Args:
        figure: its picture; where it has a badge, so has every page.
        figures: its figures as CSV, the header first.
    """
    header, *lines = list(csv.reader(io.StringIO(figures))) or [["figures"]]
    wide = len(header)
    rows = tuple(tuple((line + [""] * wide)[:wide]) for line in lines[:MOST_ROWS])
    numbers = tuple(place for place in range(wide) if rows and all(_is_number(row[place]) for row in rows))
    table: list[Block] = [Grid(tuple(header), rows, numbers)]
    if len(lines) > MOST_ROWS:
        table.append(Paragraph(f"{len(lines) - MOST_ROWS:,} more lines are in the CSV file of the study.", "muted"))
    status = Section("Status", (Paragraph(_PRIVATE if figure.badge else _PUBLIC, "strong"),))
    return Document(
        title=figure.title,
        subtitle=figure.subtitle,
        sections=(status, Section("Picture", (Picture(figure),)), Section("Figures", tuple(table))),
        foot=f"privacy-workbench {workbench.__version__}" + (f" · {figure.badge}" if figure.badge else ""),
        badge=figure.badge,
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
