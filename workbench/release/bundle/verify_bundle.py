"""Checks a bundle: every file, what follows from its certificate, the ledger's entry and the signatures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import workbench
from workbench.params import InputError, WorkbenchError
from workbench.params.codec import read_json
from workbench.release.atomic import sha256_of
from workbench.release.bundle.write_bundle import ENTRY, made_texts
from workbench.release.certificate import ledger_facts
from workbench.release.described_release import DescribedRelease, stated
from workbench.release.documents.release_document import release_id
from workbench.release.manifest import MANIFEST, read_manifest
from workbench.release.signature.signature_file import SUFFIX, signature_of, signature_path

BUNDLE_CANNOT_KNOW = "whether the PDF says what the JSON certificate says (the HTML was made again and compared)"
"""What a verification leaves open of a bundle, besides all that it leaves open of any release."""


def bundle_problems(folder: Path) -> list[str]:
    """Return a sentence for every fault of the bundle ``folder``, the release in it aside."""
    try:
        listed = read_manifest(folder)
    except InputError as error:
        return [str(error)]
    problems = list(_files(folder, listed["files"]))
    if problems:
        return problems
    try:
        release = stated(folder / listed["released"])
        problems += [*_texts(folder, listed, release), *_entry(folder, listed, release)]
        for name in (MANIFEST, *listed["files"]):
            if signature_path(folder / name).exists():
                signature_of(folder / name)
    except WorkbenchError as error:
        problems.append(str(error))
    return problems


def _files(folder: Path, sums: dict[str, str]) -> Iterator[str]:
    for name, digest in sums.items():
        path = folder / name
        if path.is_symlink() or not path.is_file():
            yield f"the file {name} is missing"
        elif sha256_of(path) != digest:
            yield f"the file {name} was changed after the bundle was made: its SHA-256 differs"
    known = {*sums, MANIFEST, MANIFEST + SUFFIX}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if not path.is_dir() and name not in known:
            yield f"the file {name} is not in the manifest"


def _texts(folder: Path, listed: dict[str, Any], release: DescribedRelease) -> Iterator[str]:
    """Yield which files do not follow from the certificate; only a bundle of this very version can be compared."""
    made = made_texts(release)
    for name in made:
        if name not in listed["files"]:
            yield f"the bundle has no {name}"
        elif listed["program"]["version"] == workbench.__version__ and (folder / name).read_bytes() != made[name]:
            yield f"the file {name} does not follow from the certificate"


def _entry(folder: Path, listed: dict[str, Any], release: DescribedRelease) -> Iterator[str]:
    if listed["release_id"] != release_id(release.document):
        yield "the manifest names another release than the certificate"
    claims = ledger_facts(release.document)
    entry = read_json(folder / ENTRY, "ledger's entry")
    wanted = {
        "release_id": claims["release_id"],
        "time": claims["time"],
        "epsilon": claims["guarantee"]["epsilon"],
        "delta": claims["guarantee"]["delta"],
        "certificate": claims["checksum"],
    }
    if not isinstance(entry, dict) or any(entry.get(key) != value for key, value in wanted.items()):
        yield "the ledger's entry is not that of the certificate"
