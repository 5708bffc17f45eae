"""Which bits a value sets: the published Bloom filter, or one bit for each value of a public list (basic RAPPOR)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from workbench.params import ParameterError
from workbench.privacy.rappor.bits import Reports
from workbench.privacy.rappor.parameters import HASHED_BITS, RapporParameters


class Bits(Protocol):
    """Which bits a value sets in each cohort."""

    parameters: RapporParameters

    def of(self, values: Sequence[str], cohorts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the (n, h) bits that each value sets in its cohort; a bit may be there twice."""
        ...


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
        """Return the (n, h) bits that each value sets in its cohort."""
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
