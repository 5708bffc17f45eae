"""The Predict page: a released model applied to the table that is open."""

from workbench.gui.pages.base import Page
from workbench.gui.style.language import tr_later

PAGE = Page(
    name="predict",
    title=tr_later("Predict"),
    room="models",
    help=tr_later("Apply a released model to the table that is open, or a network to images"),
    make="workbench.gui.pages.predict.page:PredictPage",
    topic="models",
    known_as="prediction apply a model",
    about=tr_later(
        "A released model says what it predicts for each row of the open table, a network for each of your images. "
        "That costs nothing, because the model was paid for when it was released, or was trained on a released table "
        "alone. The predictions follow from the rows or the images, so they are as private as these."
    ),
    keys=tr_later("Ctrl+Return predicts."),
)
