"""What is filled in within a question stands below its words, not to the left of them."""

from __future__ import annotations

from decimal import Decimal

from PySide6.QtCore import QPoint, QTimer
from PySide6.QtWidgets import QApplication, QLabel, QMessageBox

from workbench.gui.gauges.cap_entry import FirstCap
from workbench.gui.session.account_view import AccountView
from workbench.gui.widgets.dialogs import choose


def test_the_field_of_the_first_cap_begins_where_the_words_begin(qtbot, window) -> None:
    begins: dict[str, int] = {}

    def look() -> None:
        box = QApplication.activeModalWidget()
        assert isinstance(box, QMessageBox)
        parts = {"words": box.findChild(QLabel, "qt_msgbox_label"), "entry": box.findChild(FirstCap)}
        for name, part in parts.items():
            begins[name] = part.mapTo(box, QPoint(0, 0)).x()
        box.reject()

    QTimer.singleShot(0, look)
    assert (
        choose(
            window, "Release this?", "It costs ε = 1.", {"yes": "Release"}, entry=FirstCap(AccountView(), Decimal(1))
        )
        == ""
    )
    assert begins["entry"] == begins["words"] > 0
