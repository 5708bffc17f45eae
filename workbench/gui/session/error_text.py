"""Sentences of the engines as the window says them: its fields, in place of options and of keys of a plan's file."""

from __future__ import annotations

import re

_OPTIONS = "(encoding|delimiter|quote|escape|decimal|header|trim|skip-lines|comment|names)"
_ORDER = "choose under “day or month first”"
_QUOTED = r"[\"“][^\"”]*[\"”]"
_COUNT, _IN_PLAN = r"\bcount such ", r': invalid = "replace" in the plan'
_WORDS: tuple[tuple[str, str], ...] = (
    (rf" with --{_OPTIONS}\b", " under “How it is read”"),
    (rf"\bsay --{_OPTIONS}\b", r"set \1"),
    (rf"--{_OPTIONS}\b", r"\1"),
    (rf"\b(declare|write) date_order = {_QUOTED}( or date_order = {_QUOTED})?( in the plan)?", _ORDER),
    (r"\bdeclare date_order\b", _ORDER),
    (rf"\bwrite other = {_QUOTED}", "choose one under “a value not listed”"),
    (rf"\b(write|declare) missing = {_QUOTED}", "choose “a value of its own” under “a missing value”"),
    (r'\bmissing = "own-value" gives', "“a value of its own” under “a missing value” gives"),
    (rf"\bwrite kind = {_QUOTED}", "choose another kind"),
    (r"\bwrite (lower|upper) = NUMBER from public facts", r"declare the \1 bound from public facts"),
    (r"\badd it to the domain\b", "add it to the list of values"),
    (r"\bdeclare a domain\b", "list its values"),
    (rf"\bwrite account = ({_QUOTED}) at the top of the plan", r"enter \1 under “Account’s public name”"),
    (rf"\bname it first with `workbench ledger name DATA {_QUOTED}`", "press “Name the account…”"),
    (r"\blower = (\S+) is not below upper = (\S+)", r"the lower bound \1 is not below the upper bound \2"),
    (rf"{_COUNT}values as missing{_IN_PLAN}", "tick “replace invalid values” on the Data page"),
    (rf"{_COUNT}rows as empty{_IN_PLAN}", "press “Replace invalid values” below"),
    (r"\bday-first\b", "day first"),
    (r"\bmonth-first\b", "month first"),
)


def in_the_window(text: str) -> str:
    """Return a sentence with what it calls by an option or a key named as the field of the window it is."""
    for pattern, words in _WORDS:
        text = re.sub(pattern, words, text)
    return text
