"""Guess which legacy encoding a text is written in, by how plausible the text is in each.

Every candidate encoding decodes the lines that hold bytes above 127, and each reading is given a cost in bits: how
surprising its characters are, one by one, for somebody who knows the languages that are written in that encoding.
A word costs what it costs in the language that explains it best; a letter of another script beside ASCII letters, a
capital in the middle of a word, a currency sign inside one, and characters that hardly anybody writes cost more. The
cheapest reading wins. So ``m²`` is not half of a Japanese word, and ``5 €`` is no capital letter that stands alone.

It remains a guess: a release requires that somebody states the encoding (:mod:`workbench.data.csv.ambiguities`).
"""

from __future__ import annotations

import codecs
import itertools
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from workbench.data.csv import letter_frequencies as known

_NEVER = 40.0
_FOREIGN = 10.0
"""Bits of a Latin letter in a word that no language explains."""


@dataclass(frozen=True)
class Candidate:
    """An encoding that a file may be written in.

    Attributes:
        name: Python's name of it.
        prior: cost in bits before a byte is read: how rare it is in files of today.
        languages: for each language that uses it its letters, the commonest first.
        common: the commonest characters, of an East Asian encoding.
        levels: the leading bytes of its usual characters, of an East Asian encoding.
    """

    name: str
    prior: float
    languages: Mapping[str, str]
    common: str = ""
    levels: tuple[int, int] = (0, 0)

    @property
    def latin(self) -> bool:
        """Whether its letters are those of Latin scripts."""
        return bool(self.languages) and all("a" <= letters[0] < "\u0250" for letters in self.languages.values())


CANDIDATES = (
    Candidate("cp1252", 0, known.WESTERN),
    Candidate("cp1250", 3, known.CENTRAL),
    Candidate("cp1251", 3, known.CYRILLIC),
    Candidate("cp1253", 4, known.GREEK),
    Candidate("cp1254", 5, known.TURKISH),
    Candidate("koi8_r", 4, {"Russian": known.CYRILLIC["Russian"]}),
    Candidate("mac_roman", 9, known.WESTERN),
    Candidate("cp932", 4, {}, known.JAPANESE, (0x88, 0x97)),
    Candidate("euc_jp", 5, {}, known.JAPANESE, (0xB0, 0xCF)),
    Candidate("gb18030", 4, {}, known.SIMPLIFIED, (0xB0, 0xD7)),
    Candidate("big5", 5, {}, known.TRADITIONAL, (0xA4, 0xC6)),
    Candidate("euc_kr", 4, {}, known.KOREAN, (0xB0, 0xC8)),
)

SEVERAL_BYTES = frozenset(candidate.name for candidate in CANDIDATES if candidate.common) | {"shift_jis"}
"""The encodings in which a character can be more than one byte."""

# Some signs are letters to the pattern, and to nobody else.
_WORD = re.compile(r"[^\W\d_µªº¹²³¼½¾]+")
# No East Asian character ends in one of these bytes.
_BETWEEN_CELLS = re.compile(rb'[,;\t"]')
_SIGN = re.compile(r"[^\x00-\x7f]")
# A grave e stands before consonants, and a tilde over o before e (but for Estonian, whose words begin so).
_UNWESTERN = re.compile(r"è[aeiouéí]|(?<=[a-z]{2})õ(?!e)")
_LONE = frozenset("àóåöéèìíúáùavисукояіοηατ")
_SIGNS = {
    **dict.fromkeys("°±’“”–", 5.0),
    **dict.fromkeys("€£²³½µ©®™—‘…«»\xa0¿¡º„", 6.0),
    **dict.fromkeys("¼¾§×•·¥ª№", 8.0),
    **dict.fromkeys("¢†‰÷¹¶≤≥≠∞≈", 10.0),
}
_EAST_ASIAN_SIGNS = frozenset("、。「」『』・（）：；，！？《》“”～％／＝＋－．〒々￥㎡℃")
_HALF_WIDTH = frozenset(map(chr, range(0xFF61, 0xFFA0)))
_OF_NUMBERS, _AFTER_WORDS, _OPENING = frozenset("£€¥¢½¼¾±°²³µ"), frozenset("²³®™’”»º…"), frozenset("‘“«„¿¡")


def likely(lines: Iterable[bytes]) -> list[str]:
    """Return the encodings in which ``lines`` can be read, the likeliest first.

    Args:
        lines: distinct lines that hold bytes above 127; the end of a line may be cut within a character.
    """
    # A repeated cell adds no information.
    cells = dict.fromkeys(cell for line in lines for cell in _BETWEEN_CELLS.split(line) if not cell.isascii())
    costs = [(cost, c.name) for c in CANDIDATES if (cost := _cost(list(cells), c)) is not None]
    return [name for _, name in sorted(costs)]


def _cost(cells: Sequence[bytes], candidate: Candidate) -> float | None:
    """Return how many bits the reading of ``cells`` costs; ``None`` where there is none."""
    decoder = codecs.getincrementaldecoder(candidate.name)
    try:
        read = "\n".join(decoder().decode(cell) for cell in cells)
    except UnicodeDecodeError:
        return None
    words = [word for word in _WORD.findall(read) if not word.isascii()]
    signs = [
        (read[max(at - 4, 0) : at], read[at], read[at + 1 : at + 2])
        for at in (found.start() for found in _SIGN.finditer(read))
        if not _WORD.match(read[at])
    ]
    word_cost = _east_asian if candidate.common else _alphabetic
    return candidate.prior + sum(word_cost(w, candidate) for w in words) + sum(_sign(*s, candidate) for s in signs)


# -- words of alphabets -------------------------------------------------------------------------------------------


def _alphabetic(word: str, candidate: Candidate) -> float:
    """Return the cost of a word in the language that explains it best."""
    letters = [c for c in word.lower() if not c.isascii()]
    best = min(sum(_letters(language).get(c, _NEVER) for c in letters) for language in candidate.languages.values())
    if candidate.latin:
        best = min(best, _FOREIGN * len(letters)) + _misplaced(word.lower(), candidate)
    elif len(letters) < len(word):
        best += 8.0 * min(len(letters), len(word) - len(letters))  # two scripts in one word
    return best + _case(word) + (_alone(word) if len(word) == 1 else 0.0)


def _misplaced(word: str, candidate: Candidate) -> float:
    """Return the cost of a word that cannot be pronounced, and of letters where no Western language has them."""
    spoken = len(word) == 1 or any(c in "aeiouyıøæœ" for c in unicodedata.normalize("NFD", word))
    western = candidate.languages is known.WESTERN
    return (0.0 if spoken else 7.0) + (5.0 * len(_UNWESTERN.findall(word)) if western else 0.0)


@cache
def _letters(language: str) -> dict[str, float]:
    """Return the cost of each letter of a language, given as the letters in the order of their frequency."""
    step = min(0.5, 6.0 / len(language))
    return {letter: 3.0 + step * rank for rank, letter in enumerate(language)}


def _case(word: str) -> float:
    """Return the cost of misplaced capitals."""
    if word.islower():
        return 0.0
    if word.isupper():
        return 4.0
    wrong = 0.0
    for before, c in itertools.pairwise(word):
        if not (before.isascii() and c.isascii()):
            wrong += 7.0 * (before.islower() and c.isupper())
    capitals = sum(c.isupper() for c in word)
    return 1.0 + wrong + (4.0 if capitals > 2 and not wrong else 0.0)


def _alone(letter: str) -> float:
    if letter.lower() not in _LONE:
        return 5.0
    return 0.0 if letter.islower() else 2.0


# -- East Asian words ---------------------------------------------------------------------------------------------


def _east_asian(word: str, candidate: Candidate) -> float:
    cost = 8.0 if len(word) == 1 and word in _HALF_WIDTH else 0.0
    for before, c in zip(" " + word, word, strict=False):
        if c.isascii():
            cost += 5.0 if not before.isascii() else 0.0
            continue
        cost += _character(c, candidate.name)
        if before.isascii() and before != " ":
            cost += 5.0
    return cost


@cache
def _character(c: str, encoding: str) -> float:
    candidate = next(one for one in CANDIDATES if one.name == encoding)
    if c in _EAST_ASIAN_SIGNS:
        return 6.0
    if "\u3041" <= c <= "\u30ff":
        return 6.0 if candidate.common is known.JAPANESE else 13.0
    if c in _HALF_WIDTH:
        return 9.0  # one byte
    if c in candidate.common:
        return 8.0
    raw = c.encode(encoding)
    low, high = candidate.levels
    if len(raw) == 2 and low <= raw[0] <= high:
        return 11.5
    return 16.0 if len(raw) == 2 and raw[1] > 0xA0 else 19.0


# -- signs --------------------------------------------------------------------------------------------------------


def _sign(before: str, sign: str, after: str, candidate: Candidate) -> float:
    """Return the cost of a sign between what stands before and after it."""
    if candidate.common:
        return _character(sign, candidate.name) if sign in _EAST_ASIAN_SIGNS else 15.0
    cost = _SIGNS.get(sign, 14.0)
    last = before[-1:]
    if last.isalpha() and sign in _OF_NUMBERS - _AFTER_WORDS:
        cost += 4.0
    if after.isalpha() and sign in (_OF_NUMBERS | _AFTER_WORDS) - frozenset("µ°’"):
        cost += 6.0
    if last.isalpha() and after.isalpha() and sign in "–—•":
        cost += 5.0
    if last.isalpha() and sign in _OPENING:
        cost += 5.0
    if sign in "²³" and len(before) == 4 and before.isalpha():
        cost += 6.0
    return cost
