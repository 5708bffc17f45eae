"""What a curve compares: model, regimes, ε list, repeats; and what of it is drawn."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtGui import QUndoStack
from PySide6.QtWidgets import QCheckBox, QLineEdit, QMenu, QToolButton, QWidget

from workbench import learners
from workbench.gui.pages.run_page import offer_models
from workbench.gui.session.error_text import sentence
from workbench.gui.session.undo import FormSteps
from workbench.gui.style.language import shown_list, tr, tr_later, tr_sentence, typed_list
from workbench.gui.widgets.basic import (
    Card,
    button,
    hold,
    hold_most,
    label,
    lines,
    look,
    mark_wrong,
    named,
    panel,
    say,
    stack,
)
from workbench.gui.widgets.choice_box import ChoiceBox
from workbench.gui.widgets.parameter_form import given_in, put_in
from workbench.learners import Learner
from workbench.params import ParameterError
from workbench.privacy.local import mechanisms
from workbench.sanitize.learner_advice import SuitableLearners
from workbench.sanitize.plan import AUTO
from workbench.studies.curve import CurvePlan
from workbench.studies.metrics import measured
from workbench.studies.regimes import ON_A_TABLE, PLANNED
from workbench.synth import MARGINALS

FIRST = CurvePlan()
TOOLTIP = Qt.ItemDataRole.ToolTipRole
WAYS = {
    "none": (tr_later("no privacy"), tr_later("An ordinary model on the rows as they are")),
    "sanitized": (tr_later("sanitised by"), tr_later("An ordinary model on a sanitised table")),
    "corrected": (
        tr_later("corrected"),
        tr_later("The same sanitised rows, and a model that knows the public tables they went through"),
    ),
    "synthetic": (
        tr_later("synthetic"),
        tr_later("An ordinary model trained on synthetic rows, drawn from noisy counts of the training rows"),
    ),
    "private": (tr_later("private"), tr_later("A model that adds noise to what it learns")),
}
"""The words of each way of training, and what it is."""
AS_PLANNED = tr_later(
    "The plan: each column by the mechanism that Release, Columns shows. In any case ε is split "
    "as in the plan; locked shares keep their part of it"
)
OF_A_ROW = tr_later("Privacy losses of a whole row: 0.1, 1, 10 or 0.1:100:13 for 13 in equal ratios")
OF_EACH = tr_later(
    "Privacy losses of a whole row, of the private model for each prediction: 0.1, 1, 10 or 0.1:100:13 for 13 in "
    "equal ratios"
)
ONLY_PRIVATE = tr_later("a sanitised table has no blocks to draw the figures against")
NO_ORDINARY = tr_later("This model has no ordinary counterpart without privacy")
NO_CORRECTED = tr_later("This model cannot learn from a sanitised table knowing the public tables it went through")
REFUSALS = {"none": NO_ORDINARY, "sanitized": NO_ORDINARY, "corrected": NO_CORRECTED, "synthetic": NO_ORDINARY}

BLOCKS = "blocks"
AGAINST_BLOCKS = tr_later(
    "Numbers of blocks that the rows are dealt into, such as 5, 10, 20: the figures are drawn "
    "against them, with a line for each ε. Empty: against ε"
)

MORE_TIP = tr_later("Train other models on the same rows as well, and draw all of them together")
MOST_MODELS = 3  # models in one picture: the lines of more would look alike

LEAST_LETTERS, WIDEST_LIST, WIDEST_METRIC = {"regime_mechanism": 6, "curve_metric": 7}, 320, 200
"""Letters that a list of mechanisms or metrics has room for at least; the width of a list, and of metrics, at most."""


class CurveSetup(Card):
    """The fields that make a :class:`CurvePlan`; all but the models and the metric can be folded away."""

    changed = Signal()
    look_changed = Signal()

    def __init__(self, stack: QUndoStack) -> None:
        super().__init__(pad=12)
        self.setObjectName("curve_setup")
        self.model = named(ChoiceBox(), "curve_model", tr("Model"), tr("The model that every regime trains"))
        self.more = look(QToolButton(), "button")
        named(self.more, "curve_more", tr("Further models"), tr(MORE_TIP))
        self.more.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.more.setMenu(QMenu(self.more))
        self.more.setProperty("menu", True)  # the style sheet draws its chevron
        # Whether the chosen model stays, where it fits, though another is advised: it was chosen, or computed.
        self.kept = False
        self._further: list[str] = []
        self._list_models(SuitableLearners())
        self._regimes = {key: _check(tr(words), f"regime_{key}", tr(tip)) for key, (words, tip) in WAYS.items()}
        for key in ("corrected", "synthetic"):  # further lines are asked for
            self._regimes[key].setChecked(False)
        self.mechanism = named(ChoiceBox(), "regime_mechanism", tr("Mechanism of the sanitised table"), tr(AS_PLANNED))
        self.mechanism.addItem(tr("the plan"), PLANNED)
        self.mechanism.setItemData(0, tr(AS_PLANNED), TOOLTIP)
        self.mechanism.addItem(tr("the advisor's choice"), AUTO)
        for kind in mechanisms.MECHANISMS:
            self.mechanism.addItem(tr_sentence(kind.title), kind.name)
        written = shown_list(FIRST.epsilons)
        self.epsilons = named(QLineEdit(written), "curve_epsilons", tr("List of ε"), tr(OF_A_ROW))
        tip = tr("Number of 80/20 splits to average over")
        self.repeats = named(QLineEdit(str(FIRST.repeats)), "curve_repeats", tr("Repeats"), tip)
        hold(self.repeats, 56)
        self.blocks = named(QLineEdit(), "curve_blocks", tr("Numbers of blocks"), tr(AGAINST_BLOCKS))
        self.blocks.setPlaceholderText("5, 10, 20")
        hold(self.blocks, 88)
        self.measure = named(ChoiceBox(), "curve_metric", tr("Metric"), tr("Which figure is drawn; all are computed"))
        self.bands = _check(tr("bands"), "curve_bands", tr("One standard error of the mean, above and below"))
        self.baselines = _check(tr("baselines"), "curve_baselines", tr("No privacy, and always giving the same answer"))
        self._problem = label("", "problem", wrap=True, name="curve_problem", hidden=True)
        self._misfit = ""
        self._taken: dict[str, bool] = {}  # ways that this model lacks, and whether they were ticked before it
        self._steps = FormSteps(stack, "curve", self._state, self._restore, self._title, self._is_written)
        self._arrange()
        self._follow_model()
        self._steps.begin()
        self._listen()

    def _listen(self) -> None:
        self.model.currentIndexChanged.connect(self._follow_model)
        self.model.currentIndexChanged.connect(self._keep)
        for combo in (self.model, self.mechanism):
            combo.currentIndexChanged.connect(self._edited)
        for box in self._regimes.values():
            box.toggled.connect(self._edited)
        for line in (self.epsilons, self.repeats, self.blocks):
            line.textEdited.connect(self._edited)
        for changed in (self.measure.currentIndexChanged, self.bands.toggled, self.baselines.toggled):
            changed.connect(lambda _value: self._steps.keep())
            changed.connect(self.look_changed)

    # -- steps ------------------------------------------------------------------------------------------------------

    @property
    def _fields(self) -> dict[str, QWidget]:
        """The fields by name: that of the model first, which the others follow."""
        lists = {"model": self.model, "more": self.more, "mechanism": self.mechanism, "measure": self.measure}
        lines = {"epsilons": self.epsilons, "repeats": self.repeats, BLOCKS: self.blocks}
        return {**lists, **lines, **self._regimes, "bands": self.bands, "baselines": self.baselines}

    def _state(self) -> dict[str, Any]:
        return {
            **{key: given_in(field) for key, field in self._fields.items() if field is not self.more},
            "more": tuple(self._further),
            "taken": dict(self._taken),
            "kept": self.kept,
        }

    def _restore(self, state: Mapping[str, Any]) -> None:
        with self._steps.unasked():
            self.kept, self._further, self._taken = state["kept"], list(state["more"]), {}
            for key, field in self._fields.items():
                if key in state and field is not self.more:
                    put_in(field, state[key])
                if field is self.model:
                    self._follow_model()
            self._taken = dict(state["taken"])
            self._edited()
        self.look_changed.emit()

    def _title(self, field: str) -> str:
        return tr("Further models").lower() if field == "more" else self._fields[field].accessibleName().lower()

    def _is_written(self, field: str) -> bool:
        return isinstance(self._fields.get(field), QLineEdit)

    def _arrange(self) -> None:
        none, sanitized, corrected, synthetic, private = self._regimes.values()
        # The longest names would push a window of 1280 pixels wider: the lists take the room that there is.
        for combo in (self.model, self.mechanism, self.measure):
            combo.give_way(LEAST_LETTERS.get(combo.objectName(), 0))  # that of models asks for its words
            hold_most(combo, WIDEST_LIST)
        self._fold = button("", "curve_settings", "link", press=lambda: self.unfold(shown=self._folded.isHidden()))
        self._fold.setToolTip(tr("Ways of training, the list of ε and repeats, and what is drawn"))
        hold_most(self.measure, WIDEST_METRIC)
        upper = (self.model, 100), self.more, None, (self.measure, 100), self._fold
        ways = none, 8, sanitized, (self.mechanism, 100), 8, corrected, 8, synthetic, 8, private, None
        epsilons, repeats, blocks = (label(text, "muted") for text in ("ε", tr("repeats"), tr("blocks")))
        for title, field in ((epsilons, self.epsilons), (repeats, self.repeats), (blocks, self.blocks)):
            title.setBuddy(field)
        self._with = label("", "muted", name="curve_with")
        self._of_blocks = blocks
        lower = epsilons, (self.epsilons, 1), self._with, 8, repeats, self.repeats, blocks, self.blocks
        self.last_line = lines(self.bands, self.baselines)
        self._folded = panel(stack(*map(panel, (lines(*ways), lines(*lower), self.last_line))))
        self.body.add(panel(lines(*upper)), self._folded, self._problem)
        self.unfold()

    def unfold(self, *, shown: bool = True) -> None:
        """Show what is set before a run, or fold it away: the curve has its place."""
        self._folded.setVisible(shown)
        self.retranslate()

    def retranslate(self) -> None:
        self._fold.setText(f"{tr('Settings')} {'▸' if self._folded.isHidden() else '▾'}")

    # -- the models -------------------------------------------------------------------------------------------------

    def show_models(self, found: SuitableLearners) -> None:
        """Offer the models that fit, with a star on the advised one, which is chosen where :attr:`kept` is not set."""
        if found != self._found:
            with self._steps.unasked():
                self._list_models(found)
                self._follow_model()
            self.changed.emit()

    def _list_models(self, found: SuitableLearners) -> None:
        chosen, fit = self.model.currentData(), [entry.name for entry in found.fit]
        if not self.kept or (fit and chosen not in fit):
            chosen = found.advised
        self._found = found
        offer_models(self.model, found, chosen)

    def choose(self, model: str) -> None:
        if self.model.findData(model) >= 0:
            self.model.setCurrentIndex(self.model.findData(model))

    def _keep(self) -> None:
        self.kept = True

    @property
    def models(self) -> tuple[str, ...]:
        """The names of the models that are drawn together, that of the list first."""
        return (self.model.currentData(), *self._further)

    def _list_further(self) -> None:
        """Offer the other models of the same task, and drop those that are not offered any more."""
        first = learners.learner(self.model.currentData())
        others = [entry for entry in self._found.fit if entry.task == first.task and entry != first]
        self._further = [name for name in self._further if name in [entry.name for entry in others]]
        menu = self.more.menu()
        assert menu is not None
        menu.clear()
        for entry in others:
            action = menu.addAction(tr_sentence(entry.title))
            action.setObjectName(f"curve_more_{entry.name}")
            action.setCheckable(True)
            action.setChecked(entry.name in self._further)
            action.setEnabled(action.isChecked() or len(self._further) + 1 < MOST_MODELS)
            action.toggled.connect(lambda on, name=entry.name: self._take_further(name, on=on))
        more = [tr_sentence(entry.short or entry.title) for entry in others if entry.name in self._further]
        self.more.setText(f"+ {', '.join(more)}" if more else tr("+ another model"))
        self.more.setAccessibleName(tr("Further models: {models}", models=", ".join(more) or tr("none")))
        self.more.setVisible(bool(others))

    def _take_further(self, name: str, *, on: bool) -> None:
        self._further = [known for known in self._further if known != name] + ([name] if on else [])
        self._follow_model()
        self._edited()

    def say_with(self, epsilon: str) -> None:
        """Say which ε is drawn besides those in the list; empty where none is."""
        self._with.setText(tr("and your ε = {epsilon}", epsilon=epsilon) if epsilon else "")

    def _follow_model(self, *_: object) -> None:
        """Offer the metrics of the model's task, and the ways of training that it has."""
        chosen = learners.learner(self.model.currentData())
        self.model.ask_for_its_words()
        metrics = measured(chosen.task).metrics
        self.measure.offer([(tr_sentence(m.title), m.name) for m in metrics], self.measure.currentData())
        self.epsilons.setToolTip(tr(OF_EACH) if chosen.each_prediction else tr(OF_A_ROW))
        for part in (self._of_blocks, self.blocks):
            part.setVisible(BLOCKS in chosen.parameters.declared())
        has = set[str]().union(*(_ways(learners.learner(name)) for name in self.models))
        for key, refusal in REFUSALS.items():
            there = key in has
            box = self._regimes[key]
            with QSignalBlocker(box):
                if not there:
                    self._taken.setdefault(key, box.isChecked())
                    box.setChecked(False)
                elif key in self._taken:  # by the model that was chosen before
                    box.setChecked(self._taken.pop(key))
            box.setEnabled(there)
            box.setToolTip(tr(WAYS[key][1]) if there else tr(refusal))
        self._list_further()

    def value(self) -> CurvePlan | None:
        """Return what to compute, or ``None`` while a field is refused; the reason is shown below."""
        declared = CurvePlan.declared()
        plan, problem = None, ""
        values = {}
        for key, field in (("epsilons", self.epsilons), ("repeats", self.repeats)):
            words = tr("the list of ε") if key == "epsilons" else tr("repeats")
            try:
                values[key] = declared[key].parse(typed_list(field.text()), words)
                mark_wrong(field, wrong=False)
            except ParameterError as error:
                mark_wrong(field, wrong=True)
                problem = problem or sentence(error)
        against = self._against()
        if not problem:
            regimes = self._ways_of(learners.learner(self.model.currentData()))
            try:
                if not regimes:
                    raise ParameterError(tr("no way of training is chosen"), hint=tr("tick at least one"))
                if against and any(regime not in ("none", "private") for regime in regimes):
                    raise ParameterError(tr(ONLY_PRIVATE), hint=tr("tick only no privacy and private"))
                plan = CurvePlan(model=self.model.currentData(), regimes=regimes, against=against, **values)
            except ParameterError as error:
                problem = sentence(error)
        mark_wrong(self.blocks, wrong=bool(against and problem and plan is None))
        say(self._problem, problem or self._misfit)
        return plan

    def _against(self) -> str | None:
        """Return what the figures are drawn against in place of ε, as a curve's plan says it."""
        text = self.blocks.text().strip()
        return f"{BLOCKS}={text}" if text and not self.blocks.isHidden() else None

    def _ways_of(self, model: Learner) -> tuple[str, ...]:
        by, has = self.mechanism.currentData(), _ways(model)
        named_by = {**dict.fromkeys(ON_A_TABLE, f":{by}"), "synthetic": f":{MARGINALS.name}"}
        ticked = [key for key, box in self._regimes.items() if box.isChecked() and key in has]
        return tuple(f"{key}{named_by.get(key, '')}" for key in ticked)

    def plans(self, epsilon: Decimal) -> tuple[CurvePlan, ...]:
        """Return what to compute of each model, with ``epsilon`` among the points; nothing while a field is refused."""
        first = self.value()
        if first is None:
            return ()
        if not first.against:
            first = dataclasses.replace(first, epsilons=tuple(sorted({*first.epsilons, float(epsilon)})))
        further = [
            dataclasses.replace(first, model=name, regimes=ways, against=None)
            for name in self._further
            if (ways := self._ways_of(learners.learner(name)))
        ]
        return (first, *further)

    def fill_in(self, models: Sequence[str]) -> None:
        """Choose these models in every way of training that they have; the lists of ε and repeats stay."""
        before = self._state()
        with self._steps.unasked():
            self.kept = True
            self.model.setCurrentIndex(self.model.findData(models[0]))
            self._further = list(models[1:])
            self._follow_model()
            for box in self._regimes.values():
                box.setChecked(box.isEnabled())
            self.blocks.clear()
        self._steps.begin(before)
        self._edited()

    def show_misfit(self, text: str) -> None:
        """Show why the chosen model cannot learn the target, or nothing; a field that is refused comes first."""
        self._misfit = text
        self.value()

    def _edited(self, *_: object) -> None:
        self.value()
        self._steps.keep()
        self.changed.emit()


def _ways(model: Learner) -> set[str]:
    there = {"none": model.ordinary, "sanitized": model.ordinary, "synthetic": model.ordinary}
    return {"private", *(key for key, part in {**there, "corrected": model.corrected}.items() if part is not None)}


def _check(text: str, name: str, tip: str) -> QCheckBox:
    box = named(QCheckBox(text), name, text, tip)
    box.setChecked(True)
    return box
