"""What Curves has found of the chosen model on this table, or the way to find it: how accurate it is at which ε."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

from PySide6.QtWidgets import QWidget

from workbench.gui.pages.curve_actions import in_language
from workbench.gui.session.session import RunRecord, Session
from workbench.gui.style.language import tr, tr_later
from workbench.gui.widgets.basic import Card, button, label, look, row, rule, stack

ROOM = 620
"""Points of the card from which a curve with its names can be read."""

HIGH = 420
"""Points of the card in which the settings can be explained as well."""

UNKNOWN = tr_later(
    "Curves draws how accurate it is against ε, on your rows or on made-up ones, before anything is paid."
)
KNOWN = tr_later("Curves has drawn how accurate it is against ε.")


class StudyCard(Card):
    """The newest curve of the chosen model, with the ε in the form marked; below a line that leads to Curves."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self._model, self._epsilon = "", Decimal(1)
        self._words = label(tr(UNKNOWN), "muted", wrap=True, name="train_study")
        self._onward = button(
            tr("Its accuracy against ε →"), "train_to_curves", "link", tip=tr("Open Curves with this model")
        )
        self._onward.clicked.connect(self._go)
        self._holder = QWidget()
        self._holder.setObjectName("train_study_holder")
        self._place = stack()
        self._holder.setLayout(self._place)
        self._plot: QWidget | None = None
        self.body.addWidget(label(tr("ACCURACY TO EXPECT"), "caption"))
        self.body.addWidget(self._words)
        self.body.addLayout(row(self._onward, None))
        self.body.addWidget(self._holder, 100)
        self._meanings = label("", "muted", wrap=True, name="train_meanings")
        self._of_settings = look(QWidget(), "clear")
        self._of_settings.setLayout(
            stack(rule(), label(tr("WHAT THE SETTINGS MEAN"), "caption"), self._meanings, spacing=8)
        )
        self.body.addWidget(self._of_settings)
        self.body.addStretch(1)
        for part in (self._holder, self._of_settings):
            part.hide()
        session.runs_changed.connect(self._draw)
        session.theme_changed.connect(self._draw)

    def show_model(self, model: str, epsilon: Decimal, meanings: Sequence[str]) -> None:
        """Show what is known of ``model``, and mark ``epsilon``; without a curve, what its settings mean."""
        self._meanings.setText("\n".join(meanings))
        if (model, epsilon) != (self._model, self._epsilon):
            self._model, self._epsilon = model, epsilon
            self._draw()

    def resizeEvent(self, event: object) -> None:  # noqa: N802 - Qt's name
        self._draw()

    def _found(self) -> RunRecord | None:
        runs = [run for run in self._session.runs if run.kind == "curve" and not run.result.plan.against]
        return next((run for run in reversed(runs) if run.result.plan.model == self._model), None)

    def _draw(self) -> None:
        found = self._found()
        self._words.setText(tr(UNKNOWN) if found is None else tr(KNOWN))
        drawn = found is not None and self.width() >= ROOM and self.isVisible()
        self._holder.setVisible(drawn)
        self._of_settings.setVisible(not drawn and self.height() >= HIGH)
        if found is None or not drawn:
            return
        # It knows numpy, which a page without a study does not wait for.
        from workbench.gui.widgets.curve_plot import CurvePlot
        from workbench.render.curve_figure import curve_figure

        if not isinstance(self._plot, CurvePlot):
            self._plot = CurvePlot("train_study", tr("Accuracy of the model against ε"))
            self._place.addWidget(self._plot)
        figure = curve_figure(found.result, found.source)
        figure = replace(figure, badge="") if found.made_up else figure
        figure = in_language(figure, found.result.plan.measured.main)
        self._plot.show_figure(figure, self._session.theme, self._epsilon)

    def _go(self) -> None:
        self._session.to_draw.make(self._model)
        self._session.go("utility")
