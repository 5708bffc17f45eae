"""What an attack is given and how it is made: the fields follow from what the attack declares."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QWidget

from workbench.gui.session.session import OpenTable, Session
from workbench.gui.style.language import tr, tr_sentence
from workbench.gui.widgets.basic import Elided, button, label, lines, named, panel, row, stack
from workbench.gui.widgets.choice_box import ChoiceBox
from workbench.gui.widgets.dialogs import ask_for_folder, ask_for_table
from workbench.gui.widgets.parameter_form import Form
from workbench.gui.widgets.path_field import PathField
from workbench.params import Parameters

if TYPE_CHECKING:
    from workbench.gui.session.account_view import ReleasedStep
    from workbench.risk.attacks.base import Attack, Given

OPEN = ("original", "members")
"""What the open table stands for."""
OTHERS = ("control", "nonmembers")
"""People who were not used."""


class AttackForm(QWidget):
    """The fields of one attack.

    Signals:
        changed: something else is given.
    """

    changed = Signal()

    def __init__(self, session: Session, attack: Attack) -> None:
        super().__init__()
        self.attack, self._session = attack, session
        self.setObjectName(f"attack_{attack.name}")
        self._target: ChoiceBox | None = None
        self._held_out = ""
        self._paths: dict[str, PathField] = {}
        self._open_line = Elided(name=f"attack_{attack.name}_open")
        self._places, self._line, self._pairs = stack(), lines(), 0
        self._of_open = next((needed for needed in attack.given if needed.name in OPEN), None)
        for needed in sorted(attack.given, key=lambda needed: needed is self._of_open):  # fields beside one another
            self._add(needed)
        self.form = Form(f"attack_form_{attack.name}", attack.asked(), across=2)
        self.form.changed.connect(self.changed)
        self.setLayout(stack(self._held(), self.form, None, spacing=8))
        session.table_changed.connect(self._say_open)
        self._say_open()

    def _held(self) -> QWidget:
        held = panel(self._places)
        held.setVisible(bool(self.attack.given))
        return held

    def _add(self, needed: Given) -> None:
        from workbench.risk.attacks import MODEL, RELEASE

        name = f"attack_{self.attack.name}_{needed.name}"
        title, words = label(tr_sentence(needed.title)), tr_sentence(needed.help)
        field: QWidget
        if needed.name in (RELEASE, MODEL):
            self._target = named(ChoiceBox(), name, tr_sentence(needed.title), words)
            # A long name would push a window of 1280 pixels wider.
            self._target.give_way(12)
            self._target.currentIndexChanged.connect(self.changed)
            field = self._with_chooser(self._target, name, needed)
        elif needed is self._of_open:
            field = self._open_line
        else:
            path = self._paths[needed.name] = PathField(name, tr_sentence(needed.title), words)
            path.setPlaceholderText(words if needed.required else tr("none: no correction"))
            path.textChanged.connect(self.changed)
            field = self._with_chooser(path, name, needed)
        title.setToolTip(words)
        title.setBuddy(field)
        if self._pairs % 2 == 0:  # two beside one another, where there is room
            self._line = lines(spacing=16)
            self._places.addLayout(self._line)
        self._pairs += 1
        self._line.addLayout(row(title, (field, 1)), 1)

    def _with_chooser(self, field: QWidget, name: str, needed: Given) -> QWidget:
        words = tr_sentence(needed.title)
        tip = tr("Choose: {title}", title=words)
        chooser = button(tr("Browse…"), f"{name}_browse", tip=tip, press=lambda: self._browse(needed))
        return panel(row((field, 1), chooser))

    def _browse(self, needed: Given) -> None:
        from workbench.risk.attacks import MODEL

        title = tr("Choose: {title}", title=tr_sentence(needed.title))
        chosen = ask_for_folder(self, title) if needed.name == MODEL else ask_for_table(self, title)
        if not chosen:
            return
        if needed.name in self._paths:
            self._paths[needed.name].choose(chosen)
        else:
            self.choose(Path(chosen))

    def takes(self, kind: str) -> bool:
        """Return whether the attack is on what ``kind`` says: a release, or a model."""
        return any(needed.name == kind for needed in self.attack.given)

    def choose(self, target: Path) -> None:
        """Choose a release to attack, whether it is listed or not."""
        assert self._target is not None
        if self._target.findData(str(target)) < 0:
            self._target.insertItem(0, target.name, str(target))
            self._target.setItemData(0, str(target), Qt.ItemDataRole.ToolTipRole)
        self._target.setCurrentIndex(self._target.findData(str(target)))
        self.changed.emit()

    def offer(self, releases: tuple[ReleasedStep, ...]) -> None:
        """List the releases whose files are in place, those of other attacks' kinds left out; keep what is chosen."""
        from workbench.risk.attacks import MODEL

        if self._target is None:
            return
        models = self.takes(MODEL)
        listed = [one.output for one in releases if one.files and one.model == models]
        known = [self._target.itemData(at) for at in range(self._target.count())]
        self._target.blockSignals(True)
        for path in listed:
            if str(path) not in known:
                self._target.addItem(path.name, str(path))
                self._target.setItemData(self._target.count() - 1, str(path), Qt.ItemDataRole.ToolTipRole)
        self._target.blockSignals(False)
        self.changed.emit()

    @property
    def lacks_others(self) -> bool:
        """Whether people who were not used are asked for, and none are given."""
        return any(name in OTHERS and not path.text().strip() for name, path in self._paths.items())

    def give_others(self, held_out: str) -> None:
        """Take a file of rows that were held out, or none, for people who were not used; one that was typed stays."""
        for name, path in self._paths.items():
            if name in OTHERS and path.text().strip() in ("", self._held_out):
                path.choose(held_out)
        self._held_out = held_out

    def _say_open(self) -> None:
        opened = self._session.opened
        self._open_line.set_whole(
            tr("the open table: {title}", title=opened.title) if opened is not None else tr("no table is open")
        )
        self.changed.emit()

    def given(self) -> dict[str, Path | OpenTable]:
        """Return what is given, by its name."""
        found: dict[str, Path | OpenTable] = {}
        for needed in self.attack.given:
            if needed is self._of_open:
                if self._session.opened is not None:
                    found[needed.name] = self._session.opened
            elif needed.name in self._paths:
                if text := self._paths[needed.name].text().strip():
                    found[needed.name] = Path(text)
            elif self._target is not None and self._target.currentData():
                found[needed.name] = Path(self._target.currentData())
        return found

    @property
    def target(self) -> str:
        """What is attacked, as a person calls it."""
        if self._target is None:
            return tr("generated sample")
        return self._target.currentText()

    def value(self) -> Parameters | None:
        """Return what was chosen, or ``None`` while a field is refused; the reason is below it."""
        return self.form.value()

    def missing(self) -> str:
        """Return what is not given yet; empty where nothing is."""
        given = self.given()
        for needed in self.attack.given:
            if needed.required and needed.name not in given:
                if needed is self._of_open:
                    return tr("Open the original table first: Data.")
                if needed.name in OTHERS:
                    return tr(
                        "Choose {what}; or hold out a part of the open table, and train on the rest or release it.",
                        what=tr_sentence(needed.help),
                    )
                return tr("Choose {what}.", what=tr_sentence(needed.help))
        return ""

    def retranslate(self) -> None:
        """Say what is given in another language."""
        self._say_open()
