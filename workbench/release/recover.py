"""After a crash: find what became of reservations whose process is gone. A doubt keeps the charge."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from workbench.params import InputError, WorkbenchError
from workbench.release.account import Release
from workbench.release.atomic import naming, remove_stale_parts, sole_user, sync_folder
from workbench.release.certificate import certificate_path, read_certificate
from workbench.release.fingerprint import sha256_of
from workbench.release.ledger import Ledger
from workbench.release.processes import still_runs


def recover(ledger: Ledger) -> list[str]:
    """Settle the reservations of dead processes and return a sentence for each that was settled.

    A table's temporary file is made before its reservation and vanishes by its rename. So: while it exists and is
    empty nobody can have seen a draw, and the charge is void. Once a value stands in it somebody may have read it, and
    the charge is final; if the certificate stands too and vouches for every byte, the rename is all that is missing
    and is made up for. Where it does not exist the output may, and the charge is final. A training run whose figures
    were watched stays charged whatever it left: they cannot be unseen.
    """
    sentences = []
    for release in ledger.releases():
        if release.status == "reserved" and "part" in release.body and not still_runs(release.body.get("process", {})):
            try:
                sentences += _settle(ledger, release)
            except OSError as error:
                reason = error.strerror or type(error).__name__
                sentences.append(f"the interrupted release {release.release_id} stays charged: {reason}")
            except InputError as error:
                after = ledger.release(release.release_id)
                if after is None or after.status == "reserved":
                    raise
                sentences.append(f"the interrupted release {release.release_id} was settled meanwhile: {error.what}")
    return sentences


def _settle(ledger: Ledger, release: Release) -> list[str]:
    part, target = Path(release.body["part"]), Path(release.body["output"])
    if not part.exists():
        ledger.complete(release.release_id)
        return [f"the interrupted release {release.release_id} stays charged"]
    # The process is gone by its number, but numbers and clocks mislead; whoever writes the part has it locked.
    with sole_user(part, otherwise=True) as free:
        if not free:
            return []
        return [_settle_folder(ledger, release, part) if part.is_dir() else _settle_file(ledger, release, part, target)]


def _settle_folder(ledger: Ledger, release: Release, part: Path) -> str:
    if release.body.get("watched"):
        ledger.complete(release.release_id)
        told = f"the interrupted training {release.release_id} stays charged: its figures were watched"
    else:
        told = _close(ledger, release, drawn=any(f.is_file() and f.stat().st_size for f in part.rglob("*")))
    shutil.rmtree(part)
    return told


def _settle_file(ledger: Ledger, release: Release, part: Path, target: Path) -> str:
    with naming(target.parent):
        remove_stale_parts(certificate_path(target))
        own = _own_certificate(release, target)
        if own is not None and sha256_of(part) == own["output"]["sha256"]:
            part.replace(target)
            sync_folder(target.parent)
            ledger.complete(release.release_id, own["checksum"])
            return f"the interrupted release {release.release_id} was complete and now stands at {target}"
        if own is not None:
            certificate_path(target).unlink()
        told = _close(ledger, release, drawn=part.stat().st_size > 0)
        part.unlink()
        return told


def _close(ledger: Ledger, release: Release, *, drawn: bool) -> str:
    if drawn:
        ledger.complete(release.release_id)
        return f"the interrupted release {release.release_id} stays charged: values of it had reached the disk"
    ledger.void(release.release_id, "crash before the output existed")
    return f"the interrupted release {release.release_id} left no output and costs nothing"


def _own_certificate(release: Release, target: Path) -> dict[str, Any] | None:
    """Return the certificate at ``target``, if it is of this very release."""
    try:
        document = read_certificate(certificate_path(target))
    except WorkbenchError:
        return None
    return document if document["release_id"] == release.release_id else None
