"""Frequency oracles, one file each; a new one is its file and a line in this list.

Their reports are vectors or hashes: they collect the frequencies of a domain from many rows and fill no column.
"""

from __future__ import annotations

from workbench.privacy.local.frequency.base import Frequency, FrequencyOracle, OracleKind, frequencies, variance
from workbench.privacy.local.frequency.olh import OLH
from workbench.privacy.local.frequency.unary import OUE, SUE

ORACLES: tuple[OracleKind, ...] = (OUE, SUE, OLH)

__all__ = ["OLH", "ORACLES", "OUE", "SUE", "Frequency", "FrequencyOracle", "OracleKind", "frequencies", "variance"]
