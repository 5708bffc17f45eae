"""Single PNG or JPEG files, or a folder of them without classes: images to predict for, not to learn from."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from workbench.data.images.class_folders import MOST_IMAGES, MOST_IN_FILE, PICTURES
from workbench.data.images.decoding import Decoded, Request, decode
from workbench.data.images.image_set import ImageSet, ImageShape
from workbench.params import InputError
from workbench.processes.isolated_process import run_in_process
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit, ignore


def is_picture(path: str | Path) -> bool:
    """Return whether ``path`` names a single image, by its ending."""
    return str(path).lower().endswith(PICTURES)


def is_loose(path: str | Path) -> bool:
    """Return whether ``path`` is a single image, or a folder in which images lie that are in no class."""
    if is_picture(path):
        return not Path(path).is_dir()
    return Path(path).is_dir() and bool(_pictures_in(Path(path)))


def read_loose(
    paths: Sequence[str | Path],
    shape: ImageShape,
    *,
    emit: Emit = ignore,
    cancel: CancelToken | None = None,
) -> ImageSet:
    """Return images without classes, brought to ``shape``; their names are the files'.

    Raises:
        InputError: there are none, or a file is no image that can be read.
    """
    files = [file for path in paths for file in (_pictures_in(Path(path)) if Path(path).is_dir() else [Path(path)])]
    where = str(paths[0]) if len(paths) == 1 else ""
    if not files:
        raise InputError("there are no images", where, "give PNG or JPEG files, or a folder of them")
    if len(files) > MOST_IMAGES:
        raise InputError(f"there are more than {MOST_IMAGES:,} images", where, "give them in parts")
    for file in files:
        _check(file)
    root = os.path.commonpath([file.absolute().parent for file in files])
    names = tuple(os.path.relpath(file.absolute(), root) for file in files)
    request = Request(root, False, names, (shape.height, shape.width), shape.channels == 1)
    decoded: Decoded = run_in_process(decode, request, emit, cancel or CancelToken())
    return ImageSet.unlabelled(decoded.images, where or root, names)


def _pictures_in(folder: Path) -> list[Path]:
    """Return the images that lie in ``folder`` itself, sorted."""
    try:
        return sorted(p for p in folder.iterdir() if is_picture(p) and not p.name.startswith(".") and not p.is_dir())
    except OSError as error:
        raise InputError(f"the folder cannot be read: {error.strerror}", str(folder), "check its rights") from None


def _check(file: Path) -> None:
    if not is_picture(file):
        raise InputError(f"{file.name} is not a PNG or JPEG image", str(file), "give images alone")
    if not file.exists():
        raise InputError("there is no such file", str(file), "check the path")
    if file.is_symlink() or not file.is_file():
        raise InputError(f"{file.name} is a link or not a regular file", str(file), "copy the image itself")
    if file.stat().st_size > MOST_IN_FILE:
        raise InputError(f"{file.name} is larger than {MOST_IN_FILE >> 20} MiB", str(file), "make the image smaller")
