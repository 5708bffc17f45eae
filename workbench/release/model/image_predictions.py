"""Predictions of a released network for images: classes, probabilities, and accuracy where there are labels.

All of it follows from the images, and is as private as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.data.images.class_folders import is_loose, is_picture, read_loose
from workbench.data.images.image_reader import ImageOptions, has_class_folders, is_image_set, read_images
from workbench.data.images.image_set import CLASS, ImageSet, ImageShape
from workbench.params import InputError
from workbench.release.model.open_model import (
    IMAGES_AT_ONCE,
    OpenModel,
    ReadsImages,
    cell_text,
    private_csv,
    require_no_images,
)
from workbench.signals import NEVER, CancelToken, Emit, Progress, ignore

PREDICTED, CONFIDENCE = f"predicted {CLASS}", "confidence"
_KEPT = 1 << 16


@dataclass(frozen=True, eq=False)
class ImagePredictions:
    """The answers of a network for a set of images; private."""

    images: ImageSet
    classes: tuple[str, ...]
    codes: NDArray[np.int32]  # the class that is likeliest, of each image (n,)
    chances: NDArray[np.float32]  # its probability by the network (n,)
    # The code of each image's own class (n,); `None` where the images have none, or other classes.
    truth: NDArray[np.int32] | None

    @property
    def rows(self) -> int:
        """How many images there are."""
        return len(self.codes)

    @cached_property
    def right(self) -> int:
        """How many are predicted right; 0 where nobody knows."""
        return 0 if self.truth is None else int((self.truth == self.codes).sum())

    @property
    def accuracy(self) -> float | None:
        """The share that is predicted right."""
        return None if self.truth is None else self.right / self.rows

    @cached_property
    def confusion(self) -> NDArray[np.int64] | None:
        """How many images of class i (line) were taken for class j (column), shape (k, k)."""
        if self.truth is None:
            return None
        k = len(self.classes)
        counts: NDArray[np.int64] = np.bincount(self.truth.astype(np.int64) * k + self.codes, minlength=k * k)
        return counts.reshape(k, k)


def images_to_predict(
    opened: OpenModel, paths: Sequence[str], *, emit: Emit = ignore, cancel: CancelToken = NEVER
) -> ImageSet:
    """Return the images that ``paths`` name, read as the model ``opened`` reads its own.

    One path may be a set of images with classes, as a network learns from; any number may be single images, or folders
    of images without classes, and these are brought to the size that the network reads.

    Raises:
        InputError: they cannot be read, or the model reads tables.
    """
    shape = shape_read(opened)
    where = paths[0] if len(paths) == 1 else ""
    if shape is None:
        raise InputError("the model reads tables, and these are images", where, "give a table")
    if len(paths) != 1 or is_loose(paths[0]) or is_picture(paths[0]):
        return read_loose(paths, shape, emit=emit, cancel=cancel)
    if not is_image_set(where):
        raise InputError("this is not a set of images", where, "give MNIST, CIFAR-10, .npz, class folders, PNG or JPEG")
    declared = ImageOptions(classes=opened.target.values())
    if has_class_folders(where):
        declared = replace(declared, grey=shape.channels == 1, image_size=shape.height if shape.square else None)
    return read_images(where, declared, emit=emit, cancel=cancel)


def shape_read(opened: OpenModel) -> ImageShape | None:
    """Return the shape of the images that a model reads; ``None`` of one that reads tables."""
    stated = opened.card["training"].get("images")
    return None if stated is None else ImageShape.from_plain(stated, str(opened.folder or ""))


def predict_images(
    opened: OpenModel, images: ImageSet, emit: Emit = ignore, cancel: CancelToken = NEVER
) -> ImagePredictions:
    """Return what the network ``opened`` says of ``images``, a few at a time.

    Raises:
        InputError: the images have another shape than the network reads.
        CancelledError: ``cancel`` was set.
    """
    assert isinstance(opened.model, ReadsImages)
    pixels = opened.model.inputs_of(images)
    model: Any = opened.model
    codes, chances = np.empty(len(pixels), np.int32), np.empty(len(pixels), np.float32)
    for begin in range(0, len(pixels), IMAGES_AT_ONCE):
        cancel.check()
        emit(Progress(begin, len(pixels), "Predicting"))
        odds = model.predict_proba(pixels[begin : begin + IMAGES_AT_ONCE])
        codes[begin : begin + IMAGES_AT_ONCE] = odds.argmax(axis=1)
        chances[begin : begin + IMAGES_AT_ONCE] = odds.max(axis=1)
    emit(Progress(len(pixels), len(pixels), "Predicting"))
    classes = tuple(opened.target.values())
    return ImagePredictions(images, classes, codes, chances, _truth(images, classes))


def _truth(images: ImageSet, classes: tuple[str, ...]) -> NDArray[np.int32] | None:
    if not images.labelled or not set(images.classes) <= set(classes):
        return None
    known = {name: code for code, name in enumerate(classes)}
    return np.array([known[name] for name in images.frame[CLASS]], np.int32)


def write_image_predictions(found: ImagePredictions, output: Path, cancel: CancelToken = NEVER) -> None:
    """Write a line for each image as CSV, which its owner alone can read: it appears whole, or not at all.

    Its columns are the number of the image, its file where it has one, the class that was predicted, the confidence,
    and the image's own class where it is known; names as :func:`cell_text` writes them.

    Raises:
        InputError: the file cannot be written, or would take the place of the images.
        CancelledError: ``cancel`` was set; then there is none.
    """
    require_no_images(output, found.images)
    files, truth = found.images.files, found.truth
    classes = [cell_text(name) for name in found.classes]
    header = ["row", *(["file"] if files else []), PREDICTED, CONFIDENCE, *([CLASS] if truth is not None else [])]
    with private_csv(output) as writerow:
        writerow(header)
        for at in range(found.rows):
            if at % _KEPT == 0 and cancel is not None:
                cancel.check()
            own = [classes[truth[at]]] if truth is not None else []
            name = [cell_text(files[at])] if files else []
            writerow([at + 1, *name, classes[found.codes[at]], f"{found.chances[at]:.6g}", *own])
