"""The Predict page: a released model applied to the table that is open."""

from __future__ import annotations

from workbench.gui.pages.base import Page

PAGE = Page(
    name="predict",
    title="Predict",
    room="models",
    help="Apply a released model to the table that is open, or a network to images",
    make="workbench.gui.pages.predict.page:PredictPage",
    topic="models",
    about=(
        "A released model says what it predicts for each row of the open table, a network for each of your images. "
        "That costs nothing, because the model was paid for when it was released, or was trained on a released table "
        "alone. The predictions follow from the rows or the images, so they are as private as these."
    ),
    keys="Ctrl+Return predicts.",
)
