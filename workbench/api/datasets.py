"""Datasets: DataFrames with the account and ledger that their releases are charged to.

The mark is in ``DataFrame.attrs``, which pandas passes on to what is taken from a DataFrame (columns, rows, masks,
copies, the halves of ``train_test_split``) and drops where it cannot know whose rows a result has.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workbench.api.frames import Place, frame_of_table, ledger_given, path_of, readable_part
from workbench.data.cluster_parts import Workers, workers_of
from workbench.data.table_reader import ReadOptions, read_table, require_options
from workbench.params import BudgetRefusedError, InputError, ParameterError, WorkbenchError
from workbench.params.remedies import (
    CHARGE_ACCOUNT,
    NAME_ACCOUNT,
    OTHER_TABLE,
    RAISE_CAP,
    STATE_ACCOUNT,
    Remedy,
)
from workbench.release.ledger.ledger import Ledger
from workbench.release.ledger.study_note import note_study
from workbench.sanitize.account_name import checked_name
from workbench.signals import CancelToken, Event, Notice

PRIVATE = "private – not for release"

_KEY = "workbench account"
_OWN = "the user's own"


@dataclass(frozen=True)
class Mark:
    """What a dataset carries.

    Attributes:
        account: the public name of the account that pays.
        ledger: the ledger's file; ``True`` for the user's own, ``None`` where none was given.
    """

    account: str
    ledger: str | bool | None = None

    def on(self, data: pd.DataFrame) -> pd.DataFrame:
        """Return ``data``, which carries this from now on."""
        data.attrs[_KEY] = {"account": self.account, "ledger": self.ledger}
        return data


@dataclass(frozen=True)
class Payment:
    """A release that is asked for.

    Attributes:
        account: who pays.
        ledger: the ledger's file; ``None`` for the user's own.
        output: what is written.
    """

    account: str
    ledger: Path | None
    output: Path


def dataset(
    rows: pd.DataFrame | Place,
    *,
    account: str,
    ledger: Place | bool | None = None,
    reading: Mapping[str, Any] | None = None,
) -> pd.DataFrame:
    """Return a DataFrame that carries the account which pays for releases from it.

    What is taken from it keeps that: columns, rows, masks, copies, the parts of ``train_test_split``. An array, or a
    DataFrame made of one, does not; its release needs ``account=``. ::

        people = api.dataset("people.csv", account="people", ledger="ledger.sqlite")
        api.NaiveBayes(epsilon=1, …, output="model").fit(people[["age"]], people["sex"])

    Args:
        rows: a DataFrame, of which a copy is made, or the path of a table. Columns of text in which every value is
            a number become numbers.
        account: public name of the account; certificates and cards repeat it.
        ledger: the ledger's file, or ``True`` for the user's own. A call with ``output=`` then releases, without
            ``ledger=``; studies are noted there. It keeps marks of all rows and columns, at no cost, so that it knows
            parts that are released one by one or under another name.
        reading: how a file of text is read, such as ``{"delimiter": ";", "decimal": ","}``; as the options of the
            command line.

    Raises:
        ParameterError: the account's name is not allowed.
        InputError: the rows are not a DataFrame, or the file cannot be read without doubt.
    """
    name = checked_name(account)
    if isinstance(rows, pd.DataFrame):
        frame = rows.copy()
        table = readable_part(frame) if ledger_given(ledger) else None
    else:
        if not isinstance(rows, str | Path) and not hasattr(rows, "__fspath__"):
            raise InputError(f"the {type(rows).__name__} is not a table", "dataset", "pass a DataFrame or a path")
        how = ReadOptions.from_plain(reading or {}, "reading")
        require_options({name: name for name in reading or {}}, os.fspath(rows))
        table = read_table(os.fspath(rows), how)
        frame = frame_of_table(table)
    if not ledger_given(ledger):
        return Mark(name).on(frame)
    place = None if ledger is True else Path(str(path_of(ledger))).absolute()
    if table is not None:
        with Ledger.open(place) as book:
            book.record_marks(table)
    return Mark(name, True if place is None else str(place)).on(frame)


def mark_of(data: Any) -> Mark | None:
    """Return what a DataFrame or Series carries; ``None`` where it carries nothing."""
    stated = getattr(data, "attrs", {}).get(_KEY) if isinstance(data, pd.DataFrame | pd.Series) else None
    return Mark(stated["account"], stated["ledger"]) if isinstance(stated, dict) else None


def payment_for(
    *data: Any,
    account: str | None,
    ledger: Place | bool | None,
    output: Place | None,
    planned: str | None = None,
    made_for: str | None = None,
) -> Payment | None:
    """Return who pays for a release of ``data`` and where it goes; ``None`` where a study is asked for.

    Nothing of the rows is read.

    Args:
        data: the rows, and what else comes from the same people (y).
        account: the account that the caller states.
        ledger: the ledger that the caller names.
        output: what is to be written.
        planned: the account that the plan states.
        made_for: the account that was charged for the step that made the rows.

    Raises:
        ParameterError: no account is named or two are, an output has no ledger, or a ledger no output.
    """
    data = tuple(part for number, part in enumerate(data) if number == 0 or part is not None)
    marks = [mark_of(part) for part in data]
    ledgers = list(dict.fromkeys(m.ledger for m in marks if m is not None and m.ledger is not None))
    if ledger_given(ledger):
        ledgers = list(dict.fromkeys([True if ledger is True else str(path_of(ledger).absolute()), *ledgers]))
    elif output is None:
        return None
    elif not ledgers:
        raise ParameterError("an output is a release, and a release is charged to a ledger", "output", "pass ledger=")
    if len(ledgers) > 1:
        one, other = (_OWN if place is True else str(place) for place in ledgers[:2])
        raise ParameterError(f"two ledgers are named: {one} and {other}", "ledger", "name one of them")
    if output is None:
        raise ParameterError("a release needs an output file or folder", "output", "pass a path as output=")
    kind = "an array" if isinstance(data[0], np.ndarray | list) else f"the {type(data[0]).__name__}"
    carried = [m.account if m is not None else None for m in marks]
    name = _one_account([account, planned], [carried[0] if carried[0] is not None else made_for, *carried[1:]], kind)
    return Payment(name, None if ledgers[0] is True else Path(str(ledgers[0])), path_of(output))


def _one_account(stated: Sequence[str | None], carried: Sequence[str | None], rows: str) -> str:
    """Return the account that pays for a release.

    A part of a table (some columns, some rows) may have no mark in common with the whole, so that only its name leads
    the ledger to the account of the whole.

    Args:
        stated: the names that the caller and the plan state.
        carried: the names that the data carry, those of the rows first.
        rows: what the rows are, in words.
    """
    names = list(dict.fromkeys(name for name in (*stated, *carried) if name is not None))
    if not any(name is not None for name in (*stated, *carried[:1])):
        raise ParameterError(
            f"the account to charge is missing: {rows} has none",
            "account",
            'pass account="NAME", or use api.dataset(…, account="NAME")',
        )
    if len(names) > 1:
        raise ParameterError(
            f"a release is charged to one account, but two are named: {names[0]!r} and {names[1]!r}",
            "account",
            "name one of them",
        )
    return checked_name(names[0])


@contextmanager
def opened(pays: Payment) -> Iterator[Ledger]:
    """Open the ledger of a release; a refusal says in Python what to do about it, with this ledger and account."""
    try:
        with in_python(), Ledger.open(pays.ledger) as ledger:
            yield ledger
    except (BudgetRefusedError, InputError) as error:
        error.remedies = tuple(_of_account(remedy, pays) for remedy in error.remedies)
        raise


@contextmanager
def in_python() -> Iterator[None]:
    """Let a refusal name arguments where the command line has options."""
    try:
        yield
    except WorkbenchError as error:
        error.remedies = tuple(replace(way, text=way.python) if way.python else way for way in error.remedies)
        raise


def _of_account(remedy: Remedy, pays: Payment) -> Remedy:
    book = f"api.ledger({'' if pays.ledger is None else repr(str(pays.ledger))})"
    if remedy.kind == RAISE_CAP:
        wanted = ", ".join(
            f"{name}={remedy.about[name]}" for name in ("epsilon", "delta") if name in remedy.about["quantity"]
        )
        return replace(remedy, text=f"raise the cap with {book}.cap({pays.account!r}, {wanted})")
    if remedy.kind == NAME_ACCOUNT:
        return replace(remedy, text=f"name it first with {book}.name(DATA, {remedy.about['name']!r})")
    if remedy.kind == STATE_ACCOUNT:
        return replace(remedy, text=f"pass account={remedy.about['name']!r}")
    if remedy.kind == CHARGE_ACCOUNT:
        name, called = remedy.about["name"], remedy.about["account"]
        if name:
            doing = f"pass account={name!r} to charge that account"
        else:
            doing = f"name that account with {book}.name({called!r}, {pays.account!r}) and try again"
        return replace(remedy, text=f"if they are the same people, {doing}")
    if remedy.kind == OTHER_TABLE:
        text = f"if they are different people, declare that with {book}.separate(DATA, of={remedy.about['account']!r})"
        return replace(remedy, text=text)
    return remedy


def note(study: str, table: Any, *data: Any, study_ledger: Place | None) -> None:
    """Note in the ledger that private figures of ``table`` are going to be shown.

    Args:
        study: the kind of study.
        table: the rows as they were read.
        data: the rows as they were given: their dataset's ledger and account note it.
        study_ledger: the ledger that the caller names; else that of the dataset, else the user's own.
    """
    mark = next((m for part in data if (m := mark_of(part)) is not None and m.ledger is not None), None)
    if study_ledger is not None or mark is None:
        note_study(table, study, None if study_ledger is None else path_of(study_ledger))
        return
    note_study(table, study, None if mark.ledger is True else Path(str(mark.ledger)), account=mark.account)


class PrivateStudyWarning(UserWarning):
    """What was computed is a private study: it follows from the rows, and nothing was charged for it."""


def warn(event: Event) -> None:
    """Give a warning of a run as one of Python's own; nothing else is shown."""
    if isinstance(event, Notice) and event.level == "warning":
        warnings.warn(event.text, UserWarning, stacklevel=2)


def workers_from(engine: str, scheduler: str | None, scheduler_file: Place | None) -> Workers | None:
    """Return the workers that are named; ``None`` for this computer."""
    return workers_of(engine, scheduler, scheduler_file, warn, CancelToken())


def warn_of_study(
    what: str, *, many: bool = False, hint: str = "with a ledger and output= it is charged and can be published"
) -> None:
    """Say that ``what`` is a private study, on behalf of the function that a person called."""
    verb = "are" if many else "is"
    warnings.warn(f"{what} {verb} a private study, not for release; {hint}", PrivateStudyWarning, stacklevel=3)
