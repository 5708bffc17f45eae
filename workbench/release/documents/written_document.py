"""A document as the files that a person asked for: PDF and HTML, each whole or not at all."""

from __future__ import annotations

from pathlib import Path

from workbench.params import InputError
from workbench.release.atomic import PartFile, write_error
from workbench.render.document import Document
from workbench.render.document_html import page_html
from workbench.render.document_pdf import drawn_pictures, pdf_bytes

SUFFIXES = (".pdf", ".html")


def check_document_path(path: Path) -> None:
    """Refuse, before any work, a name that is neither of a PDF nor of an HTML file, or a place that is none.

    Raises:
        InputError: the suffix is another, or the folder does not exist.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise InputError("a document is a .pdf or .html file", str(path), "end the name in .pdf or .html")
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise InputError("the document cannot be written there", str(path), "name a file in a folder that exists")


def write_document(document: Document, path: Path) -> None:
    """Write ``document`` as PDF or HTML, by the suffix of ``path``; what has a badge only its owner can read.

    Raises:
        InputError: the suffix is another, or the place cannot be written.
        WorkbenchError: Qt cannot print here.
    """
    check_document_path(path)
    data = document_bytes(document, path.suffix.lower())
    with PartFile(path, private=bool(document.badge)) as part:
        try:
            part.stream.write(data)
            part.publish()
        except OSError as error:
            raise write_error(error, path) from None


def document_bytes(document: Document, suffix: str) -> bytes:
    """Return ``document`` as a file that ends in ``suffix``, .pdf or .html."""
    return pdf_bytes(document) if suffix == ".pdf" else page_html(document, drawn_pictures(document)).encode()
