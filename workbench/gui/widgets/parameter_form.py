"""A form that follows from the declarations of a :class:`~workbench.params.Parameters` class."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from functools import partial
from typing import Any

from PySide6.QtCore import QEvent, QObject, QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QCheckBox, QComboBox, QGridLayout, QLabel, QLineEdit, QSlider, QWidget

from workbench.gui.style.language import as_sentence, capital, tr, tr_later, tr_number, tr_sentence, typed
from workbench.gui.widgets.basic import (
    button,
    hold,
    hold_height,
    label,
    mark_wrong,
    named,
    panel,
    row,
    rule,
    say,
    scrolled,
    stack,
    take_out,
)
from workbench.gui.widgets.chart_marks import Scale
from workbench.gui.widgets.choice_box import ChoiceBox
from workbench.gui.widgets.dialogs import ask_for_file
from workbench.gui.widgets.epsilon_entry import PrivacyEntry
from workbench.gui.widgets.formatting import entered
from workbench.gui.widgets.path_field import PathField
from workbench.params import ParameterError, Parameters
from workbench.params.field import METADATA_KEY, BooleanField, ChoiceField, Field, IntegerField, RealField, TextField

GIVEN_LATER = tr_later("automatic")
RARELY = tr_later("RARELY CHANGED")
LOOKED_AT = (QEvent.Type.FocusIn, QEvent.Type.Enter)
HELP_HEIGHT = 54
BETWEEN = 16
THOUSANDS = re.compile(r"[1-9]\d{0,2}((,\d{3})+|([.\s\u00a0\u202f])\d{3}(\3\d{3})+)", re.ASCII)
"""A whole number in groups; of a million or more in those of any language, which it stays when that is changed."""
MILLION = 1_000_000
SHORT = 16  # characters of a text that a field beside others shows whole
STEPS, BESIDE_SLIDER = 100, 104  # steps of a slider, and the pixels of the field beside it
ASK = tr_later("Point at a field to read what it means.")

PRIVACY = ("ε", "δ")


class Form(QWidget):
    """One line per parameter: its words, its field, and below it its own problem.

    Fields are ``NAME_KEY`` (object names), their problems ``NAME_KEY_problem``.
    """

    changed = Signal()  # some field differs; ask `value`
    # (sentences) what the field means that has the keys or the pointer now, and what it is by default.
    explained = Signal(str)

    def __init__(
        self,
        name: str,
        parameters: type[Parameters],
        *,
        titles: dict[str, str] | None = None,
        given: dict[str, Any] | None = None,
        across: int = 1,
        first: tuple[str, ...] = (),
        sliders: Mapping[str, Scale] | None = None,
        lists: Mapping[str, str] | None = None,
    ) -> None:
        """Make the form.

        Args:
            name: its object name.
            parameters: the class.
            titles: the words of an attribute where neither its own title nor its name will do.
            given: values of the attributes that are not asked for.
            across: how many are side by side where there is room; more than one where all are often changed.
            first: attributes that are above the others, however rarely they are changed elsewhere.
            lists: attributes that are chosen from what :meth:`offer` gives, each with what it means.
            sliders: the scale of the slider beside the field of a number; with any, the parameters are in this order.
        """
        super().__init__()
        self.setObjectName(name)
        self._class = parameters
        self._given = dict(given or {})
        self.refused = ""  # what is wrong with a value that is given and not asked for; empty where nothing is
        declared = parameters.declared()
        defaults = {f.name: f.default for f in dataclasses.fields(parameters) if METADATA_KEY in f.metadata}
        self._fields: dict[str, QWidget] = {}
        self._problems: dict[str, Any] = {}
        self._scales, self._lists = dict(sliders or {}), dict(lists or {})
        asked = {key: declared[key] for key in self._scales or declared if key not in self._given}
        # A stable sort: in their order.
        self._specs = dict(sorted(asked.items(), key=lambda item: (item[0] not in first, item[1].advanced)))
        self._given_titles = dict(titles or {})
        self._rare = next((key for key, spec in self._specs.items() if spec.advanced and key not in first), None)
        self._explains: dict[QObject, str] = {}
        self._defaults = defaults
        self._labels: dict[str, tuple[QLabel, QWidget]] = {}
        self._units: dict[str, QWidget] = {}
        self.last = next(iter(self._specs), "")  # the attribute that was changed last; the first one while none was
        self._united = bool(sliders) or any(spec.unit for spec in self._specs.values())
        self._heading = label(tr(RARELY), "caption", name=f"{name}_rest", hidden=self._rare is None)
        self._heading.setContentsMargins(0, 8, 0, 0)
        self._grid = grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(BETWEEN)
        grid.setVerticalSpacing(4)
        self._across, self._most_across, self._shown = 0, across, tuple(self._specs)
        for key in self._specs:
            self._add(key)
        self._lay_out(across)
        self._check()

    def _add(self, key: str) -> None:
        name, spec, title = self.objectName(), self._specs[key], label()
        field = self._make(name, key, spec, self._defaults[key])
        self._labels[key] = title, field
        title.setBuddy(field)
        self._fields[key] = field
        self._problems[key] = label("", "problem", wrap=True, name=f"{name}_{key}_problem", hidden=True)
        if _is_file(spec):  # the button shares the field's place: a column for it would make the form wider
            self._units[key] = panel(row(field, self._beside(name, key, spec)))
        elif key in self._scales:
            self._units[key] = self._slider(name, key)
            hold(field, BESIDE_SLIDER)
        elif spec.unit:
            self._units[key] = self._beside(name, key, spec)
        self._say(key)
        for part in (title, field, *field.findChildren(QWidget)):
            self._explains[part] = key
            part.installEventFilter(self)

    def _lay_out(self, across: int) -> None:
        """Place the fields that are shown, ``across`` of them side by side."""
        if across == self._across:
            return
        self._across = across
        for place in range(self._most_across):
            self._grid.setColumnStretch(3 * place + (2 if self._scales else 1), int(place < across))
        take_out(self._grid)
        at = below = side = 0
        for key in self._shown:
            if key == self._rare:
                self._grid.addWidget(self._heading, below, 0, 1, 3)
                below, side = below + 1, 0
            side = 0 if self._is_long(key) else side
            if side == 0:
                at, below = below, below + (3 if self._is_long(key) else 2)
            self._place(at, 3 * side, key, 3 * across)
            side = 0 if self._is_long(key) or _is_file(self._specs[key]) else (side + 1) % across

    def _place(self, at: int, left: int, key: str, end: int) -> None:
        """Place one parameter from a row and column on; that of a file, which is long, goes on to column ``end``."""
        (title, field), grid, beside = self._labels[key], self._grid, self._units.get(key)
        if self._is_long(key):  # below its words, and as wide as the form
            for below, part in enumerate((title, field, self._problems[key])):
                grid.addWidget(part, at + below, 0, 1, end)
            return
        grid.addWidget(title, at, left, Qt.AlignmentFlag.AlignVCenter)
        if beside is not None and _is_file(self._specs[key]):
            grid.addWidget(beside, at, left + 1, 1, end - left - 1)
        elif isinstance(field, QCheckBox):  # no wider than its mark: what looks like its middle is where it is
            grid.addWidget(field, at, left + 1, Qt.AlignmentFlag.AlignLeft)
        elif beside is not None:
            grid.addWidget(field, at, left + 1)
            grid.addWidget(beside, at, left + 2)
        else:
            grid.addWidget(field, at, left + 1, 1, 1 if self._united else 2)
        grid.addWidget(self._problems[key], at + 1, left + 1, 1, 2)

    def _is_long(self, key: str) -> bool:
        """Return whether the usual text of a field would be cut beside its words."""
        usual = self._defaults[key]
        return isinstance(usual, str) and isinstance(self._specs[key], TextField) and len(usual) > SHORT

    def _needed(self, across: int) -> int:
        """Return the width that ``across`` parameters need side by side."""
        columns = [0] * (3 * across)
        for place, key in enumerate(self._shown):
            left, (title, field) = 3 * (place % across), self._labels[key]
            parts = title.sizeHint(), field.minimumSizeHint().expandedTo(field.minimumSize())
            for at, hint in enumerate(parts):
                columns[left + at] = max(columns[left + at], hint.width())
            if key in self._units and not _is_file(self._specs[key]):
                columns[left + 2] = max(columns[left + 2], self._units[key].sizeHint().width())
        return sum(columns) + BETWEEN * (sum(width > 0 for width in columns) - 1)

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Return the width of one parameter: those side by side go below one another where there is no more."""
        hint = super().minimumSizeHint()
        return hint if self._most_across == 1 else QSize(min(self._needed(1), hint.width()), hint.height())

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        super().resizeEvent(event)
        tried = range(self._most_across, 1, -1)
        self._lay_out(next((across for across in tried if self._needed(across) <= self.width()), 1))

    def _say(self, key: str) -> None:
        (title, field), words, help_text = self._labels[key], self.title_of(key), self._help_of(key)
        symbol = self._specs[key].symbol
        named_by = not symbol or words == symbol or words.endswith(f", {symbol}")
        title.setText(words if named_by else f"{words}, {symbol}")
        title.setToolTip(help_text)
        for part in (field, *([self._units[key]] if key in self._scales else [])):
            named(part, part.objectName(), words, help_text)
            part.setAccessibleDescription(help_text)

    def title_of(self, key: str) -> str:
        spec = self._specs[key]
        # δ has one name in the window; what it means is in the help of the field.
        own = spec.symbol if spec.symbol == "δ" else spec.title
        return tr_sentence(self._given_titles.get(key) or own or key.replace("_", " "))

    def _help_of(self, key: str) -> str:
        return capital(tr_sentence(self._lists.get(key) or self._specs[key].help))

    def retranslate(self) -> None:
        for key in self._labels:
            self._say(key)
        self._check()

    def value(self) -> Parameters | None:
        """Return the parameters, or ``None`` while a field or their combination is refused."""
        return self._check()

    def give(self, key: str, value: Any) -> None:
        """Take another value of an attribute that is not asked for here, without a signal."""
        self._given[key] = value
        self._check()

    def show_only(self, keys: tuple[str, ...]) -> None:
        """Show these fields alone; of a form whose fields are all often changed."""
        for key, (title, field) in self._labels.items():
            title.setVisible(key in keys)
            field.setVisible(key in keys)
        across, self._across, self._shown = self._across, 0, tuple(key for key in self._specs if key in keys)
        self._lay_out(across)

    def offer(self, key: str, entries: Iterable[tuple[str, Any]], chosen: Any) -> None:
        """Offer (words, value) to choose an attribute from, without a signal."""
        box = self._fields[key]
        assert isinstance(box, ChoiceBox)
        box.offer(entries, chosen)
        self._check()

    def append(self, title: QLabel, field: QWidget) -> None:
        """Put a field of the page's own below those of a form with one parameter a line."""
        at = self._grid.rowCount()
        self._grid.addWidget(title, at, 0)
        self._grid.addWidget(field, at, 1, 1, 2)

    def write(self, **state: Any) -> None:
        """Write this into some of the fields, without a signal."""
        self.restore({**self.state(), **state})

    def field(self, key: str) -> QWidget:
        return self._fields[key]

    def problems(self) -> dict[str, str]:
        """Return the sentence of each field that is refused; the key of their combination is empty."""
        return {key: p.text() for key, p in self._problems.items() if p.text()}

    def set_value(self, value: Parameters) -> None:
        """Show ``value`` without a signal."""
        for key in self._fields:
            self._write(key, getattr(value, key))
        self._check()

    def state(self) -> dict[str, Any]:
        """Return what is written and chosen in each field, refused or not."""
        return {key: given_in(field) for key, field in self._fields.items()}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Show what :meth:`state` returned, without a signal."""
        for key, field in self._fields.items():
            put_in(field, state[key])
        self._check()

    def meanings(self) -> list[str]:
        return [f"{self.title_of(key)}: {self._meaning(key)}" for key in self._specs]

    def _meaning(self, key: str) -> str:
        usual = _usual(self._specs[key], self._defaults[key])
        return " ".join(filter(None, (f"{self._help_of(key)}.", usual)))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        if event.type() in LOOKED_AT and watched in self._explains:
            self.explained.emit(self._meaning(self._explains[watched]))
        return False

    # -- fields ---------------------------------------------------------------------------------------------------

    def _make(self, name: str, key: str, spec: Field, default: Any) -> QWidget:
        object_name = f"{name}_{key}"
        if isinstance(spec, RealField) and spec.symbol in PRIVACY and not spec.optional and spec.upto is not None:
            low = Decimal(repr(float(spec.at_least or 1e-12)))
            start = low if default is dataclasses.MISSING else Decimal(repr(float(default)))
            ends = (tr("more private"), tr("more accurate")) if spec.symbol == "ε" else (tr("stricter"), tr("looser"))
            entry = PrivacyEntry(
                object_name, low, Decimal(repr(float(spec.upto))), start, symbol=spec.symbol, ends=ends
            )
            entry.value_changed.connect(partial(self._edited, key))
            return entry
        if isinstance(spec, BooleanField):
            box = named(QCheckBox(), object_name)
            box.setChecked(default is True)
            box.toggled.connect(partial(self._edited, key))
            return box
        if isinstance(spec, ChoiceField) or key in self._lists:
            combo = named(ChoiceBox(), object_name)
            if isinstance(spec, ChoiceField):
                later = [(tr(GIVEN_LATER), None)] if spec.optional else []
                entries = [*later, *((tr_sentence(spec.title_of(word)), word) for word in spec.words)]
                combo.offer(entries, None if default is dataclasses.MISSING else default)
            combo.currentIndexChanged.connect(partial(self._edited, key))
            return combo
        line = PathField(object_name, "", tr_sentence(spec.help)) if _is_file(spec) else named(QLineEdit(), object_name)
        if spec.optional or spec.empty:
            line.setPlaceholderText(tr_sentence(spec.empty) or tr(GIVEN_LATER))
        if default not in (None, dataclasses.MISSING):
            line.setText(_written(spec.plain(default)))
        line.textEdited.connect(partial(self._edited, key))
        return line

    def _beside(self, name: str, key: str, spec: Field) -> QWidget:
        """Return what is behind a field: its unit, or of a path what chooses one."""
        if not _is_file(spec):
            unit = label(tr_sentence(spec.unit), "muted", wrap=True)
            if self._most_across > 1:  # it belongs to the field before it, not to the words behind it
                unit.setContentsMargins(0, 0, BETWEEN, 0)
            return unit
        words = self.title_of(key)
        chooser = button(
            "…",
            f"{name}_{key}_choose",
            tip=tr("Choose a file: {title}", title=words),
            accessible=tr("Choose: {title}", title=words),
        )
        chooser.setMinimumWidth(40)
        chooser.clicked.connect(lambda: self._choose_file(key))
        return chooser

    def _choose_file(self, key: str) -> None:
        words, field = self.title_of(key), self._fields[key]
        path = ask_for_file(self, self._specs[key].file, capital(words))  # type: ignore[attr-defined]
        if path:
            assert isinstance(field, PathField)
            field.choose(path)
            self._edited(key)

    def _read(self, key: str) -> Any:
        """Return the checked value of a field, or raise :class:`ParameterError`."""
        spec, words, text = self._specs[key], self.title_of(key), given_in(self._fields[key])
        if isinstance(text, Decimal):
            return spec.check(float(text), words)
        if isinstance(self._fields[key], (QCheckBox, QComboBox)):
            return text
        if not text.strip():
            return spec.check(() if self._defaults[key] == () else None, words)
        if isinstance(spec, IntegerField) and THOUSANDS.fullmatch(text.strip()):
            text = re.sub(r"\D", "", text)
        return spec.parse(text if isinstance(spec, TextField) else typed(text), words)

    def _write(self, key: str, value: Any) -> None:
        field = self._fields[key]
        if isinstance(field, PrivacyEntry):
            value = Decimal(repr(float(value)))
        elif isinstance(field, QLineEdit):
            value = "" if value is None else _written(self._specs[key].plain(value))
        put_in(field, value)

    def _slider(self, name: str, key: str) -> QSlider:
        slider = named(QSlider(Qt.Orientation.Horizontal), f"{name}_{key}_slider")
        slider.setRange(0, STEPS)
        slider.setMinimumWidth(60)
        slider.valueChanged.connect(partial(self._dragged, key))
        return slider

    def _dragged(self, key: str, step: int) -> None:
        """Write the value of a step into the field beside the slider, with the few digits that a step has."""
        scale = self._scales[key]
        value = scale.value(step / STEPS)
        value = float(f"{value:.2g}") if scale.log else round(value, 2)
        self._write(key, round(value) if isinstance(self._specs[key], IntegerField) else value)
        self._edited(key)

    def _move_slider(self, key: str, value: float) -> None:
        slider = self._units[key]
        assert isinstance(slider, QSlider)
        with QSignalBlocker(slider):
            slider.setValue(round(STEPS * min(max(self._scales[key].share(value), 0.0), 1.0)))

    def _edited(self, key: str, *_: object) -> None:
        self.last = key
        self._check()
        self.changed.emit()

    def _check(self) -> Parameters | None:
        values, refused = dict(self._given), False
        for key, problem in self._problems.items():
            text = ""
            try:
                values[key] = self._read(key)
                if key in self._scales:
                    self._move_slider(key, values[key])
            except ParameterError as error:
                refused = True
                text = tr_sentence(error.what)
            say(problem, text)
            mark_wrong(self._fields[key], bool(text))
        self.refused = ""
        if refused:
            return None
        try:
            return self._class(**values)
        except ParameterError as error:
            # The combination is refused: shown below the field that it is about.
            if error.field in self._given or not self._problems:
                what = tr_sentence(error.what)
                self.refused = as_sentence(what)
                return None
            key = error.field if error.field in self._problems else next(iter(self._problems))
            self._problems[key].setText(tr_sentence(error.what))
            self._problems[key].show()
            mark_wrong(self._fields[key], wrong=True)
            return None


def given_in(field: QWidget) -> Any:
    """Return what is written or chosen in a field, refused or not."""
    if isinstance(field, PrivacyEntry):
        return field.value()
    if isinstance(field, QCheckBox):
        return field.isChecked()
    if isinstance(field, QComboBox):
        return field.currentData()
    assert isinstance(field, QLineEdit)
    return field.text()


def put_in(field: QWidget, value: Any) -> None:
    """Show what :func:`given_in` returned, without a signal."""
    with QSignalBlocker(field):
        match field:
            case PrivacyEntry():
                field.set_value(value)
            case QCheckBox():
                field.setChecked(bool(value))
            case QComboBox():
                field.setCurrentIndex(max(field.findData(value), 0))
            case QLineEdit():
                field.setText(value)


def _is_file(spec: Field) -> bool:
    return isinstance(spec, TextField) and bool(spec.file)


def _usual(spec: Field, default: Any) -> str:
    """Return a sentence on what a field is where nobody changes it; empty where that follows from the table."""
    if default in (None, dataclasses.MISSING):
        return ""
    value = spec.plain(default)
    written = tr_sentence(spec.title_of(value)) if isinstance(spec, ChoiceField) else _written(value)
    return tr("Usually {value}.", value=written)


def _written(value: Any) -> str:
    if isinstance(value, float):
        return entered(Decimal(repr(value)))
    if isinstance(value, list):
        return ", ".join(_written(one) if isinstance(one, float) else str(one) for one in value)
    if isinstance(value, int) and value >= MILLION:
        return tr_number(value, ",")
    return {"\t": "tab", " ": "space"}.get(value, str(value))  # words that the field reads


def explained(form: Form, *above: QWidget) -> QWidget:
    """Return ``above`` and the form in a scroll area, and below it, never scrolled away, what a field means."""
    # Its fields have the keys, and it follows them.
    area = scrolled(stack(*above, form, None, margins=(0, 0, 8, 0)), f"{form.objectName()}_area", sideways=True)
    stated = label(tr(ASK), "muted", wrap=True, name=f"{form.objectName()}_help")
    stated.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
    hold_height(stated, HELP_HEIGHT)  # for as many lines of letters of any size: no field moves by the next text
    form.explained.connect(stated.setText)
    return panel(stack(area, rule(), stated))
