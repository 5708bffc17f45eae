"""The entry of a release's δ: empty where there is none."""

from __future__ import annotations

from decimal import Decimal

from PySide6.QtWidgets import QLineEdit, QWidget

from workbench.gui.style.language import tr, tr_later, tr_sentence, typed
from workbench.gui.widgets.basic import button, hold, label, mark_wrong, named, row
from workbench.gui.widgets.formatting import entered
from workbench.params import ParameterError
from workbench.params.field import RealField
from workbench.privacy.accounting.event import exact

DELTA = RealField(help=tr_later("chance that the guarantee fails"), symbol="δ", above=0, below=1)
HELP = tr_later(
    "Chance that the guarantee fails, below 1 in the number of rows, such as 1e-6: with many "
    "counts the same ε then gives less noise, with few it gives more. Empty: none"
)


class DeltaEntry(QLineEdit):
    """δ of a release; empty for pure differential privacy."""

    def __init__(self, name: str) -> None:
        super().__init__()
        named(self, name, "δ", tr(HELP))
        self.setPlaceholderText(tr("none"))
        hold(self, 88)
        self.textEdited.connect(lambda: mark_wrong(self, bool(self.problem())))

    def problem(self) -> str:
        """Return why the text is refused; empty where it is not."""
        try:
            self._read()
        except ParameterError as error:
            return tr_sentence(error.what)
        return ""

    def value(self) -> Decimal | None:
        """Return δ, 0 where none is written; ``None`` where the text is refused."""
        return None if self.problem() else self._read()

    def show_value(self, delta: Decimal) -> None:
        """Show ``delta``; empty where it is 0."""
        self.setText(entered(delta) if delta else "")
        mark_wrong(self, wrong=False)

    def _read(self) -> Decimal:
        text = self.text().strip()
        return exact(float(DELTA.parse(typed(text), "δ"))) if text else Decimal(0)


class DeltaLine(QWidget):
    """A link that shows the entry of δ: nobody who does not ask for it has to know what it is."""

    def __init__(self, entry: DeltaEntry) -> None:
        super().__init__()
        self._entry = entry
        self._more = button(tr("Gaussian noise…"), f"{entry.objectName()}_more", "link", tip=tr(HELP))
        self._title = label(tr("with δ ="), "muted")
        self._title.setBuddy(entry)
        self._more.clicked.connect(self._show)
        self.setLayout(row(self._more, self._title, entry, None))
        self._title.hide()
        entry.hide()

    def _show(self) -> None:
        self._more.hide()
        self._title.show()
        self._entry.show()
        self._entry.setFocus()
