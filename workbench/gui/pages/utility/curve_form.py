"""What a curve compares: model, regimes, ε list, repeats; and what of it is drawn."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QCheckBox, QLineEdit, QWidget

from workbench import learners
from workbench.gui.session.error_text import sentence
from workbench.gui.widgets.basic import Card, label, mark_wrong, named, row
from workbench.gui.widgets.choice_box import ChoiceBox
from workbench.params import ParameterError
from workbench.privacy.local import mechanisms
from workbench.sanitize.plan import AUTO
from workbench.studies.curve import CurvePlan
from workbench.studies.metrics import measured
from workbench.studies.regimes import ON_A_TABLE, PLANNED, Regime

FIRST = CurvePlan()
TOOLTIP = Qt.ItemDataRole.ToolTipRole
TIPS = {
    "none": "An ordinary model on the rows as they are",
    "sanitized": "An ordinary model on a sanitised table",
    "corrected": "The same sanitised rows, and a model that knows the public tables they went through",
    "private": "A model that adds noise to what it learns",
}
AS_PLANNED = (
    "The plan: each column by the mechanism that Protect shows. Whatever is chosen, ε is split as in the plan: locked "
    "shares keep their part of it"
)
_LISTS = "0.1, 1, 10 or 0.1:100:13 for 13 in equal ratios"
OF_A_ROW = f"Privacy losses of a whole row: {_LISTS}"
OF_EACH = f"Privacy losses of a whole row, of the private model for each prediction: {_LISTS}"
ONLY_PRIVATE = "a sanitised table has no blocks to draw the figures against"
NO_ORDINARY = "This model has no ordinary counterpart without privacy"
NO_CORRECTED = "This model cannot learn from a sanitised table knowing the public tables it went through"

BLOCKS = "blocks"
AGAINST_BLOCKS = (
    "Numbers of blocks that the rows are dealt into, such as 5, 10, 20: the figures are drawn against them, with a "
    "line for each ε. Empty: against ε"
)

LEAST_LETTERS, WIDEST_LIST = {"curve_model": 13, "regime_mechanism": 11}, 260
"""Letters that a list of models or mechanisms has room for at least; its width at most."""


class CurveSetup(Card):
    """Two lines of fields that make a :class:`CurvePlan`.

    Signals:
        changed: what is to be computed differs.
        look_changed: what is drawn of it differs.
    """

    changed = Signal()
    look_changed = Signal()

    def __init__(self) -> None:
        super().__init__(pad=12)
        self.setObjectName("curve_setup")
        self.model = named(ChoiceBox(), "curve_model", "Model", "The model that every regime trains")
        for entry in learners.LEARNERS:
            self.model.addItem(entry.title[:1].upper() + entry.title[1:], entry.name)
            self.model.setItemData(self.model.count() - 1, f"{entry.about} {entry.needs}", TOOLTIP)
        self._regimes = {
            "none": _check("no privacy", "regime_none", TIPS["none"]),
            "sanitized": _check("sanitised by", "regime_sanitized", TIPS["sanitized"]),
            "corrected": _check("corrected", "regime_corrected", TIPS["corrected"]),
            "private": _check("private", "regime_private", TIPS["private"]),
        }
        self._regimes["corrected"].setChecked(False)  # a fourth line is asked for
        self.mechanism = named(ChoiceBox(), "regime_mechanism", "Mechanism of the sanitised table", AS_PLANNED)
        self.mechanism.addItem("the plan", PLANNED)
        self.mechanism.setItemData(0, AS_PLANNED, TOOLTIP)
        self.mechanism.addItem("the advisor's choice", AUTO)
        for kind in mechanisms.MECHANISMS:
            self.mechanism.addItem(kind.title, kind.name)
        self.epsilons = named(
            QLineEdit(", ".join(f"{e:g}" for e in FIRST.epsilons)),
            "curve_epsilons",
            "List of ε",
            OF_A_ROW,
        )
        self.repeats = named(
            QLineEdit(str(FIRST.repeats)), "curve_repeats", "Repeats", "How many 80/20 splits the figures are means of"
        )
        self.repeats.setFixedWidth(56)
        self.blocks = named(QLineEdit(), "curve_blocks", "Numbers of blocks", AGAINST_BLOCKS)
        self.blocks.setPlaceholderText("5, 10, 20")
        self.blocks.setFixedWidth(88)
        self.measure = named(ChoiceBox(), "curve_metric", "Metric", "Which figure is drawn; all are computed")
        self.bands = _check("bands", "curve_bands", "One standard error of the mean, above and below")
        self.baselines = _check("baselines", "curve_baselines", "No privacy, and always giving the same answer")
        self._problem = label("", "problem", wrap=True, name="curve_problem")
        self._problem.hide()
        self._misfit = ""
        self._taken: dict[str, bool] = {}  # ways that this model lacks, and whether they were ticked before it
        self._arrange()
        self._follow_model()
        self.model.currentIndexChanged.connect(self._follow_model)
        for combo in (self.model, self.mechanism):
            combo.currentIndexChanged.connect(self._edited)
        for box in self._regimes.values():
            box.toggled.connect(self._edited)
        for line in (self.epsilons, self.repeats, self.blocks):
            line.textEdited.connect(self._edited)
        self.measure.currentIndexChanged.connect(self.look_changed)
        self.bands.toggled.connect(self.look_changed)
        self.baselines.toggled.connect(self.look_changed)

    def _arrange(self) -> None:
        none, sanitized, corrected, private = self._regimes.values()
        upper, lower = QWidget(), QWidget()
        # The longest names would push a window of 1280 pixels wider: the lists take the room that there is.
        for combo in (self.model, self.mechanism):
            combo.setSizeAdjustPolicy(ChoiceBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
            combo.setMinimumContentsLength(LEAST_LETTERS[combo.objectName()])
            combo.setMaximumWidth(WIDEST_LIST)
        first = row(self.model, none, 8, sanitized, self.mechanism, corrected, 8, private)
        first.addStretch(1)
        first.setStretch(first.indexOf(self.mechanism), 100)
        upper.setLayout(first)
        words = {"ε": self.epsilons, "repeats": self.repeats, "blocks": self.blocks}
        titles = {text: label(text, "muted") for text in words}
        for text, field in words.items():
            titles[text].setBuddy(field)
        line = row(
            titles["ε"], self.epsilons, 8, titles["repeats"], self.repeats, titles["blocks"], self.blocks, self.measure
        )
        self._of_blocks = titles["blocks"]
        line.addSpacing(8)
        line.addWidget(self.bands)
        line.addWidget(self.baselines)
        line.setStretch(1, 1)
        lower.setLayout(line)
        for part in (upper, lower, self._problem):
            self.body.addWidget(part)

    def _follow_model(self, *_: object) -> None:
        """Offer the metrics of the model's task, and the ways of training that it has."""
        chosen = learners.learner(self.model.currentData())
        metric = self.measure.currentData()
        self.measure.blockSignals(True)
        self.measure.clear()
        for entry in measured(chosen.task).metrics:
            self.measure.addItem(entry.title, entry.name)
        self.measure.setCurrentIndex(max(self.measure.findData(metric), 0))
        self.measure.blockSignals(False)
        self.epsilons.setToolTip(OF_EACH if chosen.each_prediction else OF_A_ROW)
        for part in (self._of_blocks, self.blocks):
            part.setVisible(BLOCKS in chosen.parameters.declared())
        for key, there, refusal in (
            ("none", chosen.ordinary is not None, NO_ORDINARY),
            ("sanitized", chosen.ordinary is not None, NO_ORDINARY),
            ("corrected", chosen.corrected is not None, NO_CORRECTED),
        ):
            box = self._regimes[key]
            box.blockSignals(True)
            if not there:
                self._taken.setdefault(key, box.isChecked())
                box.setChecked(False)
            elif key in self._taken:  # by the model that was chosen before
                box.setChecked(self._taken.pop(key))
            box.blockSignals(False)
            box.setEnabled(there)
            box.setToolTip(TIPS[key] if there else refusal)

    def value(self) -> CurvePlan | None:
        """Return what to compute, or ``None`` while a field is refused; the reason stands below."""
        declared = CurvePlan.declared()
        plan, problem = None, ""
        values = {}
        for key, field in (("epsilons", self.epsilons), ("repeats", self.repeats)):
            words = "the list of ε" if key == "epsilons" else key
            try:
                values[key] = declared[key].parse(field.text(), words)
                mark_wrong(field, wrong=False)
            except ParameterError as error:
                mark_wrong(field, wrong=True)
                problem = problem or sentence(error)
        against = self._against()
        if not problem:
            by = self.mechanism.currentData()
            regimes = tuple(
                f"{key}:{by}" if key in ON_A_TABLE else key for key, box in self._regimes.items() if box.isChecked()
            )
            try:
                if not regimes:
                    raise ParameterError("no way of training is chosen", hint="tick at least one")
                if against and any(regime not in ("none", "private") for regime in regimes):
                    raise ParameterError(ONLY_PRIVATE, hint="tick only no privacy and private")
                plan = CurvePlan(model=self.model.currentData(), regimes=regimes, against=against, **values)
            except ParameterError as error:
                problem = sentence(error)
        mark_wrong(self.blocks, wrong=bool(against and problem and plan is None))
        self._show_problem(problem or self._misfit)
        return plan

    def _against(self) -> str | None:
        """Return what the figures are drawn against in place of ε, as a curve's plan says it."""
        text = self.blocks.text().strip()
        return f"{BLOCKS}={text}" if text and not self.blocks.isHidden() else None

    def fill_in(self, model: str, regimes: Sequence[str], epsilons: str, repeats: int) -> None:
        """Fill in every field that says what to compute, as a person would type it."""
        self.model.setCurrentIndex(self.model.findData(model))
        ways = [Regime.parse(regime) for regime in regimes]
        for key, box in self._regimes.items():
            box.setChecked(key in [way.kind for way in ways])
        for way in ways:
            if way.on_a_table:
                self.mechanism.setCurrentIndex(self.mechanism.findData(way.mechanism))
        self.blocks.clear()
        self.epsilons.setText(epsilons)
        self.repeats.setText(str(repeats))
        self._edited()

    def show_misfit(self, text: str) -> None:
        """Show why the chosen model cannot learn the target, or nothing; a field that is refused comes first."""
        self._misfit = text
        self.value()

    def _show_problem(self, problem: str) -> None:
        self._problem.setText(problem)
        self._problem.setVisible(bool(problem))

    def _edited(self, *_: object) -> None:
        self.value()
        self.changed.emit()


def _check(text: str, name: str, tip: str) -> QCheckBox:
    box = named(QCheckBox(text), name, text, tip)
    box.setChecked(True)
    return box
