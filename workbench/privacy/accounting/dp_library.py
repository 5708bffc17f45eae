"""dp-accounting, imported whole and in one place: whoever needs a part of it imports this module, where it is needed.

Two threads that import different parts of one package may each wait for the other. Python then gives one of them a
module that is half made, and what is missing in it looks like a bug. Here the second thread waits for all of it.
"""

import dp_accounting
from dp_accounting import rdp
from dp_accounting.pld import common, pld_pmf, privacy_loss_distribution

__all__ = ["common", "dp_accounting", "pld_pmf", "privacy_loss_distribution", "rdp"]
