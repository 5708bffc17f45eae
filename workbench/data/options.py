"""What a person states about a text file over the guess."""

from __future__ import annotations

import codecs
from dataclasses import dataclass

from workbench.data.dialect import BACKSLASH, BARE, DOUBLED
from workbench.params import ParameterError, Parameters, choice, text

_WORDS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}
NO_QUOTE = "none"


@dataclass(frozen=True, kw_only=True)
class ReadOptions(Parameters):
    """How to read delimited text; an option that is ``None`` is guessed."""

    encoding: str | None = text(default=None, longest=40, help="character encoding, such as utf-8 or cp1252")
    delimiter: str | None = text(default=None, longest=9, help="character between cells, or the word tab")
    quote: str | None = text(default=None, longest=4, help="character around cells, or the word none")
    escape: str | None = choice(
        default=None,
        choices=(DOUBLED, BACKSLASH, BARE),
        help="quote mark inside a quoted cell: doubled, backslash or bare",
    )
    decimal: str | None = choice(default=None, choices=(".", ","), help="decimal mark, . or ,")
    header: str | None = choice(default=None, choices=("yes", "no"), help="whether the first row names the columns")

    def __post_init__(self) -> None:
        """Check the values one by one and against each other; words such as ``tab`` become what they mean."""
        super().__post_init__()
        if self.encoding is not None:
            object.__setattr__(self, "encoding", _known_encoding(self.encoding))
        if self.delimiter is not None:
            object.__setattr__(self, "delimiter", _mark("delimiter", _WORDS.get(self.delimiter, self.delimiter)))
        if self.quote is not None and self.quote != NO_QUOTE:
            _mark("quote", self.quote)
        if self.delimiter is not None and self.delimiter == self.quote:
            raise ParameterError(f"delimiter and quote are both {self.quote!r}", mend="give two different characters")


def _mark(name: str, value: str) -> str:
    if len(value) != 1 or value in "\r\n\0" or (name == "quote" and value.isalnum()):
        word = "the word tab" if name == "delimiter" else "the word none"
        raise ParameterError(f"{name} = {value!r} is not one character", mend=f"give one character, or {word}")
    return value


def _known_encoding(name: str) -> str:
    """Return Python's name of an encoding of text."""
    try:
        found = codecs.lookup(name)
        "".encode(found.name)  # fails for codecs that do not turn text into bytes, such as rot13 and zlib
    except (LookupError, ValueError):
        raise ParameterError(
            f"encoding = {name!r} is not known", mend="give a name such as utf-8, cp1252, shift_jis or utf-16"
        ) from None
    return "utf-8" if found.name in ("utf-8-sig", "ascii") else found.name
