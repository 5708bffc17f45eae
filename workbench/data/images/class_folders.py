"""A folder or zip archive with one folder of PNG or JPEG images for each class."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

import numpy as np

from workbench.data.images.arrays import TEST, TRAIN
from workbench.data.images.decoding import Decoded, Request, decode
from workbench.data.images.image_set import ImageSet, ImageShape, open_archive
from workbench.params import InputError
from workbench.processes.isolated_process import run_in_process
from workbench.signals.cancel import NEVER, CancelToken
from workbench.signals.events import Emit, ignore

ENDING = ".zip"
PICTURES = (".png", ".jpg", ".jpeg")
MOST_IMAGES = 1_000_000
MOST_IN_FILE = 64 * 2**20
_SPLITS = {TRAIN: ("train", "training"), TEST: ("test", "testing", "val", "valid", "validation")}
_IGNORED = ("thumbs.db", "desktop.ini", "__macosx")


@dataclass(frozen=True)
class _Place:
    """A file below the root: its parts, and whether it is a folder."""

    parts: tuple[str, ...]
    folder: bool
    size: int = 0


def read_folders(
    root: Path,
    classes: tuple[str, ...] | None = None,
    *,
    size: tuple[int, int] | None = None,
    grey: bool = False,
    part: str = TRAIN,
    emit: Emit = ignore,
    cancel: CancelToken = NEVER,
) -> ImageSet:
    """Return the images below ``root``, their classes being the names of the folders that they are in.

    Args:
        root: a folder, or a zip archive.
        classes: the declared classes; else the folders' names, sorted.
        size: height and width that all images are brought to; else all must have the same.
        grey: whether colour is left out.
        part: where the root holds the folders ``train`` and ``test``: which of them.
        emit: receives the progress.
        cancel: looked at several times a second.

    Raises:
        InputError: the names make no classes, or a file is no image that can be read.
    """
    source = str(root)
    archive = root.is_file()
    inside, places = _below_common(_of_archive(root) if archive else _of_folder(root), source, part)
    names = sorted({place.parts[0] for place in places if place.folder or len(place.parts) > 1})
    files = sorted(place.parts for place in places if not place.folder)
    _check(files, names, classes, source)
    known = {name: code for code, name in enumerate(classes or names)}
    labels = np.array([known[parts[0]] for parts in files], np.int64)
    stated = tuple("/".join((*inside, *parts)) for parts in files)
    decoded: Decoded = run_in_process(decode, Request(source, archive, stated, size, grey), emit, cancel)
    missing = [] if classes is not None else ["names of the classes"]
    missing += [] if size is not None else ["size of the images"]
    return ImageSet.of(
        decoded.images,
        labels,
        classes or tuple(names),
        source,
        marks=decoded.marks,
        taken=" and ".join(missing),
    )


def _check(files: list[tuple[str, ...]], names: list[str], classes: tuple[str, ...] | None, source: str) -> None:
    """Raise :class:`InputError` unless the files are images in the folders of known classes."""
    if not files:
        raise InputError("there are no images", source, "give a folder of images for each class")
    if len(files) > MOST_IMAGES:
        raise InputError(f"there are more than {MOST_IMAGES:,} images", source, "give them in parts")
    for parts in files:
        if len(parts) == 1:
            raise InputError(f"{parts[0]} is not in a class folder", source, "put it into one, or remove it")
        if not parts[-1].lower().endswith(PICTURES):
            raise InputError(f"{'/'.join(parts)} is not a PNG or JPEG image", source, "remove it")
    if len(names) < 2:
        raise InputError("there is only one class", source, "give a folder of images for each class")
    unknown = [name for name in names if classes is not None and name not in classes]
    if unknown:
        raise InputError(f"the folder {unknown[0]} is not a declared class", source, "declare all with --classes A,B,…")


def _below_common(places: list[_Place], source: str, part: str) -> tuple[tuple[str, ...], list[_Place]]:
    """Return the folder in which the classes are, and what is below it: below one that is alone, or the wanted part."""
    inside: tuple[str, ...] = ()
    while True:
        tops = {place.parts[0] for place in places if place.folder or len(place.parts) > 1}
        loose = any(len(place.parts) == 1 and not place.folder for place in places)
        deep = any(len(place.parts) > 2 or (place.folder and len(place.parts) > 1) for place in places)
        known = {name for names in _SPLITS.values() for name in names}
        if loose or not deep or not tops:
            return inside, places
        if len(tops) == 1:
            into = next(iter(tops))
        elif {top.lower() for top in tops} <= known:
            found = [top for top in sorted(tops) if top.lower() in _SPLITS[part]]
            if not found:
                raise InputError(f"there is no folder {part}", source, "give the folder of the class folders")
            into = found[0]
        else:
            return inside, places
        inside = (*inside, into)
        places = [replace(p, parts=p.parts[1:]) for p in places if p.parts[0] == into and len(p.parts) > 1]


def _of_folder(root: Path) -> list[_Place]:
    found: list[_Place] = []
    try:
        for folder, _, files in os.walk(root, onerror=_raise):
            parts = Path(folder).relative_to(root).parts
            if any(_ignored(part) for part in parts):
                continue
            if parts:
                found.append(_Place(parts, folder=True))
            for name in files:
                path = Path(folder, name)
                if _ignored(name):
                    continue
                if path.is_symlink() or not path.is_file():
                    raise InputError(f"{name} is a link or not a regular file", str(path), "copy the image itself")
                found.append(_sized(_Place((*parts, name), folder=False, size=path.stat().st_size), str(root)))
                if len(found) > 2 * MOST_IMAGES:
                    raise InputError(f"there are more than {MOST_IMAGES:,} images", str(root), "give them in parts")
    except OSError as error:
        raise InputError(f"the folder cannot be read: {error.strerror}", str(root), "check its rights") from None
    return found


def _raise(error: OSError) -> None:
    raise error


def _of_archive(root: Path) -> list[_Place]:
    try:
        with open_archive(root, str(root)) as archive:
            entries = archive.infolist()
    except (OSError, zipfile.BadZipFile, NotImplementedError):
        raise InputError("this is not a zip archive, or it is damaged", str(root), "pack it again") from None
    if len(entries) > 2 * MOST_IMAGES:
        raise InputError(f"there are more than {MOST_IMAGES:,} images", str(root), "give them in parts")
    if any(entry.flag_bits & 1 for entry in entries):
        raise InputError("the archive is encrypted", str(root), "pack it without a password")
    return list(_stated(entries, str(root)))


def _stated(entries: Iterable[zipfile.ZipInfo], source: str) -> Iterable[_Place]:
    for entry in entries:
        parts = PurePosixPath(entry.filename).parts
        if not parts or any(_ignored(part) for part in parts if part != ".."):
            continue
        if entry.filename.startswith("/") or "\\" in entry.filename or ".." in parts:
            raise InputError("a name in the archive points outside the archive", source, "pack it again")
        yield _sized(_Place(parts, entry.is_dir(), entry.file_size), source)


def _sized(place: _Place, source: str) -> _Place:
    if place.size > MOST_IN_FILE:
        name = "/".join(place.parts)
        raise InputError(f"{name} is larger than {MOST_IN_FILE >> 20} MiB", source, "make the image smaller")
    return place


def _ignored(name: str) -> bool:
    return name.startswith(".") or name.lower() in _IGNORED


def is_picture(path: str | Path) -> bool:
    """Return whether ``path`` names a single image, by its ending."""
    return str(path).lower().endswith(PICTURES)


def is_loose(path: str | Path) -> bool:
    """Return whether ``path`` is a single image, or a folder with images that are in no class."""
    if is_picture(path):
        return not Path(path).is_dir()
    return Path(path).is_dir() and bool(_pictures_in(Path(path)))


def read_loose(
    paths: Sequence[str | Path],
    shape: ImageShape,
    *,
    emit: Emit = ignore,
    cancel: CancelToken = NEVER,
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
        _require_picture(file)
    root = os.path.commonpath([file.absolute().parent for file in files])
    names = tuple(os.path.relpath(file.absolute(), root) for file in files)
    request = Request(root, False, names, (shape.height, shape.width), shape.channels == 1)
    decoded: Decoded = run_in_process(decode, request, emit, cancel)
    return ImageSet.unlabelled(decoded.images, where or root, names)


def _pictures_in(folder: Path) -> list[Path]:
    """Return the images in ``folder`` itself, sorted."""
    try:
        return sorted(p for p in folder.iterdir() if is_picture(p) and not p.name.startswith(".") and not p.is_dir())
    except OSError as error:
        raise InputError(f"the folder cannot be read: {error.strerror}", str(folder), "check its rights") from None


def _require_picture(file: Path) -> None:
    if not is_picture(file):
        raise InputError(f"{file.name} is not a PNG or JPEG image", str(file), "give image files only")
    if not file.exists():
        raise InputError("there is no such file", str(file), "check the path")
    if file.is_symlink() or not file.is_file():
        raise InputError(f"{file.name} is a link or not a regular file", str(file), "copy the image itself")
    if file.stat().st_size > MOST_IN_FILE:
        raise InputError(f"{file.name} is larger than {MOST_IN_FILE >> 20} MiB", str(file), "make the image smaller")
