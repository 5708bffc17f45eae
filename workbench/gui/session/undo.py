"""Edits of the plan, of a table that is no part of it and of forms, as steps that can be undone."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from PySide6.QtGui import QUndoCommand, QUndoStack

from workbench.gui.style.language import tr


class PlanEdit(QUndoCommand):
    """One edit: the plan, or what else ``show`` takes, before it and after it."""

    def __init__(self, text: str, before: Any, after: Any, show: Callable[[Any], None], merge: str = "") -> None:
        super().__init__(text)
        self._before, self._after, self._show, self._merge = before, after, show, merge

    def undo(self) -> None:
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


class FormSteps:
    """What a person changes in a form, as steps: its state before and after each change."""

    def __init__(
        self,
        stack: QUndoStack,
        name: str,
        state: Callable[[], Mapping[Any, Any]],
        show: Callable[[Mapping[Any, Any]], None],
        title: Callable[[Any], str],
        written: Callable[[Any], bool],
    ) -> None:
        """Watch the form ``name``; in a field that is ``written``, a word is one step, not each of its letters."""
        self._stack, self._name, self._state, self._show = stack, name, state, show
        self._title, self._written = title, written
        self._former: Mapping[Any, Any] = {}
        self._unasked = 0

    def begin(self, state: Mapping[Any, Any] | None = None) -> None:
        """Take what is there, or this ``state``, as it is: nobody chose it."""
        self._former = self._state() if state is None else state

    @contextmanager
    def unasked(self) -> Iterator[None]:
        """Make no step of what changes meanwhile: no person asked for it."""
        self._unasked += 1
        try:
            yield
        finally:
            self._unasked -= 1
            self.begin()

    def keep(self, field: Any = None) -> None:
        """Make what a person changed a step, named after ``field`` or the first field that differs."""
        former, after = self._former, self._state()
        changed = [key for key, value in after.items() if key in former and former[key] != value]
        if not changed or self._unasked:
            self._former = former if self._unasked else after
            return
        field = changed[0] if field is None else field
        merge = f"{self._name} {field}" if self._written(field) else ""
        words = tr("change {title}", title=self._title(field))
        self._stack.push(PlanEdit(words, former, after, self._restore, merge))

    def _restore(self, state: Mapping[Any, Any]) -> None:
        self._former = state
        if state != self._state():
            self._show(state)
