"""Pixels from PNG and JPEG files; runs in a process of its own, whose memory and time are limited.

A damaged image can crash a decoder, and a small file can unfold into gigabytes. Here that ends only this process.
"""

from __future__ import annotations

import io
import warnings
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from workbench.data.images.image_set import MOST_BYTES, MOST_SIDE, Images, Mark, mark
from workbench.params import InputError
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit, Progress

if TYPE_CHECKING:
    from PIL.Image import Image

FORMATS = ("PNG", "JPEG")
_MODES = ("1", "L", "LA", "P", "PA", "RGB", "RGBA", "CMYK", "YCbCr")
_SECONDS = 600
_SECONDS_EACH = 0.5
_BESIDE = 1 << 30
_MEND = "save it again as PNG or JPEG, or remove it"


@dataclass(frozen=True)
class Request:
    """What to decode."""

    root: str  # the folder or archive
    archive: bool  # which of the two
    names: tuple[str, ...]  # the images below it, parts separated by `/`
    size: tuple[int, int] | None  # height and width to bring all to; `None`: all must have that of the first
    grey: bool  # whether colour is left out


@dataclass(frozen=True, eq=False)
class Decoded:
    """Pixels (n, c, h, w), and a mark of each image as it was before it was resized."""

    images: Images
    marks: tuple[Mark, ...]


def decode(request: Request, emit: Emit, cancel: CancelToken) -> Decoded:
    """Return the pixels of all images of ``request``.

    Raises:
        InputError: a file is no image of 8 bits per channel, or has another size than the first and none was declared.
    """
    from workbench.data.isolated_child import restrict

    channels = 1 if request.grey else 3
    restrict(MOST_BYTES + _BESIDE, int(_SECONDS + _SECONDS_EACH * len(request.names)))
    out: Images | None = None
    marks: list[Mark] = []
    for index, (name, data) in enumerate(_files(request)):
        if index % 100 == 0:
            cancel.check()
            emit(Progress(index, len(request.names), "Reading images"))
        picture = _opened(data, name, request.root).convert("RGB")
        marks.append(mark(_planes(picture)))
        picture = picture.convert("L") if request.grey else picture
        wanted = request.size or (out.shape[2:] if out is not None else (picture.height, picture.width))
        pixels = _planes(picture)
        if pixels.shape[1:] != wanted:
            if request.size is None:
                raise InputError(
                    f"{name} has {picture.width} × {picture.height} pixels and others {wanted[1]} × {wanted[0]}",
                    request.root,
                    "declare a size for all with --image-size, such as --image-size 64",
                )
            pixels = _planes(picture.resize((wanted[1], wanted[0]), resample=2))  # 2: bilinear, over all pixels
        if out is None:
            if len(request.names) * channels * wanted[0] * wanted[1] > MOST_BYTES:
                raise InputError(
                    f"the images need more than {MOST_BYTES / 2**30:.3g} GiB",
                    request.root,
                    "declare a smaller size with --image-size",
                )
            out = np.empty((len(request.names), channels, *wanted), np.uint8)
        out[index] = pixels
    assert out is not None
    return Decoded(out, tuple(marks))


def _planes(picture: Image) -> Images:
    """Return a picture as (c, h, w)."""
    pixels: Images = np.asarray(picture, dtype=np.uint8)
    return pixels[None] if pixels.ndim == 2 else np.ascontiguousarray(pixels.transpose(2, 0, 1))


def _opened(data: bytes, name: str, root: str) -> Image:
    from PIL import Image as Library

    bad = InputError(f"{name} is not a PNG or JPEG image, or it is damaged", root, _MEND)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what a library says of a file may hold what is in it
            picture = Library.open(io.BytesIO(data), formats=FORMATS)
            if max(picture.size) > MOST_SIDE:
                raise InputError(f"{name} has more than {MOST_SIDE:,} pixels per side", root, "make it smaller")
            if picture.mode not in _MODES:
                raise InputError(f"{name} has more than 8 bits per channel", root, "save it with 8 bits per channel")
            picture.load()
    except InputError:
        raise
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001 - a decoder raises errors of many kinds
        raise bad from None
    return picture


def _files(request: Request) -> Iterator[tuple[str, bytes]]:
    if not request.archive:
        for name in request.names:
            try:
                yield name, Path(request.root, name).read_bytes()
            except OSError as error:
                raise InputError(f"{name} cannot be read: {error.strerror}", request.root, "check its rights") from None
        return
    with zipfile.ZipFile(request.root) as archive:
        for name in request.names:
            try:
                yield name, archive.read(name)
            except Exception:  # noqa: BLE001 - the decompressors raise errors of many kinds
                raise InputError(f"{name} is damaged in the archive", request.root, "pack it again") from None
