"""The models that can be trained on what is open: those that fit in sight, one of them advised, the rest folded."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QButtonGroup, QRadioButton, QWidget

from workbench.deep import networks
from workbench.deep.networks import Network
from workbench.gui.pages.run_page import fitting, why_advised
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_later, tr_sentence
from workbench.gui.widgets.basic import button, label, named, row, stack
from workbench.gui.widgets.formatting import STAR
from workbench.learners import Learner
from workbench.params import ParameterError

NO_TARGET = tr_later("Choose the column to predict in Data, Columns: the models that fit it are listed here.")
NOTHING_OPEN = tr_later("Open a table or images in Data first.")


@dataclass(frozen=True)
class Group:
    """Models under one heading; ``folded`` where it is closed until somebody opens it, ``about`` what they are."""

    name: str
    title: str
    models: tuple[Learner | Network, ...]
    about: str = ""
    folded: bool = True


@dataclass(frozen=True)
class Offer:
    """What can be trained: groups that are not empty, the advised model and why, or why there is none."""

    groups: tuple[Group, ...] = ()
    advised: str = ""
    why: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all models, in the order of the list."""
        return tuple(model.name for group in self.groups for model in group.models)


def offer_of(session: Session) -> Offer:
    """Return what can be trained on what is open; nothing of it is read."""
    images, target, draft = session.images, session.target, session.plan
    if images is not None:
        return _of_images(images.table)
    if session.opened is None:
        return Offer(why=tr(NOTHING_OPEN))
    if target is None:
        return Offer(why=tr(NO_TARGET))
    from workbench.release.model.preflight import network_features

    found = fitting(session)
    reading: tuple[Network, ...] = ()
    if not draft.column(target).numeric:  # networks predict classes alone
        try:
            features = network_features(draft.plan(), target)
            reading = networks.networks_reading(features.width, len(features.classes))
        except ParameterError:  # some facts are still open
            reading = networks.networks_reading(1, 2)
    groups = (
        Group("fit", tr("PREDICT {target}", target=target), found.predicting, folded=False),
        Group(
            "networks", tr("Networks"), reading, tr("Trained in steps, with a small chance δ that the guarantee fails")
        ),
        Group(
            "others", tr("Without the target"), found.others, tr("Groups of rows, and columns made for another model")
        ),
    )
    return Offer(tuple(group for group in groups if group.models), found.advised, why_advised(found))


def _of_images(images: object) -> Offer:
    from workbench.deep.features import ImageFeatures

    features = ImageFeatures.of(images)  # type: ignore[arg-type]
    reading = networks.networks_reading(features.width, len(features.classes))
    # One with a frozen part learns most from a small budget: what it reads is made by public filters.
    advised = next((entry for entry in reading if entry.frozen), reading[0])
    why = tr(
        "{title} is advised: most of it is public filters, so it has little to learn from your images.",
        title=tr_sentence(advised.title),
    )
    return Offer((Group("fit", tr("PREDICT THE CLASS"), reading, folded=False),), advised.name, why)


class ModelList(QWidget):
    """A round button for each model, under headings that open and close.

    Signals:
        chosen: (name) of the model that a person chose.
    """

    chosen = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        named(self, "train_models", tr("Models that can be trained"))
        self._offer: Offer | None = None
        self._about = label("", "muted", wrap=True, name="train_about")
        self._lines = stack(spacing=2)
        whole = stack(spacing=8)
        whole.addLayout(self._lines)
        whole.addWidget(self._about)
        self.setLayout(whole)
        self._holder = QWidget()
        self._lines.addWidget(self._holder)
        self._buttons: dict[str, QRadioButton] = {}
        self._models: dict[str, Learner | Network] = {}
        self._folds: dict[str, tuple[QWidget, ...]] = {}

    def show_offer(self, offer: Offer, chosen: str) -> None:
        """List ``offer``, of which ``chosen`` is chosen."""
        if offer != self._offer:
            self._offer = offer
            self._fill(offer)
        self.show_model(chosen)

    def show_model(self, name: str) -> None:
        """Mark ``name`` as the chosen one, without a signal, and say what it is."""
        for known, made in self._buttons.items():
            made.blockSignals(True)
            made.setChecked(known == name)
            made.blockSignals(False)
        if name in self._buttons and self._buttons[name].isHidden():
            self._turn(next(key for key, parts in self._folds.items() if self._buttons[name] in parts))
        assert self._offer is not None
        model = self._models.get(name)
        why = self._offer.why if name == self._offer.advised else ""
        self._about.setText(why or ("" if model is None else tr_sentence(model.about)) or self._offer.why)

    def _fill(self, offer: Offer) -> None:
        former, self._holder = self._holder, QWidget()
        self._lines.replaceWidget(former, self._holder)
        former.setParent(None)  # it is deleted only when the event loop comes to it
        former.deleteLater()
        self._buttons, self._models, self._folds = {}, {}, {}
        lines, exclusive = stack(spacing=0), QButtonGroup(self._holder)
        exclusive.setExclusive(True)
        for group in offer.groups:
            parts = [self._option(model, advised=model.name == offer.advised) for model in group.models]
            for part in parts:
                exclusive.addButton(part)
                if group.folded:  # before they have a parent, what is shown would be a window of its own
                    part.hide()
            if group.folded:
                fold = button("", f"train_fold_{group.name}", "link", tip=group.about)
                fold.clicked.connect(lambda _on=False, key=group.name: self._turn(key))
                fold.setProperty("stated", f"{group.title} ({len(parts)})")
                lines.addLayout(row(fold, None))
                self._folds[group.name] = (fold, *parts)
                self._say_fold(group.name)
            else:
                lines.addWidget(label(group.title, "caption"))
            for part in parts:
                lines.addWidget(part)
        self._holder.setLayout(lines)

    def _option(self, model: Learner | Network, *, advised: bool) -> QRadioButton:
        title = tr_sentence(model.title)
        text = f"{title}   {STAR}" if advised else title
        tip = f"{title}. {tr_sentence(model.about)} {tr_sentence(model.needs)}"
        made = named(QRadioButton(text), f"train_model_{model.name}", text, tip)
        made.toggled.connect(lambda on, name=model.name: self.chosen.emit(name) if on else None)
        self._buttons[model.name], self._models[model.name] = made, model
        return made

    def _turn(self, key: str) -> None:
        _, *parts = self._folds[key]
        shown = parts[0].isHidden()
        for part in parts:
            part.setVisible(shown)
        self._say_fold(key)

    def _say_fold(self, key: str) -> None:
        fold, first, *_ = self._folds[key]
        stated = f"{'▸' if first.isHidden() else '▾'} {fold.property('stated')}"
        fold.setText(stated)  # type: ignore[attr-defined]
        fold.setAccessibleName(stated)
