"""The ways to release at the head of a page: the one that is chosen is marked, and another can be chosen."""

from __future__ import annotations

from collections.abc import Container

from PySide6.QtCore import QTimer
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QPushButton, QWidget

from workbench.gui.session.session import Session
from workbench.gui.style.language import capital, tr, tr_later, tr_sentence
from workbench.gui.widgets.basic import button, named, row

ROWS, SYNTHETIC, STATISTICS, MODEL = "rows", "synthetic", "statistics", "model"
WAYS = (
    (ROWS, tr_later("Noisy rows"), tr_later("Release every row with noise in its cells")),
    (SYNTHETIC, tr_later("Synthetic rows"), tr_later("Release new rows of the same shape, drawn from noisy counts")),
    (STATISTICS, tr_later("Statistics"), tr_later("Release means, sums, counts and quantiles with noise")),
    (MODEL, tr_later("A model"), tr_later("Release a private model instead of a table")),
)
"""The name of each way, its words, and what it releases."""

INSIDE = {
    ROWS: tr_later("noisy rows"),
    SYNTHETIC: tr_later("synthetic rows"),
    STATISTICS: tr_later("statistics"),
    MODEL: tr_later("a model"),
}
"""The words of a way inside a sentence."""


def ways() -> tuple[tuple[str, str, str], ...]:
    """Return every way to release, also the kinds of release whose fields follow from their requests.

    Words and tips are in the language of the person. All of them cost the plan's ε: a kind whose cost follows from its
    own parameters is none of them, and neither is one that finds what a plan declares.
    """
    from workbench.release.kinds import KINDS

    listed = [name for name, _words, _tip in WAYS]
    offered = (kind for kind in KINDS if kind.derived and not kind.own_cost and not kind.before_plan)
    more = [kind for kind in offered if kind.name not in listed]
    further = ((k.name, capital(tr_sentence(k.released)), tr_sentence(k.help or k.gives)) for k in more)
    return (*((name, tr(words), tr(tip)) for name, words, tip in WAYS), *further)


def inside(name: str) -> str:
    """Return the words of a way, or of any kind of release, as they are inside a sentence."""
    from workbench.release.kinds import KINDS

    if name in INSIDE:
        return tr(INSIDE[name])
    return next((tr_sentence(kind.released) for kind in KINDS if kind.name == name), name)


class WayBar(QWidget):
    """Segments; the way that is chosen is pressed.

    Attributes:
        page: the name of the page that it is on.
    """

    def __init__(self, session: Session, page: str, own: str = "", only: Container[str] | None = None) -> None:
        """Make it for ``page``; ``own`` is pressed for good, else the chosen way; ``only`` says which are offered.

        A segment of any other page than the settings leads there.
        """
        super().__init__()
        self.setObjectName(f"{page}_ways")
        self.setAccessibleName(tr("How to release"))
        self._segments: dict[str, QPushButton] = {}
        for name, words, tip in ways():
            if only is not None and name not in only:
                continue
            segment = button(words, f"{page}_way_{name}", "segment", tip=tip)
            segment.setCheckable(True)
            segment.clicked.connect(lambda _checked, name=name: self._choose(name))
            self._segments[name] = segment
        self._session, self._own, self.page = session, own, page
        self.setLayout(row(*self._segments.values(), spacing=2))
        session.way_changed.connect(self._mark)
        session.questions_changed.connect(self._mark)
        self._mark()

    def retranslate(self) -> None:
        for name, words, tip in ways():
            if name in self._segments:
                named(self._segments[name], f"{self.page}_way_{name}", words, tip).setText(words)

    def showEvent(self, event: QShowEvent) -> None:  # noqa: N802 - Qt's name
        """Keep the keys on the segment that is pressed: Qt gives them to the first one when another page's goes."""
        super().showEvent(event)
        QTimer.singleShot(0, self, self._give_keys)

    def _give_keys(self) -> None:
        pressed = self._segments.get(self._own or self._session.way)
        if pressed is not None and any(segment.hasFocus() for segment in self._segments.values()):
            pressed.setFocus()

    def _mark(self) -> None:
        for name, segment in self._segments.items():
            segment.setChecked(name == (self._own or self._session.way))

    def _choose(self, name: str) -> None:
        self._session.choose_way(name)
        self._mark()
        if self._own and name != self._own:
            self._session.go("release")
            way = self._segments[name].text()
            self._session.notify("info", tr("{way} are set and previewed in Settings.", way=way))
