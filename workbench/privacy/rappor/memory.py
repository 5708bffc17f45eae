"""Permanent answers that are kept: a client that comes back gives the one it gave before.

Names and values are kept as keyed digests, cohorts and answers as they are. Whoever has the kept answers knows as much
of each client as any number of its reports can tell, so they belong with the data, not with the reports.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable
from dataclasses import dataclass, field

from workbench.privacy.rappor.parameters import RapporParameters

_DIGEST = 16


@dataclass(frozen=True)
class Kept:
    """One client's answer.

    Attributes:
        value: digest of its value.
        cohort: its cohort.
        answer: its packed permanent answer.
    """

    value: bytes
    cohort: int
    answer: bytes


@dataclass(eq=False)
class PermanentAnswers:
    """What clients have answered so far.

    Attributes:
        parameters: of the collection; with others the answers would be of another question.
        column: what was asked.
        key: of the digests.
        kept: the answers by digest of the client's name.
    """

    parameters: RapporParameters
    column: str
    key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    kept: dict[bytes, Kept] = field(default_factory=dict, repr=False)

    def clients(self, names: Iterable[str]) -> list[bytes]:
        """Return the digests of clients' names."""
        return self._digests(b"client", names)

    def values(self, texts: Iterable[str]) -> list[bytes]:
        """Return the digests of values; ``""`` stands for a missing one."""
        return self._digests(b"value", texts)

    def _digests(self, person: bytes, texts: Iterable[str]) -> list[bytes]:
        blake, key = hashlib.blake2b, self.key
        return [blake(text.encode(), digest_size=_DIGEST, key=key, person=person).digest() for text in texts]
