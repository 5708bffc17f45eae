"""The set of images that is open: what is public of it, and what the person declares."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from workbench.data.images.read import ImageOptions
from workbench.gui.session.open_images import OpenImages
from workbench.gui.style.stylesheet import ROW
from workbench.gui.widgets.basic import Card, Facts, button, label, row, stack
from workbench.gui.widgets.formatting import listed
from workbench.gui.widgets.parameter_form import Form

WIDEST = 860
ABOUT = (
    "Networks on the Train page learn from images; the other steps are for tables. What stands here is public: a "
    "network's card tells it. The images and their labels are private."
)
TAKEN = (
    "⚠ The {taken} were taken from the files, which ε does not cover, and the card will say so. Declare them below if "
    "they are public knowledge."
)
TITLES = {"classes": "names of the classes", "rows_per_person": "images per person, at most"}
WAITS = "⚠ Not in effect yet: press Read again."
FEW = 12
"""Names of classes that are shown."""


class ImagesPanel(QWidget):
    """Facts of the images, and a form of what is declared of them.

    Signals:
        read_again: (ImageOptions) read the files again by what is declared.
    """

    read_again = Signal(object)

    def __init__(self) -> None:
        super().__init__()
        self._facts = Facts()
        self._taken = label("", "warn", wrap=True, name="images_taken")
        self._form = Form("images", ImageOptions, titles=TITLES)
        self._read = button("Read again", "images_read", tip="Read the files by what is declared here")
        self._read.clicked.connect(lambda: self.read_again.emit(self._form.value()))
        self._form.changed.connect(self._edited)
        self._waits = label(WAITS, "warn", name="images_waits")
        self._shown: ImageOptions | None = None
        about = label(ABOUT, "muted", wrap=True, name="images_about")
        public = Card(label("PUBLIC FACTS", "caption"), self._facts, self._taken, about)
        declared = Card(label("WHAT YOU DECLARE", "caption"), self._form)
        declared.body.addLayout(row(self._waits, None, self._read))
        self._read.setMinimumHeight(ROW)
        column = QWidget()
        column.setMaximumWidth(WIDEST)
        column.setLayout(stack(public, declared, None, spacing=12))
        self.setLayout(row(column))

    def show_images(self, opened: OpenImages) -> None:
        """Show what was read, and what was declared of it."""
        images = opened.table
        names = listed(images.classes, FEW)
        for key, name, value in (
            ("images_file", "file", opened.title),
            ("images_count", "images", f"{images.rows:,}"),
            ("images_size", "height × width", f"{images.shape.height} × {images.shape.width} pixels"),
            ("images_channels", "channels", "1, grey" if images.shape.channels == 1 else "3, red, green and blue"),
            ("images_classes", "classes", f"{len(images.classes)}: {names}"),
        ):
            self._facts.show_line(key, name, value)
        self._taken.setText(TAKEN.format(taken=images.taken))
        self._taken.setVisible(bool(images.taken))
        for key in ("image_size", "grey"):
            self._form.field(key).setEnabled(opened.resizable)
        self._shown = opened.options
        self._form.set_value(opened.options)
        self._edited()

    def _edited(self) -> None:
        value = self._form.value()
        self._read.setEnabled(value is not None and value != self._shown)
        self._waits.setVisible(value != self._shown)
