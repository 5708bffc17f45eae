"""Predict for images: read them as the network reads its own, ask it a few at a time, and write what it said."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.gui.session.job_center import JobCenter, JobHandle
from workbench.gui.session.open_images import OpenImages
from workbench.gui.style.language import tr, tr_n, tr_sentence
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
