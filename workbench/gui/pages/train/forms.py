"""Which model is trained, at which ε, and the form of its other parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from PySide6.QtCore import QEvent, QObject, QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import QButtonGroup, QLineEdit, QPushButton, QRadioButton, QWidget

from workbench import learners
from workbench.deep import networks
from workbench.deep.networks import Network
from workbench.deep.plan import DpSgdPlan
from workbench.gui.pages.run_page import fitting, why_advised
from workbench.gui.pages.train.tasks import first_parameters, first_plan
from workbench.gui.session.session import Session
from workbench.gui.session.undo import FormSteps
from workbench.gui.style.language import as_sentence, tr, tr_later, tr_n, tr_sentence, typed
from workbench.gui.widgets.basic import (
    Card,
    button,
    enable_if,
    hold,
    label,
    mark_wrong,
    named,
    panel,
    row,
    rule,
    say,
    scrolled,
    show_if,
    stack,
)
from workbench.gui.widgets.choice_box import ChoiceBox
from workbench.gui.widgets.formatting import STAR, at_most, entered
from workbench.gui.widgets.parameter_form import ASK, HELP_HEIGHT, LOOKED_AT, Form
from workbench.learners import Learner
from workbench.params import ParameterError, Parameters
from workbench.params.field import Field
from workbench.render.fonts import scaled

NO_TARGET = tr_later("No column to predict is chosen: these models predict nothing, and learn from all columns.")


@dataclass(frozen=True)
class Group:
    """Models under a heading, or under none; ``folded`` where it is closed at first, ``about`` what they are."""

    name: str
    title: str
    models: tuple[Learner | Network, ...]
    about: str = ""
    folded: bool = True


@dataclass(frozen=True)
class Offer:
    """What can be trained: groups that are not empty, the advised model and why, or why there is none; and the rest."""

    groups: tuple[Group, ...] = ()
    advised: str = ""
    why: str = ""
    unfit: tuple[Learner, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(model.name for group in self.groups for model in group.models)


def offer_of(session: Session) -> Offer:
    """Return what can be trained on what is open; nothing of it is read."""
    images, target, draft = session.images, session.target, session.plan
    if images is not None:
        return _of_images(images.table)
    if session.opened is None:
        return Offer()
    from workbench.release.model.preflight import network_features

    found = fitting(session)
    reading: tuple[Network, ...] = ()
    if target is not None and not draft.column(target).numeric:  # networks predict classes alone
        try:
            features = network_features(draft.plan(), target)
            reading = networks.networks_reading(features.width, len(features.classes))
        except ParameterError:  # some facts are still open
            reading = networks.networks_reading(1, 2)
    steps = tr("Trained in steps, with a small chance δ that the guarantee fails")
    alone = found.others if found.predicting else ()
    groups = (
        *_advised_first(found.predicting or found.others, found.advised),
        _counted("networks", tr("Networks"), reading, steps),
        _counted("others", tr("Without the target"), alone, tr("Groups of rows, and columns made for another model")),
    )
    why = why_advised(found) if target is not None else f"{tr(NO_TARGET)} {why_advised(found)}"
    return Offer(tuple(group for group in groups if group.models), found.advised, why, found.unfit)


def _advised_first(models: Sequence[Learner | Network], advised: str, title: str = "") -> tuple[Group, Group]:
    """Return the advised model, and folded below it the others that fit; all of them where none is advised."""
    first = tuple(model for model in models if model.name == advised) or tuple(models)
    more = tuple(model for model in models if model not in first)
    others = tr_n("{n} more that fits", "{n} more that fit", len(more))
    return Group("fit", title, first, folded=False), Group("more", others, more, tr("Other models that can be trained"))


def _counted(name: str, title: str, models: Sequence[Learner | Network], about: str) -> Group:
    return Group(name, f"{title} ({len(models)})", tuple(models), about)


def _of_images(images: object) -> Offer:
    from workbench.deep.features import ImageFeatures

    features = ImageFeatures.of(images)  # type: ignore[arg-type]
    reading = networks.networks_reading(features.width, len(features.classes))
    # One with a frozen part learns most from a small budget: what it reads is made by public filters.
    advised = next((entry for entry in reading if entry.frozen), reading[0])
    why = tr(
        "{title} is recommended: most of it is public filters, so it has little to learn from your images.",
        title=tr_sentence(advised.title),
    )
    groups = _advised_first(reading, advised.name, tr("PREDICT THE CLASS"))
    return Offer(tuple(group for group in groups if group.models), advised.name, why)


class ModelList(QWidget):
    """A round button for each model, under headings that open and close."""

    chosen = Signal(str)

    def __init__(self) -> None:
        super().__init__()
        named(self, "train_models", tr("Models that can be trained"))
        self._offer: Offer | None = None
        self._about = label("", "muted", wrap=True, name="train_about")
        self._lines = stack(spacing=2)
        self.setLayout(stack(self._lines, self._about, spacing=8))
        self._holder = QWidget()
        self._lines.addWidget(self._holder)
        self._buttons: dict[str, QRadioButton] = {}
        self._models: dict[str, Learner | Network] = {}
        self._folds: dict[str, tuple[QWidget, ...]] = {}

    def show_offer(self, offer: Offer, chosen: str) -> None:
        if offer != self._offer:
            self._offer = offer
            self._fill(offer)
        self.show_model(chosen)

    def show_model(self, name: str) -> None:
        """Mark ``name`` as the chosen one, without a signal, and say what it is."""
        for known, made in self._buttons.items():
            with QSignalBlocker(made):
                made.setChecked(known == name)
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
                lines.addLayout(row(self._fold(group.name, group.title, group.about, parts), None))
            elif group.title:
                lines.addWidget(label(group.title, "caption"))
            for part in parts:
                lines.addWidget(part)
        if offer.unfit:
            why = label("\n".join(_reasons(offer.unfit)), "muted", wrap=True, name="train_unfit", hidden=True)
            about = tr("Models that cannot be trained on this, and why")
            title = f"{tr('Do not fit')} ({len(offer.unfit)})"
            lines.addLayout(row(self._fold("unfit", title, about, [why]), None))
            lines.addWidget(why)
        self._holder.setLayout(lines)
        self._holder.show()  # now: its place would show it one event later, and a click could come before

    def _fold(self, key: str, title: str, about: str, parts: Sequence[QWidget]) -> QPushButton:
        """Return the heading that opens and closes ``parts``."""
        fold = button("", f"train_fold_{key}", "link", tip=about, press=lambda: self._turn(key))
        fold.setProperty("stated", title)
        self._folds[key] = (fold, *parts)
        self._say_fold(key)
        return fold

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
        show_if(shown, *parts)
        self._say_fold(key)

    def _say_fold(self, key: str) -> None:
        fold, first, *_ = self._folds[key]
        stated = f"{'▸' if first.isHidden() else '▾'} {fold.property('stated')}"
        fold.setText(stated)  # type: ignore[attr-defined]
        fold.setAccessibleName(stated)


def _reasons(unfit: tuple[Learner, ...]) -> list[str]:
    """Return what models need that this table or target is not, each reason once with the models it holds for."""
    found: dict[str, list[str]] = {}
    for model in unfit:
        found.setdefault(model.needs, []).append(tr_sentence(model.title))
    return [f"{', '.join(titles)}: {tr_sentence(needs)}" for needs, titles in found.items()]


WIDTH, WIDE = 384, 480  # points of the card at the usual text size, and at most: with larger text, or on a wide page

EPSILON = "epsilon"
FOLLOWS = tr_later("It follows the plan until you enter another.")

NOT_ASKED = {"accountant": "pld"}  # what nobody needs to choose for a network: this accountant gives the least ε

NOT_READ = {"weights": None, "weights_sha256": None, "reduction": "1", "convert_batchnorm": False}
"""What a network reads only if its options name it, by default."""


class ModelForms(Card):
    """The models that fit, one ε for whichever is chosen, and the form of the chosen one.

    ε is the plan's until a person enters another; it is kept when another model is chosen. Nothing is listed before
    :meth:`begin` or :meth:`refresh`.
    """

    changed = Signal()
    chosen = Signal()

    def __init__(self, session: Session) -> None:
        super().__init__(pad=12)
        self._session = session
        self._models: dict[str, Learner | Network] = {entry.name: entry for entry in learners.LEARNERS}
        self._models |= {entry.name: entry for entry in networks.NETWORKS}
        self._forms: dict[str, Form] = {}
        self._rows, self._images, self._follows, self.fits = 0, False, True, False
        self._first = ""  # the model that was advised where it was chosen unasked
        self.model = next(iter(self._models))
        self.steps = FormSteps(session.undo_stack, "train", self._state, self._restore, self._title, self._is_written)
        self.list = ModelList()
        self.list.chosen.connect(self.choose)
        about = tr("The column that a model predicts"), tr("The column to predict")
        self.target = named(ChoiceBox(), "train_target", *about)
        self.target.give_way(16)
        self.target.activated.connect(lambda: session.set_target(self.target.currentData()))
        self._use = label("", "caption", name="train_use")
        self._predict = panel(row(self._use, (self.target, 1)))
        self.epsilon = named(QLineEdit(), "train_epsilon", tr("ε of the model"))
        hold(self.epsilon, 96)
        self.epsilon.textEdited.connect(self._typed)
        self._words = label("ε")
        self._words.setBuddy(self.epsilon)
        for part in (self._words, self.epsilon):
            part.installEventFilter(self)
        self._following = label(tr(FOLLOWS), "muted", wrap=True, name="train_follows")
        self._follow = button("", "train_follow", "link", tip=tr("Take the ε of the plan again, and follow it"))
        self._follow.clicked.connect(self._follow_plan)
        self._problem = label("", "problem", wrap=True, name="train_epsilon_problem")
        self._help = label(tr(ASK), "muted", wrap=True, name="train_help")
        self._help.setAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
        self._of_epsilon = stack(row(self._words, self.epsilon, None), row(self._following, self._follow), spacing=0)
        self._place = stack(spacing=0)
        self._of_model = panel(stack(rule(), self._of_epsilon, self._problem, self._place, spacing=10))
        inner = stack(self._predict, self.list, self._of_model, None, spacing=10, margins=(0, 0, 8, 0))
        area = scrolled(inner, "train_forms")
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)  # at larger text
        self.body.addWidget(area, 1)
        self._below = panel(stack(rule(), self._help, spacing=self.body.spacing()))
        self.body.addWidget(self._below)
        self.set_roomy(roomy=False)
        self._show_epsilon(session.plan.epsilon)

    def set_roomy(self, *, roomy: bool) -> None:
        least = scaled(WIDTH, WIDE)
        self.setMinimumWidth(least)  # also of a wide page, which can be made narrow again
        self.setMaximumWidth(WIDE if roomy else least)
        # The longest sentence has three lines, four where the text grows and the card does not: nothing moves.
        lines = 3 if scaled(WIDTH) <= WIDE else 4
        self._help.setFixedHeight(max(HELP_HEIGHT, lines * self._help.fontMetrics().lineSpacing()))

    @property
    def chosen_model(self) -> Learner | Network:
        return self._models[self.model]

    @property
    def is_network(self) -> bool:
        return isinstance(self.chosen_model, Network)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        """Explain ε below, as every other field, where the keys or the pointer come to it."""
        if event.type() in LOOKED_AT:
            self._help.setText(self.epsilon.accessibleDescription())
        return False

    # -- the model --------------------------------------------------------------------------------------------------

    def begin(self, rows: int, *, images: bool = False) -> None:
        """Begin anew for ``rows`` rows, of a table or ``images``, with the advised model at the ε of the plan."""
        self._rows, self._images = rows, images
        with self.steps.unasked():
            self._begin()

    def _begin(self) -> None:
        former, self._forms = self._forms, {}
        for form in former.values():
            form.setParent(None)  # it is deleted only when the event loop comes to it
            form.deleteLater()
        self._show_epsilon(self._session.plan.epsilon)
        self._take_advised(offer_of(self._session))

    def _take_advised(self, offered: Offer) -> None:
        self._choose(offered.advised or self.model, offered)
        self._first = self.model if self._session.target is None else ""

    def refresh(self) -> None:
        """Follow the plan: list what fits it now, leave a model that does not, and take its ε unless it is set."""
        offered = offer_of(self._session)
        with self.steps.unasked():
            if self._follows:
                self._show_epsilon(self._session.plan.epsilon)
            # Whatever was there before a target was, nobody has chosen.
            unasked = self._session.target is not None and self.model == self._first
            if offered.advised and (not self.fits or self.model not in offered.names or unasked):
                self._take_advised(offered)
            else:
                self._show(offered)

    def retranslate(self) -> None:
        self._show(offer_of(self._session))

    def choose(self, model: str) -> None:
        self._choose(model, offer_of(self._session))

    def _choose(self, model: str, offered: Offer) -> None:
        self.model, self._first = model, ""
        if not self.is_network and not self.epsilon.text().strip():  # a network alone may have it follow from its noise
            self._show_epsilon(self._session.plan.epsilon)
        self._show(offered)
        self.steps.keep()
        self.chosen.emit()
        self.changed.emit()

    def _show(self, offered: Offer) -> None:
        draft = self._session.plan
        self.fits = bool(offered.names)
        self.list.show_offer(offered, self.model)
        show_if(self.fits, self._of_model, self._below)
        self._predict.setVisible(self._session.opened is not None)
        chosen = self.chosen_model
        predicts = isinstance(chosen, Network) or chosen.predicts or not draft.target
        self._use.setText(tr("PREDICT") if predicts else tr("LEAVE OUT"))
        nothing = [(tr("no column"), None)]
        listed = [(c.name, c.name) for c in draft.columns if c.protected or c.name == draft.target]
        self.target.offer([*nothing, *listed], draft.target)
        form = self._form()
        for known in self._forms.values():
            known.setVisible(known is form)
        spec = self._spec()
        title = tr_sentence(spec.title) or tr("privacy budget")
        self._words.setText(f"{title}, ε")
        tip = as_sentence(tr_sentence(spec.help))
        for part in (self._words, self.epsilon):
            part.setToolTip(tip)
        if self.epsilon.hasFocus():
            self._help.setText(tip)
        self.epsilon.setAccessibleDescription(tip)
        self.epsilon.setPlaceholderText(tr_sentence(getattr(spec, "empty", "") or ""))
        self._say_epsilon()

    def _form(self) -> Form:
        if self.model not in self._forms:
            entry, rows = self.chosen_model, max(self._rows, 8)
            form = self._forms[self.model] = _form(entry)
            epsilon = self._session.plan.epsilon
            if isinstance(entry, Network):
                form.set_value(first_plan(entry, rows, epsilon, images=self._images))
            else:
                form.set_value(first_parameters(entry, rows, epsilon, self._session.account.delta_remaining))
            form.changed.connect(self._edited)
            form.explained.connect(self._help.setText)
            self._place.addWidget(form)
        return self._forms[self.model]

    # -- ε ----------------------------------------------------------------------------------------------------------

    def _spec(self) -> Field:
        entry = self.chosen_model
        kind = DpSgdPlan if isinstance(entry, Network) else entry.parameters
        return kind.declared()[EPSILON]

    def _stated(self) -> Decimal | None:
        """Return the ε in the field, ``None`` where it is empty.

        Raises:
            ParameterError: it is refused.
        """
        text, spec = self.epsilon.text().strip(), self._spec()
        value = spec.parse(typed(text), "ε") if text else spec.check(None, "ε")
        if value is None and not self.is_network:
            raise ParameterError(tr("a model needs an ε"), hint=tr("enter one"), field=EPSILON)
        return None if value is None else Decimal(repr(float(value)))

    def _show_epsilon(self, epsilon: Decimal | None, *, follows: bool = True) -> None:
        self._follows = follows
        self.epsilon.setText("" if epsilon is None else entered(epsilon))

    def _typed(self) -> None:
        self._follows = False
        self._edited()

    def _follow_plan(self) -> None:
        self._show_epsilon(self._session.plan.epsilon)
        self._edited()

    def _say_epsilon(self) -> None:
        problem = ""
        try:
            self._form().give(EPSILON, None if (stated := self._stated()) is None else float(stated))
        except ParameterError as error:
            problem = as_sentence(tr_sentence(error.what))
        problem = problem or self._form().refused
        say(self._problem, problem)
        mark_wrong(self.epsilon, wrong=bool(problem))
        self._following.setVisible(self._follows)
        self._follow.setText(tr("Use the plan's ε = {epsilon}", epsilon=at_most(self._session.plan.epsilon)))
        self._follow.setAccessibleName(self._follow.text())
        self._follow.setVisible(not self._follows)

    def _edited(self) -> None:
        self._say_epsilon()
        self.steps.keep()
        self.changed.emit()

    # -- steps ------------------------------------------------------------------------------------------------------

    def _state(self) -> dict[str, Any]:
        """Return what is chosen and written, the fields of each model after its name."""
        written = {
            f"{model} {key}": value for model, form in self._forms.items() for key, value in form.state().items()
        }
        return {"model": self.model, EPSILON: None if self._follows else self.epsilon.text(), **written}

    def _restore(self, state: Mapping[str, Any]) -> None:
        for model, form in self._forms.items():
            form.restore({key: state.get(f"{model} {key}", value) for key, value in form.state().items()})
        self._follows = state[EPSILON] is None
        self.epsilon.setText(entered(self._session.plan.epsilon) if self._follows else state[EPSILON])
        with self.steps.unasked():
            if state["model"] != self.model:
                self.choose(state["model"])
            else:
                self._edited()

    def _title(self, field: str) -> str:
        model, _, key = field.partition(" ")
        return self._forms[model].title_of(key) if key else {"model": tr("model"), EPSILON: "ε"}[field]

    def _is_written(self, field: str) -> bool:
        model, _, key = field.partition(" ")
        return isinstance(self._forms[model].field(key), QLineEdit) if key else field == EPSILON

    def meanings(self) -> list[str]:
        return self._form().meanings()

    # -- the values -------------------------------------------------------------------------------------------------

    def value(self) -> Parameters | None:
        try:
            stated = self._stated()
        except ParameterError:
            return None
        form = self._form()
        form.give(EPSILON, None if stated is None else float(stated))
        return form.value()

    def _take(self, value: Parameters) -> None:
        """Show ``value`` in the form of the chosen model, its ε as one that was asked for."""
        epsilon = value.to_plain().get(EPSILON)
        self._show_epsilon(None if epsilon is None else Decimal(repr(float(epsilon))), follows=False)
        self._form().set_value(value)
        self._edited()

    def show_plan(self, plan: DpSgdPlan) -> None:
        self.choose(plan.network)
        self._take(plan)

    def offer(self, model: str, epsilon: Decimal) -> None:
        if model not in self._models:
            return
        self.choose(model)
        self._show_epsilon(epsilon, follows=False)
        self._edited()

    def offer_run(self, figures: Mapping[str, float | str]) -> None:
        """Choose the network that is named, or any, and put these values into its form.

        Where they have a σ, ε follows from it.
        """
        stated = dict(figures)
        named = stated.pop("network", self.model if self.is_network else networks.NETWORKS[0].name)
        if named != self.model and named in self._models:
            self.choose(str(named))
        present = self.value()
        if present is not None:
            kept = present.to_plain()
            if "noise" in stated:
                kept.pop(EPSILON, None)
            self._take(type(present).from_plain({**kept, **stated}))

    def lock(self, *, locked: bool) -> None:
        enable_if(not locked, self.target, self.list, self.epsilon, self._follow, *self._forms.values())


def _form(entry: Learner | Network) -> Form:
    name = f"train_{entry.name.replace('-', '_')}"
    if isinstance(entry, Network):
        unread = {key: value for key, value in NOT_READ.items() if key not in entry.options}
        given = {"network": entry.name, EPSILON: None, **NOT_ASKED, **unread}
        return Form(name, DpSgdPlan, given=given, first=entry.options)
    return Form(name, entry.parameters, given={EPSILON: 1.0})
