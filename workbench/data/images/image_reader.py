"""Recognise a set of images by its name, and read it."""

from __future__ import annotations

import dataclasses
import zipfile
from pathlib import Path

from workbench.data.images import arrays, class_folders, idx
from workbench.data.images.arrays import TEST, TRAIN
from workbench.data.images.image_set import MOST_SIDE, ImageSet
from workbench.data.sources.catalogue import folder_source
from workbench.data.sources.compressed import TABLES
from workbench.params import InputError, Parameters, boolean, integer, texts
from workbench.signals.cancel import NEVER, CancelToken
from workbench.signals.events import Emit, ignore

ENDINGS = (*idx.ENDINGS, *idx.CIFAR_ENDINGS, *arrays.ENDINGS, class_folders.ENDING)
PACKED_OR_PICTURES = (*ENDINGS, *class_folders.PICTURES)  # how the files end that a set of images is read from


@dataclasses.dataclass(frozen=True, kw_only=True)
class ImageOptions(Parameters):
    """What a person declares about a set of images."""

    classes: tuple[str, ...] | None = texts(
        default=None,
        shortest=2,
        empty="as in the files",
        help="names of the image classes, in the order of their codes",
    )
    image_size: int | None = integer(
        default=None,
        at_least=4,
        upto=MOST_SIDE,
        empty="as in the files",
        help="side in pixels of the square that images in class folders are resized to",
    )
    grey: bool = boolean(default=False, help="read images in class folders as greyscale")
    rows_per_person: int = integer(
        default=1, at_least=1, upto=10**6, help="maximum images per person; multiplies the cost"
    )


def is_image_set(path: str | Path) -> bool:
    """Return whether ``path`` names images, by its ending or because it is a folder without Parquet files.

    An archive is one unless tables of text are in it, and no pictures.
    """
    file, name = Path(path), str(path).lower()
    if file.is_dir():
        return folder_source(file) is None
    if not name.endswith(class_folders.ENDING):
        return name.endswith(ENDINGS)
    try:
        with zipfile.ZipFile(file) as archive:
            names = [member.lower() for member in archive.namelist()]
    except (OSError, zipfile.BadZipFile, ValueError):
        return True  # who reads it says what is wrong
    return any(n.endswith(class_folders.PICTURES) for n in names) or not any(n.endswith(TABLES) for n in names)


def has_class_folders(path: str | Path) -> bool:
    """Return whether ``path`` holds class folders, not MNIST's or CIFAR-10's files."""
    file = Path(path)
    if file.is_dir():
        return not _known_files(file, TRAIN) and not _known_files(file, TEST)
    return file.name.lower().endswith(class_folders.ENDING)


def read_images(
    path: str | Path,
    options: ImageOptions | None = None,
    *,
    part: str = TRAIN,
    emit: Emit = ignore,
    cancel: CancelToken = NEVER,
) -> ImageSet:
    """Return the images that ``path`` names.

    Args:
        path: MNIST's file of images (its labels beside it), a CIFAR-10 batch, an ``.npz``, or a folder or ``.zip`` of
            class folders. A folder with MNIST's or CIFAR-10's files means those to train on.
        options: what is declared.
        part: ``train`` or ``test``: which of the two, where the path holds both.
        emit: receives the progress of decoding.
        cancel: looked at several times a second.

    Raises:
        InputError: the files cannot be read as images without doubt.
    """
    options, file, source = options or ImageOptions(), Path(path), str(path)
    if not file.exists():
        raise InputError("there is no such file", source, "check the path")
    if file.is_dir():
        batches = _known_files(file, part)
    else:
        batches = [] if file.name.lower().endswith(class_folders.ENDING) else [file]
    if not batches:
        size = None if options.image_size is None else (options.image_size, options.image_size)
        return class_folders.read_folders(
            file, options.classes, size=size, grey=options.grey, part=part, emit=emit, cancel=cancel
        )
    if options.image_size is not None or options.grey:
        raise InputError("--image-size and --grey are for class folders", source, "leave them out")
    first, name = batches[0], batches[0].name.lower()
    if name.endswith(idx.ENDINGS):
        return idx.read_idx(first, options.classes, cancel)
    if name.endswith(idx.CIFAR_ENDINGS):
        return idx.read_cifar(batches, source, options.classes, cancel)
    if name.endswith(arrays.ENDINGS):
        return arrays.read_arrays(first, options.classes, part, cancel)
    raise InputError("this is not a set of images", source, "give MNIST, CIFAR-10, .npz, or class folders")


def _known_files(folder: Path, part: str) -> list[Path]:
    """Return MNIST's or CIFAR-10's files of a folder: those to train on, or to test with."""
    mnist, batches = ("train-", "data_batch_") if part == TRAIN else ("t10k-", "test_batch")
    names = sorted(p for p in folder.iterdir() if p.is_file())
    images = [p for p in names if p.name.startswith(mnist) and "images" in p.name and p.name.endswith(idx.ENDINGS)]
    return images[:1] or [p for p in names if p.name.startswith(batches) and p.name.endswith(idx.CIFAR_ENDINGS)]
