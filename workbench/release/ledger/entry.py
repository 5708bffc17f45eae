"""One entry of the ledger: its amounts, the hash chain, and the type and range of every value that is read from a file.

Each entry contains the hash of the previous one, the first that of the key. A ledger may come from somebody else. The
chain shows that entries were changed, but whoever changes them can compute it anew: so a value is a path, a count or an
amount only where its form says so, whatever the chain says.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Context, Decimal, Inexact, InvalidOperation
from typing import Any

EXACT = Context(prec=2000, traps=[Inexact, InvalidOperation])
"""Holds sums of any doubles as written; the usual 28 digits would lose a delta of 1e-40 beside one of 1e-5."""

Amount = tuple[Decimal, Decimal]  # (ε, δ)

ZERO: Amount = (Decimal(0), Decimal(0))


def plus(one: Amount, other: Amount) -> Amount:
    """Return the sum of two amounts, exactly."""
    return EXACT.add(one[0], other[0]), EXACT.add(one[1], other[1])


def total(amounts: Iterable[Amount]) -> Amount:
    """Return the sum of any number of amounts, exactly."""
    found = ZERO
    for amount in amounts:
        found = plus(found, amount)
    return found


def minus(one: Decimal, other: Decimal) -> Decimal:
    """Return the difference, exactly."""
    return EXACT.subtract(one, other)


def loss(epsilon: Decimal, delta: Decimal) -> Amount:
    """Return (ε, δ) after checking that neither is negative (it would lower what was spent) or NaN."""
    if not (epsilon.is_finite() and delta.is_finite() and epsilon >= 0 and 0 <= delta <= 1):
        raise AssertionError(f"({epsilon}, {delta}) is not a privacy loss")
    return epsilon, delta


def decimal_text(value: Decimal) -> str:
    """Return ``value`` in plain digits, without an exponent."""
    return f"{EXACT.normalize(value):f}"


Form = Callable[[Any], bool]

_DIGEST = re.compile(r"[0-9a-f]{64}")
_NAME = re.compile(r"[0-9a-zA-Z-]{0,64}")
_COUNT = re.compile(r"[0-9]{1,12}")
_AMOUNT = re.compile(r"[0-9]{1,1100}(\.[0-9]{1,1100})?([eE][+-]?[0-9]{1,4})?")
_LARGEST, _SMALLEST, _LAST_DIGIT = 300, -400, -1100
"""Powers of ten of the largest and the smallest amount, and of the last digit of any: a sum of them is exact."""

FROM = "merged"  # key in the body of an entry that was appended by a merge: the time and the ledger of the first one

_MOST = 10**15
_LONGEST, _LONGEST_PATH, _LONGEST_LIST = 1000, 8192, 10_000


def start_of(key: bytes) -> str:
    """Return the hash in the first entry, which depends on the key: with another key every table would look new."""
    return hashlib.sha256(b"privacy-workbench ledger" + key).hexdigest()


@dataclass(frozen=True)
class Entry:
    """One line of the ledger. ε and δ are decimals as text, so that they hash and add exactly.

    The hash is of the other fields, in this order.
    """

    seq: int
    time: str
    kind: str
    release_id: str
    dataset: str
    epsilon: str
    delta: str
    body: dict[str, Any]
    prev: str
    hash: str

    @property
    def cost(self) -> tuple[Decimal, Decimal]:
        """The (ε, δ) of the entry; the δ of a cap may be open, which reads as 0."""
        return Decimal(self.epsilon), Decimal(self.delta or 0)

    @property
    def origin(self) -> dict[str, Any] | None:
        """Of an entry that a merge has appended, which ledger wrote it first, when, and under which hash."""
        stated = self.body.get(FROM)
        return stated if isinstance(stated, dict) else None

    @property
    def first_time(self) -> str:
        """When it was written: of an entry that a merge has appended, in the other ledger."""
        return str((self.origin or {}).get("time", self.time))


def entry_hash(entry: Entry) -> str:
    """Return the SHA-256 of everything in ``entry`` except its hash."""
    *stated, _ = vars(entry).values()
    return hashlib.sha256(json.dumps(stated, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def verify_chain(entries: Iterable[Entry], start: str, first: int = 1) -> list[str]:
    """Return a sentence for each break of the chain of entries from number ``first``, which must name ``start``."""
    problems = []
    prev, expected = start, first
    for entry in entries:
        if entry.seq != expected:
            problems.append(f"entry {expected} is missing")
        if entry.prev != prev:
            problems.append(f"entry {entry.seq} does not follow the entry before it")
        if entry_hash(entry) != entry.hash:
            problems.append(f"entry {entry.seq} was changed after it was written")
        prev, expected = entry.hash, entry.seq + 1
    return problems


def is_digest(value: object) -> bool:
    """Return whether ``value`` is a SHA-256 as this program writes it."""
    return isinstance(value, str) and _DIGEST.fullmatch(value) is not None


def is_name(value: object) -> bool:
    """Return whether ``value`` is the random name of a release, a dataset or a kind of entry; one may be empty."""
    return isinstance(value, str) and _NAME.fullmatch(value) is not None


def is_path(value: object) -> bool:
    """Return whether the system can look for a file named ``value``."""
    return isinstance(value, str) and len(value) <= _LONGEST_PATH and "\0" not in value


def is_whole(value: object, most: int = _MOST) -> bool:
    """Return whether ``value`` is a count: a whole number from 0 to ``most``."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most


def is_amount(text: object) -> bool:
    """Return whether ``text`` is an amount of ε or δ: finite, not negative, and not too long to be added exactly."""
    if not isinstance(text, str) or _AMOUNT.fullmatch(text) is None:
        return False
    amount = Decimal(text)
    least = amount.as_tuple().exponent
    in_range = amount == 0 or _SMALLEST <= amount.adjusted() < _LARGEST
    return in_range and isinstance(least, int) and least >= _LAST_DIGIT


def fault_of(entry: Entry) -> str:
    """Return what of ``entry`` is not of its form; empty where all is. Unknown keys may be anything."""
    amounts = entry.epsilon, entry.delta or "0"
    if not (0 < entry.seq < _MOST and all(map(is_amount, amounts)) and all(map(is_digest, (entry.prev, entry.hash)))):
        return "number"
    if not all(is_name(text) for text in (entry.kind, entry.release_id, entry.dataset)):
        return "name"
    if len(entry.time) > _LONGEST or "\0" in entry.time:
        return "time"
    return next((key for key, value in entry.body.items() if key in _BODY and not _BODY[key](value)), "")


def _is_text(value: object) -> bool:
    return isinstance(value, str) and len(value) <= _LONGEST and "\0" not in value


def _is_process(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    started = value.get("started", 0)
    timed = isinstance(started, int | float) and not isinstance(started, bool) and 0 <= started < _MOST
    return timed and is_whole(value.get("pid", 0), 2**31 - 1) and _is_text(value.get("host", ""))


def _is_origin(value: object) -> bool:
    if isinstance(value, bool):
        return True
    if not isinstance(value, dict):
        return False
    return is_digest(value.get("ledger")) and _is_text(value.get("time", "")) and _is_text(value.get("hash", ""))


def _is_list(value: object) -> bool:
    return isinstance(value, list) and len(value) <= _LONGEST_LIST and all(map(_is_text, value))


_BODY: Mapping[str, Form] = {
    **dict.fromkeys(("to", "output", "part", "checkpoint", "path"), is_path),
    **dict.fromkeys(
        ("work", "run", "request", "content", "file", "sketch", "origin", "name", "study", "drawn"), _is_text
    ),
    **dict.fromkeys(("columns", "method", "delta", "reason", "certificate", "of", "from", "hash", "time"), _is_text),
    **dict.fromkeys(("title", "drawn"), _is_text),
    **dict.fromkeys(
        ("steps", "given_back", "seq", "releases", "former", "rows_per_person", "unit", "judged"), is_whole
    ),
    **dict.fromkeys(("order", "accepted"), is_whole),
    **dict.fromkeys(("resumable", "watched", "charged-first"), lambda value: isinstance(value, bool)),
    # read by `from_plain`, which checks every part
    **dict.fromkeys(("event", "training"), lambda value: value is None or isinstance(value, dict)),
    **dict.fromkeys(("ledger", "head"), is_digest),
    **dict.fromkeys(("parts", "cap", "used"), _is_list),
    "process": _is_process,
    FROM: _is_origin,
}
"""The keys of bodies that are read, whatever the kind of the entry."""

META: Mapping[str, Form] = {
    **dict.fromkeys(("start", "head"), is_digest),
    **dict.fromkeys(("former", "version"), lambda text: isinstance(text, str) and bool(_COUNT.fullmatch(text))),
}
"""The values that a ledger keeps beside its entries."""
