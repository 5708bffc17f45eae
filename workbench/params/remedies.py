"""Fixes of errors as data: a kind and its arguments, which each front end words for itself.

The words here are those of plan files and commands. The window has its own (``gui/session/error_text.py``): what to
click where a file would say a key.
"""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Context, Decimal
from typing import Self

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
CHARGE_ACCOUNT = "charge-account"
OTHER_TABLE = "other-table"
RAISE_CAP = "raise-cap"
SHARE_ACCOUNT = "share-account"
SPEND_LESS = "spend-less"
OTHER_OUTPUT = "other-output"
REPLACE_OUTPUT = "replace-output"


class InUse(str):
    """A placeholder in a command for what is in use; its type distinguishes it from a file of that name."""

    __slots__ = ()


DATA, LEDGER = InUse("DATA"), InUse("")
"""The table with the options that say how it is read, and the option that names the ledger, where one was given."""


def shown(words: Sequence[str]) -> str:
    """Return a command of the program as a person can copy it."""
    return f"`workbench {shlex.join(word for word in words if word is not LEDGER)}`"


WHO_PAYS = "who-pays"  # code of the refusal of a table that may belong to an account


@dataclass(frozen=True)
class Remedy:
    """One way out of an error."""

    kind: str  # what is to be done, one of the words of this module
    text: str  # the same as files and commands say it
    # Its arguments: the key and values of a fact, the option, the amounts.
    about: Mapping[str, str] = field(default_factory=dict)
    # The words of the command that `text` names, without the program's; empty where it names none. `DATA` and `LEDGER`
    # are placeholders for what is in use, which only a front end knows.
    command: tuple[str, ...] = ()
    python: str = ""  # the same where `text` names an option, with the argument of `workbench.api` that it is

    def __str__(self) -> str:
        return self.text

    def repeating(self, data: Sequence[str], ledger: Sequence[str]) -> Self:
        """Return the same with what is in use in its command, which can then be copied and run.

        Args:
            data: the table with the options that say how it is read; empty where there is none.
            ledger: the option that names the ledger; empty where the user's own is in use.
        """
        words: list[str] = []
        for word in self.command:
            words += ledger if word is LEDGER else data if word is DATA and data else (word,)
        return dataclasses.replace(
            self, text=self.text.replace(shown(self.command), shown(words)), command=tuple(words)
        )


Hint = str | Remedy | Sequence[str | Remedy]
"""What an error is given: one way out or several; a plain text is the same in every front end."""


def remedies_of(hint: Hint) -> tuple[Remedy, ...]:
    """Return the ways out as remedies."""
    if isinstance(hint, (str, Remedy)):
        hint = (hint,)
    return tuple(Remedy(SAY, way) if isinstance(way, str) else way for way in hint if way)


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
    stated = " or ".join(f'{key} = "{value}"' for value in values)
    return Remedy(DECLARE, f"write {stated}{more}", {"key": key, "values": "|".join(values)})


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
    text = f"{doing} with {flag}" if doing else f"use {flag}"
    about = {"option": option, "value": " or ".join(values).strip('"'), "condition": condition, "doing": doing}
    return Remedy(STATE_OPTION, f"{text} if {condition}" if condition else text, about)


def give(what: str, text: str, *, python: str) -> Remedy:
    """Give what is missing: on the command line by an option, in Python by an argument, in the window in a field.

    Args:
        what: one word for it, the name of the option: ``weights``.
        text: what to do, with the option as a person types it.
        python: what to do, with the argument.
    """
    return Remedy(GIVE, text, {"what": what}, python=python)


def add_value() -> Remedy:
    """Add the value to the public list of a column."""
    return Remedy(ADD_VALUE, "add it to the domain")


def list_values(*, other: bool = False) -> Remedy:
    """List the public values of a column."""
    return Remedy(LIST_VALUES, "declare a domain with other" if other else "declare a domain")


PROTECT_TARGET = Remedy(PROTECT, 'write action = "protect" for it')
REPLACE_VALUES = Remedy(
    REPLACE_INVALID, 'count such values as missing: invalid = "replace" in the plan', {"of": "values"}
)
REPLACE_ROWS = Remedy(REPLACE_INVALID, 'count such rows as empty: invalid = "replace" in the plan', {"of": "rows"})


def state_account(name: str) -> Remedy:
    """State the public name of the account."""
    text = f'write account = "{name}" at the top of the plan, or give --account {shlex.quote(name)}'
    return Remedy(STATE_ACCOUNT, text, {"name": name})


def name_account(name: str) -> Remedy:
    """Give the account a public name first."""
    return run("name it first with", "ledger", "name", DATA, name, LEDGER, kind=NAME_ACCOUNT, about={"name": name})


REPLACE_IT = Remedy(
    REPLACE_OUTPUT,
    "replace it with --replace, which is charged again",
    python="replace it with replace=True, which is charged again",
)
REPLACE_FREE = Remedy(REPLACE_OUTPUT, "replace it with --replace", python="replace it with replace=True")


def run(stated: str, *words: str, kind: str = SAY, about: Mapping[str, str] | None = None) -> Remedy:
    """Run a command of the program.

    Args:
        stated: what it is for, before the command: ``raise the cap with``.
        words: the command's, :data:`DATA` and :data:`LEDGER` among them.
        kind: what is to be done.
        about: its arguments.
    """
    return Remedy(kind, f"{stated} {shown(words)}", about or {}, words)


def charge_account(name: str, account: str) -> Remedy:
    """Charge the account of a known table.

    Args:
        name: its public name; empty where it has none yet.
        account: what a command calls it.
    """
    about = {"name": name, "account": account}
    if name:
        hint = f"if they are the same people, give --account {shlex.quote(name)} to charge that account"
        return Remedy(CHARGE_ACCOUNT, hint, about)
    stated = "if they are the same people, name that account with"
    naming = run(stated, "ledger", "name", account, "NAME", LEDGER, kind=CHARGE_ACCOUNT, about=about)
    return dataclasses.replace(naming, text=f"{naming} and give --account NAME to charge it")


def other_table(account: str) -> Remedy:
    """Declare that a table is another one than those of an account.

    Args:
        account: what a command calls the account.
    """
    words = ("ledger", "separate", DATA, "--from", account, LEDGER)
    return run("if they are different people, declare that with", *words, kind=OTHER_TABLE, about={"account": account})


def share_account() -> Remedy:
    """Let two tables that are joined share one account, and so one cap, before they are released."""
    words = ("ledger", "group", DATA, "--with", "FILE", LEDGER)
    return run("let both tables share one account, whose cap you can raise, with", *words, kind=SHARE_ACCOUNT)


def raise_cap(quantity: str, *, epsilon: Decimal, delta: Decimal) -> Remedy:
    """Raise the cap of what is short to what would be enough.

    Args:
        quantity: ``epsilon``, ``delta``, or both with a comma between them.
        epsilon: the cap of ε that would be enough; the present one where only that of δ is too low.
        delta: the cap of δ that would be enough.
    """
    beside = ("--delta", _enough(delta)) if "delta" in quantity else ()
    words = ("ledger", "cap", DATA, "--epsilon", _enough(epsilon), *beside, LEDGER)
    about = {"quantity": quantity, "epsilon": _enough(epsilon), "delta": _enough(delta)}
    return run("raise the cap with", *words, kind=RAISE_CAP, about=about)


def _enough(amount: Decimal) -> str:
    """Return an amount in at most 15 digits and never too little, so that it is the same as a double."""
    return f"{Context(prec=15, rounding=ROUND_CEILING).plus(amount).normalize():f}"
