"""What Release shows while images are open: what can leave of them, and what never does."""

from __future__ import annotations

from decimal import Decimal

from workbench.gui.session.session import Session
from workbench.gui.widgets.basic import Card, Facts, label
from workbench.gui.widgets.formatting import at_least

LEAVES = (
    "Of images, only a trained network can be released. The Train page trains one with noise, charges it to the "
    "budget, and writes its folder: the weights and a card with its ε. It is then listed below and can be verified."
)
STAYS = (
    "No image and no label is ever released, and no copy of the set, not even with noise: noisy rows, synthetic rows "
    "and statistics are for tables. What this window shows of the images, their counts, predictions and accuracies, "
    "is private as well."
)


class OnlyModelsCard(Card):
    """What can be released of images, what cannot, and what is left of the budget for it."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.setObjectName("release_of_images")
        self._session = session
        self._facts = Facts()
        for part in (
            label("Only trained networks are released of images", "heading"),
            label(LEAVES, wrap=True, name="release_leaves"),
            label(STAYS, "muted", wrap=True, name="release_stays"),
            self._facts,
        ):
            self.body.addWidget(part)
        session.account_changed.connect(self.refresh)
        session.table_changed.connect(self.refresh)
        self.refresh()

    def refresh(self) -> None:
        """Show what is open, and what is left of its budget."""
        images, account = self._session.images, self._session.account
        self.setVisible(images is not None)
        if images is None:
            return
        self._facts.show_line("release_images", "open", f"{images.title}: {images.stated}")
        remaining = account.remaining
        if account.problem:
            stated = account.problem
        elif remaining is None:
            stated = "the first network that is released sets its cap"
        else:
            stated = f"ε = {at_least(max(remaining, Decimal(0)))} for further networks"
        self._facts.show_line("release_images_left", "budget left", stated)
        outside = " ".join(images.outside)
        self._facts.show_line("release_images_outside", "outside the guarantee", outside, "warn")
        if not outside:
            self._facts.hide_line("release_images_outside")
