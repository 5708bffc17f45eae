"""What the tests of mishaps share: what stands in the ledger and on the disk, what was said, slow work."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtWidgets import QLabel, QLineEdit, QWidget

from workbench.gui.window import MainWindow
from workbench.release.ledger import Ledger

PATIENCE = 120_000
"""Milliseconds within which something must come true, on a machine that is busy with other things too."""


def statuses() -> list[str]:
    """Return the status of every release in the ledger, in order."""
    with Ledger.open() as book:
        assert book.verify() == []
        return [release.status for release in book.releases()]


def banner(window: MainWindow) -> str:
    """Return what the banner says, empty while it is hidden."""
    text = window.findChild(QLabel, "banner_text")
    return text.text() if text.isVisible() else ""


class Heard:
    """Every warning and error that was told, in order: there must be exactly one of each mishap."""

    def __init__(self, window: MainWindow) -> None:
        self.lines: list[str] = []
        window.session.told.connect(self._hear)
        window.jobs.noticed.connect(self._hear)

    def _hear(self, level: str, text: str) -> None:
        if level != "info":
            self.lines.append(text)

    def one(self) -> str:
        """Return the one message there was, and forget it."""
        (line,) = self.lines
        self.lines.clear()
        assert line.count(". ") <= 1, f"not one or two sentences: {line}"
        assert "Traceback" not in line
        return line


def text_of(window: QWidget, name: str) -> str:
    """Return the text of the label of that name."""
    label = window.findChild(QLabel, name)
    assert label is not None, name
    return label.text()


def retype(window: QWidget, qtbot, name: str, text: object) -> None:
    """Type over the field of that name."""
    field = window.findChild(QLineEdit, name)
    field.selectAll()
    qtbot.keyClicks(field, str(text))


def big_table(path: Path, rows: int = 400_000) -> Path:
    """Write a table that takes a while to read: quotes and blanks, as files have."""
    block = "".join(f'{i % 97},"{i % 7} words, quoted",{i % 1000}.5,{"ab"[i % 2]}\n' for i in range(10_000))
    path.write_text("age,note,pay,town\n" + block * (rows // 10_000), "utf-8")
    return path


def lines_of(path: Path) -> int:
    """Return the number of lines of a file."""
    return path.read_bytes().count(b"\n")
