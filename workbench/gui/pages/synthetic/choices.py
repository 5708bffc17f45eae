"""What is drawn: method, target, cuts, number of rows and ε."""

from __future__ import annotations

from decimal import Decimal

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QGridLayout, QLineEdit, QWidget

from workbench.gui.pages.synthetic.impossible_editor import ImpossibleEditor
from workbench.gui.pages.synthetic.tasks import Choice
from workbench.gui.session.error_text import sentence
from workbench.gui.session.session import Session
from workbench.gui.widgets.basic import Card, label, mark_wrong, named, row
from workbench.gui.widgets.choice_box import ChoiceBox
from workbench.gui.widgets.delta_entry import DeltaEntry, DeltaLine
from workbench.gui.widgets.epsilon_entry import PrivacyEntry
from workbench.gui.widgets.explain import Explainable, of_one_row
from workbench.params import ParameterError
from workbench.privacy.local.mechanism_table import EPSILON_LEAST, EPSILON_MOST
from workbench.synth import MARGINALS, MST, SYNTHESISERS, synthesiser
from workbench.synth.parameters import SynthesisParameters

SLIDER_LEAST, SLIDER_MOST = Decimal("0.05"), Decimal(50)
EPSILON_HELP = "Privacy loss of one row's whole record by this release; the plan's ε to begin with"
NO_TARGET = "none"
WIDEST = 320


class ChoicesCard(Card):
    """The settings; method, target, rows and ε follow table and plan until a person chooses another.

    Signals:
        changed: something differs; ask :meth:`value`.
    """

    changed = Signal()

    def __init__(self, session: Session) -> None:
        super().__init__(label("WHAT IS DRAWN", "caption"))
        self._session = session
        self._own: set[str] = set()
        self._rows_of = 0
        self.method = named(ChoiceBox(), "synthetic_method", "Method", "Which tables are counted")
        for entry in SYNTHESISERS:
            self.method.addItem(entry.title, entry.name)
        self._help = label("", "muted", wrap=True, name="synthetic_method_help")
        self.target = named(
            ChoiceBox(), "synthetic_target", "Target", "The column that the recipient wants to predict from the others"
        )
        for box in (self.method, self.target):
            box.setMaximumWidth(WIDEST)
            box.setSizeAdjustPolicy(ChoiceBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
            box.setMinimumContentsLength(14)
        declared = SynthesisParameters.declared()
        self._fields = {
            "rows": named(QLineEdit(), "synthetic_rows", "Rows", declared["rows"].help),
            "cuts": named(QLineEdit(), "synthetic_cuts", "Cuts", declared["cuts"].help),
        }
        self._fields["cuts"].setPlaceholderText("auto")
        for field in self._fields.values():
            field.setFixedWidth(88)
        self.delta = DeltaEntry("synthetic_delta")
        self._impossible = ImpossibleEditor(session)
        self._problem = label("", "problem", wrap=True, name="synthetic_field_problem")
        self.epsilon = PrivacyEntry(
            "synthetic_epsilon",
            Decimal(repr(EPSILON_LEAST)),
            Decimal(repr(EPSILON_MOST)),
            session.plan.epsilon,
            help_text=EPSILON_HELP,
            slider_low=SLIDER_LEAST,
            slider_high=SLIDER_MOST,
        )
        Explainable(self.epsilon.field, session, lambda: of_one_row(session, self.epsilon.value()))
        self._arrange()
        self.method.activated.connect(lambda _at: self._chose("method"))
        self.target.activated.connect(lambda _at: self._chose("target"))
        self._fields["rows"].textEdited.connect(lambda _text: self._chose("rows"))
        self._fields["cuts"].textEdited.connect(lambda _text: self._chose("cuts"))
        self.delta.textEdited.connect(lambda _text: self._chose("delta"))
        self._impossible.problem.connect(self._say)
        self.epsilon.value_changed.connect(lambda _value: self._chose("epsilon"))
        self.follow()

    def value(self) -> Choice | None:
        """Return what is chosen; ``None`` while a field is refused or another ε stands in its field."""
        try:
            rows, cuts = self._number("rows"), self._number("cuts")
        except ParameterError:
            return None
        delta = self.delta.value()
        if rows is None or delta is None or self.epsilon.problem():
            return None
        method, target = self.method.currentData(), self.target.currentData()
        return Choice(method, target, cuts, rows, self.epsilon.value(), delta)

    def use(self, epsilon: Decimal, delta: Decimal) -> None:
        """Set ε and δ, as if a person had written them."""
        self.delta.show_value(delta)
        self.epsilon.set_value(epsilon)
        self._own.add("delta")
        self._chose("epsilon")

    def start_over(self) -> None:
        """Take everything from another table and its plan."""
        self._own.clear()
        for field in (self._fields["cuts"], self.delta):
            field.clear()
        self.follow()

    def follow(self) -> None:
        """Show what follows from table and plan, but for what a person has chosen here."""
        session = self._session
        chosen = self.target.currentData() if "target" in self._own else session.target
        names = [column.name for column in session.plan.protected]
        if chosen not in names:
            self._own.discard("target")
            chosen = session.target if session.target in names else None
        # A plan with a target always tells the method of it.
        entries = [*([] if session.target in names else [None]), *names]
        if entries != [self.target.itemData(i) for i in range(self.target.count())]:
            self.target.clear()
            for name in entries:
                self.target.addItem(NO_TARGET if name is None else name, name)
        self.target.setCurrentIndex(max(self.target.findData(chosen), 0))
        if session.opened is not None and "rows" not in self._own:
            self._fields["rows"].setText(str(session.opened.rows_under(session.plan)))
        if "epsilon" not in self._own:
            self.epsilon.set_value(session.plan.epsilon)
        self._impossible.follow()
        self._follow_target()

    def enable(self, on: bool) -> None:
        """Let the settings be changed, or not while a release goes on."""
        for part in (self.method, self.target, self.epsilon, *self._fields.values(), self.delta, self._impossible):
            part.setEnabled(on)

    def _arrange(self) -> None:
        grid = QGridLayout()
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(12)
        grid.setVerticalSpacing(6)
        fields: tuple[tuple[str, QWidget, int, int], ...] = (
            ("method", self.method, 0, 0),
            ("target", self.target, 1, 0),
            ("rows to draw", self._fields["rows"], 2, 0),
            ("cuts of numbers", self._fields["cuts"], 2, 2),
            ("impossible", self._impossible, 3, 0),
        )
        for words, field, down, across in fields:
            title = label(words, "muted")
            title.setBuddy(field)
            grid.addWidget(title, down, across)
            grid.addWidget(field, down, across + 1, 1, 1 if field in self._fields.values() else 3)
        grid.setColumnStretch(4, 1)
        self.body.addLayout(grid)
        for part in (self._help, self._problem):
            self.body.addWidget(part)
        line = row(label("ε", "muted"))
        line.addWidget(self.epsilon, 1)
        self.body.addLayout(line)
        self.body.addWidget(DeltaLine(self.delta))
        self.body.addStretch(1)
        self._problem.hide()

    def show_cuts(self, cuts: int) -> None:
        """Show how many parts a range is cut into while nobody has said so."""
        self._fields["cuts"].setPlaceholderText(f"auto: {cuts}" if cuts else "auto")

    def _number(self, key: str) -> int | None:
        """Return what stands in a field; ``None`` for empty cuts."""
        text = self._fields[key].text().strip().replace(",", "")
        if key == "cuts" and not text:
            return None
        found: int = SynthesisParameters.declared()[key].parse(text, key)
        return found

    def _chose(self, key: str) -> None:
        self._own.add(key)
        self._follow_target()
        wrong = ""
        for name, field in self._fields.items():
            try:
                self._number(name)
                mark_wrong(field, wrong=False)
            except ParameterError as error:
                mark_wrong(field, wrong=True)
                wrong = sentence(error)
        self._say(wrong or self.delta.problem())
        self.changed.emit()

    def _say(self, wrong: str) -> None:
        self._problem.setText(wrong)
        self._problem.setVisible(bool(wrong))

    def _follow_target(self) -> None:
        """Take the usual method where none was chosen, and say what it does."""
        if "method" not in self._own:
            usual = MST if self.target.currentData() is None else MARGINALS
            self.method.setCurrentIndex(self.method.findData(usual.name))
        stated = synthesiser(self.method.currentData()).help
        self._help.setText(f"{stated[:1].upper()}{stated[1:]}.")
