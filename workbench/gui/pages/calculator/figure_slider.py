"""One figure of a run: a field, and a slider on a log scale with a million positions."""

from __future__ import annotations

import math

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QLineEdit, QSlider, QWidget

from workbench.gui.style.language import tr, typed
from workbench.gui.widgets.basic import hold, label, mark_wrong, named, row, stack
from workbench.gui.widgets.formatting import plain

POSITIONS = 1_000_000
FIELD = 92


class FigureSlider(QWidget):
    """A number above 0 between two bounds; the field takes every number between them, the slider a million.

    Signals:
        changed: another valid value.
    """

    changed = Signal()

    def __init__(self, name: str, title: str, tip: str, low: float, high: float, value: float, *, whole: bool) -> None:
        """Make the slider.

        Args:
            name: its object name; the field is ``NAME_field``, the slider ``NAME_slider``.
            title: what a person calls the figure.
            tip: what it is.
            low: the least value.
            high: the greatest.
            value: the first.
            whole: whether it is a whole number.
        """
        super().__init__()
        named(self, name, title, tip)
        self._low, self._high, self._whole, self._value = low, high, whole, value
        self.field = named(
            QLineEdit(),
            f"{name}_field",
            tr("{title}, from {low} to {high}", title=title, low=plain(low), high=plain(high)),
            tip,
        )
        hold(self.field, FIELD)
        self.field.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.slider = named(
            QSlider(Qt.Orientation.Horizontal), f"{name}_slider", tr("{title} on a log scale", title=title), tip
        )
        self.slider.setRange(0, POSITIONS)
        self.slider.setSingleStep(POSITIONS // 400)
        self.slider.setPageStep(POSITIONS // 20)
        self._problem = label("", "problem", wrap=True, name=f"{name}_problem")
        self._problem.hide()
        head = QWidget()
        head.setLayout(row(label(title, "muted"), None, self.field))
        self.setLayout(stack(head, self.slider, self._problem, spacing=2))
        self.field.editingFinished.connect(self._entered)
        self.slider.valueChanged.connect(self._dragged)
        self._show()

    def value(self) -> float:
        """Return the last valid value."""
        return self._value

    def set_value(self, value: float) -> None:
        """Show ``value`` without a signal."""
        self._value = min(max(value, self._low), self._high)
        self._show()

    def _show(self) -> None:
        self.slider.blockSignals(True)
        share = math.log(self._value / self._low) / math.log(self._high / self._low)
        self.slider.setValue(round(share * POSITIONS))
        self.slider.blockSignals(False)
        self._write()

    def _write(self) -> None:
        self.field.setText(f"{self._value:.0f}" if self._whole else plain(self._value))
        self.slider.setAccessibleDescription(self.field.text())
        mark_wrong(self.field, False)
        self._problem.hide()

    def _dragged(self, position: int) -> None:
        value = self._low * (self._high / self._low) ** (position / POSITIONS)
        value = float(round(value)) if self._whole else float(f"{value:.4g}")
        if value != self._value:
            self._value = value
            self._write()
            self.changed.emit()

    def _entered(self) -> None:
        text = typed(self.field.text()).replace(",", "")
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if self._whole and value == value and value != round(value):
            value = math.nan
        if not self._low <= value <= self._high:
            low, high = plain(self._low), plain(self._high)
            self._problem.setText(
                tr("Give a whole number from {low} to {high}.", low=low, high=high)
                if self._whole
                else tr("Give a number from {low} to {high}.", low=low, high=high)
            )
            self._problem.show()
            mark_wrong(self.field, True)
            return
        if value != self._value:
            self._value = value
            self._show()
            self.changed.emit()
        else:
            self._write()
