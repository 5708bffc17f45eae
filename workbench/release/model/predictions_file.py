"""What may stand in a file of predictions, and which file it may replace."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path

from workbench.data.images.cifar import NAMES
from workbench.data.images.image_set import ImageSet
from workbench.data.images.read import PACKED_OR_PICTURES
from workbench.params import InputError

REPLACED = "\N{REPLACEMENT CHARACTER}"
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|nan)")
_UNPRINTABLE = ("Cc", "Cs", "Zl", "Zp")


def cell_text(text: str) -> str:
    """Return a name as it may stand in a CSV file that a spreadsheet opens.

    Names of files and classes come from others. A spreadsheet takes one that begins with ``=``, ``+``, ``-``, ``@``, a
    tab or a carriage return for a formula and computes it: such a name gets an apostrophe in front, unless it is a
    number. Control characters, line ends among them, and halves of characters become U+FFFD.
    """
    formula = text.startswith(_FORMULA) and _NUMBER.fullmatch(text) is None
    if not text.isprintable():
        text = "".join(REPLACED if unicodedata.category(c) in _UNPRINTABLE else c for c in text)
    return f"'{text}" if formula else text


def require_no_images(output: Path, images: ImageSet) -> None:
    """Refuse an output that would take the place of images, or of the labels or names beside them.

    Raises:
        InputError: there is such a file under that name.
    """
    if not output.exists():
        return
    source, name = Path(images.source), output.name.lower()
    own = (source, *(source / file for file in images.files))
    # Whatever ends as images do is one of a set: of class folders not every file is listed here.
    if (
        name.endswith(PACKED_OR_PICTURES)
        or name == NAMES
        or any(place.is_file() and output.samefile(place) for place in own)
    ):
        raise InputError("the predictions would replace the images", str(output), "name another file")
