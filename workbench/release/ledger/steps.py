"""How many steps of an unfinished training count as taken, so that no checkpoint gives any of them back.

The count stands here and not in the checkpoint: of that somebody may keep an older copy.
"""

from __future__ import annotations

from workbench.params import InputError
from workbench.release.ledger.entries import LedgerBook

_TABLE = "CREATE TABLE IF NOT EXISTS steps (release_id TEXT PRIMARY KEY, taken INTEGER NOT NULL)"


class LedgerSteps(LedgerBook):
    """The part of a ledger that counts steps."""

    def steps_taken(self, release_id: str) -> int:
        """Return how many steps of a release were taken, or may have been."""
        if not self._rows("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'steps'"):
            return 0
        found = self._rows("SELECT taken FROM steps WHERE release_id = ?", (release_id,))
        return int(found[0][0]) if found else 0

    def count_steps(self, release_id: str, steps: int, most: int) -> int:
        """Count ``steps`` more as taken (fewer where negative), durably, and return the new count.

        Raises:
            InputError: there would be more than ``most``.
        """
        with self._transaction():
            self._db.execute(_TABLE)
            taken = max(0, self.steps_taken(release_id) + steps)
            if taken > most:
                raise InputError(f"the training has taken all of its {most:,} steps", release_id)
            self._db.execute("INSERT OR REPLACE INTO steps VALUES (?, ?)", (release_id, taken))
        return taken

    def forget_steps(self, release_id: str) -> None:
        """Remove the count of a training that has ended."""
        if self.steps_taken(release_id):
            with self._transaction():
                self._db.execute("DELETE FROM steps WHERE release_id = ?", (release_id,))
