"""A document as PDF, printed by Qt in a child process without a screen; a badge is printed across every page."""

from __future__ import annotations

import base64
import html
import importlib
import json
import re
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from workbench.params import WorkbenchError
from workbench.render.document import Document, Picture
from workbench.render.document_html import body_html
from workbench.render.offscreen import APT, LATE, NO_QT, PATIENCE, answer_of_child, asked_of_child, paint
from workbench.render.palette import LIGHT, THEMES
from workbench.render.values import kind_of

if TYPE_CHECKING:
    from PySide6.QtGui import QFont, QPainter, QPdfWriter, QTextBlock, QTextDocument, QTextTable

RESOLUTION = 288  # dots per inch in which the text is laid out

MARGIN = 18.0  # millimetres

_FOOT = 26.0  # points at the foot of a page for its number

_SHARP = 2000  # pixels of a picture from side to side

_HEAD = 60  # letters of a strong paragraph that is a heading, at most

_DOT = RESOLUTION / 72  # dots of the page in a point

_PX = 96 / 72  # pixels of a style sheet in a point: Qt scales them by the resolution, and takes margins in nothing else

_STYLE = f"""
body {{ color: {LIGHT.text}; font-size: 9.5pt; }}
h2 {{ font-size: 12pt; margin-top: {round(16 * _PX)}px; margin-bottom: {round(5 * _PX)}px; }}
p {{ margin-top: {round(5 * _PX)}px; margin-bottom: {round(5 * _PX)}px; }}
table {{ margin-top: {round(2 * _PX)}px; margin-bottom: {round(2 * _PX)}px; }}
.muted {{ color: {LIGHT.muted}; }} .strong {{ font-weight: 600; }}
.formula {{ font-size: 11pt; text-align: center; }}
th {{ color: {LIGHT.muted}; font-weight: 600; border-bottom: 1px solid {LIGHT.muted}; }}
td {{ border-bottom: 1px solid {LIGHT.line}; }}
pre {{ font-family: monospace; font-size: 8pt; color: {LIGHT.text}; white-space: pre-wrap; }}
"""


def pdf_bytes(document: Document) -> bytes:
    """Return ``document`` as a PDF of A4 pages; the same document gives the same bytes.

    Raises:
        WorkbenchError: a library of Qt is missing, or printing failed.
    """
    return _by_child(document)


def drawn_pictures(document: Document) -> list[bytes]:
    """Return the figures of ``document`` as PNG, in order; nothing is started where it has none.

    Raises:
        WorkbenchError: a library of Qt is missing, or drawing failed.
    """
    if not document.pictures:
        return []
    # Not unpickled: what the child draws may be made of somebody else's file.
    return [base64.b64decode(image) for image in json.loads(_by_child(document, pictures=True))]


def _by_child(document: Document, *, pictures: bool = False) -> bytes:
    """Return what the child writes: the document, or its figures as a list of PNGs in JSON (base64)."""
    status, data, last = answer_of_child("workbench.render.document_pdf", (document, pictures))
    if status == LATE:
        raise WorkbenchError(f"the document was not printed in {PATIENCE:.0f} seconds", hint="try again")
    if status == NO_QT:
        raise WorkbenchError(f"Qt cannot print the document: {last}", hint=f"on Debian or Ubuntu: {APT}")
    if status:
        raise WorkbenchError(f"the document could not be printed: {last}", hint="report this")
    return data


def main() -> int:
    """Print the document on standard input to standard output; the child's only task."""
    document, pictures = asked_of_child()
    try:
        from PySide6.QtWidgets import QApplication
    except ImportError as error:
        sys.stderr.write(f"{error}\n")
        return NO_QT
    # Held to the end of the process: Qt crashes where a widget outlives its application.
    application = QApplication([])
    images = (base64.b64encode(_png(picture)).decode() for picture in document.pictures)
    sys.stdout.buffer.write(json.dumps([*images]).encode() if pictures else printed(document))
    sys.stdout.buffer.flush()
    application.quit()
    return 0


def printed(document: Document) -> bytes:
    """Return the PDF of ``document``; needs a Qt application."""
    from PySide6.QtCore import QBuffer, QMarginsF, QUuid
    from PySide6.QtGui import QPageLayout, QPageSize, QPainter, QPdfWriter

    memory = QBuffer()
    memory.open(QBuffer.OpenModeFlag.WriteOnly)
    writer = QPdfWriter(memory)
    writer.setResolution(RESOLUTION)
    writer.setPageSize(QPageSize(QPageSize.PageSizeId.A4))
    writer.setPageMargins(QMarginsF(MARGIN, MARGIN, MARGIN, MARGIN), QPageLayout.Unit.Millimeter)
    writer.setTitle(document.title)
    writer.setCreator("Privacy Workbench")
    # Both would differ from print to print: the id is the same for all, and the date is the release's.
    writer.setDocumentId(QUuid("{00000000-0000-0000-0000-000000000000}"))
    writer.setDocumentXmpMetadata(b"<x:xmpmeta xmlns:x='adobe:ns:meta/'/>")
    painter = QPainter(writer)
    paint_pages(document, painter, writer)
    painter.end()
    return dated(bytes(memory.data().data()), document.time)


def dated(data: bytes, time: str) -> bytes:
    """Return a PDF with other dates, in as many bytes; the clock is no part of a document."""
    digits = (re.sub(r"\D", "", time)[:14] or "0" * 14).ljust(14, "0").encode()

    def put(found: re.Match[bytes]) -> bytes:
        stated = found.group(1) + digits + b"Z)"
        return stated + b" " * (len(found.group()) - len(stated))

    return re.sub(rb"(/(?:Creation|Mod)Date \(D:)\d{14}[^)]*\)", put, data)


def paint_pages(document: Document, painter: QPainter, writer: QPdfWriter) -> int:
    """Paint every page of ``document``; return their number."""
    text = laid_out(document, writer, writer.width(), writer.height() - _points(_FOOT))
    for page in range(text.pageCount()):
        if page:
            writer.newPage()
        paint_page(document, text, painter, page, (writer.width(), writer.height()))
    return text.pageCount()


def laid_out(document: Document, device: Any, width: float, height: float) -> QTextDocument:
    """Return the text of ``document``, laid out in pages of ``width`` by ``height`` dots."""
    from PySide6.QtCore import QSizeF, QUrl
    from PySide6.QtGui import QTextDocument

    pictures: list[Any] = []

    def picture(block: Picture) -> str:
        pictures.append(_drawn(block))
        pixels = round(width * 96 / device.logicalDpiX())
        return f'<p align="center"><img src="figure:{len(pictures) - 1}" width="{pixels}"></p>'

    text = QTextDocument()
    text.documentLayout().setPaintDevice(device)
    text.setDefaultFont(_face(9.5))
    text.setUseDesignMetrics(True)
    text.setDocumentMargin(0)
    text.setDefaultStyleSheet(_STYLE)
    body = body_html(document, picture)
    for place, image in enumerate(pictures):
        text.addResource(QTextDocument.ResourceType.ImageResource.value, QUrl(f"figure:{place}"), image)
    text.setHtml(f"<body>{_head(document)}{body}</body>".replace(" %", "\u00a0%"))  # no line begins with %
    text.setPageSize(QSizeF(width, height))
    _keep_together(text)
    return text


def _keep_together(text: QTextDocument) -> None:
    """Put no heading at the foot of a page, away from what it is about, and no row of a table on two pages."""
    from PySide6.QtGui import QTextBlock, QTextCursor

    layout, block = text.documentLayout(), text.begin()
    high = text.pageSize().height()
    while (below := _filled(block, QTextBlock.next)).isValid():  # what is moved moves only what is below it
        if _heads(block):
            pages = [int((layout.blockBoundingRect(one).bottom() - 1) // high) for one in (block, below)]
            if pages[0] != pages[1]:
                _break_before(text, block)
        elif (table := QTextCursor(block).currentTable()) is not None:
            cell = table.cellAt(block.position())
            if cell.column() == 0 and cell.firstCursorPosition().block() == block:
                _keep_row(text, table, cell.row())
        block = below


def _keep_row(text: QTextDocument, table: QTextTable, row: int) -> None:
    """Move a row that begins on one page and ends on another to the next page; one longer than a page stays.

    Qt breaks the lines of each cell by themselves. A page break in a cell would leave a page empty, so that the row
    above is made as high as the page has room.
    """
    layout, high = text.documentLayout(), text.pageSize().height()
    rects = [
        layout.blockBoundingRect(table.cellAt(row, at).firstCursorPosition().block()) for at in range(table.columns())
    ]
    top, bottom = min(rect.top() for rect in rects), max(rect.bottom() for rect in rects)
    page, left = int((top + 1) // high), high - top % high
    if int((bottom - 1) // high) == page or bottom - top > high / 2:
        return
    if row <= table.format().headerRowCount():
        _break_before(text, table.firstCursorPosition().block())
        return
    # Less than a line is left, so that Qt itself moves the row.
    room = (left - _points(4)) * 96 / layout.paintDevice().logicalDpiY()
    for at in range(table.columns()):
        above = table.cellAt(row - 1, at)
        kept = above.format().toTableCellFormat()
        kept.setBottomPadding(table.format().cellPadding() + room)
        above.setFormat(kept)
    text.markContentsDirty(0, text.characterCount())


def _break_before(text: QTextDocument, block: QTextBlock) -> None:
    """Begin a page with a block, or the table that it is in, and with the headings above it."""
    from PySide6.QtGui import QTextBlock, QTextCursor, QTextFormat

    table, first = QTextCursor(block).currentTable(), block
    while _heads(above := _filled(first, QTextBlock.previous)):
        first = above
    if table is not None and first == block:
        framed = table.format()
        framed.setPageBreakPolicy(QTextFormat.PageBreakFlag.PageBreak_AlwaysBefore)
        table.setFormat(framed)
    else:
        kept = first.blockFormat()
        kept.setPageBreakPolicy(QTextFormat.PageBreakFlag.PageBreak_AlwaysBefore)
        QTextCursor(first).setBlockFormat(kept)
    text.markContentsDirty(0, text.characterCount())  # Qt would lay out a part of it only


def _filled(block: QTextBlock, step: Callable[[QTextBlock], QTextBlock]) -> QTextBlock:
    """Return the block before or after another, without the empty ones that Qt puts around a table."""
    from PySide6.QtGui import QTextCursor

    found = step(block)
    while found.isValid() and not found.text() and QTextCursor(found).currentTable() is None:
        found = step(found)
    return found


def _heads(block: Any) -> bool:
    """Return whether a block of text is a heading, or a short line used as one."""
    from PySide6.QtGui import QTextCursor

    if not block.isValid() or QTextCursor(block).currentTable() is not None:
        return False
    strong = block.charFormat().fontWeight() >= 600 and len(block.text()) <= _HEAD
    return bool(block.blockFormat().headingLevel() or strong)


def paint_page(
    document: Document, text: QTextDocument, painter: QPainter, page: int, size: tuple[float, float]
) -> None:
    """Paint one page with its foot, and the badge across it."""
    from PySide6.QtCore import QRectF, Qt
    from PySide6.QtGui import QColor, QPen

    width, height = size
    body = text.pageSize().height()
    painter.save()
    painter.translate(0, -page * body)
    text.drawContents(painter, QRectF(0, page * body, width, body))
    painter.restore()
    painter.setFont(_face(7.5))
    painter.setPen(QPen(QColor(LIGHT.line), 1))
    line = height - _points(_FOOT - 12)
    painter.drawLine(0, round(line), round(width), round(line))
    painter.setPen(QColor(LIGHT.muted))
    foot = QRectF(0, line, width, _points(14))
    painter.drawText(foot, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, document.foot)
    stated = f"page {page + 1} of {text.pageCount()}"
    painter.drawText(foot, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, stated)
    if document.badge:
        _watermark(document.badge.upper(), painter, width, height)


def _watermark(badge: str, painter: QPainter, width: float, height: float) -> None:
    from PySide6.QtCore import QPointF
    from PySide6.QtGui import QColor, QFont, QFontMetricsF

    from workbench.render.fonts import font

    face = font(100, QFont.Weight.Bold)
    long = QFontMetricsF(face).horizontalAdvance(badge)
    # Across the page, as long as nine tenths of its diagonal.
    face.setPixelSize(max(1, int(100 * 0.9 * (width**2 + height**2) ** 0.5 / long)))
    painter.save()
    colour = QColor(THEMES["light"].danger)
    colour.setAlphaF(0.16)
    painter.setPen(colour)
    painter.setFont(face)
    painter.translate(width / 2, height / 2)
    painter.rotate(-54.7)  # the diagonal of a sheet of A4
    metrics = QFontMetricsF(face)
    painter.drawText(QPointF(-metrics.horizontalAdvance(badge) / 2, metrics.capHeight() / 2), badge)
    painter.restore()


def _head(document: Document) -> str:
    title, subtitle = html.escape(document.title), html.escape(document.subtitle)
    badge = f'<p style="color:{LIGHT.danger}; font-weight:600">{html.escape(document.badge.upper())}</p>'
    head = f'<p style="font-size:19pt; font-weight:600">{title}</p><p class="muted">{subtitle}</p>'
    return (badge if document.badge else "") + head


def _drawn(block: Picture) -> Any:
    from PySide6.QtGui import QImage

    scale = _SHARP / block.width
    module = importlib.import_module(kind_of(block.figure).module)
    image = QImage(_SHARP, round(block.height * scale), QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(scale)
    paint(module.view(block.figure, LIGHT), image, block.width, block.height)
    return image


def _png(block: Picture) -> bytes:
    from PySide6.QtCore import QBuffer

    memory = QBuffer()
    memory.open(QBuffer.OpenModeFlag.WriteOnly)
    if not _drawn(block).save(memory, "PNG"):
        raise OSError("the figure cannot be written as PNG")
    return bytes(memory.data().data())


def _face(points: float) -> QFont:
    """Return the typeface with its plain figures: readers of a PDF can copy and search only those."""
    from PySide6.QtGui import QFont

    from workbench.render.fonts import font

    face = font(12)
    face.clearFeatures()
    face.setFeature(QFont.Tag("calt"), 0)
    face.setPointSizeF(points)
    return face


def _points(points: float) -> float:
    return points * _DOT


if __name__ == "__main__":
    sys.exit(main())
