"""A document as immutable values: headings, paragraphs, facts, tables and figures, without Qt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from workbench.render.values import Figure

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
    """A table."""

    header: tuple[str, ...]  # its columns' titles
    rows: tuple[tuple[str, ...], ...]  # its cells as text
    right: tuple[int, ...] = ()  # indexes of the columns that hold numbers and are aligned to the right
    # Of the columns, in per cent, so that tables below each other are alike; else by what is in them.
    widths: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure, drawn in the light theme with that many logical pixels: the fewer, the larger its text."""

    figure: Figure
    width: int = 1000
    height: int = 625


Block = Paragraph | Bullets | FactList | Grid | Picture


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what is below it."""

    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Document:
    """A document of several pages."""

    title: str
    subtitle: str  # one line below it
    sections: tuple[Section, ...]  # its contents, in order
    foot: str = ""  # a short line at the foot of every page
    badge: str = ""  # printed across every page, as a watermark; empty for what is public
    # When its subject was made (ISO 8601): the file's own date, so that the same text gives the same file.
    time: str = ""

    @property
    def pictures(self) -> tuple[Picture, ...]:
        """Its figures, in order."""
        return tuple(block for section in self.sections for block in section.blocks if isinstance(block, Picture))
