"""The figures of the curve as a table: sorted by a click on a heading, copied as text."""

from __future__ import annotations

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QHeaderView

from workbench.gui.session.session import Session
from workbench.gui.style.language import localised, tr, tr_later, tr_number
from workbench.gui.style.stylesheet import ROW
from workbench.gui.widgets.settings_table import SettingsTable
from workbench.gui.widgets.table_model import Cell, Column, TableModel
from workbench.gui.widgets.table_view import headings
from workbench.render.palette import SIGNS, STYLES
from workbench.render.scaffold import plain_number
from workbench.render.values import CurveFigure

EPSILON = 1
EPSILON_HELP = tr_later("Privacy loss of a whole row; – where it does not matter")
COLUMNS = (
    Column(tr_later("way of training"), help=tr_later("What was trained, with the sign of its line")),
    Column("ε", help=EPSILON_HELP, right=True),
    Column(tr_later("mean"), help=tr_later("Mean over the repeats on rows that were held out"), right=True),
    Column(
        tr_later("± standard error"),
        help=tr_later("How sure the mean is: its standard error over the repeats"),
        right=True,
    ),
)


def line(name: str, style: str, epsilon: float | None, mean: float, error: float | None) -> tuple[Cell, ...]:
    """Return one line: what was trained at which ε (``None``: any), and how good it was; what has none comes first."""
    return (
        Cell(f"{SIGNS[STYLES[style].marker]}  {name}", exact=name, key=name),
        Cell("–" if epsilon is None else localised(plain_number(epsilon)), key=epsilon or 0.0),
        Cell(tr_number(mean, ".4f"), key=mean),
        Cell("–" if error is None else tr_number(error, ".4f"), key=-1.0 if error is None else error),
    )


def results(figure: CurveFigure) -> list[tuple[Cell, ...]]:
    """Return the lines of ``figure``: its levels, then its points from left to right."""
    return [line(b.name, b.style, None, b.value, None) for b in figure.baselines] + [
        line(series.name, series.style, x, mean, high - mean)
        for series in figure.series
        for x, mean, high in zip(series.x, series.mean, series.high, strict=True)
    ]


class ResultsTable(SettingsTable):
    """The table; a click on a heading sorts, and what is copied has the badge as its first line."""

    def __init__(self, session: Session) -> None:
        self._figures = TableModel(session, COLUMNS)
        super().__init__(session, self._figures, "curve_table", tr("Figures of the curve"), private=None)
        self.setToolTip(tr("A click on a heading sorts; Ctrl+C copies what is selected"))
        self.verticalHeader().setDefaultSectionSize(ROW - 2)  # nearly all of the usual twelve lines are in sight
        self.horizontalHeader().setStretchLastSection(False)
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        self.horizontalHeader().setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        self._badge = ""
        self._shown: list[tuple[str, str]] = []

    def show_figure(self, figure: CurveFigure | None) -> None:
        """Show the figures of ``figure``, by ε or by what they are against; lines that are there keep their place."""
        lines: list[tuple[Cell, ...]] = []
        self._badge = ""
        if figure is not None:
            lines, self._badge = results(figure), figure.badge
            other = figure.against and figure.against != "ε"
            self._figures.retitle(
                EPSILON,
                figure.against if other else "ε",
                tr("What differs along the line") if other else tr(EPSILON_HELP),
            )
        former, self._shown = self._shown, [(of[0].exact, of[EPSILON].text) for of in lines]
        self._figures.show_lines(lines, same=former == self._shown)
        self.sort_again()

    def show_all(self) -> None:
        """Keep the order while a study adds lines."""

    def lines(self) -> list[list[str]]:
        """Return the texts in the order in which they are shown."""
        return [self.line(row).split("\t") for row in self.in_sight()]

    def copy(self) -> None:
        """Put the selected lines, or all of them, on the clipboard as text."""
        head = [f"# {self._badge}"] if self._badge else []
        rows = self.chosen() or self.in_sight()
        texts = [*head, "\t".join(headings(self, range(len(COLUMNS)))), *map(self.line, rows)]
        QGuiApplication.clipboard().setText("\n".join(texts) + "\n")
