"""Help: a field to search, the topics that match, and the text of one."""

from __future__ import annotations

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QSize, Qt
from PySide6.QtGui import QFont, QTextCharFormat, QTextCursor, QTextDocument
from PySide6.QtWidgets import QListWidget, QListWidgetItem, QStyledItemDelegate, QStyleOptionViewItem, QTextBrowser

from workbench.gui.pages import page_called
from workbench.gui.pages.base import PageFrame
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import Session
from workbench.gui.style.language import language, tr
from workbench.gui.widgets.basic import Card, hold_most, named, row
from workbench.gui.widgets.choice_box import SearchField
from workbench.render.fonts import font, scaled
from workbench.render.help_topics import search_topics, topic_markdown

LIST_WIDTH, WIDEST = 300, 420
READABLE = 900  # pixels of the text: longer lines are tiring to follow

PADDING = 16  # pixels beside the words of a line, left and right together, as the style sheet says
TOPIC = Qt.ItemDataRole.UserRole
ModelIndex = QModelIndex | QPersistentModelIndex


class _Padded(QStyledItemDelegate):
    """Breaks words in the width that the style sheet leaves them; Qt measures a wider one, and cuts the last word."""

    def sizeHint(self, option: QStyleOptionViewItem, index: ModelIndex) -> QSize:  # noqa: N802 - Qt's name
        option.rect.setWidth(option.rect.width() - PADDING)
        return super().sizeHint(option, index)


class HelpPage(PageFrame):
    """The page; it shows the topic that was asked for last anywhere in the window."""

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__(session, jobs, page_called("help"))
        self._list = named(QListWidget(), "help_topics", tr("Topics"))
        self._list.setWordWrap(True)
        self._list.setItemDelegate(_Padded(self._list))
        self._list.setResizeMode(QListWidget.ResizeMode.Adjust)  # a scroll bar narrows the lines
        self._list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._search = named(SearchField(self._list), "help_search", tr("Search the help"))
        self._search.setPlaceholderText(tr("Search the help"))
        self._search.setClearButtonEnabled(True)
        self._text = named(QTextBrowser(), "help_text", tr("The text of the topic"))
        self._text.setOpenLinks(False)
        left = Card(self._search, self._list, pad=8)
        left.setFixedWidth(scaled(LIST_WIDTH, WIDEST))
        session.theme_changed.connect(lambda: left.setFixedWidth(scaled(LIST_WIDTH, WIDEST)))
        self._right = right = Card(self._text, pad=8)
        hold_most(right, READABLE)
        self._cards = row(left, (right, 100), None, spacing=12)
        self.body.addLayout(self._cards, 1)
        self.set_note(tr("The same text as “workbench help TOPIC” prints. Nothing here reads the table."))
        self._search.textChanged.connect(self._narrow)
        self._list.currentItemChanged.connect(lambda item, _former: self._show(item))
        session.help_asked.connect(self.show_topic)
        session.theme_changed.connect(lambda: self._show(self._list.currentItem()))
        self._narrow("")
        self.show_topic(session.help_topic or "window")

    def resized(self) -> None:
        """Leave room beside the text only where it is as wide as can be read."""
        room = self._cards.geometry().width() - self._right.x()
        self._cards.setStretch(2, int(room > self._right.maximumWidth()))

    def show_topic(self, name: str) -> None:
        self._search.clear()
        self._choose(name)

    def retranslate(self) -> None:
        item = self._list.currentItem()
        topic = "" if item is None else item.data(TOPIC)
        self._narrow(self._search.text())
        self._choose(topic)

    def _choose(self, name: str) -> None:
        for at in range(self._list.count()):
            if self._list.item(at).data(TOPIC) == name:
                self._list.setCurrentRow(at)

    def take_keys(self) -> None:
        self._search.setFocus()

    def _narrow(self, typed: str) -> None:
        self._list.clear()
        for hit in search_topics(typed, language()):
            item = QListWidgetItem(f"{hit.title}\n{hit.line}" if typed.strip() and hit.line else hit.title)
            item.setData(TOPIC, hit.topic)
            self._list.addItem(item)
        self._list.setCurrentRow(0)

    def _show(self, item: QListWidgetItem | None) -> None:
        if item is None:
            self._text.setMarkdown(tr("Nothing in the help contains all of these words."))
            return
        self._text.setMarkdown(topic_markdown(item.data(TOPIC), language()))
        _space_out(self._text.document())


def _space_out(document: QTextDocument) -> None:
    """Set space between paragraphs and headings: Qt gives those that it reads from Markdown no space."""
    block = document.begin()
    while block.isValid():
        cursor, shape = QTextCursor(block), block.blockFormat()
        if shape.headingLevel():
            cursor.select(QTextCursor.SelectionType.BlockUnderCursor)
            letters = QTextCharFormat()
            letters.setFont(font(20 if shape.headingLevel() == 1 else 15, QFont.Weight.DemiBold))
            cursor.mergeCharFormat(letters)
        if cursor.currentTable() is None:
            shape.setBottomMargin(scaled(8))
            cursor.mergeBlockFormat(shape)
        block = block.next()
