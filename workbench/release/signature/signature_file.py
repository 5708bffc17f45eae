"""A signature beside the file that it signs, ``FILE.sig``: a JSON file with the public key.

What is signed is the file's bytes, so that standard tools check it. A certificate names the SHA-256 of the released
file: who signs the one vouches for the other. The certificate itself is the same with and without a signature.
"""

from __future__ import annotations

import base64
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.params import CheckFailedError, InputError
from workbench.params.codec import read_json
from workbench.release.atomic import write_output
from workbench.release.signature.signing_key import signing_key
from workbench.release.signature.trusted_keys import is_known, issuer

SUFFIX = ".sig"
FORMAT = "privacy-workbench-signature"
VERSION = 1
_BYTES = 64
_KEYS = {"format", "version", "algorithm", "file", "public_key", "signature"}


@dataclass(frozen=True)
class Signature:
    """A signature that fits its file.

    Attributes:
        public: the public key (32 bytes).
        issuer: who holds it, in words.
        known: whether it is this user's own key or a trusted one.
    """

    public: bytes
    issuer: str
    known: bool

    def to_plain(self) -> dict[str, Any]:
        """Return it as a command's result."""
        return {"issuer": self.issuer, "known": self.known, "public_key": base64.b64encode(self.public).decode()}


def signature_path(signed: Path) -> Path:
    """Return the path of the signature of ``signed``."""
    return signed.with_name(signed.name + SUFFIX)


def signature_bytes(data: bytes, name: str) -> bytes:
    """Return the signature file of ``data``, the bytes of a file called ``name``.

    Raises:
        InputError: there is no signing key.
    """
    key = signing_key()
    document = {
        "format": FORMAT,
        "version": VERSION,
        "algorithm": "Ed25519",
        "file": name,
        "public_key": base64.b64encode(key.public_key().public_bytes_raw()).decode(),
        "signature": base64.b64encode(key.sign(data)).decode(),
    }
    return (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode()


def sign(path: Path) -> Path:
    """Sign the file at ``path``; return the signature file beside it.

    Raises:
        InputError: there is no signing key, or the signature cannot be written.
    """
    signed = signature_path(path)
    write_output(signed, signature_bytes(path.read_bytes(), path.name))
    return signed


def signature_of(path: Path) -> Signature | None:
    """Return the signature of the file at ``path``, or ``None`` where it has none.

    Raises:
        InputError: there is a file in its place that is no signature.
        CheckFailedError: the signature is not that of this file.
    """
    beside = signature_path(path)
    if not os.path.lexists(beside):
        return None
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    public, signature = _read(beside)
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(signature, path.read_bytes())
    except InvalidSignature:
        what = "the signature is not that of this file: it was changed, or belongs to another"
        raise CheckFailedError(what, str(beside), "sign the file again, or remove the signature") from None
    return Signature(public, issuer(public), is_known(public))


def _read(path: Path) -> tuple[bytes, bytes]:
    """Return (public key, signature)."""
    document = read_json(path, "signature")
    broken = InputError("this is not a signature of the workbench", str(path), "ask for the file as it was made")
    if not isinstance(document, dict) or document.get("format") != FORMAT or set(document) != _KEYS:
        raise broken
    if document["version"] != VERSION or document["algorithm"] != "Ed25519":
        raise InputError("the signature is of another version or algorithm", str(path), "check it with a newer one")
    try:
        public, signature = (base64.b64decode(document[k], validate=True) for k in ("public_key", "signature"))
    except (ValueError, TypeError):
        raise broken from None
    if len(public) != 32 or len(signature) != _BYTES or not isinstance(document["file"], str):
        raise broken
    return public, signature
