"""What a person can do about an error, as data: a kind and its arguments, which each front end words for itself.

The words here are those of plan files and commands. The window has its own (``gui/session/error_text.py``): what to
click where a file would say a key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

SAY = "say"
DECLARE = "declare"
STATE_OPTION = "state-option"
GIVE = "give"
ADD_VALUE = "add-value"
LIST_VALUES = "list-values"
REPLACE_INVALID = "replace-invalid"
STATE_ACCOUNT = "state-account"
NAME_ACCOUNT = "name-account"
CONFIRM_GUESSES = "confirm-guesses"
PROTECT = "protect"
RAISE_CAP = "raise-cap"
SPEND_LESS = "spend-less"
OTHER_OUTPUT = "other-output"


@dataclass(frozen=True)
class Remedy:
    """One way out of an error.

    Attributes:
        kind: what is to be done, one of the words of this module.
        text: the same as files and commands say it.
        about: its arguments: the key and values of a fact, the option, the amounts.
    """

    kind: str
    text: str
    about: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.text


Mend = str | Remedy | Sequence[str | Remedy]
"""What an error is given: one way out or several; a plain text is the same in every front end."""


def remedies_of(mend: Mend) -> tuple[Remedy, ...]:
    """Return the ways out as remedies."""
    if isinstance(mend, (str, Remedy)):
        mend = (mend,)
    return tuple(Remedy(SAY, way) if isinstance(way, str) else way for way in mend if way)


def joined(texts: Sequence[str]) -> str:
    """Return alternatives as one clause: ``a, b, or c``."""
    return ", ".join(texts[:-1]) + f", or {texts[-1]}" if len(texts) > 1 else "".join(texts)


def declare(key: str, *values: str, more: str = "") -> Remedy:
    """Declare a fact of a column.

    Args:
        key: the key of the plan.
        values: what it can be.
        more: what follows in a plan's file.
    """
    told = " or ".join(f'{key} = "{value}"' for value in values)
    return Remedy(DECLARE, f"write {told}{more}", {"key": key, "values": "|".join(values)})


def declare_bound(key: str) -> Remedy:
    """Declare a bound that is open."""
    return Remedy(DECLARE, f"write {key} = NUMBER from public facts", {"key": key, "values": ""})


def state_option(option: str, *values: str, condition: str = "", doing: str = "") -> Remedy:
    """State how the file is read.

    Args:
        option: the name of the option.
        values: what to state, where that is known.
        condition: when that is right.
        doing: what is stated with it, in words, in place of a value: ``name the right delimiter``.
    """
    flag = " or ".join(f"--{option} {value}" for value in values) or f"--{option}"
    text = f"{doing} with {flag}" if doing else f"say {flag}"
    about = {"option": option, "value": " or ".join(values).strip('"'), "condition": condition, "doing": doing}
    return Remedy(STATE_OPTION, f"{text} if {condition}" if condition else text, about)


def give(what: str, text: str) -> Remedy:
    """Give what is missing: on the command line by an option, in the window in a field.

    Args:
        what: one word for it, the name of the option: ``weights``.
        text: what to do, with the option as a person types it.
    """
    return Remedy(GIVE, text, {"what": what})


def add_value() -> Remedy:
    """Add the value to the public list of a column."""
    return Remedy(ADD_VALUE, "add it to the domain")


def list_values(*, other: bool = False) -> Remedy:
    """List the public values of a column."""
    return Remedy(LIST_VALUES, "declare a domain with other" if other else "declare a domain")


REPLACE_VALUES = Remedy(
    REPLACE_INVALID, 'count such values as missing: invalid = "replace" in the plan', {"of": "values"}
)
REPLACE_ROWS = Remedy(REPLACE_INVALID, 'count such rows as empty: invalid = "replace" in the plan', {"of": "rows"})


def state_account(name: str) -> Remedy:
    """State the public name of the account in the plan."""
    return Remedy(STATE_ACCOUNT, f'write account = "{name}" at the top of the plan', {"name": name})


def name_account(name: str) -> Remedy:
    """Give the account a public name first."""
    return Remedy(NAME_ACCOUNT, f'name it first with `workbench ledger name DATA "{name}"`', {"name": name})


def raise_cap(quantity: str, *, epsilon: str = "") -> Remedy:
    """Raise the cap of what is short.

    Args:
        quantity: ``epsilon``, ``delta``, or both with a comma between them.
        epsilon: the present cap of ε, which stays where only that of δ is too low.
    """
    flags = f"--epsilon {'TOTAL' if 'epsilon' in quantity else epsilon}"
    flags += " --delta TOTAL" if "delta" in quantity else ""
    return Remedy(RAISE_CAP, f"raise the cap with `workbench ledger cap DATA {flags}`", {"quantity": quantity})
