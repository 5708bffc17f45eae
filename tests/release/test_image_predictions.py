"""Predictions for images: accuracy and confusion by the classes' names, and a file that appears whole or not at all."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workbench.data.images.image_set import ImageSet, ImageShape, class_attribute, pixel_attribute
from workbench.deep.features import ImageFeatures
from workbench.params import CancelledError, InputError
from workbench.release.model.image_predictions import images_to_predict, predict_images, write_image_predictions
from workbench.release.model.open_model import OpenModel
from workbench.signals.cancel import CancelToken

CLASSES = ("dark", "grey", "bright")


class Brightness:
    """A network that knows an image's class by its first pixel."""

    def inputs_of(self, table: Any) -> Any:
        return ImageFeatures((pixel_attribute(),), class_attribute(CLASSES), ImageShape(1, 2, 2)).inputs(table)

    def predict_proba(self, rows: Any) -> Any:
        odds = np.full((len(rows), 3), 0.1)
        odds[np.arange(len(rows)), rows[:, 0, 0, 0] // 100] = 0.8
        return odds


def opened(training: dict[str, Any] | None = None) -> OpenModel:
    told = {"images": {"channels": 1, "height": 2, "width": 2}} if training is None else training
    return OpenModel(None, {"training": told}, "test", "classification", (), class_attribute(CLASSES), Brightness())  # type: ignore[arg-type]


def images(classes: tuple[str, ...] = CLASSES, side: int = 2) -> ImageSet:
    pixels = np.array([0, 120, 250, 10], np.uint8)
    labels = np.array([0, 1, 1, len(classes) - 1], np.int64)
    return ImageSet.of(np.repeat(pixels, side * side).reshape(4, 1, side, side), labels, classes, "made")


def test_they_are_judged_by_the_names_of_the_classes() -> None:
    found = predict_images(opened(), images())
    assert found.codes.tolist() == [0, 1, 2, 0]
    assert found.chances.tolist() == pytest.approx([0.8] * 4)
    assert found.accuracy == 0.5
    assert found.confusion.tolist() == [[1, 0, 0], [0, 1, 1], [1, 0, 0]]
    fewer = predict_images(opened(), images(("bright", "grey")))  # the same classes in another order
    assert fewer.truth.tolist() == [2, 1, 1, 1]


def test_other_classes_are_not_judged_and_another_shape_is_refused() -> None:
    other = predict_images(opened(), images(("x", "y")))
    assert (other.truth, other.accuracy, other.confusion, other.right) == (None, None, None, 0)
    with pytest.raises(InputError, match="the images are 3 × 3 grey, the network reads 2 × 2 grey"):
        predict_images(opened(), images(side=3))
    with pytest.raises(InputError, match="the model reads tables"):
        images_to_predict(opened({}), ["set.npz"])
    with pytest.raises(InputError, match="this is not a set of images"):
        images_to_predict(opened(), ["table.csv"])


def test_the_file_is_whole_private_and_never_in_place_of_the_images(tmp_path: Path) -> None:
    found = predict_images(opened(), images())
    write_image_predictions(found, tmp_path / "out.csv")
    with (tmp_path / "out.csv").open(newline="") as stream:
        assert list(csv.reader(stream))[:2] == [
            ["row", "predicted class", "confidence", "class"],
            ["1", "dark", "0.8", "dark"],
        ]
    stopped = CancelToken()
    stopped.cancel()
    with pytest.raises(CancelledError):
        write_image_predictions(found, tmp_path / "none.csv", stopped)
    (tmp_path / "a.png").write_bytes(b"pixels")
    loose = predict_images(opened(), ImageSet.unlabelled(images().images[:1], str(tmp_path), ["a.png"]))
    assert loose.accuracy is None
    with pytest.raises(InputError, match="would replace the images"):
        write_image_predictions(loose, tmp_path / "a.png")
    write_image_predictions(loose, tmp_path / "loose.csv")
    assert (tmp_path / "loose.csv").read_text().splitlines() == [
        "row,file,predicted class,confidence",
        "1,a.png,dark,0.8",
    ]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.png", "loose.csv", "out.csv"]
