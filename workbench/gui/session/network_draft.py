"""The training of a network as it is planned for the images that are open, observable."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal

if TYPE_CHECKING:
    from workbench.deep.plan import DpSgdPlan


class NetworkDraft(QObject):
    """What the Train page was left with, where a person changed it; the project's file keeps it.

    Attributes:
        plan: the network and its parameters; ``None`` while nobody has changed what the page begins with.

    Signals:
        changed: another network, or another value of its form.
    """

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.plan: DpSgdPlan | None = None

    def set(self, plan: DpSgdPlan | None) -> None:
        """Take ``plan`` in place of the former one."""
        if plan != self.plan:
            self.plan = plan
            self.changed.emit()
