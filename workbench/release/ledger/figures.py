"""What a person was shown of a table beside its releases: figures of studies that read its rows and released nothing.

Settings that are chosen by such figures tell of the rows, and no ε covers that. A study costs nothing and is no
release; the ledger notes that there was one, without a figure, so that the card of a later model can say so.
"""

from __future__ import annotations

from decimal import Decimal

from workbench.release.ledger.account_finder import NEW
from workbench.release.ledger.accounts import LedgerAccounts
from workbench.release.ledger.custody import LedgerCustody
from workbench.release.ledger.identity import Identity

FIGURES = "figures"
"""The entry that notes a study; it costs nothing."""

_ZERO = (Decimal(0), Decimal(0))


class LedgerFigures(LedgerAccounts, LedgerCustody):
    """The part of the ledger that knows of which tables private figures were shown."""

    def note_figures(self, identity: Identity, study: str) -> None:
        """Note durably that private figures of a table are going to be shown; once for each dataset.

        A table that is not in the ledger is entered, and no accounts are joined: that is left to its first release.

        Args:
            identity: the marks of the table.
            study: the kind of study, such as ``accuracy``.

        Raises:
            InputError: the ledger was moved, or its key is missing.
        """
        with self._transaction():
            self.require_here()
            match = self.find(identity)
            found = (match.dataset,) if match.dataset else match.accounts or (self._marked(identity, NEW),)
            told = {e.dataset for e in self.entries(FIGURES)}
            for dataset in found:
                if dataset not in told:
                    self._append(FIGURES, "", dataset, _ZERO, {"study": study})

    def figures_shown(self, dataset: str, before: str = "") -> bool:
        """Return whether private figures of an account's tables were shown.

        Args:
            dataset: one of its datasets.
            before: a release: what was shown after it was reserved does not count.
        """
        accounts = self.accounts()
        account = accounts.of(dataset)
        end = next((e.seq for e in self.entries("reserve") if before and e.release_id == before), None)
        return any(accounts.of(e.dataset) == account and (end is None or e.seq < end) for e in self.entries(FIGURES))
