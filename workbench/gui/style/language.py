"""The window's sentences, numbers and dates in the language of the person; in the code they are English.

A catalogue is a folder of JSON files, ``resources/i18n/LANGUAGE/FOLDER.json``: one line for each sentence, sorted, so
that several people can add to it at once and it is read in milliseconds. English reads none. Lookups do not go through
``QCoreApplication.translate``: a translator written in Python, asked by a worker while the window installs another,
stops both for good (Qt waits for Python's lock and Python for Qt's). Qt's own dialogs have Qt's catalogues.
"""

from __future__ import annotations

import datetime
import functools
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication, QLibraryInfo, QLocale, QTranslator

from workbench.paths import resources

LANGUAGES = {"en": "English", "fr": "Français", "vi": "Tiếng Việt", "ru": "Русский"}  # not translated
SYSTEM = "system"
ENGINE = "engine"
"""How the files of sentences begin that the engine says; those may be templates of what is shown."""

_MOST = 5_000
"""Sentences with values that are kept to be said again in another language."""

Forms = str | list[str]


def _one_or_more(n: int) -> int:
    return int(n != 1)


def _russian(n: int) -> int:
    if n % 10 == 1 and n % 100 != 11:
        return 0
    return 1 if 2 <= n % 10 <= 4 and not 12 <= n % 100 <= 14 else 2


FORM: Mapping[str, tuple[int, Callable[[int], int]]] = {
    "en": (2, _one_or_more),
    "fr": (2, lambda n: int(n > 1)),
    "vi": (1, lambda n: 0),
    "ru": (3, _russian),
}
"""How many forms a language has for a number of things, and which one is for ``n``."""


@dataclass
class _Shown:
    """What is in use: one for the process."""

    code: str
    texts: dict[str, Forms]
    engine: tuple[dict[str, Forms], ...]
    qt: QTranslator | None
    point: str
    group: str


_now = _Shown("en", {}, (), None, ".", ",")
_plain: dict[str, str] = {}
_filled: dict[str, Callable[[], str]] = {}


def catalogues(code: str) -> dict[str, dict[str, Forms]]:
    """Return the catalogues of a language by the name of their file."""
    files = sorted((resources() / "i18n" / code).glob("*.json"))
    return {file.stem: json.loads(file.read_text("utf-8")) for file in files}


def language() -> str:
    """Return the code of the language that is shown."""
    return _now.code


def best(wanted: str = SYSTEM) -> str:
    """Return the code of a language that there is: the one wanted, or the first of the system's that is known."""
    for name in [wanted] if wanted != SYSTEM else QLocale.system().uiLanguages():
        code = re.split("[-_.]", name.lower())[0]
        if code in LANGUAGES:
            return code
    return "en"


def set_language(code: str) -> None:
    """Say everything in a language from now on; what is on the screen follows by :func:`again`."""
    global _now
    locale = QLocale(code)
    files = catalogues(code)
    texts = {source: text for found in files.values() for source, text in found.items() if text}
    engine = tuple(found for name, found in files.items() if name.startswith(ENGINE))
    former, qt = _now.qt, None
    if former is not None:
        QCoreApplication.removeTranslator(former)
    if code != "en":
        made = QTranslator(QCoreApplication.instance())
        if made.load(f"qtbase_{code}", QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)):
            qt = made
    point, group = (".", ",") if code == "en" else (locale.decimalPoint(), locale.groupSeparator())
    _now = _Shown(code, texts, engine, qt, point, group)
    _templates.cache_clear()
    if qt is not None:
        QCoreApplication.installTranslator(qt)


def tr_later(text: str) -> str:
    """Return ``text`` itself: a constant that is translated where it is shown, by ``tr(CONSTANT)``."""
    return text


def tr(text: str, /, **values: object) -> str:
    """Return a whole sentence in the language of the person, with ``{names}`` filled in."""
    found = _now.texts.get(text, text)
    said = found if isinstance(found, str) else text
    if not values:
        if said != text:
            _plain[said] = text
        return said
    said = said.format_map(values)
    if said not in values.values():  # a translation may be one of its names alone: said again, it would be without end
        _keep(said, lambda: tr(text, **{name: _value_again(value) for name, value in values.items()}))
    return said


def tr_n(one: str, more: str, n: int, /, **values: object) -> str:
    """Return a sentence about ``n`` things, with ``{n}`` and other names filled in; ``more`` is its catalogue's key."""
    found = _now.texts.get(more)
    form = found[FORM[_now.code][1](n)] if isinstance(found, list) else one if n == 1 else more
    said = form.format_map({"n": tr_number(n, ","), **values})
    _keep(said, lambda: tr_n(one, more, n, **{name: _value_again(value) for name, value in values.items()}))
    return said


def tr_sentence(text: str) -> str:
    """Return a sentence of the engine in the language of the person; one that no catalogue has stays English.

    The catalogue has what the engine's code has: a sentence, or a template of it with ``{names}``. What stands for a
    name passes as it is, as it may be a value of a table.
    """
    if _now.code == "en" or not text:
        return text
    said = _matched(text)
    if said != text:
        _keep(said, lambda: tr_sentence(text))
    return said


def again(text: str) -> str:
    """Return what was said in another language in the present one; any other text as it is."""
    made = _filled.get(text)
    return made() if made is not None else tr(_plain.get(text, text))


def _value_again(value: object) -> object:
    return again(value) if isinstance(value, str) else value


def _keep(said: str, make: Callable[[], str]) -> None:
    _filled.pop(said, None)
    _filled[said] = make
    if len(_filled) > _MOST:
        _filled.pop(next(iter(_filled)), None)


# -- sentences of the engine -------------------------------------------------------------------------------------------

NAME = re.compile(r"\{(\w+)\}")
_WORD = re.compile(r"[^\W\d_]{2,}")


@dataclass(frozen=True)
class _Template:
    found: re.Pattern[str]
    translated: str
    known: int


@functools.cache
def _templates() -> dict[str, list[_Template]]:
    """Return the engine's templates by the rarest of their words, those first that leave least open."""
    made: list[tuple[set[str], _Template]] = []
    used: dict[str, int] = {}
    for source, translated in ((s, t) for found in _now.engine for s, t in found.items() if isinstance(t, str) and t):
        parts = NAME.split(source)
        words = {word for part in parts[::2] for word in _WORD.findall(f"{part}")}
        if len(parts) == 1 or not words:
            continue
        seen: set[str] = set()
        pattern = ""
        for at, part in enumerate(parts):
            again_named = f"(?P={part})" if part in seen else f"(?P<{part}>.+?)"
            pattern += re.escape(part) if at % 2 == 0 else again_named
            seen.update([part] if at % 2 else [])
        for word in words:
            used[word] = used.get(word, 0) + 1
        known = sum(map(len, parts[::2]))
        made.append((words, _Template(re.compile(pattern, re.DOTALL), translated, known)))
    out: dict[str, list[_Template]] = {}
    for words, template in made:
        out.setdefault(min(words, key=lambda word: (used[word], word)), []).append(template)
    return {word: sorted(found, key=lambda each: -each.known) for word, found in out.items()}


def _matched(text: str) -> str:
    exact = _now.texts.get(text)
    if isinstance(exact, str):
        return exact
    index = _templates()
    possible = [each for word in set(_WORD.findall(text)) for each in index.get(word, ())]
    for template in sorted(possible, key=lambda each: -each.known):
        found = template.found.fullmatch(text)
        if found is not None:
            return template.translated.format_map({k: _inner(v) for k, v in found.groupdict().items()})
    parts = text.split("; ")
    if len(parts) > 1:
        return "; ".join(map(_matched, parts))
    capital = text[:1].lower() + text[1:]
    if text.endswith(".") and text != capital:  # a clause that was made a sentence where it is shown
        said = _matched_clause(capital[:-1])
        return text if said is None else f"{said[:1].upper()}{said[1:]}."
    return text


def _matched_clause(clause: str) -> str | None:
    said = _matched(clause)
    return None if said == clause else said


def _inner(value: str) -> str:
    """Return what a name is filled with as it is, unless it is a clause of the engine: no value of a table is one."""
    return _matched(value) if len(_WORD.findall(value)) >= 4 else value


# -- numbers and dates --------------------------------------------------------------------------------------------


_TYPED = re.compile(r"[-+]?[\d.,]+(?:[\s\u00a0\u202f]\d{3})*(?:[.,]\d*)?(?:[eE][-+]?\d+)?")
"""One number, with or without spaces between thousands."""


def localised(number: str) -> str:
    """Return a number written as in code (1,234.5) as the person writes it."""
    if _now.code == "en":
        return number
    return number.translate({ord("."): _now.point, ord(","): _now.group})


def tr_number(value: object, spec: str) -> str:
    """Return a number in a format of Python's (``,``, ``.1f``, ``.0%``) as the person writes it."""
    return localised(format(value, spec))


def typed(text: str) -> str:
    """Return a number that a person typed as code writes it: a comma or a point may stand before the decimals."""
    text = text.strip()
    if _now.code == "en" or not _TYPED.fullmatch(text):
        return text
    bare = re.sub(r"(?<=\d)[\s\u00a0\u202f](?=\d)", "", text)
    if "," in bare and "." in bare:  # the last one stands before the decimals
        other = "," if bare.rindex(".") > bare.rindex(",") else "."
        bare = bare.replace(other, "")
    return bare.replace(",", ".")


def day(date: datetime.date) -> str:
    """Return a day as the person writes it; in English as files do, so that no month is taken for a day."""
    if _now.code == "en":
        return f"{date:%Y-%m-%d}"
    return f"{date:%d/%m/%Y}" if _now.code in ("fr", "vi") else f"{date:%d.%m.%Y}"
