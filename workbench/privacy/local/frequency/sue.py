"""Symmetric unary encoding, which is basic one-time RAPPOR: p = e^(ε/2)/(e^(ε/2) + 1), q = 1 − p.

Wang, Blocki, Li & Jha 2017, sec. 4.2; Erlingsson, Pihur & Korolova 2014. Variance of a rare value's frequency:
e^(ε/2)/(e^(ε/2) − 1)² from one record, more than that of optimised unary encoding.
"""

from __future__ import annotations

import math

from workbench.privacy.local.frequency.base import OracleKind
from workbench.privacy.local.mechanism_table import served
from workbench.privacy.local.sampler import TOTAL
from workbench.privacy.local.sliding_window import odds
from workbench.privacy.local.unary_encoding import UnaryEncoding


def symmetric(size: int, epsilon: float) -> UnaryEncoding:
    """Return the encoding of ``size`` values; q is rounded up, so that ε is not exceeded."""
    used = served(epsilon)
    q = math.ceil(TOTAL / (odds(used / 2) + 1))
    return UnaryEncoding(size, TOTAL - q, q, used)


SUE = OracleKind(name="sue", title="symmetric unary encoding", report="a vector of {k} bits", build=symmetric)
