"""What the owner may see of a set of images at a glance: how many each class has, and a few of them, made small.

All of it is private.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from workbench.data.images.image_set import CLASS, ImageSet
from workbench.data.images.pixels import Images

EXAMPLES = 24
"""Images of a class that are kept."""

SIDE = 64
"""Pixels that a side of a small image has, at most nearly twice of it."""

MOST_CLASSES = 40
"""Classes of which images are kept; the others are counted."""


@dataclass(frozen=True, eq=False)
class ClassSeen:
    """One class: its name is public where it was declared; all else is private.

    Attributes:
        name: of the class.
        images: how many it has.
        examples: some of them, small, in the order of the file; each (c, h, w).
    """

    name: str
    images: int
    examples: tuple[Images, ...]


def overview(images: ImageSet, check: Callable[[], None] = lambda: None) -> tuple[ClassSeen, ...]:
    """Return what each class of ``images`` has, in the order of the classes; ``check`` may stop it."""
    names = images.frame[CLASS].to_numpy()
    found = []
    for place, name in enumerate(images.classes):
        check()
        there = np.flatnonzero(names == name)
        step = max(1, len(there) // EXAMPLES)
        shown = there[::step][:EXAMPLES] if place < MOST_CLASSES else there[:0]
        found.append(ClassSeen(name, len(there), tuple(small(images.images[at]) for at in shown)))
    return tuple(found)


def small(image: Images, side: int = SIDE) -> Images:
    """Return ``image`` (c, h, w) with every k-th pixel of every k-th line, so that it takes little room."""
    step = max(1, max(image.shape[1:]) // side)
    return np.ascontiguousarray(image[:, ::step, ::step])
