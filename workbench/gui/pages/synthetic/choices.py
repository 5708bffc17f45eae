"""What is drawn: method, target, cuts, number of rows and ε."""

from __future__ import annotations

from PySide6.QtWidgets import QGridLayout, QLineEdit, QWidget

from workbench.gui.pages.forecast_page import ReleaseForm
from workbench.gui.pages.release_tasks import Foreseen
from workbench.gui.pages.synthetic.impossible_editor import ImpossibleEditor
from workbench.gui.session.error_text import sentence
from workbench.gui.session.session import Session
from workbench.gui.widgets.basic import label, mark_wrong, named, row
from workbench.gui.widgets.choice_box import ChoiceBox
from workbench.gui.widgets.delta_entry import DeltaLine
from workbench.params import ParameterError
from workbench.synth import MARGINALS, MST, SYNTHESISERS, synthesiser
from workbench.synth.parameters import SynthesisParameters

EPSILON_HELP = "Privacy loss of one row's whole record by this release; the plan's ε to begin with"
NO_TARGET = "none"
WIDEST = 320


class SyntheticForm(ReleaseForm):
    """The settings; method, target, rows and ε follow table and plan until a person chooses another."""

    def __init__(self, session: Session) -> None:
        super().__init__(session, "synthetic", EPSILON_HELP, "field_problem")
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
        self._impossible = ImpossibleEditor(session)
        self._arrange()
        self.method.activated.connect(lambda _at: self.chose("method"))
        self.target.activated.connect(lambda _at: self.chose("target"))
        self._fields["rows"].textEdited.connect(lambda _text: self.chose("rows"))
        self._fields["cuts"].textEdited.connect(lambda _text: self.chose("cuts"))
        self._impossible.problem.connect(self.say)
        self.follow()

    def request(self) -> SynthesisParameters | None:
        """Return the settings; ``None`` while a field is refused, or no rows are asked for."""
        try:
            rows, cuts = self._number("rows"), self._number("cuts")
        except ParameterError:
            return None
        method, target = self.method.currentData(), self.target.currentData()
        return None if rows is None else SynthesisParameters(method=method, target=target, rows=rows, cuts=cuts)

    def start_over(self) -> None:
        """Take everything from another table and its plan."""
        self._fields["cuts"].clear()
        super().start_over()

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
        super().follow()
        self._impossible.follow()
        self._follow_target()

    def enable(self, on: bool) -> None:
        """Let the settings be changed, or not while a release goes on."""
        for part in (self.method, self.target, self.epsilon, *self._fields.values(), self.delta, self._impossible):
            part.setEnabled(on)

    def _arrange(self) -> None:
        self.body.addWidget(label("WHAT IS DRAWN", "caption"))
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

    def show_foreseen(self, found: Foreseen | None) -> None:
        """Show how many parts a range is cut into while nobody has said so."""
        if found is not None:
            cuts = found.facts.cuts
            self._fields["cuts"].setPlaceholderText(f"auto: {cuts}" if cuts else "auto")

    def _number(self, key: str) -> int | None:
        """Return what stands in a field; ``None`` for empty cuts."""
        text = self._fields[key].text().strip().replace(",", "")
        if key == "cuts" and not text:
            return None
        found: int = SynthesisParameters.declared()[key].parse(text, key)
        return found

    def chose(self, key: str) -> None:
        """Keep what a person has chosen, and let the method follow it."""
        self._own.add(key)
        self._follow_target()
        super().chose(key)

    def field_problem(self) -> str:
        """Mark the fields that are refused, and return why the last of them is."""
        wrong = ""
        for name, field in self._fields.items():
            try:
                self._number(name)
                mark_wrong(field, wrong=False)
            except ParameterError as error:
                mark_wrong(field, wrong=True)
                wrong = sentence(error)
        return wrong or super().field_problem()

    def _follow_target(self) -> None:
        """Take the usual method where none was chosen, and say what it does."""
        if "method" not in self._own:
            usual = MST if self.target.currentData() is None else MARGINALS
            self.method.setCurrentIndex(self.method.findData(usual.name))
        stated = synthesiser(self.method.currentData()).help
        self._help.setText(f"{stated[:1].upper()}{stated[1:]}.")
