"""What ε means: how much anyone can learn about one person, in words, numbers and a curve."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import astuple, dataclass
from decimal import Decimal

from PySide6.QtCore import QEvent, QMarginsF, QObject, QSize, Qt
from PySide6.QtGui import QAction, QContextMenuEvent, QHideEvent
from PySide6.QtWidgets import QAbstractItemView, QLineEdit, QMenu, QPushButton, QWidget

from workbench.gui.session.session import Session
from workbench.gui.style.language import as_sentence, tr, tr_later, tr_n, tr_number, tr_sentence
from workbench.gui.widgets import chart_marks as mark
from workbench.gui.widgets.basic import Card, Elided, Facts, area_around, button, grow_inside, label, panel, row, stack
from workbench.gui.widgets.chart import Below, Chart, Drawing
from workbench.gui.widgets.formatting import at_most, entered
from workbench.gui.widgets.way_bar import ROWS
from workbench.privacy.accounting.event import replace_one
from workbench.privacy.accounting.posterior import DELTA_NOTE, posterior

PRIORS = (0.01, 0.5)  # beliefs beside that of 10 %, which the sentence is about
POINTS = 60
DRAWN = sorted(
    {i / POINTS for i in range(POINTS + 1)} | {1 / (1 + math.exp(-i / 2)) for i in range(-POINTS // 2, POINTS // 2 + 1)}
)
"""Beliefs before a release that are drawn: closer to one another where the curve of a large ε has its bends."""
NOTHING = 1e-5


@dataclass(frozen=True)
class Asked:
    """The ε (and δ) to explain.

    ``about`` names the attribute it is spent on, empty for whole rows; ``local`` says that it is of noisy rows alone.
    """

    epsilon: Decimal
    delta: Decimal = Decimal(0)
    about: str = ""
    local: bool = False

    @property
    def of_fact(self) -> float:
        """The ε that bounds a belief in a fact about a person: the replace-one figure."""
        return replace_one(float(self.epsilon), float(self.delta), local=self.local)[0]


def of_one_row(session: Session, epsilon: Decimal, about: str = "") -> Asked:
    """Return the question about an ε that is spent on each row: a person's cost is that of all their rows."""
    return Asked(epsilon * session.plan.rows_per_person, about=about, local=bool(about) or noisy_rows(session))


def noisy_rows(session: Session) -> bool:
    """Return whether noisy rows are what the plan is to release."""
    return session.way == ROWS


def of_plan(session: Session) -> Asked:
    """Return the question about the charge of a release by the current plan, ready or not."""
    cost = session.plan.cost()
    return Asked(cost, local=noisy_rows(session)) if cost is not None else of_one_row(session, session.plan.epsilon)


class BeliefCurve(Chart):
    """How sure someone is before the release (across) and can be after it (upwards)."""

    name = "belief_curve"
    margins = QMarginsF(42, 8, 8, 30)
    usual, letters, height_fixed = QSize(200, 116), 11, True

    def show_epsilon(self, epsilon: float) -> None:
        beliefs = [posterior(epsilon, prior) for prior in DRAWN]
        low, high = [(b.prior, b.low) for b in beliefs], [(b.prior, b.high) for b in beliefs]
        unchanged = mark.line(((0, 0), (1, 1)), "muted", 1, "dashed")
        drawing = Drawing(
            (mark.band(low, high, "accent"), mark.line(high, "accent"), mark.line(low, "accent"), unchanged),
            left=((0.0, "0"), (0.5, "50 %"), (1.0, "100 %")),
            grid=True,
            below=(Below(0.5, tr("how sure before, 0–100 %")),),
            spoken=tr(
                "How sure someone can be after the release, by how sure before, at ε = {epsilon}",
                epsilon=at_most(epsilon),
            ),
        )
        self.show_drawing(drawing)


class Meaning(QWidget):
    """An ε in words, in figures and as a curve."""

    def __init__(self, session: Session, name: str, usual: QSize = BeliefCurve.usual) -> None:
        super().__init__()
        self._session = session
        self.text = label("", wrap=True, name=name)
        self._facts = Facts()
        self._curve = BeliefCurve(session, usual=usual)
        self.setLayout(stack(self.text, self._facts, self._curve, spacing=4))

    def explain(self, asked: Asked) -> None:
        said, rows = in_words(asked), self._session.plan.rows_per_person
        if self._session.plan.unit:
            counted = tr_n(
                "This is for each person: {n} row of them is read.",
                "This is for each person: at most {n} rows of them are read, and ε counts these together.",
                rows,
            )
            said = f"{said} {counted}"
        elif rows > 1:
            counted = tr(
                "One person has up to {rows} rows here, and ε counts them together.", rows=tr_number(rows, ",")
            )
            said = f"{said} {counted}"
        self.text.setText(said)
        for prior in PRIORS:
            high = percent(posterior(asked.of_fact, prior).high)
            before, after = tr("from {prior}", prior=percent(prior)), tr("to at most {high}", high=high)
            self._facts.show_line(f"prior_{prior}", before, after)
        self._curve.show_epsilon(asked.of_fact)


class SidePanel(Card):
    """A panel in the column of gauges, which is scrolled to it, and back to the budget once it is closed."""

    def come(self) -> None:
        """Scroll it into sight; where it is too high for that, its title comes to the top."""
        self.show()
        area, column = area_around(self), self.parentWidget()
        if area is None or column is None:
            return
        grow_inside(area)
        layout = column.layout()
        if layout is not None:
            layout.activate()
        area.ensureWidgetVisible(self, 0, 12)
        bar = area.verticalScrollBar()
        bar.setValue(min(bar.value(), self.y() - 12))

    def hideEvent(self, event: QHideEvent) -> None:  # noqa: N802 - Qt's name
        super().hideEvent(event)
        area = area_around(self)
        if area is not None and not any(one.isVisible() for one in area.findChildren(SidePanel)):
            area.verticalScrollBar().setValue(0)


class ExplainPanel(SidePanel):
    """A panel beside the gauges that explains an ε."""

    def __init__(self, session: Session) -> None:
        super().__init__(pad=12, spacing=4)
        self.setObjectName("explain_panel")
        self.setAccessibleName(tr("What ε means"))
        self._session = session
        self._title = Elided("", "heading")
        close = button(tr("Close"), "explain_close", "link", tip=tr("Close this explanation (Esc)"), press=self.hide)
        self._meaning = Meaning(session, "explain_text")
        self._others = {
            key: button("", f"explain_{key}", "link", tip=tr("What this amount means"))
            for key in ("whole", "spent", "cap")
        }
        self._amounts: dict[str, Asked] = {}
        for key, other in self._others.items():
            other.clicked.connect(lambda _checked, key=key: ask(session, self._amounts[key]))
        tip = tr("Examples, δ, several releases, and what others publish: Tools, What ε means")
        more = button(tr("More →"), "explain_more", "link", tip=tip, press=lambda: session.go("explain"))
        self._also = panel(row(label(tr("also"), "muted"), *self._others.values(), None, spacing=4))
        self.body.add(panel(row((self._title, 1), more, close)), self._meaning, self._also)
        session.explain_asked.connect(self.explain)
        session.plan_changed.connect(self._follow_plan)
        session.way_changed.connect(self._follow_plan)
        session.table_changed.connect(self.hide)
        self._asked = Asked(Decimal(0))
        self._of_plan = False
        self.hide()

    def explain(self, epsilon: Decimal, delta: Decimal = Decimal(0), about: str = "", local: bool = False) -> None:
        self._asked = Asked(epsilon, delta, about, local)
        self._title.set_whole(_heading(at_most(epsilon), about), _heading(entered(epsilon), about))
        self._meaning.explain(self._asked)
        self._of_plan = self._session.opened is not None and self._asked == of_plan(self._session)
        self._offer_others(epsilon, whole=not about)
        self.setAccessibleDescription(self._meaning.text.text())
        self.come()

    def retranslate(self) -> None:
        if not self.isHidden():
            self.explain(*astuple(self._asked))

    def _follow_plan(self) -> None:
        """Explain the plan's ε as it is now, where it is what was asked about."""
        if self._of_plan and not self.isHidden():
            asked = of_plan(self._session)
            if asked != self._asked:
                self.explain(*astuple(asked))

    def _offer_others(self, epsilon: Decimal, *, whole: bool) -> None:
        session, account = self._session, self._session.account
        plan = of_plan(session) if session.opened is not None else None
        self._amounts = {}
        stated = (
            ("whole", plan, tr("this plan")),
            ("spent", Asked(account.spent) if account.spent else None, tr("spent")),
            ("cap", None if account.cap is None else Asked(account.cap), tr("cap")),
        )
        for key, other, words in stated:
            amount = None if other is None else other.epsilon
            offered = [one.epsilon for one in self._amounts.values()]
            shown = amount is not None and not (whole and amount == epsilon) and amount not in offered
            self._others[key].setVisible(shown)
            if shown:
                assert other is not None
                assert amount is not None
                self._amounts[key] = other
                self._others[key].setText(words)
                asking = tr("What does ε = {amount}, {words}, mean?", amount=at_most(amount), words=words)
                self._others[key].setToolTip(asking)
                self._others[key].setAccessibleName(asking)
        self._also.setVisible(bool(self._amounts))


SURE = {
    (False, True): tr_later(
        "Someone who was 10 % sure of a fact about one person could become at most {high} sure, and never less than "
        "{low}."
    ),
    (False, False): tr_later(
        "Someone who was 10 % sure of a fact about one person could become at most {high} sure, or down to almost 0 %."
    ),
    (True, True): tr_later(
        "Someone who was 10 % sure of a fact about one person's {about} could become at most {high} sure from the "
        "released {about} alone, and never less than {low}."
    ),
    (True, False): tr_later(
        "Someone who was 10 % sure of a fact about one person's {about} could become at most {high} sure from the "
        "released {about} alone, or down to almost 0 %."
    ),
}
"""By whether an attribute is named, and whether a belief keeps more than :data:`NOTHING`."""

REPLACED = tr_later("This counts as ε = {epsilon}: changing a fact replaces one row.")
"""Said unless all that is released are noisy rows."""


def in_words(asked: Asked) -> str:
    """Return what an ε means for someone who is 10 % sure."""
    belief = posterior(asked.of_fact, 0.1)
    figures = {"high": percent(belief.high), "low": percent(belief.low), "about": asked.about}
    said = [tr(SURE[bool(asked.about), belief.low >= NOTHING], **figures)]
    if not asked.local:
        said.append(tr(REPLACED, epsilon=at_most(Decimal(repr(asked.of_fact)))))
    if asked.delta:
        said.append(as_sentence(tr_sentence(DELTA_NOTE)))
    return " ".join(said)


def _heading(epsilon: str, about: str) -> str:
    if not about:
        return f"ε = {epsilon}"
    return tr("ε = {epsilon} for {about}", epsilon=epsilon, about=about)


class Explainable(QObject):
    """Lets a widget's ε be explained: by its context menu, and by F1 while it has the focus."""

    def __init__(self, widget: QWidget, session: Session, asked: Callable[[], Asked | None]) -> None:
        """Attach to ``widget``; ``asked`` returns the ε shown now (of the current row or point), or ``None``."""
        super().__init__(widget)
        self.asked = asked
        self._session = session
        # A table's mouse events come to its viewport, those of the menu key to itself.
        for part in (widget, widget.viewport() if isinstance(widget, QAbstractItemView) else None):
            if part is not None:
                part.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        if not isinstance(event, QContextMenuEvent):
            return False
        widget = self.parent()
        if isinstance(widget, QAbstractItemView) and event.reason() == QContextMenuEvent.Reason.Mouse:
            at = widget.indexAt(event.pos())
            if at.isValid():
                widget.setCurrentIndex(at)
        asked = self.asked()
        if asked is None:
            return False
        assert isinstance(widget, QWidget)
        menu = widget.createStandardContextMenu() if isinstance(widget, QLineEdit) else QMenu(widget)
        menu.setObjectName("explain_menu")
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        action = QAction(question(asked), menu)
        action.setObjectName("explain_this")
        action.triggered.connect(lambda: ask(self._session, asked))
        others = menu.actions()
        if others:
            menu.insertAction(others[0], action)
        else:
            menu.addAction(action)
        if widget.contextMenuPolicy() == Qt.ContextMenuPolicy.CustomContextMenu:
            menu.addActions(widget.actions())  # which would have been in a menu of their own
        menu.popup(event.globalPos())
        return True


def ask(session: Session, asked: Asked) -> None:
    """Show what an ε means."""
    session.explain(asked.epsilon, asked.delta, asked.about, local=asked.local)


def asked_at(widget: QWidget | None) -> Asked | None:
    """Return the ε that ``widget`` or a parent of it shows and can explain."""
    while widget is not None:
        found = widget.findChild(Explainable, options=Qt.FindChildOption.FindDirectChildrenOnly)
        if isinstance(found, Explainable) and (asked := found.asked()) is not None:
            return asked
        widget = widget.parentWidget()
    return None


def explain_button(session: Session, name: str, asked: Callable[[], Asked | None]) -> QPushButton:
    """Return a small button beside an ε that explains it."""
    made = button(
        "?", name, "link", tip=tr("What this ε means for one person (F1)"), accessible=tr("What does this ε mean?")
    )
    made.setFixedWidth(24)

    def press() -> None:
        found = asked()
        if found is not None:
            ask(session, found)

    made.clicked.connect(press)
    return made


def question(asked: Asked) -> str:
    """Return the question a menu asks."""
    epsilon = at_most(asked.epsilon)
    if asked.about:
        return tr("What Does ε = {epsilon} for {about} Mean?", epsilon=epsilon, about=asked.about)
    return tr("What Does ε = {epsilon} Mean?", epsilon=epsilon)


def percent(share: float) -> str:
    """Return a share with three digits, or four if three would look like certainty."""
    return f"{tr_number(100 * share, '.4g' if share > 0.999 else '.3g')} %"
