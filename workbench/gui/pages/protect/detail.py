"""What stands with the table of shares: why this mechanism, what else there is, and a slider for the share."""

from __future__ import annotations

from decimal import Decimal

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QVBoxLayout, QWidget

from workbench.gui.pages.protect.purpose import PurposeChoice
from workbench.gui.pages.protect.response_chart import Becoming
from workbench.gui.pages.protect.share_edits import with_share
from workbench.gui.pages.protect.share_model import KEPT, ShareModel
from workbench.gui.pages.protect.tasks import Candidate, Outlook
from workbench.gui.session.draft import DraftColumn
from workbench.gui.session.draft_edits import FROM_DATA
from workbench.gui.session.session import Session
from workbench.gui.widgets.basic import Elided, label, named, row
from workbench.gui.widgets.explain import explain_button
from workbench.gui.widgets.formatting import at_most, count
from workbench.gui.widgets.master_detail import DetailCard
from workbench.gui.widgets.slider import Slider
from workbench.params import ParameterError
from workbench.render.fonts import font

STEPS = 1000
HEIGHT = 208
LINE = 40
PICTURE = 4 * LINE + 12


class CandidateBars(QWidget):
    """The expected error of each mechanism that fits, and of a constant answer: the shorter the bar, the better."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.setObjectName("candidate_bars")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self._session = session
        self._lines: tuple[tuple[str, float, str, bool], ...] = ()
        session.theme_changed.connect(self.update)

    def show_outlook(self, outlook: Outlook | None) -> None:
        """Show the candidates of one attribute, or none."""
        self._lines = ()
        if outlook is not None:
            best = outlook.candidates[0].name
            most = max((c.statistic or 0.0 for c in outlook.candidates), default=0.0)
            made = [
                (
                    c.title + ("  ★" if c.name == best else ""),
                    # Without an unbiased statistic: as long as the longest, for it is no better than that.
                    (most if c.statistic is None else c.statistic) if outlook.for_statistics else c.error,
                    outlook.relevant(c),
                    c.name == outlook.used.name,
                )
                for c in outlook.candidates
            ]
            if not outlook.for_statistics:
                error = outlook.constant_error
                made.append((f"always “{outlook.constant}”", error, outlook.in_words(error), False))
            self._lines = tuple(made)
        self.setAccessibleName("Expected errors: " + ", ".join(f"{t} {words}" for t, _, words, _ in self._lines))
        self.update()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Return the size of the picture."""
        return QSize(340, 4 * LINE)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw a line of text and a bar for each; the one in use is filled, the others are framed."""
        if not self._lines:
            return
        theme, painter = self._session.theme, QPainter(self)
        painter.setFont(font(13))
        most = max(error for _, error, _, _ in self._lines) or 1.0
        for at, (title, error, words, used) in enumerate(self._lines):
            text = QRectF(0, at * LINE, self.width(), 20)
            painter.setPen(QColor(theme.text if used else theme.muted))
            room = int(text.width()) - painter.fontMetrics().horizontalAdvance(words) - 12
            name = painter.fontMetrics().elidedText(title, Qt.TextElideMode.ElideRight, room)
            painter.drawText(text, Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter, name)
            painter.drawText(text, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, words)
            bar = QRectF(0.5, at * LINE + 22.5, max((self.width() - 1) * error / most, 2.0), 7)
            if used:
                painter.fillRect(bar, QColor(theme.accent))
            else:
                painter.setPen(QColor(theme.muted))
                painter.drawRect(bar)


class ShareDetail(DetailCard):
    """Follows the attribute that is selected in the table of shares."""

    def __init__(self, session: Session, model: ShareModel) -> None:
        super().__init__(HEIGHT, PICTURE)
        self.setObjectName("share_detail")
        self._session, self._model, self._at, self._drag = session, model, 0, 0
        self._name = Elided("", "heading")
        self._why = label("", wrap=True, name="share_why")
        self._warning = label("", "warn", wrap=True, name="share_warning")
        self._problem = label("", "problem", wrap=True, name="share_problem")
        self.slider = named(
            Slider(),
            "share_slider",
            "Share of ε of the chosen attribute",
            "Moves the share of this attribute; the free ones among the others make room",
        )
        self.slider.setRange(1, STEPS - 1)
        self.slider.setPageStep(STEPS // 20)
        self.slider.valueChanged.connect(self._moved)
        self.slider.sliderPressed.connect(self._begin_drag)
        self._share = label("", name="share_of")
        self._slider_line = QWidget()
        ask = explain_button(session, "share_explain", lambda: model.asked_at(self._at))
        line = row(label("share of ε", "muted"), self.slider, self._share, ask, spacing=12)
        line.setStretch(1, 1)
        self._slider_line.setLayout(line)
        left = QVBoxLayout()
        left.setSpacing(6)
        self._purpose = PurposeChoice(session)
        head = row(self._name, self._purpose, spacing=12)
        head.setStretch(0, 2)
        head.setStretch(1, 5)
        left.addLayout(head)
        for part in (self._why, self._warning, self._problem):
            left.addWidget(part)
        left.addStretch(1)
        left.addWidget(self._slider_line)
        self._bars = CandidateBars(session)
        self._becoming = Becoming(session)
        self.fill(left, self._bars, picture_width=288, more=self._becoming)
        model.dataChanged.connect(self.refresh)
        model.refused.connect(self.say_refused)

    def show_attribute(self, at: int) -> None:
        """Show the attribute in row ``at``."""
        self._at = at
        self._begin_drag()
        self.say_refused("")
        self.refresh()

    def say_refused(self, why: str) -> None:
        """Say why an edit was not taken, until the next one."""
        self._problem.setText(f"✕ {why[:1].upper()}{why[1:]}." if why else "")
        self._problem.setVisible(bool(why))

    def refresh(self) -> None:
        """Show the present state of the attribute."""
        if not 0 <= self._at < self._model.rowCount():
            return
        column, outlook = self._model.column_at(self._at), self._model.outlook_at(self._at)
        shares = self._model.shares()
        share = shares.get(column.name)
        self._name.set_whole(column.name)
        self._purpose.show_column(column)
        self._why.setText(_why(column, outlook if self._model.current(self._at) else None, share))
        warning = _warning(column, outlook)
        self._warning.setText(f"⚠ {warning}" if warning else "")
        self._warning.setVisible(bool(warning))
        self._bars.setVisible(outlook is not None)
        self._bars.show_outlook(outlook)
        self._becoming.show_example(outlook.example if outlook is not None else None)
        self._slider_line.setVisible(share is not None)
        if share is not None:
            self._share.setText(at_most(share))
            self.slider.setEnabled(len(shares) > 1)
            self.slider.blockSignals(True)
            if not self.slider.isSliderDown():
                self.slider.setValue(round(STEPS * float(share / self._session.plan.epsilon)))
            self.slider.blockSignals(False)

    def _begin_drag(self) -> None:
        self._drag += 1  # steps of one drag are one step of undo; the next drag is another

    def _moved(self, step: int) -> None:
        plan, column = self._session.plan, self._model.column_at(self._at)
        share = Decimal(f"{plan.epsilon * step / STEPS:.3g}")
        try:
            made = with_share(plan, column.name, share, lock=column.epsilon is not None)
        except ParameterError as error:
            self.say_refused(str(error))
            self.refresh()
            return
        self.say_refused("")
        self._session.edit(f"move the share of {column.name}", made, f"share {self._drag} {column.name}")


def _why(column: DraftColumn, outlook: Outlook | None, share: Decimal | None) -> str:
    if column.action == "drop":
        return "Dropped: nothing of it is released, and it takes no ε."
    if column.action == "keep":
        return "Kept as it is."
    if column.problems():
        return f"{column.problems()[0].text[:1].upper()}{column.problems()[0].text[1:]}: go back to Data."
    if outlook is None or share is None:
        return "…"
    used, best = outlook.used, outlook.candidates[0]
    both = _both_errors(outlook, used)
    title = f"{used.title[:1].upper()}{used.title[1:]}"
    if outlook.advised:
        aim = "the least noise in statistics" if outlook.for_statistics else "the least error"
        fit = "the only mechanism that fits" if len(outlook.candidates) == 1 else f"{aim} of those that fit"
        return f"{title} ★ at a share of {at_most(share)}: {both}; {fit}."
    return (
        f"{title}, chosen by you, at a share of {at_most(share)}: {both}. "
        f"The advisor would take the {best.title} ★: {outlook.relevant(best)}."
    )


def _both_errors(outlook: Outlook, used: Candidate) -> str:
    """Return the error of one value and that of a statistic over the table's rows."""
    over = f" over the {count(outlook.rows, 'row')}"
    statistic = outlook.statistic_in_words(used.statistic)
    clamped = " (of clamped values)" if outlook.column.numeric and used.statistic is not None else ""
    one = outlook.in_words(used.error)
    return f"one value {one}, {statistic}{over if used.statistic is not None else ''}{clamped}"


def _warning(column: DraftColumn, outlook: Outlook | None) -> str:
    if column.action == "keep":
        return KEPT
    if outlook is not None and outlook.useless and outlook.for_statistics:
        return (
            f"Even over all {count(outlook.rows, 'row')} a statistic says next to nothing: give it more ε, or round it "
            f"to fewer steps."
        )
    if outlook is not None and outlook.useless:
        return (
            f"Always answering “{outlook.constant}” is {outlook.useless_words} and costs nothing: at this share "
            f"nobody's {column.name} survives. Give it more ε, or drop it."
        )
    if outlook is not None and outlook.bare:
        return (
            f"At this share nearly every value leaves as it is: whoever sees the release can be almost sure of "
            f"anybody's {column.name}. Give it less ε, or ask whether it has to be published."
        )
    if column.protected and column.bounds_origin == "data":
        return FROM_DATA
    if outlook is not None and outlook.served is not None:
        return f"A share above {outlook.served:g} is served by the table for {outlook.served:g}: the rest is wasted."
    return ""
