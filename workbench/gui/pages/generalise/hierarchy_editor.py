"""The hierarchy of one column: how it is made, its levels as a table, and its file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QFileDialog, QVBoxLayout, QWidget

from workbench.gui.pages.generalise.tasks import Levels
from workbench.gui.session.error_text import sentence
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_later, tr_sentence
from workbench.gui.widgets.basic import Elided, button, label, named, panel, row, say, stack
from workbench.gui.widgets.choice_box import ChoiceBox
from workbench.gui.widgets.dialogs import ask_where_to_save
from workbench.gui.widgets.lines_table import LinesTable
from workbench.gui.widgets.parameter_form import Form
from workbench.gui.widgets.table_model import Cell, Column
from workbench.params import WorkbenchError
from workbench.risk.hierarchies import BUILDERS, Builder, file_name

FILES = tr_later("Hierarchies (*.csv);;All files (*)")
TYPING_MS = 300
NONE = "none"
NO_HIERARCHY = tr_later("none")
WHY_ONE = tr_later("Of a sensitive column, t with the distance hierarchical alone takes a hierarchy.")
MOST_VALUES = 2000
"""Lines of a hierarchy that are shown."""


class TextTable(LinesTable):
    """A table of text whose columns change."""

    def __init__(self, session: Session, name: str, accessible: str) -> None:
        super().__init__(session, name, accessible, (Column("", width=72),), private=True)

    def show_rows(self, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Show rows of text; without a heading nothing at all."""
        lines = [tuple(Cell(text, tip=text) for text in line) for line in rows]
        self.show_columns([Column(title, width=72) for title in header or ("",)], lines)


class HierarchyEditor(QWidget):
    """Edits the hierarchy of one column: how it is made, its levels, import and export.

    Signals:
        wanted: (way, path or None) the column's hierarchy is to be made so, read from this file, or taken away.
        saved: (path) it is to be written there.
    """

    wanted = Signal(object)
    saved = Signal(object)

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._column = ""
        self._form: Form | None = None
        self._levels: Levels | None = None
        self.heading = Elided(kind="heading", name="generalise_column", least=48)
        self.builder = named(
            ChoiceBox(), "generalise_builder", tr("How the hierarchy is made"), tr("How the hierarchy is made")
        )
        for one in BUILDERS:
            self.builder.addItem(tr_sentence(one.title), one.name)
        self._from_file = tr("a file")
        self.builder.addItem(self._from_file, "")
        self.builder.activated.connect(self._choose)
        bring = button(
            tr("Import…"), "generalise_import", tip=tr("Read a hierarchy, one line per value: value;level 1;…;*")
        )
        bring.clicked.connect(self._import)
        self._export = button(tr("Export…"), "generalise_export", tip=tr("Write this hierarchy as such a file"))
        self._export.clicked.connect(self._save)
        self._why = label(tr(WHY_ONE), "muted", wrap=True, name="generalise_why_one")
        self._why.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.problem = label("", "problem", wrap=True, name="generalise_hierarchy_problem")
        self._forms = stack(spacing=0)
        self.levels = TextTable(session, "generalise_levels", tr("What each value becomes, level by level"))
        head = QWidget()
        line = row((self.heading, 1), self.builder, bring, self._export)
        head.setLayout(line)
        holder = panel(self._forms)
        self.setLayout(stack(head, holder, self._why, self.problem, self.levels, spacing=6))
        layout = self.layout()
        assert isinstance(layout, QVBoxLayout)
        layout.setStretch(2, 1)
        layout.setStretch(4, 1)
        self._typing = QTimer(self, singleShot=True, interval=TYPING_MS)
        self._typing.timeout.connect(self._make)
        self.show_column("", None)

    def show_column(self, name: str, levels: Levels | None, *, optional: bool = False) -> None:
        """Show the hierarchy of a column; none while it is being made, or where a column need not have one."""
        bare = optional and levels is None
        self._why.setVisible(bare)
        self.levels.setVisible(not bare)
        none = self.builder.findData(NONE)
        if optional and none < 0:
            self.builder.insertItem(0, tr(NO_HIERARCHY), NONE)
        elif none >= 0 and not optional:
            self.builder.removeItem(none)
        anew = name != self._column or self._way(levels) != self._way(self._levels)
        self._column, self._levels = name, levels
        self.heading.set_whole(name)
        self.refuse("")
        self._export.setEnabled(levels is not None)
        if levels is None:
            self._show_form(None)
            self.builder.setCurrentIndex(self.builder.findData(NONE))
            self.levels.show_rows((), ())
            return
        self.builder.setCurrentIndex(max(self.builder.findData(self._way(levels)), 0))
        if anew:
            self._show_form(levels)
        elif self._form is not None and levels.way is not None and self._form.value() != levels.way[1]:
            self._form.set_value(levels.way[1])
        titles = [tr("value"), *(tr("level {number}", number=n) for n in range(1, levels.hierarchy.height + 1))]
        rows = list(zip(*(level[:MOST_VALUES] for level in levels.hierarchy.levels), strict=True))
        self.levels.show_rows(titles, rows)

    def refuse(self, text: str) -> None:
        """Say why the hierarchy cannot be made so; nothing where it can."""
        say(self.problem, text)

    def refuse_error(self, error: BaseException) -> None:
        """Say why the hierarchy cannot be made or read."""
        if not isinstance(error, WorkbenchError):
            raise error
        self.refuse(sentence(error))

    @staticmethod
    def _way(levels: Levels | None) -> str:
        return NONE if levels is None else "" if levels.way is None else levels.way[0].name

    def _show_form(self, levels: Levels | None) -> None:
        if self._form is not None:
            self._forms.removeWidget(self._form)
            self._form.setParent(None)
            self._form.deleteLater()
            self._form = None
        if levels is None or levels.way is None:
            return
        builder, parameters = levels.way
        across = 2 if len(builder.parameters.declared()) > 1 else 1
        self._form = Form(f"generalise_{builder.name}", builder.parameters, across=across)
        self._form.set_value(parameters)
        self._form.changed.connect(self._typing.start)
        self._forms.addWidget(self._form)

    def _present(self) -> Builder | None:
        return next((one for one in BUILDERS if one.name == self.builder.currentData()), None)

    def _choose(self, _index: int) -> None:
        builder = self._present()
        if self.builder.currentData() == NONE:
            self.wanted.emit(None)
        elif builder is None:
            self._import()
        elif builder.name != self._way(self._levels):
            self._typing.stop()
            self.wanted.emit((builder, builder.parameters()))

    def _make(self) -> None:
        builder, value = self._present(), None if self._form is None else self._form.value()
        if builder is not None and value is not None:
            self.wanted.emit((builder, value))

    def _import(self) -> None:
        path = QFileDialog.getOpenFileName(self, tr("Import a hierarchy"), "", tr(FILES))[0]
        if path:
            self.wanted.emit(Path(path))
        else:
            self.builder.setCurrentIndex(self.builder.findData(self._way(self._levels)))

    def _save(self) -> None:
        path = ask_where_to_save(self, tr("Export the hierarchy"), file_name(self._column), FILES)
        if path:
            self.saved.emit(Path(path))
