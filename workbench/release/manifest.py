"""The list of a bundle's files with their checksums."""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath
from typing import Any

import workbench
from workbench.params import InputError, read_json

MANIFEST = "MANIFEST.json"
RELEASE = "release"  # folder of a bundle that holds what was released and its certificate

FORMAT = "privacy-workbench-bundle"
VERSION = 2  # 2: `rerun.json` names the files that its command reads; in version 1 the only one was `request.toml`
_READ = (1, VERSION)
_MOST_FILES = 10_000


def is_bundle(path: Path) -> bool:
    """Return whether ``path`` is the folder of a bundle."""
    return os.path.isfile(path / MANIFEST)


def manifest(release_id: str, released: str, sums: dict[str, str]) -> dict[str, Any]:
    """Return the list of a bundle's files as JSON holds it, with the SHA-256 of each by its path inside the bundle."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "release_id": release_id,
        "program": {"name": "privacy-workbench", "version": workbench.__version__},
        "released": released,
        "files": dict(sorted(sums.items())),
    }


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return the list of the files of the bundle ``folder``.

    Raises:
        InputError: it cannot be read, or is none of a known version; a path in it leads out of the bundle.
    """
    path = folder / MANIFEST
    document = read_json(path, "manifest")
    broken = InputError("this is not the manifest of a bundle", str(path), "get the original bundle")
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise broken
    if document.get("version") not in _READ:
        stated = (
            f"the bundle has version {str(document.get('version'))[:20]}, and this workbench reads versions up to "
            f"{VERSION}"
        )
        raise InputError(stated, str(path), "check it with the workbench that wrote it")
    files = document.get("files")
    if not isinstance(files, dict) or not 0 < len(files) <= _MOST_FILES:
        raise broken
    for name, digest in files.items():
        if not (is_inside(name) and isinstance(digest, str) and re.fullmatch("[0-9a-f]{64}", digest)):
            raise broken
    if not is_inside(document.get("released")) or not isinstance(document.get("release_id"), str):
        raise broken
    program = document.get("program")
    if not isinstance(program, dict) or not isinstance(program.get("version"), str):
        raise broken
    return document


def is_of_this_version(listed: dict[str, Any]) -> bool:
    """Return whether the bundle with this list of files was made by this very version of the program."""
    return bool(listed["version"] == VERSION and listed["program"]["version"] == workbench.__version__)


def is_inside(name: object) -> bool:
    """Return whether ``name`` is a plain relative path that stays inside its folder."""
    if not isinstance(name, str) or not name or "\\" in name or "\0" in name:
        return False
    parts = PurePosixPath(name).parts
    return not PurePosixPath(name).is_absolute() and ".." not in parts and "/".join(parts) == name


def released_in(folder: Path) -> Path:
    """Return the released file, or the folder of the model, in the bundle ``folder``.

    Raises:
        InputError: its manifest cannot be read.
    """
    found: str = read_manifest(folder)["released"]
    return folder / found
