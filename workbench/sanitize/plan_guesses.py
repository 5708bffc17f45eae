"""Guesses from the rows in a plan: find them, refuse to release while any is unconfirmed, confirm them.

A guess lets one row decide how all the others are released: in a column of whole numbers a single ``33.5`` makes every
released value a real number. No ε covers that, so a person who knows the data must confirm that the guess is right and
public knowledge.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.data.schema import DECLARED, GUESS, Attribute
from workbench.params import InputError
from workbench.params.amounts import together
from workbench.params.codec import parse_toml
from workbench.params.remedies import CONFIRM_GUESSES, Hint, run
from workbench.sanitize.plan import REPLACE, UNFILLED, Column, Plan

GUESSABLE = ("action", "kind", "missing", "date_order", "domain")
"""The facts that a draft takes from the rows of an undeclared column, or from what its file says of it."""

FILE, SECOND = "the file", "the second file"
_NAMED = 3  # most columns that a refusal names for each fact; of the others it gives the number

_KEY, _WORD = r"origin[\"']?[ \t]*=[ \t]*)", r"(?P<quote>[\"'])guess(?P=quote)"
_MARK = re.compile(rf"(?P<key>\b{_KEY}{_WORD}")
_LINE_MARK = re.compile(rf"^(?P<key>[ \t]*[\"']?{_KEY}{_WORD}", re.MULTILINE)


@dataclass(frozen=True)
class Guess:
    """The guesses about one column, or about the file."""

    of: str  # the column's name; `FILE` or `SECOND` for how a file is read
    facts: tuple[str, ...]  # the keys of the plan that were guessed
    values: tuple[str, ...] = ()  # their values, in the same order

    def without(self, fact: str) -> Guess:
        """Return it without one of its facts."""
        kept = [(key, value) for key, value in zip(self.facts, self.values, strict=True) if key != fact]
        return Guess(self.of, tuple(key for key, _ in kept), tuple(value for _, value in kept))

    def __str__(self) -> str:
        stated = zip(self.facts, self.values, strict=True)
        words = (f"{fact} (still to be filled in)" if said == UNFILLED else f"{fact} = {said}" for fact, said in stated)
        return f"{self.of}: {', '.join(words)}"


def facts_needed(action: str, kind: str | None) -> tuple[str, ...]:
    """Return which of the guessable facts of a column a release depends on or reveals."""
    if action == "protect":
        return ("kind", "missing", "date_order") if kind == "date" else ("kind", "missing")
    if action == "drop":
        return ("action",)
    return ("kind",) if kind else ()


def guesses(plan: Plan) -> tuple[Guess, ...]:
    """Return the unconfirmed guesses in ``plan``."""
    return raw_guesses(plan.to_plain())


def raw_guesses(raw: Mapping[str, Any]) -> tuple[Guess, ...]:
    """Return the same for a plan's TOML, in which public facts may still be open."""
    columns = raw.get("column", ())
    found = [_guess(c) for c in columns if isinstance(c, Mapping) and c.get("origin") == GUESS]
    if raw.get("invalid") == REPLACE:  # then a missing value has a cell of its own, whatever a column says
        found = [guess.without("missing") for guess in found]
    for file, reading in zip((FILE, SECOND), _readings(raw), strict=True):
        if isinstance(reading, Mapping) and reading.get("origin") == GUESS:
            stated = {key: _said(value) for key, value in reading.items() if key != "origin"}
            found.append(Guess(file, tuple(stated), tuple(stated.values())))
    return tuple(found)


def _readings(raw: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return how the file is read, and how the second one is that is joined."""
    join = raw.get("join")
    return raw.get("reading"), join.get("reading") if isinstance(join, Mapping) else None


def _said(value: Any) -> str:
    return ("|".join(str(each) for each in value) or "none") if isinstance(value, list) else str(value)


def _guess(column: Mapping[str, Any]) -> Guess:
    usual = {"action": "protect", "missing": "refuse", "date_order": "none"}
    facts = facts_needed(str(column.get("action", "protect")), column.get("kind"))
    values = [str(column.get(f, usual.get(f))) for f in facts]
    # One that is there may have been proposed by the labels of a file; that it was taken from the rows is said anyway.
    if (
        facts[:1] == ("kind",)
        and isinstance(column.get("domain"), list | tuple)
        and column.get("bounds_origin") != "data"
    ):
        facts, values = (*facts, "domain"), [*values, _said(list(column["domain"]))]
    return Guess(str(column.get("name")), facts, tuple(values))


def places(found: Iterable[Guess]) -> list[str]:
    """Return ``KEY of COLUMN`` for each guess, as open facts are listed."""
    return [f"{fact} of {guess.of}" for guess in found for fact in guess.facts]


def listed(found: Sequence[Guess], words: Mapping[str, str] | None = None) -> str:
    """Return the guesses as one clause: ``kind and missing of age, city and 3 more; encoding of the file``.

    ``words`` has the name of a fact if that is not its key in the plan.
    """
    groups: dict[tuple[str, ...], list[str]] = {}
    for guess in found:
        groups.setdefault(guess.facts, []).append(guess.of)
    return "; ".join(
        f"{together([(words or {}).get(fact, fact) for fact in facts])} of {together(_shortened(names))}"
        for facts, names in groups.items()
    )


def _shortened(names: list[str]) -> list[str]:
    return names if len(names) <= _NAMED + 1 else [*names[:_NAMED], f"{len(names) - _NAMED} more"]


def refusal(
    found: Sequence[Guess], where: str = "", hint: Hint = "", words: Mapping[str, str] | None = None
) -> InputError:
    """Return the sentence that refuses a release with guesses; by default it names the command that confirms them."""
    what = f"the plan contains unconfirmed guesses from the rows: {listed(found, words)}"
    stated = "if they are right and public knowledge, run"
    confirm = run(stated, "plan", "--confirm", where or "PLAN", kind=CONFIRM_GUESSES)
    return InputError(what, where, hint or confirm, code="unconfirmed")


def require_confirmed(plan: Plan, where: str = "") -> None:
    """Raise :class:`InputError` if ``plan`` has unconfirmed guesses.

    Every release calls this before it reads or charges anything.
    """
    found = guesses(plan)
    if found:
        raise refusal(found, where)


def require_confirmed_facts(attributes: Iterable[Attribute]) -> None:
    """Raise as :func:`require_confirmed` does, for the columns of a model only."""
    found = [_guess(Column(**vars(a)).to_plain()) for a in attributes if a.origin == GUESS]
    if found:
        raise refusal(found)


def confirm(text: str, where: str) -> tuple[str, tuple[Guess, ...]]:
    """Return the TOML of a plan with every guess confirmed, and the guesses.

    Only the word ``"guess"`` in each mark is changed: comments, spacing and order stay as they are.

    Raises:
        InputError: the text is not TOML, or a mark is written in a way that cannot be distinguished from other text.
    """
    raw = parse_toml(text, "plan", where)
    found = raw_guesses(raw)
    wanted = _confirmed(raw)
    if wanted == raw:
        return text, found
    changed = _with_marks(text, list(_LINE_MARK.finditer(text)))
    if not _says(changed, wanted, where):
        # A mark is elsewhere, or something in a text only looks like one: try each by itself.
        changed = _with_marks(text, [m for m in _MARK.finditer(text) if _is_mark(text, m, raw, where)])
        if not _says(changed, wanted, where):
            raise InputError('a mark origin = "guess" is not on a line of its own', where, "remove it by hand")
    return changed, found


def _confirmed(raw: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of ``raw`` in which every guess is declared."""
    out: dict[str, Any] = copy.deepcopy(dict(raw))
    for table in _marked(out):
        table["origin"] = DECLARED
    return out


def _marked(raw: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    columns = raw.get("column")
    for table in (*_readings(raw), *(columns if isinstance(columns, list) else ())):
        if isinstance(table, dict) and table.get("origin") == GUESS:
            yield table


def _with_marks(text: str, marks: Sequence[re.Match[str]]) -> str:
    for mark in reversed(marks):
        declared = f"{mark['key']}{mark['quote']}{DECLARED}{mark['quote']}"
        text = text[: mark.start()] + declared + text[mark.end() :]
    return text


def _says(text: str, wanted: Mapping[str, Any], where: str) -> bool:
    try:
        return parse_toml(text, "plan", where) == wanted
    except InputError:
        return False


def _is_mark(text: str, mark: re.Match[str], raw: Mapping[str, Any], where: str) -> bool:
    """Whether replacing this one occurrence confirms one guess, and changes nothing else."""
    now = parse_toml(_with_marks(text, [mark]), "plan", where)
    return _confirmed(now) == _confirmed(raw) and len(list(_marked(now))) == len(list(_marked(raw))) - 1
