"""The Memory page: what training takes by phase, for many settings at once, before there is any run."""

from __future__ import annotations

from workbench.gui.pages.base import Page
from workbench.gui.style.language import tr_later

PAGE = Page(
    name="memory",
    title=tr_later("Memory"),
    room="models",
    under="train",
    help=tr_later("How much memory training needs, by phase, and how many rows fit at once"),
    make="workbench.gui.pages.memory.page:MemoryPage",
    topic="networks",
    known_as="memory study",
    about=tr_later(
        "Choose networks, batches and hidden units, and see what training takes in each phase: the "
        "model, a batch, the backward pass and the step. It is worked out from shapes: no data is "
        "read and nothing is charged. The table also shows how many rows fit at once."
    ),
    keys=tr_later(
        "Ctrl+Return computes, Esc stops it, Ctrl+C copies the selected lines, or the picture where it has the keys."
    ),
)
