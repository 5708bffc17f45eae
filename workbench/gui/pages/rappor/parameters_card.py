"""The parameters of a collection, each with a field and a slider."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import QGridLayout, QLabel, QLineEdit, QSlider

from workbench.gui.session.error_text import sentence
from workbench.gui.style.language import localised, tr, tr_later, tr_sentence, typed
from workbench.gui.widgets.basic import Card, hold, label, mark_wrong, named, say
from workbench.gui.widgets.chart_marks import Scale
from workbench.params import ParameterError
from workbench.params.field import Field, IntegerField
from workbench.privacy.rappor.parameters import HASHED_BITS, RapporParameters

EACH = IntegerField(at_least=1, upto=100_000, help=tr_later("reports of each client, all with one permanent answer"))
CLIENTS = IntegerField(at_least=100, upto=20_000_000, help=tr_later("clients in a simulation, each with one report"))
STEPS = 100


@dataclass(frozen=True)
class _Line:
    """One parameter: what it is called, what it accepts, and what its slider's steps are."""

    key: str
    words: str
    spec: Field
    scale: Scale
    whole: bool = True


_DECLARED = RapporParameters.declared()
LINES = (
    _Line("f", tr_later("coin tosses, f"), _DECLARED["f"], Scale(0, 0.99), whole=False),
    _Line("p", tr_later("0 reported as 1, p"), _DECLARED["p"], Scale(0, 1), whole=False),
    _Line("q", tr_later("1 reported as 1, q"), _DECLARED["q"], Scale(0, 1), whole=False),
    _Line("h", tr_later("hashes, h"), _DECLARED["h"], Scale(1, 8)),
    _Line("k", tr_later("bits, k"), _DECLARED["k"], Scale(8, HASHED_BITS)),
    _Line("m", tr_later("cohorts, m"), _DECLARED["m"], Scale(1, 64)),
    _Line("clients", tr_later("clients"), CLIENTS, Scale(1_000, 10_000_000, log=True)),
    _Line("each", tr_later("reports each"), EACH, Scale(1, 1_000, log=True)),
)


class ParametersCard(Card):
    """Fields and sliders; :attr:`last` is the parameter that was moved last.

    Signals:
        changed: a value differs; ask :meth:`value`, :meth:`clients` and :meth:`each`.
    """

    changed = Signal()

    def __init__(self) -> None:
        super().__init__(label(tr("PARAMETERS OF EVERY CLIENT"), "caption"), pad=12, spacing=6)
        self.last = "f"
        self._fields: dict[str, QLineEdit] = {}
        self._sliders: dict[str, QSlider] = {}
        self._titles: dict[str, QLabel] = {}
        grid = QGridLayout()
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(10)
        grid.setVerticalSpacing(2)
        for row, line in enumerate(LINES):
            field = named(QLineEdit(), f"rappor_{line.key}")
            hold(field, 84)
            slider = named(QSlider(Qt.Orientation.Horizontal), f"rappor_{line.key}_slider")
            slider.setRange(0, STEPS)
            slider.setMinimumWidth(60)
            title = label(tr(line.words), "muted")
            title.setBuddy(field)
            self._titles[line.key] = title
            for column, part in enumerate((title, field, slider)):
                grid.addWidget(part, row, column)
            field.textEdited.connect(self._typed(line))
            slider.valueChanged.connect(self._dragged(line))
            self._fields[line.key], self._sliders[line.key] = field, slider
        grid.setColumnStretch(2, 1)
        self._problem = label("", "problem", wrap=True, name="rappor_problem", hidden=True)
        self.body.addLayout(grid)
        self.body.addWidget(self._problem)
        self.body.addStretch(1)
        self.retranslate()
        self.show_values(RapporParameters(), 100_000, 1)

    def retranslate(self) -> None:
        for line in LINES:
            said = tr_sentence(line.spec.help)
            about = said[:1].upper() + said[1:]
            self._titles[line.key].setToolTip(about)
            for part in (self._fields[line.key], self._sliders[line.key]):
                named(part, part.objectName(), tr(line.words), about)

    def value(self) -> RapporParameters | None:
        """Return the parameters; ``None`` while a field or their combination is refused."""
        try:
            return self._made()
        except ParameterError:
            return None

    def clients(self) -> int | None:
        """Return how many clients are simulated; ``None`` while the field is refused."""
        return self._whole("clients")

    def each(self) -> int | None:
        """Return how many reports a client gives; ``None`` while the field is refused."""
        return self._whole("each")

    def show_values(self, parameters: RapporParameters, clients: int, each: int) -> None:
        """Show other values without a signal."""
        given = {name: getattr(parameters, name) for name in parameters.declared()}
        for line in LINES:
            self._show(line, {**given, "clients": clients, "each": each}[line.key], field=True)
        self._check()

    def state(self) -> dict[str, str]:
        """Return what is written in each field."""
        return {key: field.text() for key, field in self._fields.items()}

    def restore(self, state: Mapping[str, str]) -> None:
        """Show what :meth:`state` returned, without a signal."""
        for line in LINES:
            self._fields[line.key].setText(state[line.key])
            with suppress(ParameterError):
                self._show(line, self._read(line), field=False)
        self._check()

    def enable(self, on: bool) -> None:
        """Let the values be changed, or not while a release goes on."""
        for part in (*self._fields.values(), *self._sliders.values()):
            part.setEnabled(on)

    def _made(self) -> RapporParameters:
        return RapporParameters.from_plain({line.key: self._read(line) for line in LINES[:6]})

    def _whole(self, key: str) -> int | None:
        try:
            return int(self._read(next(line for line in LINES if line.key == key)))
        except ParameterError:
            return None

    def _read(self, line: _Line) -> float:
        found: float = line.spec.parse(typed(self._fields[line.key].text()).replace(",", ""), line.words)
        return found

    def _typed(self, line: _Line) -> Callable[[str], None]:
        def typed(_text: str) -> None:
            self.last = line.key
            with suppress(ParameterError):  # which is said below the fields
                self._show(line, self._read(line), field=False)
            self._check()
            self.changed.emit()

        return typed

    def _dragged(self, line: _Line) -> Callable[[int], None]:
        def dragged(step: int) -> None:
            self.last = line.key
            value = line.scale.value(step / STEPS)
            if line.scale.log:
                value = float(f"{value:.2g}")
            self._fields[line.key].setText(_written(round(value) if line.whole else round(value, 2)))
            self._check()
            self.changed.emit()

        return dragged

    def _show(self, line: _Line, value: float, *, field: bool) -> None:
        if field:
            self._fields[line.key].setText(_written(value))
        slider = self._sliders[line.key]
        with QSignalBlocker(slider):
            slider.setValue(round(STEPS * min(max(line.scale.share(value), 0.0), 1.0)))

    def _check(self) -> None:
        stated = ""
        for line in LINES:
            try:
                self._read(line)
                mark_wrong(self._fields[line.key], wrong=False)
            except ParameterError as error:
                mark_wrong(self._fields[line.key], wrong=True)
                stated = stated or sentence(error)
        if not stated:
            try:
                self._made()
            except ParameterError as error:
                stated = sentence(error)
        say(self._problem, stated)


def _written(value: float) -> str:
    return localised(str(value) if isinstance(value, int) else f"{value:.10g}")
