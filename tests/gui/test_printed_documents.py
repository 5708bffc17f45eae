"""Documents are the same in JSON, HTML and PDF; nothing in them runs, and a badge stands across every page."""

import pickle
import re
from pathlib import Path

import pytest
from PySide6.QtCore import QBuffer
from PySide6.QtGui import QColor, QImage, QPainter, QPdfWriter, QTextCursor

from workbench.params import InputError
from workbench.release.documents.written_document import check_document_path, study_report
from workbench.render import document_pdf
from workbench.render.document import Bullets, Document, FactList, Grid, Paragraph, Picture, Section
from workbench.render.document_html import page_html
from workbench.render.document_pdf import RESOLUTION, dated, drawn_pictures, laid_out, paint_page, pdf_bytes
from workbench.render.values import CurveFigure, Series

LINE = Series("private model", "private", (0.1, 1.0), (0.5, 0.7), (0.4, 0.6), (0.6, 0.8))
FIGURE = CurveFigure("Accuracy against ε", "ε (log scale)", "accuracy", (LINE,), subtitle="made up")
HOSTILE = "<script>alert(1)</script>\x1b[2J\u202e & \"city\" 'x'"
LONG = Section("Lines", tuple(Paragraph(f"line {i}") for i in range(90)))
PUBLIC = Document(
    "Certificate",
    HOSTILE,
    (
        Section("One", (Paragraph(HOSTILE), Paragraph("a = 1\n[[b]]", "code"), Bullets((HOSTILE, "two")))),
        Section("Two", (FactList((("ε", "1"), (HOSTILE, HOSTILE))), Grid(("a", "b"), (("x", "1"), ("y", "2")), (1,)))),
        LONG,
    ),
    foot="release 1",
    time="2026-11-22T20:31:18.492+00:00",
)


def test_no_name_of_a_file_becomes_markup_or_a_command():
    text = page_html(PUBLIC)
    assert "<script" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert not re.search("[\x00-\x09\x0b-\x1f\u202e]", text)
    assert "default-src 'none'" in text
    assert not re.search(r"(src|href)\s*=", text)


def test_a_figure_is_printed_and_never_published():
    with pytest.raises(ValueError, match="printed, not published"):
        page_html(study_report(FIGURE, "a\n1\n"))


def test_the_same_document_gives_the_same_pdf_dated_as_the_release():
    first, again = pdf_bytes(PUBLIC), pdf_bytes(PUBLIC)
    assert first == again
    assert first.startswith(b"%PDF-")
    assert set(re.findall(rb"/(?:Creation|Mod)Date \(D:(\d{14})Z", first)) == {b"20261122203118"}
    assert len(re.findall(rb"/Type\s*/Page\b", first)) >= 3


def test_another_date_takes_as_many_bytes():
    data = b"1 0 obj /CreationDate (D:20990101000000+02'00') /ModDate (D:20990101000000Z) endobj"
    changed = dated(data, "2026-01-02T03:04:05")
    assert len(changed) == len(data)
    assert changed.count(b"D:20260102030405Z") == 2
    assert b"2099" not in changed


def pages(document: Document) -> list[QImage]:
    """Return every page as it is painted, on a small sheet."""
    images = []
    probe = QImage(10, 10, QImage.Format.Format_RGB32)
    probe.setDotsPerMeterX(2835)
    probe.setDotsPerMeterY(2835)
    text = laid_out(document, probe, 500, 600)
    for page in range(text.pageCount()):
        image = QImage(500, 700, QImage.Format.Format_RGB32)
        image.fill(QColor("white"))
        with QPainter(image) as painter:
            paint_page(document, text, painter, page, (500, 700))
        images.append(image)
    return images


def reddish(image: QImage) -> int:
    """Return how many points in the middle of a page have the colour of the watermark."""
    count = 0
    for x in range(150, 350, 6):
        for y in range(200, 500, 6):
            colour = image.pixelColor(x, y)
            count += colour.red() - colour.blue() > 15
    return count


def test_a_private_report_is_marked_on_every_page(qapp):
    report = study_report(FIGURE, "regime,value\n" + "none,0.5\n" * 60)
    assert report.badge == FIGURE.badge != ""
    marked = pages(report)
    assert len(marked) >= 3
    assert all(reddish(page) > 25 for page in marked)
    assert all(reddish(page) == 0 for page in pages(PUBLIC))


def test_a_report_shows_the_figure_and_its_figures():
    report = study_report(FIGURE, "regime,epsilon,value\nnone,,0.75\nsanitized,1,0.5\n")
    status, picture, figures = report.sections
    assert "must not be published" in str(status)
    assert picture.blocks == (Picture(FIGURE),)
    assert figures.blocks == (
        Grid(("regime", "epsilon", "value"), (("none", "", "0.75"), ("sanitized", "1", "0.5")), (2,)),
    )


@pytest.mark.parametrize(
    ("name", "told"), [("a.doc", "a .pdf or .html"), ("no/a.pdf", "cannot be written"), ("a.html", "")]
)
def test_a_document_has_a_name_that_says_what_it_is(tmp_path, monkeypatch, name, told):
    monkeypatch.chdir(tmp_path)
    if not told:
        check_document_path(Path(name))
        return
    with pytest.raises(InputError, match=re.escape(told)):
        check_document_path(Path(name))


def test_a_page_with_drawn_figures_loads_nothing_from_elsewhere():
    report = study_report(FIGURE, "a\n1\n")
    drawn = drawn_pictures(report)
    assert [image[:8] for image in drawn] == [b"\x89PNG\r\n\x1a\n"]
    text = page_html(report, drawn)
    assert "img-src data:" in text
    assert re.findall(r"src\s*=\s*\"([^,]*),", text) == ["data:image/png;base64"]
    assert drawn_pictures(PUBLIC) == []


def test_what_a_child_answers_is_never_unpickled(monkeypatch):
    monkeypatch.setattr(document_pdf, "answer_of_child", lambda module, request: (0, pickle.dumps([b"image"]), ""))
    with pytest.raises(ValueError, match="decode"):
        drawn_pictures(study_report(FIGURE, "a\n1\n"))


def test_no_heading_stands_at_the_foot_of_a_page(qapp):
    parts = [
        block
        for k in range(60)
        for block in (Paragraph(f"Head {k}", "strong"), *(Paragraph(f"line {i}") for i in range(k % 3 + 1)))
    ]
    document = Document("Title", "", (Section("All", tuple(parts)),))
    memory = QBuffer()
    memory.open(QBuffer.OpenModeFlag.WriteOnly)
    writer = QPdfWriter(memory)
    writer.setResolution(RESOLUTION)
    text = laid_out(document, writer, 2000, 2900)
    block, layout = text.begin(), text.documentLayout()
    seen, alone = [], []
    while block.isValid():
        seen.append(block.text())
        if block.text().startswith("Head"):
            pages = [int(layout.blockBoundingRect(one).bottom() - 1) // 2900 for one in (block, block.next())]
            alone += [block.text()] * (pages[0] != pages[1])
        block = block.next()
    assert alone == []
    assert text.pageCount() > 2
    assert [line for line in seen if line.startswith("Head")] == [f"Head {k}" for k in range(60)]


def test_no_row_of_a_table_is_on_two_pages_and_no_heading_without_it(qapp):
    grids = [
        part
        for k in range(30)
        for part in (
            Paragraph(f"Table {k}", "strong"),
            Grid(
                ("name", "one", "other"), tuple((f"row {i}", "word " * 9 * (i % 7), "word " * k) for i in range(k + 1))
            ),
        )
    ]
    facts = FactList(tuple((f"fact {i}", "word " * 20 * (i % 4)) for i in range(99)))
    memory = QBuffer()
    memory.open(QBuffer.OpenModeFlag.WriteOnly)
    writer = QPdfWriter(memory)
    writer.setResolution(RESOLUTION)
    text = laid_out(Document("Title", "", (Section("All", (*grids, facts)),)), writer, 2000, 2900)
    layout, block = text.documentLayout(), text.begin()
    pages: dict[tuple[int, int], set[int]] = {}
    headings = []
    while block.isValid():
        box, table = layout.blockBoundingRect(block), QTextCursor(block).currentTable()
        here = {int(box.top() + 1) // 2900, int(box.bottom() - 1) // 2900}
        if table is not None:
            pages.setdefault((table.firstPosition(), table.cellAt(block.position()).row()), set()).update(here)
        elif block.text().startswith("Table"):
            table = QTextCursor(block.next().next()).currentTable()  # Qt puts an empty block before a table
            headings.append((here, table.firstPosition()))
        block = block.next()
    assert [row for row, on in pages.items() if len(on) > 1] == []
    assert [at for here, at in headings if pages[at, 0] != here or pages[at, 1] != here] == []
    assert (len(headings), len(pages)) == (30, sum(k + 2 for k in range(30)) + 99)
    assert text.pageCount() > 10
