"""The hash chain of the ledger: each entry contains the hash of the previous one, the first that of the key."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


def start_of(key: bytes) -> str:
    """Return the hash in the first entry, which depends on the key: with another key every table would look new."""
    return hashlib.sha256(b"privacy-workbench ledger" + key).hexdigest()


@dataclass(frozen=True)
class Entry:
    """One line of the ledger. ε and δ are decimals as text, so that they hash and add exactly."""

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


def entry_hash(entry: Entry) -> str:
    """Return the SHA-256 of everything in ``entry`` except its hash."""
    fields = [
        entry.seq,
        entry.time,
        entry.kind,
        entry.release_id,
        entry.dataset,
        entry.epsilon,
        entry.delta,
        entry.body,
        entry.prev,
    ]
    return hashlib.sha256(json.dumps(fields, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def verify_chain(entries: Iterable[Entry], start: str, first: int = 1) -> list[str]:
    """Return a sentence for each break of the chain.

    Args:
        entries: the entries in order.
        start: what the first one must name.
        first: the number of the first one.
    """
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
