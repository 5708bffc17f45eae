"""Verification of whatever was released: a table, a model or a central release."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from workbench.release.central.certificate import is_central, read_central
from workbench.release.central.verify import verify_central
from workbench.release.model.card import is_model, ledger_facts, read_card, verify_model
from workbench.release.table.certificate import read_certificate
from workbench.release.table.open_release import located
from workbench.release.table.verify import verify_release
from workbench.signals.cancel import CancelToken


def verify_any(path: Path, cancel: CancelToken | None = None) -> list[str]:
    """Return a sentence for every fault of the release at ``path``: a file, its certificate or its folder.

    Raises:
        InputError: there is nothing to check: no file or no certificate.
        CancelledError: ``cancel`` was set.
    """
    if is_model(path):
        return verify_model(path)
    certificate = located(path)[1]
    if os.path.isfile(certificate) and is_central(certificate):
        return verify_central(path, cancel)
    return verify_release(path, cancel)


def ledger_claims(path: Path) -> dict[str, Any]:
    """Return what a ledger can confirm of the release at ``path``, whose certificate or card was verified."""
    if is_model(path):
        return ledger_facts(read_card(path))
    certificate = located(path)[1]
    return read_central(certificate) if is_central(certificate) else read_certificate(certificate)
