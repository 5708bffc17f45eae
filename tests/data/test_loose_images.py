"""Images without classes, the overview of a set with classes, and what of a folder tells that it has changed."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from workbench.data.images.class_folders import is_loose, read_loose
from workbench.data.images.image_set import EXAMPLES, MOST_CLASSES, ImageSet, ImageShape, overview, small
from workbench.params import InputError

GREY, COLOUR = ImageShape(1, 8, 8), ImageShape(3, 8, 8)


def picture(file: Path, grey: int, size: tuple[int, int] = (10, 6)) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.full((size[1], size[0], 3), grey, np.uint8)).save(file)
    return file


def test_files_of_several_folders_are_brought_to_one_shape(tmp_path: Path) -> None:
    files = [picture(tmp_path / "a" / "one.png", 10), picture(tmp_path / "b" / "two.jpg", 200, (30, 40))]
    found = read_loose([str(file) for file in files], GREY)
    assert found.images.shape == (2, 1, 8, 8)
    assert found.files == (os.path.join("a", "one.png"), os.path.join("b", "two.jpg"))
    assert not found.labelled
    assert found.rows == 2
    assert abs(int(found.images[1].mean()) - 200) < 3
    assert read_loose([str(files[0])], COLOUR).images.shape == (1, 3, 8, 8)


def test_a_folder_gives_what_lies_in_it_alone(tmp_path: Path) -> None:
    for name in ("b.png", "a.png", ".hidden.png", "below/c.png"):
        picture(tmp_path / name, 50)
    (tmp_path / "notes.txt").write_text("no image")
    assert is_loose(tmp_path)
    assert read_loose([str(tmp_path)], GREY).files == ("a.png", "b.png")
    assert not is_loose(tmp_path / "notes.txt")
    assert is_loose(tmp_path / "a.png")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda folder: [], "there are no images"),
        (lambda folder: [folder / "none.png"], "no such file"),
        (lambda folder: [folder / "notes.txt"], "is not a PNG or JPEG image"),
        (lambda folder: [folder / "bad.png"], "is not a PNG or JPEG image"),
        (lambda folder: [folder / "link.png"], "is a link"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(tmp_path: Path, make, words) -> None:
    (tmp_path / "notes.txt").write_text("no image")
    (tmp_path / "bad.png").write_bytes(b"no image")
    (tmp_path / "link.png").symlink_to(picture(tmp_path / "real" / "one.png", 3))
    with pytest.raises(InputError, match=words):
        read_loose([str(path) for path in make(tmp_path)], GREY)


def test_every_class_is_counted_and_a_few_of_its_images_are_kept_small() -> None:
    labels = np.array([0] * 100 + [2] * 3, np.int64)
    images = ImageSet.of(np.zeros((103, 1, 200, 130), np.uint8), labels, ("a", "b", "c"), "made")
    seen = overview(images)
    assert [(one.name, one.images, len(one.examples)) for one in seen] == [
        ("a", 100, EXAMPLES),
        ("b", 0, 0),
        ("c", 3, 3),
    ]
    assert max(seen[0].examples[0].shape[1:]) <= 128
    many = ImageSet.of(np.zeros((60, 1, 4, 4), np.uint8), np.arange(60), [str(k) for k in range(60)], "made")
    assert [len(one.examples) for one in overview(many)] == [1] * MOST_CLASSES + [0] * (60 - MOST_CLASSES)


def test_a_small_image_stays_as_it_is() -> None:
    image = np.arange(3 * 8 * 8, dtype=np.uint8).reshape(3, 8, 8)
    assert np.array_equal(small(image), image)
