"""The published Python client (google/rappor, client/python), bit for bit where its tests fix it.

Its permanent answer is not stored but follows from the client's secret: HMAC-SHA256(secret, Bloom filter) gives a byte
for each of at most 32 bits, whose lowest bit is the coin and whose other seven say whether it is used (f in steps of
1/128). It is here for compatibility and for checks. The rest of the workbench draws permanent answers from the
operating system, with f exact, and stores them.
"""

import hashlib
import hmac
from dataclasses import dataclass

from workbench.params import ParameterError
from workbench.privacy.rappor.parameters import RapporParameters

_MOST_BITS = 32


def bloom(value: bytes, cohort: int, parameters: RapporParameters) -> int:
    """Return the Bloom filter as a number whose bit j is bit j of the report."""
    digest = hashlib.md5(cohort.to_bytes(4, "big") + value, usedforsecurity=False).digest()
    filled = 0
    for byte in digest[: parameters.h]:
        filled |= 1 << byte % parameters.k
    return filled


def masks(secret: bytes, message: bytes, f: float, bits: int) -> tuple[int, int]:
    """Return the coins of a permanent answer, and where they are used: HMAC-SHA256, a byte for each bit.

    Raises:
        ParameterError: there are more than 32 bits.
    """
    if not 1 <= bits <= _MOST_BITS:
        raise ParameterError(f"k = {bits}: the published client's permanent answer has at most {_MOST_BITS} bits")
    digest = hmac.new(secret, message, hashlib.sha256).digest()
    coins = used = 0
    for place, byte in enumerate(digest[:bits]):
        coins |= (byte & 1) << place
        used |= ((byte >> 1) < f * 128) << place
    return coins, used


@dataclass(frozen=True)
class PublishedClient:
    """One client of a collection.

    Attributes:
        parameters: of the collection.
        cohort: 0 … m − 1.
        secret: known to the client alone.
    """

    parameters: RapporParameters
    cohort: int
    secret: bytes

    def permanent(self, value: bytes) -> int:
        """Return the permanent answer, the same whenever it is asked for."""
        filled = bloom(value, self.cohort, self.parameters)
        coins, used = masks(self.secret, filled.to_bytes(4, "big"), self.parameters.f, self.parameters.k)
        return filled & ~used | coins & used

    def report(self, value: bytes, p_bits: int, q_bits: int) -> int:
        """Return a report.

        Args:
            value: what is reported.
            p_bits: k independent bits, each 1 with probability p.
            q_bits: k independent bits, each 1 with probability q.
        """
        permanent = self.permanent(value)
        return p_bits & ~permanent | q_bits & permanent


def hmac_drbg(seed: bytes, count: int) -> bytes:
    """Return ``count`` bytes of HMAC-DRBG with SHA-256 (NIST SP 800-90A, 10.1.2), seeded once by ``seed``."""
    key, value = bytes(32), b"\x01" * 32
    for step in (b"\x00", b"\x01"):
        key = hmac.new(key, value + step + seed, hashlib.sha256).digest()
        value = hmac.new(key, value, hashlib.sha256).digest()
    out = b""
    while len(out) < count:
        value = hmac.new(key, value, hashlib.sha256).digest()
        out += value
    return out[:count]
