"""The help: topics in Markdown, the same text in the window and for ``workbench help TOPIC``.

The window has them in its language, ``resources/help/LANGUAGE/NAME.md``; what is written for a terminal is English.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from textwrap import shorten

from workbench.paths import resources

TOPICS: tuple[str, ...] = (
    "ways",
    "bounds",
    "plan",
    "reading",
    "release",
    "generalise",
    "certificate",
    "documents",
    "ledger",
    "epsilon",
    "risk",
    "quality",
    "attacks",
    "curves",
    "learners",
    "models",
    "networks",
    "clusters",
    "membership",
    "rappor",
    "python",
    "window",
    "guarantees",
    "glossary",
)
"""The topics in the order in which they are listed; each is ``resources/help/NAME.md``, a title and its text."""

_HEADING = re.compile(r"^#+ ", re.MULTILINE)
_END = re.compile(r"(?<=[.!?;]) ")
_MARKS = re.compile(r"`|\*\*")
_SHOWN = 90  # characters of the sentence that a search shows of a topic


@dataclass(frozen=True)
class Found:
    """A topic that contains what was searched."""

    topic: str  # its name
    title: str
    line: str  # the first sentence with the first word that was searched; empty where only the title has it


@cache
def topic_markdown(name: str, language: str = "en") -> str:
    """Return the text of a topic as Markdown; English where a language has none."""
    folder = resources() / "help"
    translated = folder / language / f"{name}.md"
    return (translated if translated.is_file() else folder / f"{name}.md").read_text("utf-8")


def topic_text(name: str, language: str = "en") -> str:
    """Return the text of a topic for a terminal, or to search it."""
    return _HEADING.sub("", topic_markdown(name, language))


def topic_title(name: str) -> str:
    """Return what a topic is about: its first line, without the word that it opens with."""
    return topic_text(name).partition("\n")[0].partition(": ")[2]


def search_topics(typed: str, language: str = "en") -> list[Found]:
    """Return the topics that contain every word of ``typed``, those with a word in their title first."""
    words = typed.lower().split()
    found = []
    for name in TOPICS:
        text = topic_text(name, language)
        if not all(word in text.lower() for word in words):
            continue
        title, _, rest = text.partition("\n")
        parts = (part for part in rest.strip("\n").split("\n\n") if not part.startswith("    "))  # no commands
        sentences = (one for part in parts for one in _END.split(" ".join(part.split())))
        line = next((one for one in sentences if words and words[0] in one.lower()), "")
        in_title = any(word in title.lower() for word in words)
        found.append((not in_title, Found(name, title, shorten(_MARKS.sub("", line), _SHOWN, placeholder=" …"))))
    return [hit for _, hit in sorted(found, key=lambda pair: pair[0])]
