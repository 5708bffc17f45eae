"""The key that signs releases: made once, in the user's data folder, readable by its owner alone."""

from __future__ import annotations

import base64
import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.params import InputError
from workbench.paths import user_data
from workbench.release.atomic import sync_folder, write_error

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

KEY_FILE = "signing-key.pem"
RAW = 32
"""Bytes of a public key."""


def signing_key_path() -> Path:
    """Return where the key of this user is."""
    return user_data() / KEY_FILE


def make_key() -> bytes:
    """Make the signing key; return its public key (32 bytes).

    Raises:
        InputError: there is one already, or it cannot be written.
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    path, key = signing_key_path(), Ed25519PrivateKey.generate()
    data = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    try:
        path.parent.mkdir(parents=True, mode=0o700, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        sync_folder(path.parent)
    except FileExistsError:
        raise InputError("there is a signing key already", str(path), "show it by `workbench key show`") from None
    except OSError as error:
        raise write_error(error, path) from None
    return key.public_key().public_bytes_raw()


def signing_key() -> Ed25519PrivateKey:
    """Return the key that signs.

    Raises:
        InputError: there is none, or other users of the computer may read it.
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    path = signing_key_path()
    try:
        data = path.read_bytes()
        open_to_others = os.name != "nt" and path.stat().st_mode & 0o077
    except FileNotFoundError:
        raise InputError("there is no signing key", str(path), "make one by `workbench key make`") from None
    except OSError as error:
        raise InputError(f"the signing key cannot be read: {error.strerror}", str(path)) from None
    if open_to_others:
        raise InputError("other users may read the signing key", str(path), "close it to them: chmod 600")
    try:
        key = load_pem_private_key(data, None)
    except (ValueError, TypeError):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise InputError("this is not an Ed25519 key", str(path), "put back a whole copy")
    return key


def own_public_key() -> bytes | None:
    """Return the public key of this user, or ``None`` where there is no key."""
    if not os.path.lexists(signing_key_path()):
        return None
    return signing_key().public_key().public_bytes_raw()


def public_pem(public: bytes) -> str:
    """Return a public key as PEM, which openssl reads.

    Its prefix is the DER of RFC 8410: a SubjectPublicKeyInfo with the identifier of Ed25519.
    """
    der = bytes.fromhex("302a300506032b6570032100") + public
    return f"-----BEGIN PUBLIC KEY-----\n{base64.b64encode(der).decode()}\n-----END PUBLIC KEY-----\n"


def fingerprint(public: bytes) -> str:
    """Return the short name of a key that people compare: 32 digits of its SHA-256, in groups of four."""
    digits = hashlib.sha256(public).hexdigest()[:32]
    return " ".join(digits[i : i + 4] for i in range(0, len(digits), 4))


def public_key_in(text: str) -> bytes:
    """Return the 32 bytes of a public key that is written in base64, or as PEM.

    Raises:
        InputError: it is none.
    """
    lines = [line for line in text.strip().splitlines() if not line.startswith("-----")]
    try:
        raw = base64.b64decode("".join(lines), validate=True)
    except ValueError:
        raw = b""
    if len(raw) == RAW + 12:
        raw = raw[12:] if raw.startswith(bytes.fromhex("302a300506032b6570032100")) else b""
    if len(raw) != RAW:
        raise InputError("this is not an Ed25519 public key", hint="give it as `workbench key show` prints it")
    return raw
