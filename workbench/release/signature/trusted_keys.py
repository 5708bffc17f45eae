"""The public keys that this user knows by name."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path

from workbench.params import InputError, ParameterError
from workbench.params.codec import read_json
from workbench.paths import user_data
from workbench.release.atomic import PartFile, write_error
from workbench.release.signature.signing_key import RAW, fingerprint, own_public_key

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
            raise InputError("the list of trusted keys is malformed", str(path), "put back a whole copy")
        found[raw] = name
    return found


def trust(public: bytes, name: str) -> None:
    """Trust a public key under a name.

    Raises:
        ParameterError: the name is empty, too long, or another key's.
        InputError: the list cannot be read or written.
    """
    if not 0 < len(name.strip()) <= LONGEST_NAME:
        raise ParameterError(f"a name has 1 to {LONGEST_NAME} letters", hint="give another one")
    known = trusted_keys()
    if name in (other for key, other in known.items() if key != public):
        what = f"another key is trusted as {name!r} already"
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


def is_known(public: bytes) -> bool:
    """Return whether a public key is this user's own or trusted."""
    return public == own_public_key() or public in trusted_keys()


def _write(keys: dict[bytes, str]) -> None:
    path = trusted_path()
    plain = {base64.b64encode(key).decode(): name for key, name in keys.items()}
    data = json.dumps(plain, indent=2, ensure_ascii=False) + "\n"
    try:
        path.parent.mkdir(parents=True, mode=0o700, exist_ok=True)
    except OSError as error:
        raise write_error(error, path) from None
    with PartFile(path, private=True) as part:
        try:
            part.stream.write(data.encode())
            part.publish()
        except OSError as error:
            raise write_error(error, path) from None
