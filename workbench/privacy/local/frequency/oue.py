"""Optimised unary encoding: p = 1/2, q = 1/(e^ε + 1) (Wang, Blocki, Li & Jha 2017, sec. 4.3).

Variance of a rare value's frequency: 4e^ε/(e^ε − 1)² from one record, whatever the number of values.
"""

from __future__ import annotations

import math

from workbench.privacy.local.frequency.base import OracleKind
from workbench.privacy.local.mechanism_table import served
from workbench.privacy.local.sampler import TOTAL
from workbench.privacy.local.sliding_window import odds
from workbench.privacy.local.unary_encoding import UnaryEncoding


def optimised(size: int, epsilon: float) -> UnaryEncoding:
    """Return the encoding of ``size`` values; q is rounded up, so that ε is not exceeded."""
    used = served(epsilon)
    return UnaryEncoding(size, TOTAL // 2, math.ceil(TOTAL / (odds(used) + 1)), used)


OUE = OracleKind(name="oue", title="optimised unary encoding", report="a vector of {k} bits", build=optimised)
