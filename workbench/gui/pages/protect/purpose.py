"""What a column is released for: one question beside its name, which the advisor's choice follows."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QComboBox, QHBoxLayout, QSizePolicy, QWidget

from workbench.gui.session.draft import DraftColumn
from workbench.gui.session.draft_edits import of_all
from workbench.gui.session.session import Session
from workbench.gui.widgets.basic import label, named
from workbench.gui.widgets.choice_box import ChoiceBox

VALUES, STATISTICS = "values", "statistics"
CHOICES = ((VALUES, "each value near the truth"), (STATISTICS, "means and counts"))
SHORTEST = 12  # letters of an answer that stay in sight
MOST_WIDTH = 268
HELP = (
    "The advisor chooses the mechanism by this. Each value near the truth: the least distance of one released value "
    "from the true one. Means and counts: the least noise in an unbiased mean or share, which shrinks with more rows"
)


class PurposeChoice(QWidget):
    """The question with its two answers; an answer is an edit of the plan."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self._columns: tuple[DraftColumn, ...] = ()
        self.field = named(ChoiceBox(), "share_purpose", "What this column is for", HELP)
        for purpose, words in CHOICES:
            self.field.addItem(words, purpose)
        self.field.activated.connect(self._choose)
        # Beside a long name the answer gives way, not the window.
        self.field.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.field.setMinimumContentsLength(SHORTEST)
        self.field.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.field.setMaximumWidth(MOST_WIDTH)
        caption = label("What is it for?", "muted")
        caption.setToolTip(HELP)
        caption.setBuddy(self.field)
        line = QHBoxLayout(self)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(8)
        line.addWidget(caption)
        line.addWidget(self.field, 1)

    def show_column(self, column: DraftColumn, edited: Sequence[DraftColumn] = ()) -> None:
        """Show the answer for one column; one that is not protected has none. An answer is for each of ``edited``."""
        self._columns = tuple(c for c in edited if c.protected) or (column,)
        self.setVisible(column.protected)
        self.field.setCurrentIndex([purpose for purpose, _ in CHOICES].index(column.purpose))

    def _choose(self, at: int) -> None:
        made = {c.name: {"purpose": CHOICES[at][0]} for c in self._columns if c.purpose != CHOICES[at][0]}
        self._session.edit(f"say what {of_all(self._columns)} is for", self._session.plan.with_columns(made))
