"""Write a document as PDF and HTML, each complete or not at all; the report of a study."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import workbench
from workbench.params import InputError
from workbench.release.atomic import write_output
from workbench.render.document import Block, Document, Grid, Paragraph, Picture, Section
from workbench.render.document_html import page_html
from workbench.render.document_pdf import drawn_pictures, pdf_bytes
from workbench.render.values import CurveFigure

SUFFIXES = (".pdf", ".html")


def check_document_path(path: Path) -> None:
    """Refuse, before any work, a name that is neither of a PDF nor of an HTML file, or a place that is none.

    Raises:
        InputError: the suffix is another, or the folder does not exist.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise InputError("a document is a .pdf or .html file", str(path), "end the name in .pdf or .html")
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise InputError("the document cannot be written there", str(path), "give a file in an existing folder")


def write_document(document: Document, path: Path) -> None:
    """Write ``document`` as PDF or HTML, by the suffix of ``path``; what has a badge only its owner can read.

    Raises:
        InputError: the suffix is another, or the place cannot be written.
        WorkbenchError: Qt cannot print here.
    """
    check_document_path(path)
    write_output(path, document_bytes(document, path.suffix.lower()), private=bool(document.badge))


def document_bytes(document: Document, suffix: str) -> bytes:
    """Return ``document`` as a file that ends in ``suffix``, .pdf or .html."""
    return pdf_bytes(document) if suffix == ".pdf" else page_html(document, drawn_pictures(document)).encode()


_PRIVATE = (
    "This report is private. Its figures were computed from the rows themselves, without noise, and no ε covers them. "
    "They help to choose a release and must not be published."
)
_PUBLIC = "The figures of this report were not computed from private rows."
MOST_ROWS = 2000  # lines of the table; a longer one ends with a sentence that says so


def study_report(figure: CurveFigure, figures: str) -> Document:
    """Return the report of a study, from its figures as CSV; where the picture has a badge, so has every page."""
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
