"""The entry of a cap: a number as it is written, empty where none is set."""

from __future__ import annotations

from decimal import Decimal

from PySide6.QtWidgets import QLineEdit

from workbench.gui.widgets.basic import mark_wrong, named
from workbench.gui.widgets.formatting import entered
from workbench.params import ParameterError
from workbench.params.field import RealField
from workbench.privacy.accounting.event import exact

DELTA = RealField(help="the cap of δ", symbol="δ", at_least=0, below=1)


class DeltaCap(QLineEdit):
    """The cap of δ; empty leaves it as it is."""

    def __init__(self, name: str, tip: str) -> None:
        super().__init__()
        named(self, name, "Cap of δ", tip)
        self.setPlaceholderText("none yet")
        self.setFixedWidth(88)
        self.textEdited.connect(lambda: mark_wrong(self, bool(self.problem())))

    def show_present(self, cap: Decimal | None) -> None:
        """Show the cap that stands, unless the person is typing another."""
        if not self.hasFocus():
            self.setText("" if cap is None else entered(cap))
            mark_wrong(self, wrong=False)

    def problem(self) -> str:
        """Return why the text is refused; empty where it is not."""
        try:
            self._read()
        except ParameterError as error:
            return error.what
        return ""

    def value(self) -> Decimal | None:
        """Return the cap, ``None`` where none is written or the text is refused."""
        return None if self.problem() else self._read()

    def _read(self) -> Decimal | None:
        text = self.text().strip()
        return exact(float(DELTA.parse(text, "δ"))) if text else None
