"""Images to predict for: which ones, what a network reads of them, what it says, and the file of that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import Signal

from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.session.open_images import OpenImages
from workbench.gui.session.session import Session
from workbench.gui.style.language import tr, tr_later, tr_n, tr_sentence
from workbench.gui.widgets.basic import Card, button, label, row
from workbench.gui.widgets.dialogs import ask_for_folder, ask_for_pictures
from workbench.gui.widgets.formatting import listed
from workbench.jobs import Job
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit

if TYPE_CHECKING:
    from workbench.release.model.image_predictions import ImagePredictions
    from workbench.release.model.open_model import OpenModel


MOST_NAMED = 12
"""Classes that are named."""


@dataclass(frozen=True)
class ImageSource:
    """Which images are predicted for.

    Attributes:
        opened: the set that is open; ``None`` where others were chosen.
        paths: those that were chosen: files, or a folder.
    """

    opened: OpenImages | None = None
    paths: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """What a person calls them."""
        if self.opened is not None:
            return self.opened.title
        name = Path(self.paths[0]).name
        others = len(self.paths) - 1
        return tr_n("{name} and {n} other", "{name} and {n} others", others, name=name) if others else name


def predict_for(
    jobs: JobCenter,
    model: OpenModel,
    source: ImageSource,
    show: Callable[[ImagePredictions], None],
    refuse: Callable[[BaseException], None],
) -> JobHandle:
    """Ask ``model`` about the images of ``source``; they are read first where they are not open."""

    def work(emit: Emit, cancel: CancelToken) -> ImagePredictions:
        from workbench.release.ledger.study_note import note_study
        from workbench.release.model.image_predictions import images_to_predict, predict_images

        if source.opened is not None:
            images = source.opened.table
        else:
            images = images_to_predict(model, source.paths, emit=emit, cancel=cancel)
        if images.labelled:
            note_study(images, "predict", emit=emit)
        return predict_images(model, images, emit, cancel)

    return jobs.start(Job(tr("Predicting"), work, about=source.title), on_result=show, on_failure=refuse)


def export_predictions(
    jobs: JobCenter, found: ImagePredictions, output: Path, done: Callable[[Path], None]
) -> JobHandle:
    """Write the predictions as CSV; the file appears whole, or not at all."""

    def work(emit: Emit, cancel: CancelToken) -> Path:
        from workbench.release.model.image_predictions import write_image_predictions

        write_image_predictions(found, output, cancel)
        return output

    return jobs.start(Job(tr("Exporting predictions"), work, about=output.name), on_result=done)


def reads_words(model: OpenModel) -> str:
    """Return which images a network reads, and which classes it distinguishes; empty of a model that reads tables."""
    from workbench.release.model.image_predictions import shape_read

    shape, classes = shape_read(model), model.target.values() if not model.target.numeric else ()
    return (
        ""
        if shape is None
        else tr(
            "images of {shape}, {classes} classes: {names}",
            shape=tr_sentence(str(shape)),
            classes=len(classes),
            names=listed(classes, MOST_NAMED),
        )
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
    """One line that says which images, and buttons that choose others.

    Signals:
        changed: other images.
    """

    changed = Signal()

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self._paths: tuple[str, ...] = ()
        self._stated = label("", wrap=True, name="predict_images")
        self._open = button(
            tr("The open images"), "predict_images_open", "link", tip=tr("Predict for the set that is open")
        )
        self._open.clicked.connect(lambda: self.take(()))
        files = button(tr("Choose images…"), "predict_images_choose", tip=tr(CHOOSE_TIP), press=self._ask_for_files)
        folder = button(
            tr("Choose a folder…"), "predict_images_folder", tip=tr("Images in one folder, or in folders of classes")
        )
        folder.clicked.connect(self._ask_for_folder)
        line = row((self._stated, 1), self._open, files, folder)
        self.body.addWidget(label(tr("IMAGES"), "caption"))
        self.body.addLayout(line)
        session.table_changed.connect(self._new_images)
        self.refresh()

    @property
    def source(self) -> ImageSource | None:
        """The images that are predicted for; ``None`` while there are none."""
        if self._paths:
            return ImageSource(paths=self._paths)
        return None if self._session.images is None else ImageSource(self._session.images)

    def refresh(self) -> None:
        images, source = self._session.images, self.source
        self._open.setVisible(images is not None and bool(self._paths))
        if source is None:
            self._stated.setText(tr(NONE))
        elif source.opened is not None:
            self._stated.setText(
                tr("{title}, which is open: {stated}.", title=source.title, stated=source.opened.stated)
            )
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
