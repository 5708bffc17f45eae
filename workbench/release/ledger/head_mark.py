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
from workbench.params.codec import read_json
from workbench.paths import user_state
from workbench.release.ledger.entry_form import is_digest, is_path, is_whole


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
        stated = read_json(_place(start), "mark of a ledger")
        mark = HeadMark(stated["seq"], stated["hash"], stated["time"], stated["path"])
    except (InputError, KeyError, TypeError):
        return None
    known = is_whole(mark.seq) and mark.seq > 0 and is_digest(mark.hash) and isinstance(mark.time, str)
    return mark if known and is_path(mark.path) else None


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
    if not is_digest(start):  # it comes from a ledger's file, and a name of a file is made of it
        raise ValueError("the start of a ledger is 64 hexadecimal digits")
    return user_state() / "ledger-heads" / f"{start[:32]}.json"
