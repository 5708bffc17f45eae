"""What was spent over time, as a picture: one step for each release, up to the cap."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from PySide6.QtCore import QMarginsF, QRectF, QSize

from workbench.gui.session.session import Session
from workbench.gui.style.language import day, tr, tr_number
from workbench.gui.widgets import chart_marks as mark
from workbench.gui.widgets.chart import Below, Chart, Drawing
from workbench.gui.widgets.chart_marks import Dash, Key, Point, Scale
from workbench.gui.widgets.formatting import at_least, at_most, count

HEIGHT = 96
STYLE_NAMES = ("private", "sanitized", "third", "fourth", "fifth")
DASHES: tuple[Dash, ...] = ("solid", "dashed", "dotted", "dash-dotted")


@dataclass(frozen=True)
class Spending:
    """The releases of one account: (time, ε) of each that counts, and when one was refused."""

    name: str
    charges: tuple[tuple[datetime, float], ...]
    cap: float | None
    refused: tuple[datetime, ...] = ()

    @property
    def total(self) -> float:
        return sum(epsilon for _, epsilon in self.charges)


class Timeline(Chart):
    """Spent ε over time: a line per account, the cap if there is one account, and a cross per refusal."""

    margins = QMarginsF(44, 20, 12, 22)
    usual, least = QSize(480, HEIGHT), QSize(200, HEIGHT)
    letters = 11

    def __init__(self, session: Session, name: str) -> None:
        super().__init__(session, name, tr("Spending over time"))
        self._lines: tuple[Spending, ...] = ()

    @property
    def lines(self) -> tuple[Spending, ...]:
        return self._lines

    def show_lines(self, lines: Sequence[Spending]) -> None:
        """Draw ``lines``, of which the first few have colours of their own."""
        self._lines = tuple(line for line in lines if line.charges or line.refused)
        words = [_words(line) for line in self._lines]
        self.setAccessibleDescription("; ".join(words))
        self.setToolTip("\n".join([*words, tr("A cross is a refused release.")] if words else []))
        self._drawing = _drawing(self._lines) if self._lines else None
        self.update()


def _words(line: Spending) -> str:
    said = {"name": line.name, "releases": count(len(line.charges), "release"), "spent": at_most(line.total)}
    if line.cap is None:
        return tr("{name}: {releases}, ε = {spent}", **said)
    return tr("{name}: {releases}, ε = {spent} of {cap}", cap=at_least(line.cap), **said)


def _drawing(lines: Sequence[Spending]) -> Drawing:
    """Return the steps of each account, a cap that is the only one, and the refusals."""
    times = [t for line in lines for t, _ in line.charges] + [t for line in lines for t in line.refused]
    first, last = min(times), max(times)
    span = max((last - first).total_seconds(), 1.0)
    only = lines[0].cap if len(lines) == 1 else None
    most = max([line.total for line in lines] + ([only] if only is not None else [])) or 1.0

    def seconds(time: datetime) -> float:
        return (time - first).total_seconds()

    across, key = Scale(-0.02 * span, 1.02 * span), []
    marks = [] if only is None else [_cap(only)]
    for at, line in enumerate(lines):
        ink, dash = STYLE_NAMES[at % len(STYLE_NAMES)], DASHES[at % len(DASHES)]
        key.append(Key(line.name, ink, "line", dash=dash))
        marks.append(mark.line(_steps(line, across, seconds), ink, dash=dash))
        marks.append(_crosses([(seconds(time), 0.08 * most) for time in line.refused]))
    end = day(last.date()) if span > 86_400 else f"{last:%H:%M}"
    return Drawing(
        marks,
        x=across,
        y=Scale(0, 1.08 * most),
        left=((most, f"ε {tr_number(most, '.3g')}"), (0, "0")),
        below=(Below(across.low, f"{day(first.date())} {first:%H:%M}"), Below(across.high, end)),
        key=key if len(lines) > 1 else (),
    )


def _cap(cap: float) -> mark.Mark:
    def paint(on: mark.Canvas) -> None:
        mark.line(((on.x.low, cap), (on.x.high, cap)), "danger", 1, "dashed")(on)
        words = tr("cap ε = {cap}", cap=at_least(cap))
        on.write(QRectF(on.box.left() + 4, on.up(cap) - 15, on.box.width() - 4, 14), words, "danger")

    return paint


def _crosses(points: Sequence[Point]) -> mark.Mark:
    def paint(on: mark.Canvas) -> None:
        for point in points:
            on.sign("cross", on.at(*point), "danger")

    return paint


def _steps(line: Spending, across: Scale, seconds: Callable[[datetime], float]) -> list[Point]:
    points, spent = [(across.low, 0.0)], 0.0
    for time, epsilon in line.charges:
        points.append((seconds(time), spent))
        spent += epsilon
        points.append((seconds(time), spent))
    return [*points, (across.high, spent)]
