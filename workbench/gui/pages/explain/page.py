"""What ε means: one ε at the top, and every table below follows it."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING

from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QLineEdit, QWidget

from workbench.gui.pages.base import PageFrame
from workbench.gui.pages.explain import PAGE
from workbench.gui.pages.explain.cards import GuideCard, PublishedCard, TrustPicture, WordTable
from workbench.gui.session.error_text import sentence
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_later, tr_number, tr_sentence, typed
from workbench.gui.widgets.bar import BarLines
from workbench.gui.widgets.basic import Card, button, hold, label, lines, mark_wrong, named, row, say, scrolled, stack
from workbench.gui.widgets.epsilon_entry import PrivacyEntry
from workbench.gui.widgets.explain import Asked, BeliefCurve, Explainable, of_plan
from workbench.gui.widgets.formatting import entered
from workbench.jobs import Job
from workbench.params import ParameterError, WorkbenchError
from workbench.params.field import IntegerField, RealField
from workbench.privacy.explain.sections import Section, sections
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit

if TYPE_CHECKING:
    from workbench.studies.shuffled import TrustStudy

_PEOPLE = IntegerField(help=tr_later("how many people report"), at_least=2, upto=10**9)
MODELS = {"central": tr_later("Central"), "shuffled": tr_later("Shuffled"), "local": tr_later("Local")}
USUAL_DELTA = 1e-6


class ShuffleStudy(QWidget):
    """The number of people, a button, and what came of it."""

    def __init__(self, session: Session, jobs: JobCenter, epsilon: Callable[[], float]) -> None:
        """Make it; ``epsilon`` returns that of the page."""
        super().__init__()
        self._session, self._jobs, self._epsilon = session, jobs, epsilon
        self.people = named(QLineEdit("10000"), "shuffle_people", tr("People"), tr("How many people report"))
        hold(self.people, 96)
        self._run = button(
            tr("Simulate at this ε"), "shuffle_run", tip=tr("Made-up people, eight values each; no table is read")
        )
        self._run.clicked.connect(self.start)
        self.errors = BarLines(session, "shuffle_error", tr("of a mean (0 to 1)"), tr("error of a share"))
        self.errors.hide()
        self._words = label("", wrap=True, name="shuffle_words", hidden=True)
        fields = row(label(tr("people"), "muted"), self.people, 8, self._run, None)
        self.setLayout(stack(fields, self.errors, self._words))

    def start(self) -> None:
        """Simulate it at the ε of the page."""
        try:
            rows = _PEOPLE.parse(typed(self.people.text()), tr("the people"))
        except ParameterError as error:
            self._say(sentence(error))
            mark_wrong(self.people, True)
            return
        mark_wrong(self.people, False)
        epsilon = self._epsilon()

        def work(emit: Emit, cancel: CancelToken) -> TrustStudy:
            from workbench.studies.shuffled import compare_trust, local_epsilon

            local = local_epsilon(epsilon, rows, USUAL_DELTA)
            return compare_trust(local, rows, USUAL_DELTA, emit=emit, cancel=cancel)

        self._run.setEnabled(False)
        job = Job(tr("Simulating shuffled reports"), work)
        handle = self._jobs.start(job, key="shuffle", on_result=self._show, on_failure=self._failed)
        handle.ended.connect(lambda: self._run.setEnabled(True))

    def _show(self, found: TrustStudy) -> None:
        most = max(error for error, _ in found.shares.values())
        figures = [(model, found.shares[model][0], found.mean[model][0]) for model in found.shares]
        lines = [
            (model, tr(MODELS[model]), share / most, -1.0, tr_number(share, ".2g"), tr_number(mean, ".2g"))
            for model, share, mean in figures
        ]
        self.errors.show_lines(lines, "accent")
        self.errors.show()
        self._say(" ".join(tr_sentence(said) for said in found.sentences))

    def _say(self, text: str) -> None:
        self._words.setText(text)
        self._words.show()

    def _failed(self, error: BaseException) -> None:
        if isinstance(error, WorkbenchError):
            self._say(sentence(error))
        else:
            self._session.report(error)


LOW, HIGH = Decimal("0.001"), Decimal(1000)
_DELTA = RealField(
    help=tr_later("Probability by which the bound of ε may be exceeded"), symbol="δ", at_least=0.0, below=1.0
)
_CURVE_HEIGHT = 210
_WIDE = 1500
"""Points from which the cards are in two columns: a line of text is not read across a whole wide screen."""


class SectionCard(Card):
    """A section: its heading, its sentences, and its table."""

    def __init__(self, section: Section, *pictures: QWidget) -> None:
        super().__init__(spacing=6)
        self._texts = [
            label("", wrap=True, name=f"explain_{section.name}_{place}") for place in range(_MOST_PARAGRAPHS)
        ]
        for part in (label(tr_sentence(section.title), "heading"), *self._texts, *pictures):
            self.body.addWidget(part)
        self.table: WordTable | None = None
        if section.table is not None:
            self.table = WordTable(f"explain_{section.name}_table", words=section.table.words)
            self.body.addWidget(self.table)
        self.show_section(section)

    def show_section(self, section: Section) -> None:
        """Show the same section for another ε."""
        for place, stated in enumerate(self._texts):
            text = section.text[place] if place < len(section.text) else ""
            stated.setText(tr_sentence(text))
            stated.setVisible(bool(text))
        if self.table is not None and section.table is not None:
            header, rows = section.table.header, section.table.rows
            self.table.show_rows([*map(tr_sentence, header)], [[tr_sentence(cell) for cell in row] for row in rows])


_MOST_PARAGRAPHS = 5


class ExplainPage(PageFrame):
    """The page; it reads no table."""

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__(session, jobs, PAGE)
        self.epsilon = PrivacyEntry(
            "explain_epsilon",
            LOW,
            HIGH,
            Decimal(1),
            help_text=tr("The ε that this page explains; the plan stays as it is"),
            slider=(Decimal("0.01"), Decimal(20)),
            ends=(tr("less can be learnt"), tr("more can be learnt")),
        )
        self.delta = named(QLineEdit("0"), "explain_delta", tr("δ, a number from 0 to below 1"), tr(_DELTA.help))
        hold(self.delta, 84)
        entries = lines((row(label("ε"), (self.epsilon, 1)), 1), row(label("δ"), self.delta, None), spacing=20)
        self._problem = label("", "problem", wrap=True, name="explain_problem", hidden=True)
        self._curve = BeliefCurve(session)
        self._curve.setMinimumHeight(_CURVE_HEIGHT)
        self.shuffled = ShuffleStudy(session, jobs, lambda: float(self.epsilon.value()))
        pictures = {"belief": (self._curve,), "trust": (TrustPicture(session), self.shuffled)}
        self.cards = {section.name: SectionCard(section, *pictures.get(section.name, ())) for section in sections(1.0)}
        self.guide = GuideCard()
        self.guide.asked.connect(self._look_at)
        belief, *others = self.cards.values()
        self._order = (belief, self.guide, PublishedCard(), *others)
        self._columns = stack(spacing=12), stack(spacing=12)
        self._halves = row(*((column, 1) for column in self._columns), spacing=12)
        self._lay_out(wide=False)
        self._area = scrolled(self._halves, "explain_area", sideways=True)
        self.body.addWidget(Card(entries, self._problem, pad=12))
        self.body.addWidget(self._area, 1)
        self.set_note(tr("Nothing here reads the table, and nothing costs anything."))
        Explainable(self.epsilon.field, session, lambda: Asked(self.epsilon.value(), self._read_delta() or Decimal(0)))
        self.epsilon.value_changed.connect(lambda _value: self.refresh())
        self.delta.textEdited.connect(lambda _text: self.refresh())
        session.explain_asked.connect(self._follow)
        asked = session.explained or (of_plan(session).epsilon, Decimal(0))
        self._follow(*asked)

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        super().resizeEvent(event)
        wide = event.size().width() >= _WIDE
        if wide != self._wide:
            self._lay_out(wide=wide)

    def _lay_out(self, *, wide: bool) -> None:
        """Put the cards below each other, or those about other releases and other kinds of trust beside the rest."""
        self._wide = wide
        for column in self._columns:
            while column.count():
                column.takeAt(0)
        for at, card in enumerate(self._order):
            self._columns[wide and at % 2].addWidget(card)
        for column in self._columns:
            column.addStretch(1)
        self._halves.setStretch(1, int(wide))
        self._halves.setSpacing(12 if wide else 0)

    def refresh(self) -> None:
        """Show every section for the ε and δ of the fields."""
        delta = self._read_delta()
        if delta is None:
            return
        epsilon = float(self.epsilon.value())
        for section in sections(epsilon, float(delta)):
            self.cards[section.name].show_section(section)
        self._curve.show_epsilon(epsilon)

    def _read_delta(self) -> Decimal | None:
        """Return δ, or ``None`` while the field is refused; the reason is shown below."""
        stated, found = "", None
        try:
            found = Decimal(repr(_DELTA.parse(typed(self.delta.text()), "δ")))
        except ParameterError:
            stated = tr("Write δ as a number from 0 to below 1, such as 1e-6.")
        mark_wrong(self.delta, bool(stated))
        say(self._problem, stated)
        return found

    def _follow(self, epsilon: Decimal, delta: Decimal = Decimal(0), about: str = "") -> None:
        """Explain the ε that was asked about anywhere in the window."""
        self.epsilon.set_value(min(max(epsilon, LOW), HIGH))
        self.delta.setText(entered(delta))
        self.refresh()

    def _look_at(self, epsilon: Decimal) -> None:
        self.epsilon.set_value(epsilon)
        self.refresh()
        self._area.verticalScrollBar().setValue(0)
