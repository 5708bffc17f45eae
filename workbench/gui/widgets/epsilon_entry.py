"""The entry of ε or δ: a field that takes 1e-6 as it is written, and a slider on a log scale."""

from __future__ import annotations

import math
import re
from decimal import Decimal

from PySide6.QtCore import QPoint, QSignalBlocker, Qt, Signal
from PySide6.QtGui import QHideEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QLineEdit, QSizePolicy, QSlider, QWidget

from workbench.gui.session.session import Session
from workbench.gui.style.language import again, tr, tr_later, tr_sentence, typed
from workbench.gui.widgets.basic import button, hold, label, mark_wrong, named, row, say
from workbench.gui.widgets.formatting import at_most, entered, exactly
from workbench.params import ParameterError
from workbench.params.field import RealField
from workbench.privacy.accounting.event import exact
from workbench.render.fonts import scaled

STEPS = 400
DIGITS = 15  # most digits of an entry: a double still distinguishes such decimals

_NUMBER = re.compile(r"(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,3})?\Z", re.ASCII)
_BEGUN = re.compile(r"0*[.,]?0*\Z|(\d+([.,]\d*)?|[.,]\d+)[eE][+-]?\Z", re.ASCII)
"""What may become a number with the next key: 0, 0., 1e-. It is refused only where the person leaves it so."""
_THOUSANDS = re.compile(r"[1-9]\d{0,2},\d{3}\Z", re.ASCII)
"""A comma that can be before thousands as well as before decimals: 1,000."""


REASON = 440  # points of the lines that say why a text is refused
LEAST_SLIDER = 100
"""Points of a slider in which a value can still be aimed at; what is beside it goes on another line before."""


class PrivacyEntry(QWidget):
    """A number on a log scale between two bounds, exact as it was typed or given; 4,5 is read as 4.5.

    A text that is refused stays in the field, and the value from before it was typed holds: never that of its first
    digits. The reason lies over what is below the field, so that nothing moves.
    """

    value_changed = Signal(object)  # (Decimal) the person has entered or dragged to another valid value

    def __init__(
        self,
        name: str,
        low: Decimal,
        high: Decimal,
        value: Decimal,
        *,
        symbol: str = "ε",
        help_text: str = "",
        slider: tuple[Decimal, Decimal] | None = None,
        ends: tuple[str, str] = (tr_later("more private"), tr_later("more accurate")),
    ) -> None:
        """Make the entry ``NAME``, with ``NAME_field``, ``NAME_slider`` and ``NAME_problem``.

        Values from ``low`` to ``high`` are accepted; the slider may offer fewer, between two ``ends`` in words.
        """
        super().__init__()
        named(self, name, symbol, help_text)
        self._low, self._high, self._value, self._symbol, self._help = low, high, value, symbol, help_text
        self._short = ("", value)
        self._former = value  # what holds where the text that is being typed is refused in the end
        self._from, self._to = map(math.log, slider or (low, high))
        self._make_fields(name)
        self._reason = ""
        self._problem = label("", "refused", wrap=True, name=f"{name}_problem", hidden=True)
        self._problem.setParent(self)
        self._problem.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.destroyed.connect(self._problem.deleteLater)
        low_end, high_end = (label(tr(words), "muted") for words in ends)
        self.setLayout(row(self.field, low_end, self.slider, high_end, spacing=12))
        self.field.textEdited.connect(self._typed)
        self.field.editingFinished.connect(self._finish)
        self.slider.valueChanged.connect(self._dragged)
        self._show()

    def _make_fields(self, name: str) -> None:
        low, high = entered(self._low), entered(self._high)
        self.field = named(
            QLineEdit(),
            f"{name}_field",
            tr("{symbol}, a number from {low} to {high}", symbol=self._symbol, low=low, high=high),
        )
        hold(self.field, 96)
        self.field.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.slider = named(
            QSlider(Qt.Orientation.Horizontal),
            f"{name}_slider",
            tr("{symbol} on a log scale", symbol=self._symbol),
            self._help,
        )
        self.slider.setRange(0, STEPS)
        self.slider.setPageStep(STEPS // 20)
        self.slider.setMinimumWidth(LEAST_SLIDER)
        self.slider.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def value(self) -> Decimal:
        """Return the last valid value."""
        return self._value

    def set_value(self, value: Decimal) -> None:
        """Show ``value`` without a signal (undo, a click in a plot)."""
        if value == self._value and self._unread:
            return  # it is in force already: what the person is typing stays, with its reason where it is refused
        self._value = value
        if self.field.hasFocus() and self._parsed(self.field.text()) == value:
            self._show_slider()
        else:
            self._former = value
            self._show()

    def retranslate(self) -> None:
        """Write the number as another language does; a text that is no value stays."""
        self._help = again(self._help)
        if not self._unread:
            self._show_field()

    def problem(self) -> str:
        """Return what is wrong with the text of the field; empty where nothing is."""
        return self._reason

    def _say(self, reason: str) -> None:
        self._reason = reason
        say(self._problem, reason)
        self._place_reason()

    def _place_reason(self) -> None:
        """Put the reason below the field, on the nearest part of the page that has room for it there."""
        if not self._reason or not self.isVisible():
            self._problem.hide()
            return
        holder: QWidget = self
        while True:
            place = self.field.mapTo(holder, QPoint(0, self.field.height() + 4))
            width = min(scaled(REASON), holder.width() - place.x() - 4)
            height = self._problem.heightForWidth(width)
            parent = holder.parentWidget()
            if parent is None or holder.isWindow() or (width > 0 and place.y() + height < holder.height()):
                break
            holder = parent
        if self._problem.parentWidget() is not holder:
            self._problem.setParent(holder)
        self._problem.setGeometry(place.x(), place.y(), width, height)
        self._problem.show()
        self._problem.raise_()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        super().resizeEvent(event)
        self._place_reason()

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 - Qt's name
        super().showEvent(event)
        self._place_reason()

    def hideEvent(self, event: QHideEvent) -> None:  # noqa: N802 - Qt's name
        super().hideEvent(event)
        self._problem.hide()

    @property
    def _unread(self) -> bool:
        """Whether the text is no value: it is refused, or only begun."""
        return self._parsed(self.field.text()) is None

    def _parsed(self, text: str) -> Decimal | None:
        text = text.strip()
        if text and text == self._short[0]:
            return self._short[1]
        if text.count(",") == 1 and "." not in text and not _THOUSANDS.match(text):
            text = text.replace(",", ".")
        text = typed(text)
        if not _NUMBER.match(text):
            return None
        value = Decimal(text)
        inside = self._low <= value <= self._high
        return value if inside and len(value.normalize().as_tuple().digits) <= DIGITS else None

    def _typed(self, text: str, *, left: bool = False) -> None:
        read = self._parsed(text)
        wrong = read is None and (left or not _BEGUN.match(text.strip()))
        mark_wrong(self.field, wrong)
        self._say(self._why_refused(text) if wrong else "")
        value = self._former if read is None else read
        if value != self._value:
            self._value = value
            self._show_slider()
            self.value_changed.emit(value)

    def _why_refused(self, text: str) -> str:
        """Return why ``text`` is refused, how to write it, and what holds meanwhile."""
        stated = {"symbol": self._symbol, "low": entered(self._low), "high": entered(self._high)}
        hint = tr("Write {symbol} as a number from {low} to {high}, such as 0.5 or 1e-6.", **stated)
        if _THOUSANDS.match(text.strip()):
            point = text.strip().replace(",", ".")
            hint = tr("Write {symbol} without a comma, such as {value}.", symbol=self._symbol, value=point)
        holds = tr("{symbol} = {value} is still in force.", symbol=self._symbol, value=entered(self._former))
        return f"{hint} {holds}"

    def _finish(self) -> None:
        """Write a decimal comma as the point that it was read as; a refused text stays with its reason."""
        value = self._parsed(self.field.text())
        if value is None:
            self._typed(self.field.text(), left=True)
            return
        self._former = value
        if "," in self.field.text():
            self._show_field()

    def _dragged(self, step: int) -> None:
        low, high = float(self._low), float(self._high)
        share = self._from + (self._to - self._from) * step / STEPS
        value = Decimal(f"{min(max(math.exp(share), low), high):.2g}")
        value = min(max(value, self._low), self._high)
        if value != self._value:
            self._value = self._former = value
            self._show_field()
            self.value_changed.emit(value)

    def _show(self) -> None:
        self._show_field()
        self._show_slider()

    def _show_field(self) -> None:
        """Show four digits; the value keeps all of them, which the tooltip shows, until a person types another."""
        text = at_most(self._value)
        self._short = (text if exactly(self._value) else "", self._value)
        self.field.setText(text)
        self.field.setToolTip(f"{self._help}{exactly(self._value)}")
        mark_wrong(self.field, wrong=False)
        self._say("")

    def _show_slider(self) -> None:
        # A project may state an ε that is refused, such as 0: it is shown in the field, at the low end of the slider.
        stated = float(self._value)
        logarithm = math.log(stated) if stated > 0 else self._from
        share = (logarithm - self._from) / (self._to - self._from)
        with QSignalBlocker(self.slider):
            self.slider.setValue(round(STEPS * min(max(share, 0.0), 1.0)))


# -- δ ----------------------------------------------------------------------------------------------------------------


DELTA = RealField(help=tr_later("chance that the guarantee fails"), symbol="δ", above=0, below=1)
HELP = tr_later(
    "Chance that the guarantee fails, below 1 in the number of rows, such as 1e-6: with many "
    "counts the same ε then gives less noise, with few it gives more. Empty: none"
)


class DeltaEntry(QLineEdit):
    """δ of a release; empty for pure differential privacy."""

    spec = DELTA

    def __init__(self, name: str) -> None:
        super().__init__()
        named(self, name, "δ", tr(HELP))
        self.setPlaceholderText(tr("none"))
        hold(self, 88)
        self.textEdited.connect(lambda: mark_wrong(self, bool(self.problem())))

    def problem(self) -> str:
        try:
            self._read()
        except ParameterError as error:
            return tr_sentence(error.what)
        return ""

    def value(self) -> Decimal | None:
        """Return δ, 0 where none is written; ``None`` where the text is refused."""
        return None if self.problem() else self._read()

    def show_value(self, delta: Decimal) -> None:
        self.setText(entered(delta) if delta else "")
        mark_wrong(self, wrong=False)

    def _read(self) -> Decimal:
        text = self.text().strip()
        return exact(float(self.spec.parse(typed(text), "δ"))) if text else Decimal(0)


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


def plan_entry(session: Session, name: str, help_text: str) -> PrivacyEntry:
    """Return an entry that edits the plan's ε; it follows the plan by :meth:`PrivacyEntry.set_value`."""
    bounds, slider = (Decimal("1e-6"), Decimal("1e6")), (Decimal("0.05"), Decimal(50))
    entry = PrivacyEntry(name, *bounds, session.plan.epsilon, help_text=help_text, slider=slider)
    entry.value_changed.connect(session.set_epsilon)
    return entry
