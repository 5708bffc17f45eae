"""Biased bits by the million: 64 draws at a time, each exact, from as few random words as they need.

A bit is 1 if a uniform number of 64 binary digits is below a threshold t. The digits are compared from the most
significant one on, with one random word for a digit of 64 neighbouring bits; a bit is decided at the first digit in
which number and threshold differ, so that after d digits only 2⁻ᵈ of the bits are open. How many words are drawn shows
of the thresholds' public digits and of the draws, not of the bits that choose between two thresholds.

Permanent answers that are kept: a client that comes back gives the one it gave before.

Names and values are kept as keyed digests, cohorts and answers as they are. Whoever has the kept answers knows as much
of each client as any number of its reports can reveal, so they belong with the data, not with the reports.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from workbench.params import ParameterError
from workbench.privacy.entropy import Entropy
from workbench.privacy.rappor.parameters import HASHED_BITS, ONE, RapporParameters

Words = NDArray[np.uint64]
Reports = NDArray[np.uint8]
"""(n, bytes) packed bits: bit j is bit j % 8 of byte j // 8, as ``np.packbits`` with little order makes them."""

_AT_ONCE = 1 << 15  # words that are drawn together: they and what they are compared with stay in the cache

_DIGITS_OF_ALL = 6
"""After these digits one word in two has an open bit left or fewer: from here on only those are drawn for."""


def biased(bits: Reports, when_one: int, when_zero: int, entropy: Entropy) -> Reports:
    """Return independent bits: 1 with probability ``when_one``/2⁶⁴ where ``bits`` has a 1, else ``when_zero``/2⁶⁴.

    Args:
        bits: packed bits of any shape; bits beyond a report's last one are drawn as any other.
        when_one: threshold, 0 … 2⁶⁴.
        when_zero: threshold, 0 … 2⁶⁴.
        entropy: where the random words come from.
    """
    flat = np.ascontiguousarray(bits).reshape(-1)
    count = -(-flat.size // 8)
    padded = np.zeros(count * 8, dtype=np.uint8)
    padded[: flat.size] = flat
    words = padded.view(np.uint64)
    out = np.empty_like(words)
    for start in range(0, count, _AT_ONCE):
        out[start : start + _AT_ONCE] = _drawn(words[start : start + _AT_ONCE], when_one, when_zero, entropy)
    return out.view(np.uint8)[: flat.size].reshape(bits.shape)


def _drawn(select: Words, when_one: int, when_zero: int, entropy: Entropy) -> Words:
    out = np.zeros_like(select)
    if when_one == ONE:  # decided before the first digit
        out |= select
    if when_zero == ONE:
        out |= ~select
    undecided = ~out
    where: NDArray[np.int64] | None = None
    whole = out
    for digit in range(63, -1, -1):
        rest = (1 << (digit + 1)) - 1
        if not (when_one & rest or when_zero & rest):
            break  # no digit is left in which a number could be below its threshold
        if 63 - digit >= _DIGITS_OF_ALL:
            open_words = np.flatnonzero(undecided)
            if not open_words.size:
                break
            if where is not None:
                whole[where] = out
            where = open_words if where is None else where[open_words]
            select, undecided, out = select[open_words], undecided[open_words], out[open_words]
        drawn = entropy.words(select.size)
        ones, zeros = bool(when_one >> digit & 1), bool(when_zero >> digit & 1)
        if ones and zeros:
            out |= undecided & ~drawn
            undecided &= drawn
        elif ones or zeros:
            threshold = select if ones else ~select
            out |= undecided & ~drawn & threshold
            undecided &= ~(drawn ^ threshold)
        else:
            undecided &= ~drawn
    if where is not None:
        whole[where] = out
    return whole


def trimmed(reports: Reports, k: int) -> Reports:
    """Return ``reports`` with the bits beyond the ``k``-th at 0."""
    if k % 8:
        reports[:, -1] &= np.uint8((1 << (k % 8)) - 1)
    return reports


def unpacked(reports: Reports, k: int) -> NDArray[np.uint8]:
    """Return (n, k) zeros and ones."""
    return np.unpackbits(reports, axis=1, count=k, bitorder="little")


def permanent_answers(filters: Reports, parameters: RapporParameters, entropy: Entropy) -> Reports:
    """Return the permanent answer to each Bloom filter: each bit is a coin toss with probability f.

    A client draws it once for a value and keeps it; who draws it anew for every report spends ε∞ each time.

    Args:
        filters: (n, bytes) packed bits.
        parameters: of the collection.
        entropy: operating-system entropy for real answers.
    """
    return trimmed(biased(filters, *parameters.permanent_integers(), entropy), parameters.k)


def instant_answers(permanent: Reports, parameters: RapporParameters, entropy: Entropy) -> Reports:
    """Return one report for each permanent answer: a 1 is reported as 1 with probability q, a 0 with probability p."""
    return trimmed(biased(permanent, *parameters.instant_integers(), entropy), parameters.k)


def cohorts(clients: int, parameters: RapporParameters, entropy: Entropy) -> NDArray[np.int64]:
    """Return a uniformly random cohort for each client, independent of its value.

    Of 16 random bits, the part that m does not divide is drawn again.
    """
    limit = (1 << 16) // parameters.m * parameters.m
    drawn = _sixteen(clients, entropy)
    while (again := np.flatnonzero(drawn >= limit)).size:
        drawn[again] = _sixteen(again.size, entropy)
    return drawn % parameters.m


def _sixteen(count: int, entropy: Entropy) -> NDArray[np.int64]:
    return entropy.words(-(-count // 4)).view(np.uint16)[:count].astype(np.int64)


_DIGEST = 16


@dataclass(frozen=True)
class Kept:
    """One client's answer."""

    value: bytes  # digest of its value
    cohort: int
    answer: bytes  # its packed permanent answer


@dataclass(eq=False)
class PermanentAnswers:
    """What clients have answered so far."""

    parameters: RapporParameters  # of the collection; with others the answers would be of another question
    column: str  # what was asked
    key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)  # of the digests
    kept: dict[bytes, Kept] = field(default_factory=dict, repr=False)  # the answers by digest of the client's name

    def clients(self, names: Iterable[str]) -> list[bytes]:
        """Return the digests of clients' names."""
        return self._digests(b"client", names)

    def values(self, texts: Iterable[str]) -> list[bytes]:
        """Return the digests of values; ``""`` is a missing one."""
        return self._digests(b"value", texts)

    def _digests(self, person: bytes, texts: Iterable[str]) -> list[bytes]:
        blake, key = hashlib.blake2b, self.key
        return [blake(text.encode(), digest_size=_DIGEST, key=key, person=person).digest() for text in texts]


class BloomBits:
    """The published Bloom filter: bit i is byte i of MD5(cohort as 4 bytes, big end first, then the value), mod k."""

    def __init__(self, parameters: RapporParameters) -> None:
        """Refuse more bits than a byte can address.

        Raises:
            ParameterError: k is above 256.
        """
        if parameters.k > HASHED_BITS:
            what = f"k = {parameters.k}: the published Bloom filter takes each bit from one byte of a hash"
            raise ParameterError(what, hint=f"give k of at most {HASHED_BITS}, or use the basic variant")
        self.parameters = parameters

    def of(self, values: Sequence[str], cohorts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the (n, h) bits that each value sets in its cohort; a bit may be there twice."""
        h, md5 = self.parameters.h, hashlib.md5
        heads = [cohort.to_bytes(4, "big") for cohort in range(self.parameters.m)]
        digests = b"".join(
            md5(heads[cohort] + value.encode(), usedforsecurity=False).digest()[:h]
            for value, cohort in zip(values, cohorts.tolist(), strict=True)
        )
        return np.frombuffer(digests, dtype=np.uint8).reshape(-1, h).astype(np.int64) % self.parameters.k


class BasicBits:
    """Basic RAPPOR: value number i of a public list sets bit i, in one cohort."""

    def __init__(self, parameters: RapporParameters, values: Sequence[str]) -> None:
        """Refuse parameters that the basic variant does not have.

        Raises:
            ParameterError: h or m is not 1, or there are more values than bits.
        """
        if (parameters.h, parameters.m) != (1, 1):
            what = f"the basic variant has h = 1 and m = 1, not {parameters.h} and {parameters.m}"
            raise ParameterError(what, hint="give h = 1 and m = 1")
        if len(values) > parameters.k:
            raise ParameterError(
                f"{len(values)} values need as many bits, and k = {parameters.k}", hint="give more bits"
            )
        self.parameters = parameters
        self._places = {value: place for place, value in enumerate(values)}

    def of(self, values: Sequence[str], cohorts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the (n, 1) bits.

        Raises:
            ParameterError: a value is not in the list; it is not named, as it is private.
        """
        try:
            return np.array([self._places[value] for value in values], dtype=np.int64).reshape(-1, 1)
        except KeyError:
            raise ParameterError("a value is not in the public list", hint="add it, or use a Bloom filter") from None


Bits = BloomBits | BasicBits  # which bits a value sets in each cohort


def filters(
    bits: Bits, values: Sequence[str], codes: NDArray[np.int64], cohorts: NDArray[np.int64]
) -> tuple[Reports, NDArray[np.int64]]:
    """Return the Bloom filter of each pair of value and cohort that occurs, and which of them each client has.

    Args:
        bits: which bits a value sets.
        values: the distinct values.
        codes: (n,) number of each client's value; −1 for an empty one, which sets no bit.
        cohorts: (n,) cohort of each client.

    Returns:
        (pairs, bytes) packed filters, and (n,) the place of each client's one.
    """
    parameters = bits.parameters
    pairs, place = _distinct(codes * parameters.m + cohorts, len(values) * parameters.m)
    owned = np.flatnonzero(pairs >= 0)  # a pair below 0 is an empty value's
    made = np.zeros((pairs.size, parameters.row_bytes), dtype=np.uint8)
    if owned.size:
        number, cohort = np.divmod(pairs[owned], parameters.m)
        at = bits.of([values[i] for i in number.tolist()], cohort)
        for column in at.T:  # one hash function at a time: a bit may be set twice
            np.bitwise_or.at(made, (owned, column // 8), (1 << (column % 8)).astype(np.uint8))
    return made, place


def _distinct(pairs: NDArray[np.int64], most: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct numbers below ``most``, ascending, and the place of each of ``pairs`` among them."""
    if most > 4 * pairs.size or (pairs.size and int(pairs.min()) < 0):
        found, place = np.unique(pairs, return_inverse=True)
        return found, place
    seen = np.flatnonzero(np.bincount(pairs, minlength=most))
    places = np.empty(most, dtype=np.int64)
    places[seen] = np.arange(seen.size)
    return seen, places[pairs]
