"""Private figures that were shown to a person: results of studies that read a table's rows and released nothing.

Settings that are chosen by such figures reveal something of the rows, and no ε covers that. A study costs nothing and
is no release; the ledger notes that there was one, without a figure, so that the certificate or card of a later release
can say so.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from workbench.release.ledger.accounts import LedgerAccounts
from workbench.release.ledger.entry import Entry
from workbench.release.ledger.identity import Identity
from workbench.release.ledger.state import NEW

FIGURES = "figures"  # the entry that notes a study; it costs nothing

STUDIES = MappingProxyType(
    {
        "accuracy": "what limits the accuracy of a network",
        "attack": "attacks on a release or a model",
        "curve": "the quality of a model at several budgets",
        "generalise": "a preview of a generalised table of these rows",
        "generalised": "a generalised table of these rows, which was published",
        "grid": "a sweep of training settings",
        "model": "a model that was trained and not released",
        "predict": "the accuracy of predictions",
        "preview": "a preview of a release",
        "quality": "the quality of released rows compared with the original",
        "risk": "the re-identification risk of a table",
        "rappor": "a simulation of RAPPOR on a column",
        "synthetic": "synthetic rows compared with the original",
        "test": "the accuracy of a network on these rows",
        "training": "figures of a network during training",
        "ways": "the quality of a model from each kind of release",
        "why": "what limits the accuracy of a model",
    }
)
"""What was shown by each kind of study, in words; the ledger has the key."""

GENERALISED = "generalised"
"""The note that a generalised table was published: no ε covers it, and it may be combined with every later release."""


@dataclass(frozen=True)
class ShownFigures:
    """A note that private figures of a table were shown."""

    time: str  # when the first ones of their kind were shown, ISO 8601, UTC
    dataset: str  # the account that the table belongs to
    study: str

    @property
    def words(self) -> str:
        """What was shown; of a kind that only a later version knows, the ledger's own word."""
        return STUDIES.get(self.study, self.study or "figures of a study")


@dataclass(frozen=True)
class PublishedTable:
    """A note that a generalised table was going to be published."""

    time: str
    dataset: str  # the account that the original belongs to
    certificate: str  # the checksum of its certificate
    output: str


class LedgerShownFigures(LedgerAccounts):
    """The part of the ledger that knows of which tables private figures were shown."""

    def note_figures(self, identity: Identity | str, study: str) -> bool:
        """Note durably that private figures of a table are going to be shown; once for each dataset and kind of study.

        A table that is not in the ledger is entered, and no accounts are joined: that is left to its first release.

        Returns:
            whether they are the first of their kind that were noted of the table.

        Raises:
            InputError: the ledger was moved, or its key is missing.
        """
        return self._note(identity, {"study": study})

    def note_generalised(self, identity: Identity | str, checksum: str, output: str) -> None:
        """Note durably that a generalised table is going to be published at ``output``, before its file is written.

        Raises:
            InputError: as :meth:`note_figures`.
        """
        self._note(identity, {"study": GENERALISED, "certificate": checksum, "output": output})

    def _note(self, identity: Identity | str, body: dict[str, str]) -> bool:
        if body["study"] not in STUDIES:
            raise ValueError(f"{body['study']!r} is not a kind of study")
        with self._transaction():
            self.require_not_moved()
            second = False
            if isinstance(identity, str):
                found: tuple[str, ...] = (self.account_of(identity),)
            else:
                second = identity.second is not None and self._note(identity.second, body)
                match = self.find(identity)
                found = (match.dataset,) if match.dataset else match.accounts or (self._marked(identity, NEW),)
                found += match.doubts  # a doubt counts against the known account
            stated = {noted_study(e) for e in self.entries(FIGURES)}
            new = [d for d in found if (d, body["study"], body.get("certificate", "")) not in stated]
            for dataset in new:
                self._append(FIGURES, dataset, body)
            return bool(new) or second

    def figures_shown(self, dataset: str, before: str = "", study: str = "") -> bool:
        """Return whether private figures of an account's tables were shown, of any kind of study or of one.

        What was shown after the release ``before`` was reserved does not count.
        """
        accounts = self.accounts()
        account = accounts.of(dataset)
        end = next((e.seq for e in self.entries("reserve") if before and e.release_id == before), None)
        return any(
            accounts.of(e.dataset) == account and (end is None or e.seq < end) and study in ("", noted_study(e)[1])
            for e in self.entries(FIGURES)
        )

    def published_generalised(self, checksum: str) -> bool:
        """Return whether a generalised table with this checksum of its certificate was noted."""
        return any(noted_study(e)[1:] == (GENERALISED, checksum) for e in self.entries(FIGURES))

    def published_tables(self) -> list[PublishedTable]:
        """Return the generalised tables that were noted, in order, each once; not those noted without their place."""
        found: dict[str, PublishedTable] = {}
        for e, account in self._notes():
            _, study, certificate = noted_study(e)
            output = str(e.body.get("output", ""))
            if study == GENERALISED and output:
                found.setdefault(certificate, PublishedTable(e.first_time, account, certificate, output))
        return list(found.values())

    def figures(self, dataset: str | None = None) -> list[ShownFigures]:
        """Return what was noted (of the account of ``dataset``), in order; of an account each kind of study once."""
        own = None if dataset is None else self.account_of(dataset)
        found: dict[tuple[str, str], ShownFigures] = {}
        for e, account in self._notes():
            study = noted_study(e)[1]
            if own in (None, account):
                found.setdefault((account, study), ShownFigures(e.first_time, account, study))
        return list(found.values())

    def _notes(self) -> list[tuple[Entry, str]]:
        accounts = self.accounts()
        return [(e, accounts.of(e.dataset)) for e in sorted(self.entries(FIGURES), key=lambda e: e.first_time)]


def noted_study(entry: Entry) -> tuple[str, str, str]:
    """Return the dataset and the kind of study that an entry is about, and the certificate of what was published."""
    return entry.dataset, entry.body.get("study", ""), entry.body.get("certificate", "")
