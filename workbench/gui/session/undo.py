"""Edits of the plan, and of a table that is no part of it, as steps that can be undone."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

from PySide6.QtGui import QUndoCommand


class PlanEdit(QUndoCommand):
    """One edit: the plan, or what else ``show`` takes, before it and after it."""

    def __init__(self, text: str, before: Any, after: Any, show: Callable[[Any], None], merge: str = "") -> None:
        super().__init__(text)
        self._before, self._after, self._show, self._merge = before, after, show, merge

    def undo(self) -> None:
        """Show the plan as it was."""
        self._show(self._before)

    def redo(self) -> None:
        """Show the plan as it became; Qt calls this when the step is pushed, too."""
        self._show(self._after)

    def id(self) -> int:
        """Return a number for the merge key; −1 keeps a step by itself."""
        return zlib.crc32(self._merge.encode()) & 0x7FFFFFFF if self._merge else -1

    def mergeWith(self, other: QUndoCommand) -> bool:  # noqa: N802 - Qt's name
        if not isinstance(other, PlanEdit) or other._merge != self._merge:
            return False
        self._after = other._after
        self.setText(other.text())
        self.setObsolete(self._after == self._before)
        return True
