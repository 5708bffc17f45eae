"""Words that a reader stumbles over stay out of messages, help texts and public names."""

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

BANNED = {
    r"mend(s|ed|ing)?": "correct, fix",
    r"told": "stated, said, reported",
    r"tells?(?! the truth)": "says, states, reveals",
    r"hears?|heard": "reads, is called with",
    r"stands?(?! for a client)": "is, is listed, is final",
    r"apart": "separate, different",
    r"seldom": "rarely",
    r"drowned": "mostly noise",
    r"nobody's": "contains no real data",
    r"foreseen?": "expected, estimated",
    r"spared": "available",
    r"may leave": "can be published",
    r"what is no": "any other",
    r"waits to be written": "finished, not yet saved",
    r"goes up in": "contributes to",
    r"as far as the release": "as estimated from the release",
    r"a change is for all": "edits apply to all selected",
    r"the target at most": "select one target",
    r"draws by it": "shown for comparison only",
    r"no setting of": "not a valid set-up",
    r"it claims": "it states",
    r"is nearer than": "is within",
    r"count elsewhere": "would have to move",
    r"no sums": "no running total",
    r"nothing to see": "no relationship",
    r"how it goes": "reports progress",
    r"no texts": "non-string values",
    r"who accounts": "privacy accountant",
    r"survives": "is more than noise",
    r"most rows of one person": "maximum rows per person",
    r"leaves nothing": "not released",
    r"a value of its own": "kept as ‘missing’, different",
    r"the door": "release",
    r"[a-z]+’[a-z]+": "the straight apostrophe, as in all other sentences",
}
"""Each with what to write instead: the page of style, and what readers from outside stumbled over."""

NAMES = {
    "mend",
    "mends",
    "mended",
    "told",
    "tells",
    "stand",
    "stands",
    "stood",
    "apart",
    "seldom",
    "hear",
    "heard",
    "hears",
}
NAMES |= {"drowned"}
"""Those that no public name and no docstring has."""

RECORDED = {
    "release/statements.py",
    "release/kinds.py",
    "release/bundle.py",
    "release/documents/release_document.py",
    "release/model/release_network.py",
}
"""Sentences of certificates, cards and bundles, which `verify` compares word by word: files that exist have them."""

PATTERN = re.compile("|".join(rf"(?P<w{i}>\b(?:{words})\b)" for i, words in enumerate(BANNED)), re.IGNORECASE)
SOURCES = sorted((ROOT / "workbench").rglob("*.py"))
TEXTS = [ROOT / "README.md", ROOT / "KNOWN-LIMITS.md", *sorted((ROOT / "resources" / "help").glob("*.md"))]


@functools.cache
def parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_text("utf-8"))


def sentences(tree: ast.Module) -> Iterator[ast.Constant]:
    """Yield the strings of a module that a user may read: no docstring, and no key, which has no blank."""
    unread = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in unread:
            yield from [node] if re.search(r"\s", node.value) else []


def faults(text: str) -> list[str]:
    """Return what is banned in ``text``, each with its replacement."""
    instead = list(BANNED.values())
    found = (
        (match[0], instead[int((match.lastgroup or "w0")[1:])]) for match in PATTERN.finditer(re.sub(r"\s+", " ", text))
    )
    return [f"{words!r}: write {better}" for words, better in found]


def public_names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the functions, classes, parameters and attributes of a module that others may use, with their lines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            yield node.lineno, node.name
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            given = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
            yield from ((node.lineno, each.arg) for each in given)
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id[0] != "_":
            yield node.lineno, node.target.id


def words_of(name: str) -> set[str]:
    """Return the words of a name in snake or camel case."""
    return set(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower().split("_"))


def test_no_message_has_a_banned_word():
    found = [
        f"{file.relative_to(ROOT)}:{node.lineno} {fault}"
        for file in SOURCES
        if file.relative_to(ROOT / "workbench").as_posix() not in RECORDED
        for node in sentences(parsed(file))
        for fault in faults(str(node.value))
    ]
    assert not found, "\n".join(found)


def test_no_docstring_has_a_banned_word():
    found = [
        f"{file.relative_to(ROOT)}:{node.value.lineno} {' '.join(words)}"
        for file in SOURCES
        for node in ast.walk(parsed(file))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        if (words := sorted(NAMES & set(re.findall(r"[a-z]+", LITERAL.sub("", node.value.value.lower())))))
    ]
    assert not found, "\n".join(found)


def test_no_description_of_a_field_has_a_banned_word():
    comment = re.compile(r"^ {0,8}(?:(?:self\.)?\w+(?::| =) .*  )?# (?P<text>.*)$", re.MULTILINE)
    found = [
        f"{file.relative_to(ROOT)}: {described['text']}"
        for file in SOURCES
        for described in comment.finditer(file.read_text("utf-8"))
        if NAMES & set(re.findall(r"[a-z]+", LITERAL.sub("", described["text"].lower())))
    ]
    assert not found, "\n".join(found)


LITERAL = re.compile(r"``.*?``|`[^`]*`|tell(s|ing)? the truth", re.DOTALL)
"""Code in a text, and the one truth that a coin tells."""


@pytest.mark.parametrize("path", TEXTS, ids=lambda path: path.name)
def test_no_page_has_a_banned_word(path):
    assert not faults(path.read_text("utf-8"))


def test_no_public_name_has_a_banned_word():
    found = [f"module {file.relative_to(ROOT)}" for file in SOURCES if words_of(file.stem) & NAMES]
    found += [
        f"{file.relative_to(ROOT)}:{line} {name}"
        for file in SOURCES
        for line, name in public_names(parsed(file))
        if words_of(name) & NAMES
    ]
    assert not found, "\n".join(found)


def test_recorded_sentences_are_still_there():
    assert all((ROOT / "workbench" / name).is_file() for name in RECORDED)


@pytest.mark.parametrize(
    ("code", "count"),
    [
        ('x = "mend the row"', 1),
        ('x = f"a cell {row} stands here"', 1),
        ('"""It stands in a docstring."""', 0),
        ('x = {"told": 1}', 0),
        ('x = "tells the truth more often than not"', 0),
        ('x = "none of it\\n   may leave, and nobody\'s"', 2),
    ],
)
def test_banned_words_are_found_where_a_user_reads(code, count):
    assert sum(len(faults(str(node.value))) for node in sentences(ast.parse(code))) == count


COUNTED = re.compile(
    r"\{\w*\} (?:(?!of )\w+ )?(rows|columns|cells|bytes|steps|runs|reports|predictions|classes|epochs)\b"
)
SHOWING = ("cli", "release/documents", "render")


def test_no_command_or_document_counts_one_thing_in_the_plural():
    """What is counted there goes through ``counted``, or ``{number:n row}`` in a template."""
    found = []
    for file in SOURCES:
        if not file.relative_to(ROOT / "workbench").as_posix().startswith(SHOWING):
            continue
        for node in ast.walk(parsed(file)):
            parts = node.values if isinstance(node, ast.JoinedStr) else [node]
            text = "".join(
                part.value if isinstance(part, ast.Constant) and isinstance(part.value, str) else "{}"
                for part in parts
                if isinstance(part, ast.Constant | ast.FormattedValue)
            )
            found += [f"{file.relative_to(ROOT)}:{node.lineno} {match[0]}" for match in COUNTED.finditer(text)]
    assert not found, "\n".join(found)
