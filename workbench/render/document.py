"""A document as immutable values: headings, paragraphs, facts, tables, figures; no Qt, and simple enough for JSON."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

from workbench.render.values import FIGURES, Figure, kind_of

Look = Literal["", "muted", "strong", "formula", "code"]


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph of plain text; ``code`` keeps its line breaks."""

    text: str
    look: Look = ""


@dataclass(frozen=True, slots=True)
class Bullets:
    """A list of sentences."""

    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FactList:
    """Names on the left and what is true of them on the right."""

    lines: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Grid:
    """A table.

    Attributes:
        header: its columns' titles.
        rows: its cells as text.
        right: indexes of the columns that hold numbers and are aligned to the right.
        widths: of the columns, in per cent, so that tables below each other are alike; else by what is in them.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: tuple[int, ...] = ()
    widths: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure, drawn in the light theme with that many logical pixels: the fewer, the larger its text."""

    figure: Figure
    width: int = 1000
    height: int = 625


Block = Paragraph | Bullets | FactList | Grid | Picture
_BLOCKS: dict[str, type[Any]] = {
    "paragraph": Paragraph,
    "bullets": Bullets,
    "facts": FactList,
    "grid": Grid,
}


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what is below it."""

    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Document:
    """A document of several pages.

    Attributes:
        subtitle: one line below it.
        sections: its contents, in order.
        foot: a short line at the foot of every page.
        badge: printed across every page, as a watermark; empty for what is public.
        time: when its subject was made (ISO 8601): the file's own date, so that the same text gives the same file.
    """

    title: str
    subtitle: str
    sections: tuple[Section, ...]
    foot: str = ""
    badge: str = ""
    time: str = ""

    @property
    def pictures(self) -> tuple[Picture, ...]:
        """Its figures, in order."""
        return tuple(block for section in self.sections for block in section.blocks if isinstance(block, Picture))

    def to_plain(self) -> dict[str, Any]:
        """Return the document as JSON holds it."""
        return {
            **{name: getattr(self, name) for name in ("title", "subtitle", "foot", "badge", "time")},
            "sections": [{"title": s.title, "blocks": [_plain(b) for b in s.blocks]} for s in self.sections],
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """Make the document from what :meth:`to_plain` returned."""
        sections = (Section(s["title"], tuple(_block(b) for b in s["blocks"])) for s in plain["sections"])
        return cls(**{**plain, "sections": tuple(sections)})


def _plain(block: Block) -> dict[str, Any]:
    if isinstance(block, Picture):
        kind = kind_of(block.figure).name
        size = {"width": block.width, "height": block.height}
        return {"is": "picture", "kind": kind, "figure": block.figure.to_plain(), **size}
    name = next(name for name, made in _BLOCKS.items() if isinstance(block, made))
    return {"is": name, **dataclasses.asdict(block)}


def _block(plain: Mapping[str, Any]) -> Block:
    values = {key: _tuples(value) for key, value in plain.items() if key != "is"}
    if plain["is"] == "picture":
        kind = next(kind for kind in FIGURES if kind.name == plain["kind"])
        return Picture(kind.value.from_plain(plain["figure"]), plain["width"], plain["height"])
    made: Block = _BLOCKS[plain["is"]](**values)
    return made


def _tuples(value: Any) -> Any:
    return tuple(_tuples(inner) for inner in value) if isinstance(value, list) else value
