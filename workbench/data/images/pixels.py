"""Pixels, the limits of a set of them, and the mark of one image."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

Images = NDArray[np.uint8]
"""Shape (n, channels, height, width); 0 to 255, as all formats read here hold them."""

Mark = tuple[str, str]

MOST_BYTES = 4 * 2**30
"""Bytes of all pixels of a set."""

MOST_SIDE = 4096


def mark(image: Images) -> Mark:
    """Return a hash of an image (c, h, w) that does not depend on how it was stored; grey stored as colour is grey."""
    if len(image) == 3 and np.array_equal(image[0], image[1]) and np.array_equal(image[0], image[2]):
        image = image[:1]
    digest = hashlib.blake2b(repr(image.shape).encode(), digest_size=16)
    digest.update(np.ascontiguousarray(image).data)
    stated = digest.hexdigest()
    return f"image {stated[:16]}", f"image {stated[16:]}"  # a word in front: no digest is mistaken for a number
