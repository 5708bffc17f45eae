"""A file of predictions holds no formulas and no stray lines, and takes no picture's place."""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from workbench.data.images.image_reader import read_images
from workbench.data.images.image_set import ImageSet, ImageShape, class_attribute, pixel_attribute
from workbench.deep.features import ImageFeatures
from workbench.params import CancelledError, InputError
from workbench.release.model.image_predictions import (
    ImagePredictions,
    images_to_predict,
    predict_images,
    write_image_predictions,
)
from workbench.release.model.open_model import OpenModel, cell_text, write_predictions
from workbench.signals.cancel import CancelToken

HOSTILE = ('=HYPERLINK("http:,,x").png', "two\nlines.png", "@a\tb.png", "plain.png", "half\udcff.png")
SAFE = ('\'=HYPERLINK("http:,,x").png', "two�lines.png", "'@a�b.png", "plain.png", "half�.png")
CLASSES = ("=cmd", "-1", "+x", "a\rb")


class First:
    """A network that takes every image for one of the first class."""

    def inputs_of(self, table: Any) -> Any:
        return np.zeros((table.rows, 1))

    def predict_proba(self, rows: Any) -> Any:
        return np.repeat([[0.7, 0.1, 0.1, 0.1]], len(rows), axis=0)


def opened() -> OpenModel:
    return OpenModel(None, {"training": {}}, "test", "classification", (), class_attribute(CLASSES), First())  # type: ignore[arg-type]


def pictures(files: tuple[str, ...], source: str = "made") -> ImageSet:
    pixels = np.arange(4 * len(files), dtype=np.uint8).reshape(-1, 1, 2, 2)
    return ImageSet.unlabelled(pixels, source, files)


def found(images: ImageSet, truth: Any = None) -> ImagePredictions:
    codes = np.arange(images.rows, dtype=np.int32) % len(CLASSES)
    return ImagePredictions(images, CLASSES, codes, np.full(images.rows, 0.5, np.float32), truth)


def lines_of(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.reader(stream))


def test_names_of_files_and_classes_are_no_formulas_and_no_lines(tmp_path):
    images = pictures(HOSTILE)
    write_image_predictions(found(images, np.zeros(5, np.int32)), tmp_path / "a.csv")
    header, *lines = lines_of(tmp_path / "a.csv")
    assert [line[1] for line in lines] == list(SAFE)
    assert [line[2] for line in lines] == ["'=cmd", "-1", "'+x", "a�b", "'=cmd"]
    assert {line[4] for line in lines} == {"'=cmd"}
    assert len((tmp_path / "a.csv").read_text("utf-8").splitlines()) == 6
    guesses: list[str] = []
    assert write_predictions(opened(), images, tmp_path / "b.csv", guesses=guesses) == 5
    header, *lines = lines_of(tmp_path / "b.csv")
    assert [line[1] for line in lines] == list(SAFE)
    assert {line[2] for line in lines} == {"'=cmd"}
    assert header[3:] == [f"probability of {name}" for name in ("=cmd", "-1", "+x", "a�b")]
    assert set(guesses) == {"=cmd"}, "what is counted is what was predicted"


@pytest.mark.parametrize("number", ["-1", "+5.", "-.5e-3", "-inf", "1e5"])
def test_a_number_stays_one(number):
    assert cell_text(number) == number


@pytest.mark.parametrize("text", ["-1+cmd|x", "+", "=1", "@SUM(A1)", "\tx", "-1\n", "\r=1"])
def test_what_a_spreadsheet_would_compute_does_not(text):
    assert cell_text(text).startswith("'")
    assert cell_text(text).isprintable()


def class_folders(folder: Path) -> Path:
    image = pytest.importorskip("PIL.Image")
    for name in ("dark", "bright"):
        (folder / name).mkdir(parents=True)
        image.fromarray(np.full((4, 4), 200 * (name == "bright"), np.uint8)).save(folder / name / "a.png")
    return folder


def idx(folder: Path) -> Path:
    folder.mkdir()
    head = bytes([0, 0, 8, 3]) + b"".join(n.to_bytes(4, "big") for n in (4, 2, 2))
    (folder / "train-images-idx3-ubyte").write_bytes(head + bytes(range(16)))
    (folder / "train-labels-idx1-ubyte").write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 4, 0, 1, 2, 3]))
    return folder / "train-images-idx3-ubyte"


@pytest.mark.parametrize("kind", ["folders", "idx"])
def test_no_picture_and_no_labels_are_replaced(tmp_path, kind):
    path = class_folders(tmp_path / "set") if kind == "folders" else idx(tmp_path / "set")
    images = read_images(path)
    taken = "dark/a.png" if kind == "folders" else "train-labels-idx1-ubyte"
    target = tmp_path / "set" / taken
    before = target.read_bytes()
    with pytest.raises(InputError, match="would replace the images"):
        write_image_predictions(found(images), target)
    with pytest.raises(InputError, match="would replace the images"):
        write_predictions(opened(), images, target)
    assert target.read_bytes() == before
    for _ in range(2):  # its own file may be replaced
        write_image_predictions(found(images), tmp_path / "set" / "told.csv")


# -- Predictions for images: accuracy and confusion by the classes' names, and a file that appears whole or not at all


SHADES = ("dark", "grey", "bright")


class Brightness:
    """A network that knows an image's class by its first pixel."""

    def inputs_of(self, table: Any) -> Any:
        return ImageFeatures((pixel_attribute(),), class_attribute(SHADES), ImageShape(1, 2, 2)).inputs(table)

    def predict_proba(self, rows: Any) -> Any:
        odds = np.full((len(rows), 3), 0.1)
        odds[np.arange(len(rows)), rows[:, 0, 0, 0] // 100] = 0.8
        return odds


def opened_for_images(training: dict[str, Any] | None = None) -> OpenModel:
    told = {"images": {"channels": 1, "height": 2, "width": 2}} if training is None else training
    return OpenModel(None, {"training": told}, "test", "classification", (), class_attribute(SHADES), Brightness())  # type: ignore[arg-type]


def images(classes: tuple[str, ...] = SHADES, side: int = 2) -> ImageSet:
    pixels = np.array([0, 120, 250, 10], np.uint8)
    labels = np.array([0, 1, 1, len(classes) - 1], np.int64)
    return ImageSet.of(np.repeat(pixels, side * side).reshape(4, 1, side, side), labels, classes, "made")


def test_they_are_judged_by_the_names_of_the_classes():
    found = predict_images(opened_for_images(), images())
    assert found.codes.tolist() == [0, 1, 2, 0]
    assert found.chances.tolist() == pytest.approx([0.8] * 4)
    assert found.accuracy == 0.5
    assert found.confusion.tolist() == [[1, 0, 0], [0, 1, 1], [1, 0, 0]]
    fewer = predict_images(opened_for_images(), images(("bright", "grey")))  # the same classes in another order
    assert fewer.truth.tolist() == [2, 1, 1, 1]


def test_other_classes_are_not_judged_and_another_shape_is_refused():
    other = predict_images(opened_for_images(), images(("x", "y")))
    assert (other.truth, other.accuracy, other.confusion, other.right) == (None, None, None, 0)
    with pytest.raises(InputError, match="the images are 3 × 3 grey, the network reads 2 × 2 grey"):
        predict_images(opened_for_images(), images(side=3))
    with pytest.raises(InputError, match="the model reads tables"):
        images_to_predict(opened_for_images({}), ["set.npz"])
    with pytest.raises(InputError, match="this is not a set of images"):
        images_to_predict(opened_for_images(), ["table.csv"])


def test_the_file_is_whole_private_and_never_in_place_of_the_images(tmp_path):
    found = predict_images(opened_for_images(), images())
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
    loose = predict_images(opened_for_images(), ImageSet.unlabelled(images().images[:1], str(tmp_path), ["a.png"]))
    assert loose.accuracy is None
    with pytest.raises(InputError, match="would replace the images"):
        write_image_predictions(loose, tmp_path / "a.png")
    write_image_predictions(loose, tmp_path / "loose.csv")
    assert (tmp_path / "loose.csv").read_text().splitlines() == [
        "row,file,predicted class,confidence",
        "1,a.png,dark,0.8",
    ]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.png", "loose.csv", "out.csv"]
