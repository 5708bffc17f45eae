"""What a network said of images: a line each, how often it was right, which classes it confused, and an export."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QCheckBox

from workbench.gui.pages.predict.confusion_matrix import MOST, ConfusionMatrix, confused_words
from workbench.gui.pages.predict.image_tasks import ImageSource, export_predictions
from workbench.gui.pages.predict.prediction_table import PredictionTable
from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_later, tr_number
from workbench.gui.widgets.basic import Card, badge, button, label, named, row, stack
from workbench.gui.widgets.dialogs import ask_where_to_save
from workbench.gui.widgets.formatting import count
from workbench.gui.widgets.output_name import release_folder, remember_folder

if TYPE_CHECKING:
    from workbench.release.model.image_predictions import ImagePredictions

HEIGHT = 470
"""Pixels in which the figures of ten classes can be read."""

OTHER_CLASSES = tr_later(
    "The images have classes that the network does not know, so nothing says how often it is right."
)


class ImageResults(Card):
    """Private from the first line to the last: it follows from the images. Hidden while there is nothing to show."""

    def __init__(self, session: Session, jobs: JobCenter) -> None:
        super().__init__()
        self._session, self._jobs = session, jobs
        self._found: ImagePredictions | None = None
        self._title = ""
        self._stated = label("", wrap=True, name="predict_images_outcome")
        self._confused = label("", "muted", wrap=True, name="predict_confused")
        self._wrong = named(
            QCheckBox(tr("only wrong ones")), "predict_only_wrong", tip=tr("Hide what was predicted right")
        )
        self._export = button(
            tr("Export…"), "predict_export", tip=tr("Write a line for each image as CSV; only you can read it")
        )
        self._export.clicked.connect(self._ask_and_export)
        self.table = PredictionTable(session)
        self.setMinimumHeight(HEIGHT)
        self.matrix = ConfusionMatrix(session)
        self._wrong.toggled.connect(lambda only: self.table.lines.show_only_wrong(only=only))
        self.body.addLayout(row(label(tr("PREDICTIONS"), "caption"), None, badge()))
        head = row(self._stated, self._wrong, self._export, spacing=12)
        head.setStretch(0, 1)
        self.body.addLayout(head)
        self.body.addWidget(self._confused)
        whole = row(self.table, spacing=12)
        whole.setStretch(0, 3)
        side = stack(self.matrix)
        whole.addLayout(side, 2)
        self.body.addLayout(whole, 1)
        self.hide()

    def clear(self) -> None:
        """Show nothing."""
        self._found = None
        self.table.show_predictions(None)
        self.hide()

    def show_predictions(self, found: ImagePredictions, source: ImageSource) -> None:
        """Show what was said of the images of ``source``."""
        self._found, self._title = found, source.title
        stated = tr("{rows}. Nothing was charged.", rows=count(found.rows, "prediction"))
        if found.accuracy is not None:
            stated = tr(
                "{accuracy} % right: {right} of {rows}. Nothing was charged.",
                accuracy=tr_number(100 * found.accuracy, ".4g"),
                right=tr_number(found.right, ","),
                rows=tr_number(found.rows, ","),
            )
        elif found.images.labelled:
            stated = f"{stated} {tr(OTHER_CLASSES)}"
        self._stated.setText(stated)
        self._confused.setText(confused_words(found))
        self._confused.setVisible(found.confusion is not None)
        self._confused.setToolTip(
            "" if len(found.classes) <= MOST else tr("The square is drawn of {most} classes at most", most=MOST)
        )
        self._wrong.setChecked(False)
        self._wrong.setVisible(found.truth is not None)
        self.table.show_predictions(found)
        self.matrix.show_predictions(found)
        self.show()
        self.table.setFocus(Qt.FocusReason.OtherFocusReason)

    def _ask_and_export(self) -> None:
        found = self._found
        if found is None:
            return
        suggested = release_folder() / f"{Path(self._title).stem}-predicted.csv"
        chosen = ask_where_to_save(self, tr("Export the predictions"), str(suggested), tr("CSV (*.csv)"))
        if chosen:
            path = Path(chosen)
            remember_folder(path.parent)
            export_predictions(self._jobs, found, path, self._exported)

    def _exported(self, path: Path) -> None:
        self._session.notify("info", tr("Wrote {name}: private, not for release.", name=path.name))
