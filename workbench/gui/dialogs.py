"""The few questions that are asked in a window of their own: which file, and whether to lose or publish something."""

from __future__ import annotations

from PySide6.QtWidgets import QFileDialog, QMessageBox, QWidget

TABLES = "Tables (*.csv *.tsv *.txt *.parquet *.pq *.feather *.arrow *.ipc);;All files (*)"


def ask_for_table(parent: QWidget) -> str:
    """Ask which table to open; empty where the person thought better of it."""
    return QFileDialog.getOpenFileName(parent, "Open a table", "", TABLES)[0]


def ask_where_to_save(parent: QWidget, title: str, suggested: str, kinds: str) -> str:
    """Ask where to save something; empty where the person thought better of it."""
    return QFileDialog.getSaveFileName(parent, title, suggested, kinds)[0]


def confirm(parent: QWidget, title: str, text: str, verb: str) -> bool:
    """Ask whether to do what cannot be undone; Esc and Return say no."""
    box = QMessageBox(QMessageBox.Icon.NoIcon, title, text, parent=parent)
    box.setObjectName("confirm")
    yes = box.addButton(verb, QMessageBox.ButtonRole.AcceptRole)
    yes.setObjectName("confirm_yes")
    no = box.addButton("Cancel", QMessageBox.ButtonRole.RejectRole)
    no.setObjectName("confirm_no")
    box.setDefaultButton(no)
    box.setEscapeButton(no)
    box.exec()
    return box.clickedButton() is yes
