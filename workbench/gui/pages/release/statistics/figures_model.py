"""One row for each protected column: which figures of it are asked for, and what to expect of each."""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

from PySide6.QtCore import Signal

from workbench.gui.pages.release.statistics.tasks import Checked
from workbench.gui.pages.release_tasks import asked_plan
from workbench.gui.session.draft import DraftColumn
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_later, typed
from workbench.gui.widgets.table_model import Cell, Column, EditedModel
from workbench.statistics.asked import CORRELATION, OF_AMOUNTS, RANGES, TOP, Statistic, without_period

BINS_HELP = tr_later(
    "Into how many bins a range of numbers is cut; auto: every value by itself where there are few, else 20 bins"
)
NOT_FOR = tr_later("Not for such values")
MAKES_GROUPS = tr_later("This column makes the groups")
AUTO = tr_later("auto")


class FiguresModel(EditedModel):
    """The protected columns with their ticks; what is ticked follows the usual request until it is changed.

    Signals:
        changed: something else is asked for.
    """

    changed = Signal()

    def __init__(self, session: Session) -> None:
        def figure(title: str, statistic: str, help_text: str, width: int, grows: float = 0.0) -> Column:
            cell, tick = partial(self._figure, statistic), partial(self._tick, statistic)
            return Column(title, cell, help_text, width, grows, tick=tick)

        bins = Column(
            tr("Bins"),
            self._bins_of,
            tr(BINS_HELP),
            width=48,
            right=True,
            field="bins_editor",
            spoken=tr("Number of bins; empty for the usual number"),
            edit=self._cut,
        )
        shares = tr("How many rows are in each bin; of numbers also which share of all rows is below each bin's end")
        mode = tr(
            "The most frequent value, without its count. It is right 95 % of the time if it leads by at "
            "least the rows shown"
        )
        columns = (
            Column(tr("Column"), self._name, tr("A column that the plan protects"), width=84, grows=0.3),
            figure(tr("Histogram"), "histogram", shares, 108, 0.1),
            bins,
            figure(tr("Mean"), "mean", tr("The mean of the values"), 96, 0.15),
            figure(
                tr("Quantiles"),
                "quantiles",
                tr("The values that 25 %, 50 % and 75 % of the rows do not pass"),
                92,
                0.15,
            ),
            figure(tr("Sum"), "sum", tr("The sum of the values"), 72),
            figure(tr("Std. dev."), "std", tr("How far the values usually are from their mean"), 88, 0.1),
            figure(tr("Most frequent"), "mode", mode, 112),
        )
        super().__init__(session, columns)
        self._columns: tuple[DraftColumn, ...] = ()
        self._ticks: dict[str, set[str]] = {}
        self._followed: dict[str, set[str]] = {}
        self._bins: dict[str, int] = {}
        self._checked: Checked | None = None
        self.groups: tuple[str, ...] = ()

    # -- what is asked for ----------------------------------------------------------------------------------------

    def start_over(self) -> None:
        """Ask for what is usual of another table."""
        self._ticks.clear()
        self._followed = {}
        self._bins.clear()
        self.groups = ()
        self.follow()

    def follow(self) -> None:
        """Show the columns that the plan protects now; one of another kind than before begins as is usual."""
        former, columns = {column.name: column.kind for column in self._columns}, self.session.plan.protected
        others = [c.name for c in columns] != list(former)
        usual = self._usual()
        if usual != self._followed:  # something else will be asked: what nobody has changed follows
            self._ticks = {name: ticks for name, ticks in self._ticks.items() if ticks != self._followed.get(name)}
            self._followed = usual
        if others:
            self.beginResetModel()
        self._columns = columns
        for column in columns:
            if column.name not in self._ticks or former.get(column.name) != column.kind:
                self._ticks[column.name] = set(usual.get(column.name, ()))
                self._bins.pop(column.name, None)
        if others:
            self.endResetModel()
        self.refresh()

    def state(self) -> Any:
        """Return the ticks and the numbers of bins."""
        return {name: frozenset(ticks) for name, ticks in self._ticks.items()}, dict(self._bins)

    def restore(self, state: Any) -> None:
        """Take back ticks and numbers of bins, of the columns that are still protected."""
        ticks, bins = state
        names = {column.name for column in self._columns}
        self._ticks |= {name: set(ticked) for name, ticked in ticks.items() if name in names}
        self._bins = {name: number for name, number in bins.items() if name in names}
        self._edited()

    def tick_all(self, *, usual: bool) -> None:
        """Tick what answers the questions, or nothing."""
        before = self.state()
        asked = self._usual() if usual else {}
        for column in self._columns:
            self._ticks[column.name] = set(asked.get(column.name, ()))
        self._bins.clear()
        self._edited()
        self.keep_step(tr("tick the usual figures") if usual else tr("tick no figure"), before)

    def group_by(self, names: tuple[str, ...]) -> None:
        """Ask for every figure of each group that these columns make."""
        self.groups = names
        self.show_checked(None)

    def wanted(self) -> tuple[Statistic, ...]:
        """Return what is asked for, in the order of the columns."""
        return tuple(
            Statistic(
                statistic=statistic,
                column=column.name,
                bins=self._bins.get(column.name) if statistic == "histogram" else None,
                by=self.groups or None,
            )
            for column in self._columns
            for statistic in ("histogram", "mean", "quantiles", "sum", "std", "mode")
            if self._ticked(column, statistic)
        )

    def further(self, statistic: str) -> tuple[Statistic, ...]:
        """Return what goes with ticks: correlations with means, ranges with quantiles, top values with the mode."""
        ticked = {CORRELATION: "mean", RANGES: "quantiles", TOP: "mode"}[statistic]
        names = [column.name for column in self._columns if self._ticked(column, ticked)]
        if statistic == CORRELATION:
            pairs = itertools.combinations(names, 2)
            return tuple(Statistic(statistic=statistic, column=a, other=b, by=self.groups or None) for a, b in pairs)
        return tuple(Statistic(statistic=statistic, column=name, by=self.groups or None) for name in names)

    def show_checked(self, checked: Checked | None) -> None:
        """Show what to expect, or that it is not known yet."""
        self._checked = checked
        self.refresh()

    def height(self) -> int:
        """Return the number of columns of the plan."""
        return len(self._columns)

    def _can(self, column: DraftColumn, what: str) -> bool:
        return not self._makes_groups(column) and _fits(column, what)

    def _makes_groups(self, column: DraftColumn) -> bool:
        names = [one.name for one in self._columns]
        return column.name in (without_period(named, names)[0] for named in self.groups)

    def _ticked(self, column: DraftColumn, statistic: str) -> bool:
        return statistic in self._ticks[column.name] and self._can(column, statistic)

    def _usual(self) -> dict[str, set[str]]:
        """Return the figures of each column that answer what will be asked."""
        from workbench.studies.ways_asked import asked_request

        draft, found = self.session.plan, dict[str, set[str]]()
        if draft.ready and draft.protected:
            for figure in asked_request(asked_plan(draft, draft.plan())).figures:
                found.setdefault(figure.column or "", set()).add(figure.statistic)
        return found

    # -- edits, of all selected columns that can have them --------------------------------------------------------

    def _tick(self, statistic: str, at: int, ticked: bool) -> None:
        for column in self._edited_with(at, statistic):
            (self._ticks[column.name].add if ticked else self._ticks[column.name].discard)(statistic)
        self._edited()

    def _cut(self, at: int, text: str) -> None:
        columns, text = self._edited_with(at, "bins"), typed(text)
        bins = None
        if text.casefold() not in ("", AUTO, tr(AUTO).casefold()):
            bins = Statistic.declared()["bins"].parse(text, tr("bins of {name}", name=columns[0].name))
            assert bins is None or isinstance(bins, int)
        for column in columns:
            self._bins.pop(column.name, None)
            if bins is not None:
                self._bins[column.name] = bins
        self._edited()

    def _edited_with(self, at: int, what: str) -> list[DraftColumn]:
        columns = [self._columns[row] for row in self.chosen(at)]
        return [column for column in columns if self._can(column, what)]

    def _edited(self) -> None:
        self.show_checked(None)
        self.changed.emit()

    # -- cells ----------------------------------------------------------------------------------------------------

    def _name(self, at: int) -> Cell:
        name = self._columns[at].name
        return Cell(name, tip=name, key=name.casefold())

    def _figure(self, statistic: str, at: int) -> Cell:
        column = self._columns[at]
        ticked = self._ticked(column, statistic)
        if not self._can(column, statistic):
            return Cell(tip=self._why_not(column), key=True)
        found = self._checked.expected.get((statistic, column.name)) if self._checked is not None and ticked else None
        cell = Cell("…" if ticked else "", key=not ticked, ticked=ticked)  # ticked ones come first
        if found is None:
            return cell
        cell = cell._replace(text=found.words, tip=found.stated)
        return cell._replace(text=f"{found.words} ⚠", look="warn") if found.noisy else cell

    def _bins_of(self, at: int) -> Cell:
        column = self._columns[at]
        bins = self._bins.get(column.name)
        look, tip = "muted" if bins is None else "", "" if self._can(column, "bins") else self._why_not(column)
        if tip or not self._ticked(column, "histogram"):
            return Cell("", look, tip, key=bins)
        return Cell(str(bins or tr(AUTO)), look, key=bins, value=str(bins or ""))

    def _why_not(self, column: DraftColumn) -> str:
        return tr(MAKES_GROUPS) if self._makes_groups(column) else tr(NOT_FOR)


def _fits(column: DraftColumn, what: str) -> bool:
    """Whether a figure (or bins of one's own) can be asked for of a column."""
    if what in OF_AMOUNTS:
        return column.kind in ("integer", "real")
    return what == "histogram" or column.numeric != (what == "mode")
