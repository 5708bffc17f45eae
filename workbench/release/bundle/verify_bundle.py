"""Checks a bundle: every file, what follows from its certificate, the ledger's entry and the signatures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from workbench.params import InputError, WorkbenchError
from workbench.params.codec import read_json
from workbench.release.atomic import sha256_of
from workbench.release.bundle.rerun import request_texts
from workbench.release.bundle.write_bundle import ENTRY, RERUN, made_texts, noted
from workbench.release.certificate import ledger_facts
from workbench.release.described_release import DescribedRelease, stated
from workbench.release.documents.release_document import release_id
from workbench.release.manifest import MANIFEST, is_of_this_version, read_manifest
from workbench.release.signature.signature_file import SUFFIX, signature_of, signature_path

_FORMER_REQUEST = "@REQUEST", "request.toml"
"""The word of the command and the file, in bundles of version 1."""


def bundle_cannot_know(folder: Path) -> str:
    """Return what a verification leaves open of a bundle, besides all that it leaves open of any release.

    Raises:
        InputError: its manifest cannot be read.
    """
    if is_of_this_version(read_manifest(folder)):
        return "whether the PDF says what the JSON certificate says (the HTML was made again and compared)"
    return "whether PDF and HTML say what the JSON certificate says: another version of the program made the bundle"


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
    """Yield which files are missing or do not follow from the certificate.

    Only a bundle of this very version can be compared. Of another version it is known that every bundle has the same
    files, besides those that its own command reads.
    """
    made, same = made_texts(release), is_of_this_version(listed)
    names = list(made) if same else [name for name in made if name not in request_texts(release)]
    if not same and RERUN in listed["files"]:
        names += _read_again(folder, listed["version"])
    for name in names:
        if name not in listed["files"]:
            yield f"the bundle has no {name}"
        elif same and (folder / name).read_bytes() != made[name]:
            yield f"the file {name} does not follow from the certificate"


def _read_again(folder: Path, version: int) -> list[str]:
    """Return the files that the command in a bundle reads, besides data and plan.

    Raises:
        InputError: it is not the command of a bundle.
    """
    rerun = read_json(folder / RERUN, "command of the bundle")
    lists = ("command",) if version == 1 else ("command", "files")
    for key in lists:
        words = rerun.get(key) if isinstance(rerun, dict) else None
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise InputError("this is not the command of a bundle", str(folder / RERUN), "ask for it as it was made")
    if version > 1:
        return list(rerun["files"])
    word, name = _FORMER_REQUEST
    return [name] if word in rerun["command"] else []


def _entry(folder: Path, listed: dict[str, Any], release: DescribedRelease) -> Iterator[str]:
    if listed["release_id"] != release_id(release.document):
        yield "the manifest names another release than the certificate"
    claims = ledger_facts(release.document)
    entry = read_json(folder / ENTRY, "ledger's entry")
    wanted = noted(claims)
    if not isinstance(entry, dict) or any(entry.get(key) != value for key, value in wanted.items()):
        yield "the ledger's entry is not that of the certificate"
