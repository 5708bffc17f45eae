"""What is known of a run before it starts: cost, noise, steps, memory, and where the model goes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QPushButton, QWidget

from workbench.gui.pages.train.messages import QUIET, SHOWN, cost, steps
from workbench.gui.pages.train.tasks import TORCH
from workbench.gui.style.language import tr, tr_later, tr_sentence
from workbench.gui.widgets.basic import Card, Facts, button, caption, label, named, panel, row, say, stack
from workbench.gui.widgets.dialogs import ask_where_to_save
from workbench.gui.widgets.figures_first import BESIDE
from workbench.gui.widgets.formatting import memory, plain
from workbench.gui.widgets.path_field import PathField
from workbench.params.extras import how_to_install

if TYPE_CHECKING:
    from workbench.release.model.preflight import Preflight

OF_NETWORKS = ("sigma", "steps", "memory")

WIDEST = 720
"""Points of the figures beyond which a name and its figure no longer read as one line."""

WEIGHTS = tr_later(
    "Compare it with the one that the publisher of the weights states; to be sure, enter that one as the checksum"
)


class BeforeCard(Card):
    """The figures of a preflight, what is wrong with it, and the folder of the model.

    Signals:
        changed: another folder, or whether the run is quiet.
    """

    changed = Signal()

    def __init__(self, explain: QPushButton, expected: QWidget, test: QWidget) -> None:
        """Make the card.

        Args:
            explain: is beside its title.
            expected: tells the accuracy to expect.
            test: says what the accuracy is measured on.
        """
        super().__init__()
        self._first = False
        self._facts = Facts()
        figures = panel(stack(self._facts, expected))
        figures.setMaximumWidth(WIDEST)
        left = QWidget()
        line = row((figures, 1))
        line.addStretch(0)
        left.setLayout(line)
        self._problem = label("", "problem", wrap=True, name="train_problem")
        self._missing = label("", "warn", wrap=True, name="train_missing")
        self.folder = PathField(
            "train_folder", tr("Folder of the model"), tr("A new folder; it appears whole or not at all")
        )
        choose = button("…", "train_choose_folder", tip=tr("Choose another place"), accessible=tr("Choose the folder"))
        choose.setMinimumWidth(40)
        choose.clicked.connect(self._choose)
        self.folder.textEdited.connect(self.changed)
        place = self._place = QWidget()
        line = row(label(tr("folder"), "muted"), (self.folder, 1), choose)
        place.setLayout(line)
        title = caption(tr("BEFORE IT STARTS"), explain)
        self.raise_cap = button(
            tr("Raise the cap…"),
            "train_raise_cap",
            "link",
            tip=tr("Released, Ledger sets the cap; the ledger records it"),
        )
        self.raise_cap.hide()
        self._quiet = QCheckBox(tr("Quiet run"))
        self._quiet.setToolTip(tr("Compute and show no private figure while the network trains"))
        named(self._quiet, "train_quiet", tr("Quiet run"))
        self._quiet_words = label("", "muted", wrap=True, name="train_quiet_words")
        self._quiet.toggled.connect(self._say_quiet)
        self._quiet.toggled.connect(self.changed)
        self._quiet_line = QWidget()
        quiet = row(self._quiet, (self._quiet_words, 1), spacing=12)
        self._quiet_line.setLayout(quiet)
        self._say_quiet()
        stated = (title, left, self._problem, self._missing, self.raise_cap)
        for part in (*stated, self._quiet_line, test, place):
            self.body.addWidget(part)
        self.set_problem("")

    @property
    def place(self) -> Path | None:
        """The folder, or ``None`` where none is given."""
        text = self.folder.text().strip()
        return Path(text) if text else None

    @property
    def quiet(self) -> bool:
        """Whether no private figure is to be shown."""
        return self._quiet.isChecked()

    def lock(self, *, locked: bool) -> None:
        """Let nothing be changed while a run goes on, and leave the room of what cannot be to its charts."""
        self._quiet.setEnabled(not locked)
        self._place.setHidden(locked)
        if locked:
            self._quiet_line.hide()

    def _say_quiet(self) -> None:
        beside = f" {tr(BESIDE)}" if self._first and not self.quiet else ""
        self._quiet_words.setText(tr(QUIET) if self.quiet else f"{tr(SHOWN)}{beside}")

    def say_first(self, *, first: bool) -> None:
        """Say beside the tick whether a run that is not quiet would show the first private figures of the rows."""
        self._first = first
        self._say_quiet()

    def set_problem(self, text: str) -> None:
        """Say why there is no cost; nothing where there is."""
        say(self._problem, text)

    def show_figures(
        self, found: Preflight | None, *, network: bool, torch_missing: bool, asked: bool = False, beyond: bool = False
    ) -> None:
        """Show what was worked out (``None``: not yet) for a network or a model without steps.

        Args:
            found: the figures.
            network: whether the model is trained step by step.
            torch_missing: whether what networks need is not installed.
            asked: whether the figures are being worked out unless there is a problem.
            beyond: whether the cap does not pay for them.
        """
        self.raise_cap.setVisible(beyond)
        self._quiet_line.setVisible(network)
        working = asked and not self._problem.text()
        self._missing.setText(
            tr("Training a network needs PyTorch: {how}", how=tr_sentence(how_to_install(TORCH)))
            if torch_missing
            else ""
        )
        self._missing.setVisible(torch_missing)
        self._facts.show_line("cost", tr("cost"), cost(found, working=working), "accent")
        if found is not None and found.made_of:
            self._facts.show_line("made_of", tr("made of"), tr_sentence(found.made_of))
        else:
            self._facts.hide_line("made_of")
        self._show_weights("" if found is None else found.weights)
        if not network:
            for key in OF_NETWORKS:
                self._facts.hide_line(key)
            return
        sigma, count, need, kind = "–", "–", "–", ""
        if found is not None and found.sigma is not None:
            sigma, count, need = f"σ = {plain(found.sigma)}", steps(found), _memory(found)
            kind = "" if found.fits else "danger"
        self._facts.show_line("sigma", tr("noise over clipping norm"), sigma)
        self._facts.show_line("steps", tr("steps"), count)
        self._facts.show_line("memory", tr("memory it adds"), need, kind, tip=_made_of(found))

    def _show_weights(self, checksum: str) -> None:
        """Show the checksum of the public weights of a frozen part, where there are any."""
        self._facts.show_line(
            "weights", tr("SHA-256 of the weights"), f"{checksum[:16]}…", tip=f"{checksum}\n{tr(WEIGHTS)}"
        )
        if not checksum:
            self._facts.hide_line("weights")

    def _choose(self) -> None:
        path = ask_where_to_save(self, tr("A new folder for the model"), self.folder.text(), tr("Folder (*)"))
        if path:
            self.folder.choose(path)
            self.changed.emit()


def _memory(found: Preflight) -> str:
    need, free = memory((found.memory or 0) + (found.libraries or 0)), memory(found.free or 0)
    if found.fits:
        return tr("{need}; fits, {free} free", need=need, free=free)
    return tr("{need}; does not fit: {free} free", need=need, free=free)


def _made_of(found: Preflight | None) -> str:
    """Return what the memory is for: three figures of one run are shown in one place."""
    if found is None or found.memory is None:
        return ""
    if not found.libraries:
        return tr(
            "Predicted: {memory} for rows and model. The gauge adds what the window takes.", memory=memory(found.memory)
        )
    return tr(
        "Predicted: {memory} for rows and model, {libraries} for Python and PyTorch in a process of its own. "
        "The gauge adds what the window takes.",
        memory=memory(found.memory),
        libraries=memory(found.libraries),
    )
