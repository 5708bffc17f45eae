"""One way to release: what a recipient gets, how well it answers the questions, and the button that chooses it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from workbench.gui.widgets.basic import Card, Facts, button, label, row

if TYPE_CHECKING:
    from workbench.studies.ways import Question, Way

LEADS_TO = {"rows": "protect", "synthetic": "synthetic", "statistics": "statistics", "model": "train"}
"""The page on which each way is made."""

ADVISED = "★ advised"
NOTHING, HIDDEN = "not answered", "hidden by noise"


class WayCard(Card):
    """A way with its answers.

    Signals:
        chosen: (page) the person wants to release this way.
    """

    chosen = Signal(str)

    def __init__(self, name: str) -> None:
        super().__init__(spacing=6)
        self.setObjectName(f"way_{name}")
        self._name = name
        self._title = label("", "heading", name=f"way_{name}_title")
        self._advised = label(ADVISED, "accent", name=f"way_{name}_advised")
        self._gives = label("", "muted", wrap=True, name=f"way_{name}_gives")
        self._answers = Facts(wrap_names=True)
        self._problem = label("", "problem", wrap=True, name=f"way_{name}_problem")
        self._choose = button("Choose →", f"way_{name}_choose")
        self._choose.clicked.connect(lambda: self.chosen.emit(LEADS_TO[name]))
        head, foot = QWidget(), QWidget()
        head.setLayout(row(self._title, None, self._advised))
        foot.setLayout(row(None, self._choose))
        self._keys: list[str] = []
        for part in (head, self._gives, self._answers, self._problem):
            self.body.addWidget(part)
        self.body.addStretch(1)
        self.body.addWidget(foot)

    def show_way(self, way: Way, questions: tuple[Question, ...], *, advised: bool) -> None:
        """Show a way and its answers to the questions."""
        self._title.setText(way.title)
        self._gives.setText(way.gives)
        self._advised.setVisible(advised)
        self._problem.setText(way.problem)
        self._problem.setVisible(bool(way.problem))
        self._choose.setText(f"{way.title} →")
        self._choose.setAccessibleName(f"Release {way.title.lower()}" + (", advised" if advised else ""))
        for key in self._keys:
            self._answers.hide_line(key)
        if way.predicts:
            self._keys = [f"{self._name}_predicts"]
            self._answers.show_line(self._keys[0], "predicts", way.predicts)
            return
        self._keys = [f"{self._name}_{question.asked}" for question in questions]
        for key, question, answer in zip(self._keys, questions, way.answers, strict=True):
            if answer.half_length is None:
                stated, tip = (
                    answer.note or NOTHING,
                    "This is answered in part" if answer.note else "This way does not answer it",
                )
            elif not answer.useful:
                stated, tip = HIDDEN, f"± {answer.half_length:.3g}: no better than to guess"
            else:
                stated, tip = error_text(question.asked, answer.half_length), "Half of the expected 95 % interval"
            self._answers.show_line(key, question.words, stated, "" if answer.useful else "muted", tip=tip)


def error_text(asked: str, half: float) -> str:
    """Return the half of an interval as a person reads it."""
    return f"± {100 * half:.2g} points" if asked == "share" else f"± {half:.2g}"
