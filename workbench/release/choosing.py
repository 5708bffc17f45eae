"""What a certificate or card says of a release whose settings may have been chosen by private figures."""

from __future__ import annotations

from collections.abc import Iterable

from workbench.release.ledger.figures import GENERALISED, ShownFigures
from workbench.release.ledger.ledger import Ledger

CHOSEN = (
    "Private figures of these rows were shown before the settings were made: the guarantee does not cover what a "
    "choice by them tells of the rows."
)
"""The same sentence for every kind of release: it says that there were such figures, not which."""

BESIDE = (
    "A generalised table of these rows was published before, which no ε covers: this release adds no more than its ε "
    "allows, but what both reveal together has no bound."
)
"""What a certificate says where a generalised table of the rows was published before."""


def seen_before(shown: Iterable[ShownFigures]) -> str:
    """Return what is said before ε is spent: which private figures were shown, and what that puts on record."""
    words = "; ".join(dict.fromkeys(one.words for one in shown))
    if not words:
        return ""
    stated = "the certificate or card of this release will say so"
    return f"Private figures of these rows were shown before ({words}): {stated}."


def with_choice(outside: Iterable[str], ledger: Ledger, dataset: str, release_id: str) -> list[str]:
    """Return what a release leaves outside its guarantee, each sentence once.

    Args:
        outside: what its plan leaves outside.
        ledger: the account.
        dataset: who pays.
        release_id: the release: what is shown after it was reserved does not count.
    """
    chosen = [CHOSEN] if ledger.figures_shown(dataset, before=release_id) else []
    chosen += [BESIDE] if ledger.figures_shown(dataset, before=release_id, study=GENERALISED) else []
    return list(dict.fromkeys((*outside, *chosen)))


def without_choice(outside: Iterable[str]) -> list[str]:
    """Return what a certificate must list by its plan alone: no file can show what else was shown or published."""
    return [sentence for sentence in outside if sentence not in (CHOSEN, BESIDE)]
