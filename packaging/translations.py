"""The catalogues of the window's languages: ``python packaging/translations.py [--missing LANGUAGE [FOLDER…]]``.

With ``--missing`` the sentences that have no translation are printed as JSON, to be filled in and given to ``--fill
LANGUAGE FILE…``, which checks the names in braces. ``--unwrapped FOLDER…`` lists what looks like a sentence of the
window and is not translated, ``--count`` what is left. Without an option the catalogues are sorted, filed by folder and
freed of what no code has.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from workbench.gui.style.language import FORM

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "workbench"
I18N = ROOT / "resources" / "i18n"
FORMS = {code: forms for code, (forms, _) in FORM.items() if code != "en"}
"""The languages beside English, and how many forms of a plural each has."""

NOT_SHOWN = {"gui", "cli", "api", "paths", "__main__", "__init__"}
"""Parts of the program whose sentences the engine does not say in the window."""
NO_SENTENCES = {
    *(("release", "documents"), ("release", "bundle.py"), ("statistics", "sql.py"), ("release", "values_work.py")),
    *(("deep", "compiled.py"), ("deep", "table_kernel.py"), ("work", "ask.py"), ("render", "document_html.py")),
    ("deep", "linear_chain.py"),
}
"""Folders and files of the engine whose sentences the window never shows: those stay English."""
MATCHED = {
    *("access denied", "login failed", "no password supplied", "authentication failed", "no pg_hba.conf entry"),
    *("Failed to connect", "decode to UTF-8"),
}
"""Parts of a database's messages that the engine looks for and never shows."""
UNSEEN_ERRORS = {"TypeError", "ValueError", "AssertionError", "RuntimeError", "KeyError", "LookupError", "SystemExit"}
UNSEEN_CALLS = {"debug", "info", "warning", "exception", "compile", "sub", "match", "split", "getLogger", "run"}
ENGINE_WORDS = {
    "data": ("integer", "real", "category", "date", "boolean", "text", "identifier", "columns"),
    "release": ("certified", "verifying", "writing", "written"),
    "rappor": ("reports",),
    "studies": ("runs", "Accuracy", "accuracy", "Inertia", "inertia", "3 points", "0 to 1", "0.001", "0.03", "0.05"),
    "deep": ("from ε", "never", "processor", "both", "momentum"),
    "learners": ("rounds", "group -1", "declared", "a search"),
    "privacy": ("together, ε", "their ε", "here", "central", "shuffled", "over 99.99 %", "under 0.01 %"),
    "risk": (
        *("widths", "start", "lowest", "highest", "optimal", "greedy", "cells"),
        *("distances", "files", "recoding", "searching", "traces"),
        *("hierarchical", "ordered", "equal", "univariate", "multivariate"),
    ),
    "params": ("a number", "column {name}", "row {row}", "line {line}", "column {name}, row {row}, line {line}"),
}
"""Words of the engine that the window shows and that are no sentence."""
ENGINE_COUNTED = {"data": "{n} cells"}
"""Numbers of things that sentences of the engine are filled with."""
SHOWN_FIELDS = {"title", "help", "label", "about", "unit", "noun", "why", "text", "words"}
"""Names of parameters of the engine whose values are shown even where they are one word."""

PLACE = re.compile(r"\{(\w+)\}")
_WORDS = re.compile(r"[A-Za-z]{2,}")
_SQL = "SELECT|INSERT|CREATE|PRAGMA|UPDATE|DELETE|ALTER|ATTACH|SET|SAVEPOINT|ROLLBACK|BEGIN|DROP|READ|REPEATABLE"
_SQL += "|WHERE|ORDER"
_CODE = re.compile(
    rf"^(?:{_SQL}) |[\\|]|\(\?|^[\w./-]*$|^--|^#|;$|;\n|^https?:|\{{\{{|\(FILE|FILE TABLE|^\^"
    r"|^\w+ = (?:OFF|ON|\d+)$|^pip install "
)

_ASKED = re.compile(r"(?:give|choose|write) \{\w+\}")
"""What to do, in one word, and with what."""

Catalogue = dict[str, str | list[str]]


@dataclass(frozen=True)
class Source:
    """A sentence of the code: where it is, and whether it is about a number of things."""

    text: str
    folder: str
    line: str
    plural: bool = False


def folder_of(file: Path) -> str:
    """Return the catalogue of a file: its folder of the window, or its package of the engine."""
    parts = file.relative_to(PACKAGE).parts
    if parts[0] != "gui":
        return f"engine-{Path(parts[0]).stem}"
    inner = [part for part in parts[1:-1] if part != "pages" or len(parts) == 3]
    return "-".join(inner) or "window"


def place_name(node: ast.expr, taken: dict[str, str]) -> str:
    """Return the name of what an f-string shows: ``rows`` of ``{opened.table.rows:,}``; ``taken`` has those in use."""
    code = ast.unparse(node)
    if code in taken:
        return taken[code]
    inner = node
    while True:
        if isinstance(inner, ast.Call) and inner.args and not isinstance(inner.args[0], ast.Starred):
            inner = inner.args[0]
        elif isinstance(inner, ast.Call):
            inner = inner.func
        elif isinstance(inner, ast.Subscript | ast.Starred | ast.FormattedValue):
            inner = inner.value
        elif isinstance(inner, ast.BinOp | ast.IfExp | ast.BoolOp | ast.UnaryOp | ast.Compare):
            inner = next((n for n in ast.walk(inner) if isinstance(n, ast.Name | ast.Attribute)), ast.Name("value"))
        else:
            break
    name = inner.attr if isinstance(inner, ast.Attribute) else inner.id if isinstance(inner, ast.Name) else "value"
    name = name.strip("_").lower() or "value"
    same = sum(re.fullmatch(rf"{name}\d*", other) is not None for other in taken.values())
    taken[code] = f"{name}{same + 1}" if same else name
    return taken[code]


def template(node: ast.expr) -> str | None:
    """Return a literal, or an f-string as a template with names; ``None`` for anything else."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if not isinstance(node, ast.JoinedStr):
        return None
    taken: dict[str, str] = {}
    out = ""
    for part in node.values:
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            out += part.value.replace("{", "{{").replace("}", "}}")
        elif isinstance(part, ast.FormattedValue):
            out += f"{{{place_name(part.value, taken)}}}"
    return out


def called(node: ast.Call) -> str:
    """Return the last name of what is called."""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def window_sources(file: Path) -> Iterator[Source]:
    """Yield the sentences of ``tr``, ``tr_n`` and ``tr_later`` of a file of the window, and the nouns of ``count``."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if not isinstance(node, ast.Call) or called(node) not in ("tr", "tr_n", "tr_later", "count") or not node.args:
            continue
        line = f"{file.relative_to(ROOT)}:{node.lineno}"
        if called(node) == "count":
            nouns = [str(arg.value) for arg in node.args[1:] if isinstance(arg, ast.Constant)]
            if nouns:
                many = nouns[1] if len(nouns) > 1 else f"{nouns[0]}s"
                yield Source(f"{{n}} {many}", folder_of(file), line, plural=True)
            continue
        plural = called(node) == "tr_n"
        first = node.args[1 if plural else 0]
        choices = [first.body, first.orelse] if isinstance(first, ast.IfExp) else [first]
        for each in choices:
            if isinstance(each, ast.Constant) and isinstance(each.value, str):
                yield Source(each.value, folder_of(file), line, plural)


def _is_sentence(text: str) -> bool:
    if text in MATCHED:
        return False
    bare = PLACE.sub("", text)
    words = len(_WORDS.findall(bare)) >= 2 or _ASKED.fullmatch(text) is not None
    return " " in text.strip() and words and not _CODE.search(text) and "\n" not in text


def engine_sources(file: Path) -> Iterator[Source]:
    """Yield the sentences and templates of a file of the engine that may be shown in the window."""
    tree = ast.parse(file.read_text("utf-8"))
    nodes = list(ast.walk(tree))
    skipped: set[ast.AST] = set()
    shown: set[ast.AST] = set()
    for node in nodes:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            skipped.add(node.value)
        elif isinstance(node, ast.Call) and called(node) in UNSEEN_ERRORS | UNSEEN_CALLS:
            skipped.update(inner for arg in node.args for inner in ast.walk(arg))
        elif isinstance(node, ast.Assert) and node.msg is not None:
            skipped.update(ast.walk(node.msg))
        elif isinstance(node, ast.JoinedStr):
            skipped.update(part for part in node.values if isinstance(part, ast.Constant))
        if isinstance(node, ast.keyword) and node.arg in SHOWN_FIELDS:
            shown.add(node.value)
        elif isinstance(node, ast.keyword) and node.arg == "python":  # the advice of workbench.api
            skipped.add(node.value)
        elif isinstance(node, ast.ClassDef):
            stated = [s for s in node.body if isinstance(s, ast.Assign)]
            shown.update(s.value for s in stated if ast.unparse(s.targets[0]) in SHOWN_FIELDS)
    titles = _constants(tree)
    for node in nodes:
        if node in skipped or not isinstance(node, ast.Constant | ast.JoinedStr):
            continue
        text = template(node)
        title = node in titles and text is not None and _ONE_WORD.fullmatch(text)
        if text and (_is_sentence(text) or title or (node in shown and _WORDS.search(PLACE.sub("", text)))):
            yield Source(text, folder_of(file), f"{file.relative_to(ROOT)}:{node.lineno}")


def _constants(tree: ast.Module) -> set[ast.AST]:
    """Return what the calls of a module, not of its functions, are given: descriptors, with titles of one word."""
    made = [each.value for each in tree.body if isinstance(each, ast.Assign | ast.AnnAssign) and each.value is not None]
    calls = [node for value in made for node in ast.walk(value)]
    return {arg for node in calls if isinstance(node, ast.Call) for arg in node.args}


# What a literal in the window is given to, and whether it is text there.
TEXT_CALLS = {
    *("setText", "setToolTip", "setWindowTitle", "setPlaceholderText", "setAccessibleName", "setAccessibleDescription"),
    *("setTitle", "setStatusTip", "setWhatsThis", "showMessage", "addAction", "addMenu", "addTab", "addItem", "label"),
    *("QLabel", "QPushButton", "QCheckBox", "QRadioButton", "QGroupBox", "QAction", "QMenu", "Elided", "Paragraph"),
    *("set_whole", "set_note", "say", "notify", "button", "caption", "badge", "set_primary", "Column", "Job"),
}
"""Whose first text is shown, also where it is one word without a capital."""
SECOND = {"notify": 1, "addTab": 1}
TEXT_FIELDS = {"tip", "accessible", "title", "help", "about", "keys", "spoken", "text", "problem", "question", "hint"}
NO_TEXT_CALLS = {
    *(
        "tr",
        "tr_n",
        "tr_later",
        "tr_sentence",
        "tr_number",
        "count",
        "setObjectName",
        "setProperty",
        "look",
        "QKeySequence",
        "property",
    ),
    *("setShortcut", "setStyleSheet", "compile", "sub", "findall", "load", "save", "getattr", "hasattr", "setattr"),
    *("startswith", "endswith", "split", "removeprefix", "removesuffix", "replace", "strftime", "encode", "open"),
    *("Path", "import_module", "log_trace", "setValue", "findChild", "TypeVar", "format", "partition"),
    *UNSEEN_ERRORS,
}
NO_TEXT_FIELDS = {
    *("name", "key", "code", "icon", "make", "topic", "room", "field", "kind", "under", "known_as", "encoding"),
}
AS_IT_IS = "# not translated"
"""Ends a line whose text stays as it is: a format, a name, a key."""
_ONE_WORD = re.compile(r"&?[A-Z][a-z’&]+[:…→ .?!]*")


@dataclass(frozen=True)
class Unwrapped:
    """A literal or f-string that looks like a text of the window; ``constant`` where it is said when it is imported."""

    node: ast.Constant | ast.JoinedStr
    text: str
    constant: bool


def unwrapped(code: str) -> list[Unwrapped]:
    """Return the texts of a file of the window that are not translated."""
    tree, lines = ast.parse(code), code.splitlines()
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    out = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Constant | ast.JoinedStr) or isinstance(parents[node], ast.JoinedStr):
            continue
        text = template(node)
        end = node.end_lineno or node.lineno
        if text is None or any(AS_IT_IS in line for line in lines[node.lineno - 1 : end]):
            continue
        if (shown := _is_shown(node, text, parents)) is not None:
            out.append(Unwrapped(node, text, shown))
    return out


def _is_shown(node: ast.AST, text: str, parents: dict[ast.AST, ast.AST]) -> bool | None:
    """Return whether a text is a constant of the module, ``None`` where it is no text of the window."""
    bare = PLACE.sub("", text)
    if not re.search(r"[^\W\d_]{2}", bare):
        return None
    named = False
    held, above = node, parents[node]
    direct = True
    while not isinstance(above, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.Module | ast.ClassDef):
        if isinstance(above, ast.Compare | ast.Subscript | ast.MatchValue | ast.Assert):
            return None
        if isinstance(above, ast.Expr) and held is node:
            return None
        if isinstance(above, ast.AnnAssign) and held is not above.value:
            return None
        if isinstance(above, ast.Dict) and held in above.keys:
            return None
        if isinstance(above, ast.keyword):
            if above.arg in NO_TEXT_FIELDS:
                return None
            named = named or (direct and above.arg in TEXT_FIELDS)
            direct = False
        if isinstance(above, ast.Call):
            if called(above) in NO_TEXT_CALLS and held is not above.func:
                return None
            if direct:
                at = SECOND.get(called(above), 0)
                named = named or (called(above) in TEXT_CALLS and held in above.args[at : at + 1])
            direct = False
        elif not isinstance(above, ast.IfExp | ast.BoolOp | ast.keyword):
            direct = False
        held, above = above, parents[above]
    words = len(_WORDS.findall(bare)) >= 2 and " " in bare.strip() and not _CODE.search(text)
    if not (named or words or (_ONE_WORD.fullmatch(text) and isinstance(node, ast.Constant))):
        return None
    if isinstance(above, ast.FunctionDef | ast.AsyncFunctionDef) and held is above.args:
        return True
    return isinstance(above, ast.Module | ast.ClassDef)


def files_of(*, window: bool) -> list[Path]:
    """Return the files of the window, or those of the engine."""
    found = sorted(PACKAGE.rglob("*.py"))
    if window:
        return [file for file in found if file.is_relative_to(PACKAGE / "gui")]
    return [file for file in found if _is_said(file.relative_to(PACKAGE))]


def _is_said(file: Path) -> bool:
    return Path(file.parts[0]).stem not in NOT_SHOWN and file.parts[:2] not in NO_SENTENCES


def sources() -> dict[str, Source]:
    """Return every sentence by its text, of the window’s first folder or, with names in it, of the engine."""
    out: dict[str, Source] = {}
    for file in files_of(window=True):
        for source in window_sources(file):
            out.setdefault(source.text, source)
    engine = [source for file in files_of(window=False) for source in engine_sources(file)]
    for package, words in ENGINE_WORDS.items():
        engine += [Source(word, f"engine-{package}", "packaging/translations.py") for word in words]
    engine += [Source(text, f"engine-{name}", __file__, plural=True) for name, text in ENGINE_COUNTED.items()]
    found: set[str] = set()
    for source in engine:
        former = out.get(source.text)
        # What has names is looked for in the engine's catalogues where the engine says it.
        if former is None or (PLACE.search(source.text) and not former.plural and source.text not in found):
            out[source.text] = source
        found.add(source.text)
    return out


def read(language: str) -> dict[str, Catalogue]:
    """Return the catalogues of a language by folder."""
    return {file.stem: json.loads(file.read_text("utf-8")) for file in sorted((I18N / language).glob("*.json"))}


def write(language: str, folder: str, catalogue: Catalogue) -> None:
    """Write a catalogue, one sentence a line, sorted; an empty one is removed."""
    file = I18N / language / f"{folder}.json"
    if not catalogue:
        file.unlink(missing_ok=True)
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    dump = json.JSONEncoder(ensure_ascii=False).encode
    lines = [f"{dump(source)}: {dump(catalogue[source])}" for source in sorted(catalogue)]
    file.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


def unfinished(text: str | list[str], language: str, *, plural: bool) -> bool:
    """Return whether a translation is missing, or has not the forms that the language has."""
    if plural:
        return not isinstance(text, list) or len(text) != FORMS[language] or not all(text)
    return not isinstance(text, str) or not text


def update(language: str) -> None:
    """File every translation under the folder that has its sentence, and drop those of sentences that none has."""
    found = read(language)
    known: Catalogue = {}
    for catalogue in found.values():
        known.update(catalogue)
    filed: dict[str, Catalogue] = {folder: {} for folder in found}
    for source in sources().values():
        text = known.get(source.text, "")
        if not unfinished(text, language, plural=source.plural):
            filed.setdefault(source.folder, {})[source.text] = text
    for folder, catalogue in filed.items():
        write(language, folder, catalogue)


def missing(language: str, folders: Iterable[str] = ()) -> dict[str, Catalogue]:
    """Return the sentences without a translation by folder, those of some folders alone where some are named."""
    known = {source: text for catalogue in read(language).values() for source, text in catalogue.items()}
    wanted = set(folders)
    out: dict[str, Catalogue] = {}
    for source in sources().values():
        if wanted and source.folder not in wanted:
            continue
        text = known.get(source.text, "")
        if unfinished(text, language, plural=source.plural):
            out.setdefault(source.folder, {})[source.text] = [""] * FORMS[language] if source.plural else ""
    return out


def wrong_places(source: str, text: str | list[str], *, plural: bool) -> bool:
    """Return whether a translation has other names in braces than its sentence; a form of a plural may leave out n."""
    wanted = set(PLACE.findall(source))
    forms = text if isinstance(text, list) else [text]
    return any(set(PLACE.findall(form)) not in ((wanted, wanted - {"n"}) if plural else (wanted,)) for form in forms)


def fill(language: str, given: Catalogue) -> None:
    """Put translations into the catalogues; empty ones are left out.

    Raises:
        SystemExit: the code has no such sentence, or a name in braces differs; the rest is filled in.
    """
    where, found = sources(), read(language)
    strange = []
    for text, translated in given.items():
        source = where.get(text)
        if source is None:
            strange.append(f"no code has this sentence: {text}")
        elif wrong_places(text, translated, plural=source.plural):
            strange.append(f"other names in braces, or not the forms of a plural: {text}")
        elif not unfinished(translated, language, plural=source.plural):
            for catalogue in found.values():
                catalogue.pop(text, None)
            found.setdefault(source.folder, {})[text] = translated
    for folder, catalogue in found.items():
        write(language, folder, catalogue)
    if strange:
        raise SystemExit("\n".join(strange))


def count_left() -> dict[str, tuple[int, ...]]:
    """Return for each folder the texts that are not wrapped, and the sentences that each language lacks."""
    out: dict[str, list[int]] = {}
    for file in files_of(window=True):
        row = out.setdefault(folder_of(file), [0] * (1 + len(FORMS)))
        row[0] += len(unwrapped(file.read_text("utf-8")))
    for at, language in enumerate(FORMS, start=1):
        for folder, found in missing(language).items():
            out.setdefault(folder, [0] * (1 + len(FORMS)))[at] = len(found)
    return {folder: tuple(row) for folder, row in sorted(out.items())}


def main(arguments: list[str]) -> int:
    """Tidy the catalogues, list what is missing, or fill it in."""
    parser = argparse.ArgumentParser(description="The catalogues of the window's languages.")
    parser.add_argument("--missing", metavar="LANGUAGE", choices=FORMS, help="print what has no translation")
    parser.add_argument("--fill", metavar="LANGUAGE", choices=FORMS, help="take translations from JSON files")
    parser.add_argument("--unwrapped", action="store_true", help="list texts that are not translated")
    parser.add_argument("--count", action="store_true", help="print what is left: not wrapped, and by language")
    parser.add_argument("names", nargs="*", metavar="FOLDER", help="folders, or the files to fill in")
    options = parser.parse_args(arguments)
    if options.missing:
        listed: Catalogue = {}
        for catalogue in missing(options.missing, options.names).values():
            listed.update(catalogue)
        print(json.dumps(listed, ensure_ascii=False, indent=0))
    elif options.fill:
        for name in options.names:
            fill(options.fill, json.loads(Path(name).read_text("utf-8")))
    elif options.unwrapped:
        for file in files_of(window=True):
            if not options.names or folder_of(file) in options.names:
                for each in unwrapped(file.read_text("utf-8")):
                    print(f"{file.relative_to(ROOT)}:{each.node.lineno}: {each.text}")
    elif options.count:
        print(f"{'folder':24} not wrapped  {'  '.join(FORMS)}")
        for folder, row in count_left().items():
            print(f"{folder:24} {row[0]:11}  {'  '.join(map(str, row[1:]))}")
    else:
        for language in FORMS:
            update(language)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
