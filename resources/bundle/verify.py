"""Check this bundle with Python's standard library alone: ``python -I verify.py``.

It checks the checksum of every file, the certificate's own checksum, that the shares of epsilon add up to what was
charged (of a generalised table: its labels and its smallest class), that the ledger's entry agrees, and the signatures
where there are any (with openssl). It does not rebuild the mechanisms: `workbench verify` does. Exit status: 0 all is
well, 1 a fault, 3 no fault but not everything was checked.
"""

from __future__ import annotations

import argparse
import base64
import csv
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

MANIFEST = "MANIFEST.json"
ED25519 = bytes.fromhex("302a300506032b6570032100")  # what stands before the key in a public key file (RFC 8410)


def sha256(path):
    """Return the SHA-256 of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def own_checksum(document):
    """Return the checksum that a certificate must have."""
    plain = {key: value for key, value in document.items() if key != "checksum"}
    return hashlib.sha256(json.dumps(plain, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def file_faults(folder, manifest) -> Iterator[str]:
    """Yield where the files are not those of the manifest."""
    for name, digest in manifest["files"].items():
        path = folder / name
        if path.is_symlink() or not path.is_file():
            yield f"{name} is missing"
        elif sha256(path) != digest:
            yield f"{name} was changed: its SHA-256 differs"
    known = {*manifest["files"], MANIFEST, f"{MANIFEST}.sig"}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if not path.is_dir() and name not in known:
            yield f"{name} is not in the manifest"


def release_faults(folder, released, document) -> Iterator[str]:
    """Yield where released file, certificate and sums do not agree."""
    if document["checksum"] != own_checksum(document):
        yield "the certificate was changed after it was written: its checksum differs"
    if "output" in document:
        told = {released.name: document["output"]["sha256"]}
        where = released.parent
    else:
        told, where = document["files"], released
    for name, digest in told.items():
        if not (where / name).is_file() or sha256(where / name) != digest:
            yield f"{name} is not the file that the certificate was written for"
    if "guarantee" not in document:  # a generalised table
        yield from class_faults(released, document)
        return
    guarantee = document["guarantee"]
    shares = document.get("queries") or document.get("training", {}).get("queries")
    if shares is None:
        shares = [column for column in document.get("columns", ()) if column.get("action") == "protect"]
    if shares and "rho_row" in guarantee:
        rho = sum((Decimal(share["rho"]) for share in shares), Decimal(0))
        if rho != Decimal(guarantee["rho_row"]):
            yield f"the shares cost rho = {rho}, the certificate says {guarantee['rho_row']}"
    elif shares and "made_from" not in document:
        row = sum((Decimal(share["epsilon"]) for share in shares), Decimal(0))
        people = guarantee.get("rows_per_person") or document.get("training", {}).get("rows_per_person", 1)
        if row * people != Decimal(guarantee["epsilon"]):
            yield f"the shares cost epsilon = {row * people}, the certificate says {guarantee['epsilon']}"


def class_faults(released, document) -> Iterator[str]:
    """Yield where a generalised table has other labels, or smaller classes, than its certificate says."""
    separator = {"csv": ",", "tsv": "\t"}.get(document["output"]["format"])
    if separator is None:
        return
    with released.open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream, delimiter=separator))
    known = [column for column in document["columns"] if column["role"] == "quasi-identifier"]
    for column in known:
        labels = {chain[0] for chain in column["labels"]}
        if {row[column["name"]] for row in rows} != labels:
            yield f"column {column['name']}: the file has other labels than its certificate"
    sizes = Counter(tuple(row[column["name"]] for column in known) for row in rows)
    if len(rows) != document["rows"] or min(sizes.values(), default=0) != document["k"]:
        yield "the rows, or those of the smallest class, are not as many as the certificate says"


def ledger_faults(entry, document) -> Iterator[str]:
    """Yield where the ledger's entry is not that of the certificate."""
    made = document.get("made_from")
    told = {
        "release_id": made["release_id"] if made else document["release_id"],
        "time": made["time"] if made else document["time"],
        **{key: value for key, value in document.get("guarantee", {}).items() if key in ("epsilon", "delta")},
        "certificate": made["certificate"] if made else document["checksum"],
    }
    for key, value in told.items():
        if entry.get(key) != value:
            yield f"the ledger's entry says {key} = {entry.get(key)}, the certificate {value}"


def signatures(folder, key) -> Iterator[tuple[bool | None, str]]:
    """Yield for each signature whether it holds (``None``: it could not be checked), and a sentence."""
    openssl, found = shutil.which("openssl"), False
    for path in sorted(folder.rglob("*.sig")):
        found = True
        name = path.relative_to(folder).as_posix()
        told = json.loads(path.read_text("utf-8"))
        public, signature = (base64.b64decode(told[k], validate=True) for k in ("public_key", "signature"))
        digits = hashlib.sha256(public).hexdigest()[:32]
        if key is not None and digits != key:
            yield False, f"{name} was made with another key ({digits}) than {key}"
        elif openssl is None:
            yield None, f"{name} is NOT CHECKED: openssl is not installed"
        else:
            holds = checked(openssl, path.with_name(path.name.removesuffix(".sig")), public, signature)
            yield holds, f"{name} is {'good' if holds else 'not the signature of its file'}, key {digits}"
    if key is not None and not found:
        yield False, "there is no signature, and a key was asked for"


def checked(openssl, file, public, signature) -> bool:
    """Return whether openssl finds the signature good."""
    pem = base64.b64encode(ED25519 + public).decode()
    with tempfile.TemporaryDirectory() as place:
        key, told = Path(place, "key.pem"), Path(place, "signature")
        key.write_text(f"-----BEGIN PUBLIC KEY-----\n{pem}\n-----END PUBLIC KEY-----\n", "ascii")
        told.write_bytes(signature)
        words = ["pkeyutl", "-verify", "-pubin", "-inkey", key, "-rawin", "-in", file, "-sigfile", told]
        done = subprocess.run([openssl, *map(str, words)], capture_output=True, check=False)
    return done.returncode == 0


def main() -> int:
    """Check the bundle and print what was found."""
    parser = argparse.ArgumentParser(description="check a bundle of the privacy workbench")
    parser.add_argument("folder", nargs="?", type=Path, default=Path(__file__).resolve().parent)
    parser.add_argument("--key", metavar="FINGERPRINT", help="the key that must have signed it, as its owner told you")
    options = parser.parse_args()
    key = "".join(options.key.split()).lower() if options.key else None
    folder, faults, unchecked = options.folder, [], False
    try:
        manifest = json.loads((folder / MANIFEST).read_text("utf-8"))
        faults += file_faults(folder, manifest)
        released = folder / manifest["released"]
        card = released / "card.json"
        certificate = card if card.is_file() else released.with_name(released.name + ".certificate.json")
        document = json.loads(certificate.read_text("utf-8"))
        faults += release_faults(folder, released, document)
        faults += ledger_faults(json.loads((folder / "ledger-entry.json").read_text("utf-8")), document)
        for holds, sentence in signatures(folder, key):
            print(sentence)
            unchecked = unchecked or holds is None
            if holds is False:
                faults.append(sentence)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, ArithmeticError) as error:
        faults.append(f"the bundle cannot be read ({type(error).__name__})")
    for fault in faults:
        print(f"FAULT: {fault}")
    if faults:
        return 1
    if "guarantee" in document:
        print(f"ok: {len(manifest['files'])} files, epsilon = {document['guarantee']['epsilon']}")
        what = "whether the mechanisms have the epsilon that they claim (`workbench verify` rebuilds them)"
    else:
        print(f"ok: {len(manifest['files'])} files, no epsilon: not differential privacy")
        what = "what the certificate says beside labels and k (`workbench verify` does)"
        if document["output"]["format"] == "parquet":
            what, unchecked = "labels, k and all else that the certificate says (`workbench verify` does)", True
    print(f"Not checked: {what}, and")
    print("who holds the key of a signature (compare its number with the one that its owner told you).")
    return 3 if unchecked else 0


if __name__ == "__main__":
    sys.exit(main())
