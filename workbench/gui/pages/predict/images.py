"""Images to predict for: which ones, what a network reads of them, what it says, and the file of that."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtWidgets import QAbstractItemView, QCheckBox

from workbench.gui.session.job_center import JobCenter
from workbench.gui.session.session import OpenImages, Session
from workbench.gui.style.language import tr, tr_later, tr_n, tr_number, tr_sentence
from workbench.gui.widgets import chart_marks as mark
from workbench.gui.widgets.basic import Card, badge, button, hold_least, label, named, row, stack
from workbench.gui.widgets.chart import Chart, Drawing
from workbench.gui.widgets.dialogs import ask_for_folder, ask_for_pictures, ask_where_to_save
from workbench.gui.widgets.formatting import count, listed, together
from workbench.gui.widgets.output_name import release_folder, remember_folder
from workbench.gui.widgets.table_model import Cell, Column, TableModel
from workbench.gui.widgets.table_view import TableView
from workbench.gui.widgets.thumbnail import thumbnail
from workbench.jobs import CancelToken, Emit, Job

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.release.model.image_predictions import ImagePredictions
    from workbench.release.model.open_model import OpenModel


MOST_NAMED = 12  # classes that are named


@dataclass(frozen=True)
class ImageSource:
    """Which images are predicted for: the set that is open, or else files or a folder that were chosen."""

    opened: OpenImages | None = None
    paths: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        if self.opened is not None:
            return self.opened.title
        name = Path(self.paths[0]).name
        others = len(self.paths) - 1
        return tr_n("{name} and {n} other", "{name} and {n} others", others, name=name) if others else name


def image_predictions(model: OpenModel, source: ImageSource, emit: Emit, cancel: CancelToken) -> ImagePredictions:
    """Return what ``model`` says of the images of ``source``, which are read first where they are not open."""
    from workbench.release.ledger.study_note import note_study
    from workbench.release.model.image_predictions import images_to_predict, predict_images

    if source.opened is not None:
        images = source.opened.table
    else:
        images = images_to_predict(model, source.paths, emit=emit, cancel=cancel)
    if images.labelled:
        note_study(images, "predict", emit=emit)
    return predict_images(model, images, emit, cancel)


def export_predictions(found: ImagePredictions, output: Path, emit: Emit, cancel: CancelToken) -> Path:
    """Write the predictions as CSV; the file appears whole, or not at all."""
    from workbench.release.model.image_predictions import write_image_predictions

    write_image_predictions(found, output, cancel)
    return output


def reads_words(model: OpenModel) -> str:
    """Return which images a network reads, and which classes it distinguishes; empty of a model that reads tables."""
    from workbench.release.model.image_predictions import shape_read

    shape, classes = shape_read(model), model.target.values() if not model.target.numeric else ()
    if shape is None:
        return ""
    return tr(
        "images of {shape}, {classes} classes: {names}",
        shape=tr_sentence(str(shape)),
        classes=len(classes),
        names=listed(classes, MOST_NAMED),
    )


def shape_words(model: OpenModel | None, source: ImageSource | None) -> str:
    """Return why the images of ``source`` cannot be read by ``model``, in a sentence; empty as far as they can."""
    if model is None or source is None or source.opened is None:
        return ""
    from workbench.release.model.image_predictions import shape_read

    wanted, there = shape_read(model), source.opened.table.shape
    if wanted is None or wanted == there:
        return ""
    return tr(
        "The open images are {there}, and the network reads {wanted}: choose others, or declare that size.",
        there=tr_sentence(str(there)),
        wanted=tr_sentence(str(wanted)),
    )


NONE = tr_later("Choose images, or a folder of them; they may have classes or not.")
CHOOSE_TIP = tr_later("Single PNG or JPEG images, or a set: MNIST, CIFAR-10, .npz or .zip")


class ImagesCard(Card):
    """One line that says which images, and buttons that choose others."""

    changed = Signal()

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self._paths: tuple[str, ...] = ()
        self._stated = label("", wrap=True, name="predict_images")
        tip = tr("Predict for the set that is open")
        self._open = button(tr("The open images"), "predict_images_open", "link", tip=tip, press=lambda: self.take(()))
        files = button(tr("Choose images…"), "predict_images_choose", tip=tr(CHOOSE_TIP), press=self._ask_for_files)
        tip = tr("Images in one folder, or in folders of classes")
        folder = button(tr("Choose a folder…"), "predict_images_folder", tip=tip, press=self._ask_for_folder)
        line = row((self._stated, 1), self._open, files, folder)
        self.body.add(label(tr("IMAGES"), "caption"), line)
        session.table_changed.connect(self._new_images)
        self.refresh()

    @property
    def source(self) -> ImageSource | None:
        if self._paths:
            return ImageSource(paths=self._paths)
        return None if self._session.images is None else ImageSource(self._session.images)

    def refresh(self) -> None:
        images, source = self._session.images, self.source
        self._open.setVisible(images is not None and bool(self._paths))
        if source is None:
            self._stated.setText(tr(NONE))
        elif source.opened is not None:
            said = tr("{title}, which is open: {stated}.", title=source.title, stated=source.opened.stated)
            self._stated.setText(said)
        else:
            self._stated.setText(source.title)
            self._stated.setToolTip("\n".join(self._paths[:20]))

    def _new_images(self) -> None:
        if self._session.images is not None:
            self._paths = ()
        self.refresh()

    def _ask_for_files(self) -> None:
        self.take(ask_for_pictures(self, tr("Predict for images")) or self._paths)

    def _ask_for_folder(self) -> None:
        chosen = ask_for_folder(self, tr("Predict for a folder of images"))
        self.take((chosen,) if chosen else self._paths)

    def take(self, paths: tuple[str, ...]) -> None:
        """Predict for these files; for the open set where there are none."""
        if paths != self._paths:
            self._paths = paths
            self.refresh()
            self.changed.emit()


# -- what a network said of them --------------------------------------------------------------------------------------


SIDE, LINE = 44, 48
NUMBER, IMAGE, FILE, PREDICTED, CONFIDENCE, OWN = range(6)


class PredictionModel(TableModel):
    """All predictions, or the wrong ones, in the order of a column; only the lines in sight are made."""

    def __init__(self, session: Session) -> None:
        columns = (
            Column(tr("Number"), lambda at: Cell(tr_number(self._place(at) + 1, ",")), width=74, right=True),
            Column(tr("Image"), self._image, width=60, sorts=False),
            Column(tr("File"), self._file, width=150, sorts=False),
            Column(tr("Predicted"), self._predicted, width=92),
            Column(tr("Confidence"), self._confidence, width=92, right=True),
            Column(tr("Its class"), self._own, width=60),
        )
        super().__init__(session, columns)
        self._found: ImagePredictions | None = None
        self._order: NDArray[np.int64] = np.empty(0, np.int64)
        self._only_wrong = False
        self._by, self._order_of = NUMBER, Qt.SortOrder.AscendingOrder

    def height(self) -> int:
        return len(self._order)

    def name_at(self, at: int) -> str:
        """Return the words that a prediction is found by, without its image."""
        return "  ".join(cell(at).text for cell in (self._file, self._predicted, self._own))

    def show_predictions(self, found: ImagePredictions | None) -> None:
        self._found, self._only_wrong = found, False
        self.sort(NUMBER)

    def show_only_wrong(self, *, only: bool) -> None:
        self._only_wrong = only
        self._arrange()

    def sort(self, column: int, order: Qt.SortOrder = Qt.SortOrder.AscendingOrder) -> None:
        """Show them in the order of a column; of images themselves there is none."""
        self._by, self._order_of = column, order
        self._arrange()

    def _arrange(self) -> None:
        self.beginResetModel()
        self._order = np.empty(0, np.int64)
        found = self._found
        if found is not None:
            keys = {PREDICTED: found.codes, CONFIDENCE: found.chances, OWN: found.truth}
            key = keys.get(self._by)
            self._order = np.arange(found.rows) if key is None else np.argsort(key, kind="stable")
            if self._order_of == Qt.SortOrder.DescendingOrder:
                self._order = self._order[::-1]
            if self._only_wrong and found.truth is not None:
                self._order = self._order[(found.truth != found.codes)[self._order]]
        self.endResetModel()

    @property
    def _shown(self) -> ImagePredictions:
        assert self._found is not None
        return self._found

    def _place(self, at: int) -> int:
        return int(self._order[at])

    def _image(self, at: int) -> Cell:
        return Cell(picture=thumbnail(self._shown.images.images[self._place(at)], SIDE))

    def _file(self, at: int) -> Cell:
        files = self._shown.images.files
        return Cell(files[self._place(at)] if files else "")

    def _predicted(self, at: int) -> Cell:
        return Cell(str(self._shown.classes[self._shown.codes[self._place(at)]]))

    def _confidence(self, at: int) -> Cell:
        return Cell(tr("{x} %", x=tr_number(100 * self._shown.chances[self._place(at)], ".1f")))

    def _own(self, at: int) -> Cell:
        found, place = self._shown, self._place(at)
        if found.truth is None:
            return Cell()
        wrong = found.truth[place] != found.codes[place]
        return Cell(f"{'✕' if wrong else '✓'} {found.classes[found.truth[place]]}", "danger" if wrong else "")


class PredictionTable(TableView):
    """The lines; a click on a heading sorts by it."""

    def __init__(self, session: Session) -> None:
        self.lines = PredictionModel(session)
        super().__init__(self.lines, "predict_table", tr("Predictions, private, not for release"), row_height=LINE)
        self.setIconSize(QSize(SIDE, SIDE))
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.horizontalHeader().setStretchLastSection(True)
        self.sort_by_headings(indicated=False)
        for at, column in enumerate(self.lines.columns):
            self.setColumnWidth(at, column.width)
        self.let_copy(private=True)

    def show_predictions(self, found: ImagePredictions | None) -> None:
        """Show other predictions; columns that say nothing of them are hidden."""
        self.horizontalHeader().setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
        self.lines.show_predictions(found)
        self.setColumnHidden(FILE, found is None or not found.images.files)
        self.setColumnHidden(OWN, found is None or found.truth is None)
        self.scrollToTop()

    def _sort(self, column: int, order: Qt.SortOrder) -> None:
        """Sort in the model: there may be very many."""
        if column >= 0 and not self.lines.columns[column].sorts:
            super()._sort(column, order)
            return
        self.lines.sort(column, order)
        self.scrollToTop()


MOST = 20  # classes of which the square is drawn: the figures of more could not be read

LISTED = 4
LEAST_NAMES, MOST_NAMES, HEAD, STRONGEST = 24.0, 96.0, 40.0, 0.8
LARGEST, LETTER, BROAD = 90.0, 8.0, 34.0
"""Pixels of a cell at most, of a letter about, and of a cell in which figures are written with commas."""


class ConfusionMatrix(Chart):
    """A line for each class as it is, a column for each as it was predicted; the diagonal is right."""

    def __init__(self, session: Session) -> None:
        super().__init__(session, "predict_confusion")
        self._classes: tuple[str, ...] = ()
        self._counts: NDArray[np.int64] = np.empty((0, 0), np.int64)
        self.setMinimumSize(300, 240)

    def show_predictions(self, found: ImagePredictions | None) -> None:
        """Show other counts; nothing is shown where no class is known, or of too many."""
        counts = None if found is None else found.confusion
        drawn = counts is not None and len(counts) <= MOST
        self.setVisible(drawn)
        if found is None or counts is None or not drawn:
            return
        self._classes, self._counts = found.classes, counts
        self.setAccessibleName(tr("Private, not for release. {words}", words=confused_words(found)))
        self.update()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        side = int(36 * len(self._classes))
        return QSize(int(self._names) + side, int(HEAD) + side)

    @property
    def _names(self) -> float:
        longest = max((len(name) for name in self._classes), default=0)
        return min(max(LETTER * longest + 12, LEAST_NAMES), MOST_NAMES)

    def _cell(self, i: int, j: int) -> QRectF:
        k = max(len(self._classes), 1)
        names = self._names
        side = min(LARGEST, (self.width() - names) / k, (self.height() - HEAD) / k)
        return QRectF(names + j * side, HEAD + i * side, side - 1, side - 1)

    def words_under(self, point: QPointF) -> str:
        classes = range(len(self._classes))
        return next((self._words(i, j) for i in classes for j in classes if self._cell(i, j).contains(point)), "")

    def _words(self, i: int, j: int) -> str:
        own, taken = self._classes[i], self._classes[j]
        images = count(int(self._counts[i, j]), "image")
        if i == j:
            return tr("{images} of {own} predicted right", images=images, own=own)
        return tr("{images} of {own} taken for {taken}", images=images, own=own, taken=taken)

    def drawing(self) -> Drawing:
        """Return the counts; right ones in one colour, wrong ones in another, each against its own line."""
        whole, marks = self._counts.sum(axis=1), list[mark.Mark]()
        end = self._cell(0, len(self._classes) - 1).right() if self._classes else 0.0
        marks.append(mark.word(QRectF(self._names, 0, end - self._names, 18), tr("predicted"), "muted", "centre", 11))
        for i, name in enumerate(self._classes):
            row, column = self._cell(i, 0), self._cell(0, i)
            marks.append(mark.word(QRectF(0, row.top(), self._names - 8, row.height()), name, "text", "right", 12))
            marks.append(mark.word(QRectF(column.left(), 18, column.width(), HEAD - 20), name, "text", "centre", 12))
            for j in range(len(self._classes)):
                box, found = self._cell(i, j), int(self._counts[i, j])
                broad = box.width() >= BROAD
                # The root: one image in a hundred taken for another is worth seeing.
                strength = STRONGEST * (found / max(int(whole[i]), 1)) ** 0.5
                stated = "·" if not found else tr_number(found, ",") if broad else f"{found}"
                ink = "private" if i == j else "sanitized"
                words = mark.word(box, stated, "text" if found else "muted", "centre", 12 if broad else 9)
                marks.append(mark.cell(box, ink, strength, words))
        return Drawing(marks, frame="none")


def confused_words(found: ImagePredictions) -> str:
    """Return which classes are taken for which most often, in a sentence; empty where no class is known."""
    counts = found.confusion
    if counts is None:
        return ""
    wrong = counts.copy()
    np.fill_diagonal(wrong, 0)
    order = np.argsort(-wrong, axis=None, kind="stable")[:LISTED]
    pairs = [(int(at) // len(wrong), int(at) % len(wrong)) for at in order]
    stated = [
        tr(
            "{own} for {taken} ({images})",
            own=found.classes[i],
            taken=found.classes[j],
            images=tr_number(wrong[i, j], ","),
        )
        for i, j in pairs
        if wrong[i, j]
    ]
    if not stated:
        return tr("No image is taken for another class.")
    return tr("Taken for another most often: {pairs}.", pairs=together(stated))


HEIGHT = 470  # pixels in which the figures of ten classes can be read

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
        tip = tr("Hide what was predicted right")
        self._wrong = named(QCheckBox(tr("only wrong ones")), "predict_only_wrong", tip=tip)
        tip = tr("Write a line for each image as CSV; only you can read it")
        self._export = button(tr("Export…"), "predict_export", tip=tip, press=self._ask_and_export)
        self.table = PredictionTable(session)
        hold_least(self, HEIGHT)
        self.matrix = ConfusionMatrix(session)
        self._wrong.toggled.connect(lambda only: self.table.lines.show_only_wrong(only=only))
        self.body.addLayout(row(label(tr("PREDICTIONS"), "caption"), None, badge()))
        self.body.addLayout(row((self._stated, 1), self._wrong, self._export, spacing=12))
        self.body.addWidget(self._confused)
        whole = row((self.table, 3), spacing=12)
        whole.addLayout(stack(self.matrix), 2)
        self.body.addLayout(whole, 1)
        self.hide()

    def clear(self) -> None:
        self._found = None
        self.table.show_predictions(None)
        self.hide()

    def show_predictions(self, found: ImagePredictions, source: ImageSource) -> None:
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
            job = Job(tr("Exporting predictions"), partial(export_predictions, found, path), about=path.name)
            self._jobs.start(job, on_result=self._exported)

    def _exported(self, path: Path) -> None:
        self._session.notify("info", tr("Wrote {name}: private, not for release.", name=path.name))
