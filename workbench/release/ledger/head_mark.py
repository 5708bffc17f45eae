"""The last entry of each ledger that this computer has seen, kept apart from the ledgers themselves.

A file that was replaced by an earlier copy of itself is a whole chain, and nothing in it shows what is gone. The mark
shows it: its entry must be in the chain. It is kept in the user's state folder, so a copy is not noticed by another
user or computer, nor when that folder was cleared or put back together with the ledger.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from workbench.params import InputError
from workbench.params.codec import parse_json
from workbench.paths import user_state


@dataclass(frozen=True)
class HeadMark:
    """An entry of a ledger that was the last one.

    Attributes:
        seq: its number.
        hash: its hash.
        time: when it was written, as the entry says.
        path: the ledger's file then.
    """

    seq: int
    hash: str
    time: str
    path: str


def last_seen(start: str) -> HeadMark | None:
    """Return the mark of the ledger whose chain begins with ``start``; ``None`` where there is none that is whole."""
    try:
        told = parse_json(_place(start).read_text("utf-8"), "mark of a ledger")
        mark = HeadMark(told["seq"], told["hash"], told["time"], told["path"])
    except (OSError, UnicodeError, InputError, KeyError, TypeError):
        return None
    texts = (mark.hash, mark.time, mark.path)
    return mark if type(mark.seq) is int and mark.seq > 0 and all(isinstance(t, str) for t in texts) else None


def remember(start: str, mark: HeadMark) -> None:
    """Keep ``mark`` for the ledger whose chain begins with ``start``.

    The entry is committed already. So a folder that cannot be written is no error: `ledger verify` says that there is
    no mark.
    """
    place = _place(start)
    part = place.with_name(f"{place.name}.{secrets.token_hex(4)}.part")
    with contextlib.suppress(OSError):
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            part.write_text(json.dumps(vars(mark)), "utf-8")
            os.replace(part, place)
        finally:
            part.unlink(missing_ok=True)


def _place(start: str) -> Path:
    return user_state() / "ledger-heads" / f"{start[:32]}.json"
