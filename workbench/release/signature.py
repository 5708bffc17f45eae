"""Signatures: the key of this user, the public keys that are trusted, and the file beside what is signed, ``FILE.sig``.

The key is made once, in the user's data folder, readable by its owner alone. A signature is a JSON file with the public
key. What is signed is the file's bytes, so that standard tools check it. A certificate names the SHA-256 of the
released file: who signs the one vouches for the other. The certificate itself is the same with and without a signature.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.params import CheckFailedError, InputError, ParameterError, read_json
from workbench.paths import user_data
from workbench.release.atomic import sync_folder, write_error, write_new, write_output

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


KEY_FILE = "signing-key.pem"
RAW = 32  # bytes of a public key


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
        write_new(path, data)
        sync_folder(path.parent)
    except FileExistsError:
        raise InputError("there is a signing key already", str(path), "show it with `workbench key show`") from None
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
        raise InputError("there is no signing key", str(path), "make one with `workbench key make`") from None
    except OSError as error:
        raise InputError(f"the signing key cannot be read: {error.strerror}", str(path)) from None
    if open_to_others:
        raise InputError("other users may read the signing key", str(path), "make it private: chmod 600")
    try:
        key = load_pem_private_key(data, None)
    except (ValueError, TypeError):
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise InputError("this is not an Ed25519 key", str(path), "restore an intact copy")
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


TRUSTED_FILE = "trusted-keys.json"
LONGEST_NAME = 80


def trusted_path() -> Path:
    """Return where the trusted keys are."""
    return user_data() / TRUSTED_FILE


def trusted_keys() -> dict[bytes, str]:
    """Return the name of each trusted public key.

    Raises:
        InputError: the file cannot be read.
    """
    path = trusted_path()
    if not os.path.exists(path):
        return {}
    document = read_json(path, "list of trusted keys")
    found: dict[bytes, str] = {}
    for text, name in document.items() if isinstance(document, dict) else ():
        try:
            raw = base64.b64decode(text, validate=True)
        except ValueError:
            raw = b""
        if len(raw) != RAW or not isinstance(name, str):
            raise InputError("the list of trusted keys is malformed", str(path), "restore an intact copy")
        found[raw] = name
    return found


def trust(public: bytes, name: str) -> None:
    """Trust a public key under a name.

    Raises:
        ParameterError: the name is empty, too long, or another key's.
        InputError: the list cannot be read or written.
    """
    if not 0 < len(name.strip()) <= LONGEST_NAME:
        raise ParameterError(f"a name has 1 to {LONGEST_NAME} letters", hint="choose another one")
    known = trusted_keys()
    if name in (other for key, other in known.items() if key != public):
        what = f"another key is already trusted as {name!r}"
        raise ParameterError(what, hint="give another name, or forget that key first")
    _write({**known, public: name})


def forget(name: str) -> None:
    """Trust the key called ``name`` no longer.

    Raises:
        ParameterError: there is none.
    """
    known = trusted_keys()
    left = {key: other for key, other in known.items() if other != name}
    if len(left) == len(known):
        raise ParameterError(f"no key is trusted as {name!r}", hint="see `workbench key show`")
    _write(left)


def issuer(public: bytes) -> str:
    """Return who holds a public key, in words: this user, a trusted name, or nobody who is known."""
    if public == own_public_key():
        return "your own key"
    name = trusted_keys().get(public)
    if name is not None:
        return f"the trusted key of {name}"
    return f"a key that is not known here (fingerprint {fingerprint(public)})"


def _write(keys: dict[bytes, str]) -> None:
    path = trusted_path()
    plain = {base64.b64encode(key).decode(): name for key, name in keys.items()}
    data = json.dumps(plain, indent=2, ensure_ascii=False) + "\n"
    try:
        path.parent.mkdir(parents=True, mode=0o700, exist_ok=True)
    except OSError as error:
        raise write_error(error, path) from None
    write_output(path, data.encode(), private=True)


SUFFIX = ".sig"
FORMAT = "privacy-workbench-signature"
VERSION = 1
_BYTES = 64
_KEYS = {"format", "version", "algorithm", "file", "public_key", "signature"}


@dataclass(frozen=True)
class Signature:
    """A signature that fits its file."""

    public: bytes  # the public key (32 bytes)
    issuer: str  # who holds it, in words
    known: bool  # whether it is this user's own key or a trusted one

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
        what = "the signature does not match this file: the file was changed, or the signature belongs to another"
        raise CheckFailedError(what, str(beside), "sign the file again, or remove the signature") from None
    known = public == own_public_key() or public in trusted_keys()
    return Signature(public, issuer(public), known)


def _read(path: Path) -> tuple[bytes, bytes]:
    """Return (public key, signature)."""
    document = read_json(path, "signature")
    broken = InputError("this is not a signature of the workbench", str(path), "get the original file")
    if not isinstance(document, dict) or document.get("format") != FORMAT or set(document) != _KEYS:
        raise broken
    if document["version"] != VERSION or document["algorithm"] != "Ed25519":
        raise InputError("the signature is of another version or algorithm", str(path), "check it with a newer one")
    try:
        public, signature = (base64.b64decode(document[k], validate=True) for k in ("public_key", "signature"))
    except (ValueError, TypeError):
        raise broken from None
    if len(public) != RAW or len(signature) != _BYTES or not isinstance(document["file"], str):
        raise broken
    return public, signature
