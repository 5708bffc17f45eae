"""The set of images that is open in place of a table."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.gui.style.language import tr, tr_later, tr_n, tr_number, tr_sentence

if TYPE_CHECKING:  # these load polars, which the first paint does not wait for
    from workbench.data.images.image_set import ClassSeen, ImageSet
    from workbench.data.images.read import ImageOptions

FOR_TABLES = tr_later(
    "A set of images is open, and this page is for tables: networks learn from images in Models, Train."
)


@dataclass(frozen=True)
class Stamp:
    """What differs between versions of a file: its identity, size and time of change, as the system has them."""

    inode: int
    size: int
    changed: int


@dataclass(frozen=True, eq=False)
class OpenImages:
    """The images that are open. All but their number, shape and classes is private.

    Attributes:
        table: the images as rows: what the ledger knows them by.
        source: the path they were read from.
        options: what the person declared about them.
        folder: whether the source is a folder.
        resizable: whether it holds class folders, whose images may be resized and made grey.
        stamp: the version of the file or folder that was read.
        seen: how many images each class has, and some of them: private.
    """

    table: ImageSet
    source: str
    options: ImageOptions
    folder: bool = False
    resizable: bool = False
    stamp: Stamp | None = None
    seen: tuple[ClassSeen, ...] = ()

    @property
    def title(self) -> str:
        return Path(self.source).name or self.source

    @property
    def is_sample(self) -> bool:
        """Whether it came with the program: no set of images does."""
        return False

    @property
    def stated(self) -> str:
        """What is public of it, in words: ``60,000 images, 28 × 28 grey, 10 classes``."""
        images, people = self.table, self.options.rows_per_person
        number = tr_n("{n} image", "{n} images", images.rows)
        classes = tr_n("{n} class", "{n} classes", len(images.classes))
        stated = f"{number}, {tr_sentence(str(images.shape))}, {classes}"
        return stated if people == 1 else f"{stated}, {tr('{number} per person', number=tr_number(people, ','))}"

    @property
    def outside(self) -> tuple[str, ...]:
        """Sentences on what ε does not cover: public facts that nobody declared."""
        taken = self.table.taken
        return (
            (tr("the {facts} were taken from the image files and not declared", facts=tr_sentence(taken)),)
            if taken
            else ()
        )
