"""After a crash: find what became of reservations whose process is gone. A doubt keeps the charge."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

from workbench.params import WorkbenchError
from workbench.release.atomic import sync_folder
from workbench.release.certificate import certificate_path, read_certificate
from workbench.release.ledger import Ledger
from workbench.release.processes import still_runs


def recover(ledger: Ledger) -> list[str]:
    """Settle the reservations of dead processes and return a sentence for each that was settled.

    A table's temporary file is made before its reservation and vanishes by its rename. So: while it exists the
    output never did, and the charge is void, unless its certificate stands and vouches for every byte, when the
    rename is all that is missing and is made up for. Where it does not exist the output may, and the charge is
    final. A training run whose figures were watched stays charged whatever it left: they cannot be unseen.
    """
    sentences = []
    for release in ledger.releases():
        if release.status == "reserved" and "part" in release.body and not still_runs(release.body.get("process", {})):
            try:
                sentences.append(_settle(ledger, release))
            except OSError as error:
                reason = error.strerror or type(error).__name__
                sentences.append(f"the interrupted release {release.release_id} stays charged: {reason}")
    return sentences


def _settle(ledger: Ledger, release: Release) -> str:
    part, target = Path(release.body["part"]), Path(release.body["output"])
    if part.is_dir():
        shutil.rmtree(part)
        if not release.body.get("watched"):
            ledger.void(release.release_id, "crash before the output existed")
            return f"the interrupted release {release.release_id} left no output and costs nothing"
    own = _own_certificate(release, target)
    if not part.is_file():
        ledger.complete(release.release_id)
        return f"the interrupted release {release.release_id} stays charged"
    if own is not None and hashlib.sha256(part.read_bytes()).hexdigest() == own:
        part.replace(target)
        sync_folder(target.parent)
        ledger.complete(release.release_id)
        return f"the interrupted release {release.release_id} was complete and now stands at {target}"
    part.unlink()
    if own is not None:
        certificate_path(target).unlink()
    ledger.void(release.release_id, "crash before the output existed")
    return f"the interrupted release {release.release_id} left no output and costs nothing"


def _own_certificate(release: Release, target: Path) -> str | None:
    """Return the SHA-256 that the certificate at ``target`` gives, if it is of this very release."""
    try:
        document = read_certificate(certificate_path(target))
    except WorkbenchError:
        return None
    digest: str = document["output"]["sha256"]
    return digest if document["release_id"] == release.release_id else None
