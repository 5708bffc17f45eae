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
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from PySide6.QtCore import QCoreApplication, QLibraryInfo, QLocale, QTranslator

from workbench.paths import resources

LANGUAGES = {"en": "English", "fr": "Français", "vi": "Tiếng Việt", "ru": "Русский"}  # not translated
SYSTEM = "system"
ENGINE = "engine"  # how the files of sentences begin that the engine says; those may be templates of what is shown

_MOST = 5_000  # sentences with values that are kept to be said again in another language

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
    _said.cache_clear()
    if qt is not None:
        QCoreApplication.installTranslator(qt)


def tr_later(text: str) -> str:
    """Return ``text`` itself: a constant that is translated where it is shown, by ``tr(CONSTANT)``."""
    return text


def tr(text: str, /, **values: object) -> str:
    """Return a whole sentence in the language of the person, with ``{names}`` filled in, counts as it writes them."""
    found = _now.texts.get(text, text)
    said = found if isinstance(found, str) else text
    if not values:
        if _LETTER.search(said):  # a sign alone, such as ε, is a heading of its own elsewhere
            _plain[said] = text if said != text else _plain.get(said, text)
        return said
    said = said.format_map({name: _shown(value) for name, value in values.items()})
    if said not in values.values():  # a translation may be one of its names alone: said again, it would be without end
        _keep(said, lambda: tr(text, **{name: _value_again(value) for name, value in values.items()}))
    return said


def _shown(value: object) -> object:
    """Return what fills a name: a whole number with a separator between its thousands, anything else as it is."""
    return tr_number(value, ",") if isinstance(value, int) and not isinstance(value, bool) else value


def tr_n(one: str, more: str, n: int, /, **values: object) -> str:
    """Return a sentence about ``n`` things, with ``{n}`` and other names filled in; ``more`` is its catalogue's key."""
    found = _now.texts.get(more)
    form = found[FORM[_now.code][1](n)] if isinstance(found, list) else one if n == 1 else more
    said = form.format_map({name: _shown(value) for name, value in {"n": n, **values}.items()})
    _keep(said, lambda: tr_n(one, more, n, **{name: _value_again(value) for name, value in values.items()}))
    return said


def tr_sentence(text: str) -> str:
    """Return a sentence of the engine in the language of the person; one that no catalogue has stays English.

    The catalogue has what the engine's code has: a sentence, or a template of it with ``{names}``. What fills a
    name passes as it is where it may be a value of a table (:func:`_inner`).
    """
    if _now.code == "en" or not text:
        if text not in _filled:  # to be said again in another language, which finds more than words that are the same
            _keep(text, lambda: tr_sentence(text))
        return text
    if text == "; ":
        return _joint(text)
    said = _said(text)
    if said is None or said == text:
        return text
    _keep(said, lambda: tr_sentence(text))
    return said


_FILE = re.compile(r"\S*\w\.[A-Za-z]\w+")  # a text whose first word is the name of a file


def capital(text: str) -> str:
    """Return a text with a capital first; ε and δ are signs, which have none, and a file keeps its name."""
    if text.startswith(("ε", "δ")) or _FILE.match(text):
        return text
    return f"{text[:1].upper()}{text[1:]}"


def as_sentence(clause: str) -> str:
    """Return a clause as a sentence: a capital first, and a full stop last where it has no end of its own."""
    return capital(clause) + ("" if not clause or clause.endswith((".", "…", "?", "!")) else ".")


def again(text: str) -> str:
    """Return what was said in another language in the present one; any other text as it is."""
    return sayer(text)()


def sayer(text: str, *, whole: bool = False) -> Callable[[], str]:
    """Return what says a text in the present language, whichever that is when it is called.

    Unless it is a ``whole``, as a name to choose is, it may be put together from what was said: ``Room: Page``.
    """
    say = _sayer_of(text)
    if say is None and not whole:
        parts, says, at = _SEAMS.split(text), [], 0
        while at < len(parts):
            ends = range(len(parts), at, -1)
            found = next(((end, each) for end in ends if (each := _sayer_of("".join(parts[at:end])))), None)
            at, each = found or (at + 1, functools.partial(str, parts[at]))
            says.append(each)
        # A text of its own, such as a heading with "(UTC)", is said as a whole.
        return lambda: own if (own := tr(text)) != text else "".join(each() for each in says)
    return say or functools.partial(tr, text)


_SEAMS = re.compile(r"(\n+| +[·×] +|: |; |(?<=[.!?…]) | \(|\)|^\W+ )")  # where the window puts texts together


def _sayer_of(text: str) -> Callable[[], str] | None:
    """Return what says again a text that was said, also where it was made a sentence since."""
    lower = text[:1].lower() + text[1:]
    ways = (
        (text, str),
        (text.removesuffix("."), as_sentence),
        (lower, capital),
        (lower.removesuffix("."), as_sentence),
    )
    for clause, made in ways:
        say = _filled.get(clause) or (functools.partial(tr, _plain[clause]) if clause in _plain else None)
        if say is not None:
            return functools.partial(_made, made, say)
    return None


def _made(made: Callable[[str], str], say: Callable[[], str]) -> str:
    return made(say())


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
_LETTER = re.compile(r"[^\W\d_α-ωΑ-Ωϵ]")
_WEAK = 12
"""With fewer letters of its own a template says little: a name that holds several words has to be known itself then."""
_FEW = 3  # most words of a name of a column or of a file, about
_THE_ENGINES = {"kind", "measured", "metric", "inside", "noun", "unit", "title"}
"""Names in templates that the engine alone fills: there one word is translated, too, such as ``integer``."""
_AS_TYPED = {"version", "bare", "code", "command", "path", "file", "names", "has"}
"""Names in templates whose numbers stay as they are: they are to be typed so, or are no numbers."""
_JOINTS = re.compile(r"; |(?<=[.!?…]) (?=[A-Z“])")  # where two sentences of the engine were put together
_NUMBER = re.compile(r"([-+−±]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?)( .*)?", re.DOTALL)
_UNITS = {"", " %", " s", " ms", " MB", " GB", " MiB", " GiB", " min", " h"}
_CLAUSE = re.compile(r"[ ,;:(]|(?:a|an|the|row|line|column|columns|one|at|from|by) |\d")
"""How a part of a sentence begins that the engine wrote, where it has few words."""


@dataclass(frozen=True)
class _Template:
    parts: tuple[str, ...]
    translated: str
    known: int
    weak: bool


@functools.cache
def _templates() -> dict[str, list[_Template]]:
    """Return the engine's templates by the rarest of their words, those first that leave least open."""
    made: list[tuple[set[str], _Template]] = []
    used: dict[str, int] = {}
    for source, translated in ((s, t) for found in _now.engine for s, t in found.items() if isinstance(t, str) and t):
        parts = NAME.split(source)
        own = parts[::2]
        if len(parts) == 1:
            continue
        words = {word for part in own for word in _WORD.findall(part)}
        if not words:
            continue
        for word in words:
            used[word] = used.get(word, 0) + 1
        letters = sum(len(word) for part in own for word in _WORD.findall(part))
        weak = letters < _WEAK and len(_WORD.findall(own[0])) < _FEW  # "the mean of" is begun by nothing else
        made.append((words, _Template(tuple(parts), translated, sum(map(len, own)), weak)))
    out: dict[str, list[_Template]] = {}
    for words, template in made:
        out.setdefault(min(words, key=lambda word: (used[word], word)), []).append(template)
    return out


@functools.cache
def _pattern(parts: tuple[str, ...]) -> tuple[re.Pattern[str], dict[str, str]]:
    """Return what a template matches, a name also where it is empty, and the names that directly follow others."""
    pattern, former, pairs, seen = "", "", {}, set()
    for at, part in enumerate(parts):
        if at % 2 == 0:
            pattern += re.escape(part)
        elif at > 1 and not parts[at - 1]:
            pairs[part] = former
        else:
            pattern += f"(?P={part})" if part in seen else f"(?P<{part}>.*?)"
            former = part
            seen.add(part)
    return re.compile(pattern, re.DOTALL), pairs


@functools.lru_cache(maxsize=2_000)
def _said(text: str) -> str | None:
    """Return a text of the engine in the language of the person, ``None`` for one that no catalogue has."""
    exact = _exact(text)
    if exact is not None:
        return exact
    joined, place = functools.partial(_filled_in, joined=True), functools.partial(_listed, "")
    for way in (_filled_in, _in_parts, joined, _made_a_sentence, _with_place, place):
        said = way(text)
        if said is not None:
            return said
    return None


def _exact(text: str) -> str | None:
    found = _now.texts.get(text)
    if found is None and text[:1].isupper():
        found = _now.texts.get(text[:1].lower() + text[1:])
        return f"{found[:1].upper()}{found[1:]}" if isinstance(found, str) else None
    return found if isinstance(found, str) else None


def _filled_in(text: str, *, joined: bool = False) -> str | None:
    """Return ``text`` by the template with most words of its own; ``joined``: a name may hold several clauses."""
    index = _templates()
    possible = [each for word in set(_WORD.findall(text)) for each in index.get(word, ())]
    for template in sorted(possible, key=lambda each: -each.known):
        if not all(part in text for part in template.parts[::2]):
            continue
        pattern, pairs = _pattern(template.parts)
        found = pattern.fullmatch(text)
        if found is None:
            continue
        values = found.groupdict()
        for second, first in pairs.items():
            values[first], values[second] = _parted(values[first])
        if not joined and any(map(_in_clauses, values.values())):
            continue
        said = {name: _inner(name, value) for name, value in values.items()}
        if template.weak and any(said[name] == value and _has_words(value) for name, value in values.items()):
            continue
        return template.translated.format_map(said)
    return None


def _in_clauses(value: str) -> bool:
    """Return whether a value was put together from sentences: one of the catalogue may have a semicolon of its own."""
    return _JOINTS.search(value) is not None and not _quoted(value) and _exact(value) is None


def _parted(value: str) -> tuple[str, str]:
    """Return what is before an addition of the engine, such as ``, did you mean 'x'?``, and the addition."""
    for found in re.finditer(r"[ ,;:(]", value):
        rest = value[found.start() :]
        if found.start() and (_exact(rest) or _filled_in(rest, joined=True)) is not None:
            return value[: found.start()], rest
    return value, ""


def _has_words(value: str) -> bool:
    if _quoted(value) or value in _plain or value in _filled:
        return False
    return any(len(part.split()) > _FEW for part in value.split(", "))


def _in_parts(text: str) -> str | None:
    """Return two sentences that were put together; one that is not known stays English."""
    for joint in reversed(list(_JOINTS.finditer(text))):
        left, right = text[: joint.start()], text[joint.end() :]
        added = _exact(text[joint.start() :])
        said = _said(left), _said(right) if added is None else None
        if added is not None and left:
            return f"{said[0] or left}{added}"
        if said != (None, None):
            return f"{said[0] or left}{_joint(joint[0])}{said[1] or right}"
    return None


def _joint(between: str) -> str:
    """Return what is between two clauses: French wants a space before a semicolon and a colon."""
    return f"\u00a0{between}" if _now.code == "fr" and between[0] in ";:" else between


def _made_a_sentence(text: str) -> str | None:
    """Return a clause that was made a sentence where it is shown: with a capital, a full stop or both."""
    stop = "." if text.endswith(".") else ""
    for clause in (text.removesuffix("."), text[:1].lower() + text[1:].removesuffix(".")):
        said = _said(clause) if clause not in (text, "") else None
        if said is not None:
            return f"{said[:1].upper() if text[:1].isupper() else said[:1]}{said[1:]}{stop}"
    return None


def _with_place(text: str) -> str | None:
    """Return a sentence that ends with its place in parentheses, or begins with it and a colon."""
    what, _, place = text.removesuffix(")").rpartition(" (")
    said = _said(what) if what and text.endswith(")") else None
    if said is not None:
        return f"{said} ({_inner('', place)})"
    place, _, what = text.partition(": ")
    said = _said(what) if what and len(_WORD.findall(place)) < 4 else None
    return None if said is None else f"{_inner('', place)}{_joint(': ')}{said}"


def _quoted(value: str) -> bool:
    return len(value) > 1 and value[0] == value[-1] and value[0] in "'\""


def _inner(name: str, value: str) -> str:
    """Return what fills a name of a template.

    Names and cells of a table pass as they are. What is translated: a sentence of the catalogue with a space in it, or
    of one word where the name is the engine's alone; a template with four words or more, or that begins as a part of
    a sentence does (``a``, ``the``, ``row``, a number, a comma); a list of such; a plain number, outside quotes.
    """
    if not value or _quoted(value):
        return value
    if " " in value.strip() or name in _THE_ENGINES:
        exact = _exact(value)
        if exact is not None:
            return exact
    counted = _counted(name, value)
    if counted is not None:
        return counted
    if _CLAUSE.match(value) or len(_WORD.findall(value)) >= 4:
        said = _said(value)
        if said is not None:
            return said
    return _listed(name, value) or value


def _listed(name: str, value: str) -> str | None:
    """Return a list whose entries are known, or so short that they are names."""
    between = next((each for each in (", and ", ", ", " and ") if each in value), None)
    if between is None:
        return None
    names, _, last = value.rpartition(between)
    parts = [names, last] if "and" in between else value.split(between)
    said = [_inner(name, part) for part in parts]
    known = all(after != part or len(part.split()) <= _FEW for part, after in zip(parts, said, strict=True))
    if not known or said == parts:
        return None
    if between == ", ":
        return ", ".join(said)
    return tr("{names} and {last}", names=f"{said[0]}{between[0].strip()}", last=said[1])


def _counted(name: str, value: str) -> str | None:
    """Return a plain number, with its unit or a noun that the window counts, as the person writes it."""
    found = _NUMBER.fullmatch(value)
    if found is None:
        return None
    number, rest = found[1], found[2] or ""
    if rest in _UNITS:
        return value if name in _AS_TYPED else f"{localised(number)}{rest}"
    for noun in (rest, f"{rest}s"):
        forms = _now.texts.get(f"{{n}}{noun}")
        if isinstance(forms, list) and "." not in number:
            n = int(number.replace(",", ""))
            return forms[FORM[_now.code][1](n)].format_map({"n": localised(number)})
    return None


# -- numbers and dates --------------------------------------------------------------------------------------------


_TYPED = re.compile(r"[-+]?[\d.,]+(?:[\s\u00a0\u202f]\d{3})*(?:[.,]\d*)?(?:[eE][-+]?\d+)?")
"""One number, with or without spaces between thousands."""


_THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}(?:\.\d{3})+")
"""What may be thousands or have three decimals, where points are between thousands."""


def localised(number: str) -> str:
    """Return a number written as in code (1,234.5) as the person writes it."""
    if _now.code == "en":
        return number
    return number.translate({ord("."): _now.point, ord(","): _now.group})


def tr_number(value: object, spec: str) -> str:
    """Return a number in a format of Python's (``,``, ``.1f``, ``.0%``) as the person writes it."""
    return localised(format(value, spec))


def typed(text: str) -> str:
    """Return a number that a person typed as code writes it: a comma or a point may come before the decimals.

    A number that could be read in two ways gets commas, so that no entry takes it.
    """
    text = text.strip()
    if _now.code == "en" or not _TYPED.fullmatch(text):
        return text
    bare = re.sub(r"(?<=\d)[\s\u00a0\u202f](?=\d)", "", text)
    if _now.group == "." and _THOUSANDS.fullmatch(bare):
        return bare.replace(".", ",")  # 20.000 is refused: by the language it is 20000, by a file of code 20
    if "," in bare and "." in bare:  # the last one comes before the decimals
        other = "," if bare.rindex(".") > bare.rindex(",") else "."
        bare = bare.replace(other, "")
    return bare.replace(",", ".")


def typed_list(text: str) -> str:
    """Return a list of numbers that a person typed as code writes it, ``0.1, 1, 10``.

    Where a comma may come before decimals, semicolons part the numbers, or commas with a space behind them, or commas
    alone where the decimals have points.
    """
    if ";" in text:
        return ", ".join(map(_with_point, text.split(";")))
    if _now.code == "en" or _now.point != "," or "." in text:
        return text
    return ", ".join(map(_with_point, re.split(r",\s+", text)))


def _with_point(number: str) -> str:
    return re.sub(r"(?<=\d),(?=\d)", ".", number.strip())


def shown_list(numbers: Iterable[float]) -> str:
    """Return numbers as a list that :func:`typed_list` reads."""
    return ("; " if _now.point == "," else ", ").join(localised(f"{number:g}") for number in numbers)


def day(date: datetime.date) -> str:
    """Return a day as the person writes it; in English as files do, so that no month is taken for a day."""
    if _now.code == "en":
        return f"{date:%Y-%m-%d}"
    return f"{date:%d/%m/%Y}" if _now.code in ("fr", "vi") else f"{date:%d.%m.%Y}"
