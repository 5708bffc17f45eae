"""``workbench key``: the key that signs releases, and the keys of others that are trusted."""

from __future__ import annotations

import argparse
import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.cli.command import Command, Context
from workbench.params import ParameterError, read_text
from workbench.release import signature


def _configure(parser: argparse.ArgumentParser) -> None:
    acts = ("make", "show", "trust", "forget")
    parser.add_argument("act", choices=acts, metavar="|".join(acts), help="what to do")
    parser.add_argument("key", nargs="?", metavar="KEY", help="trust: a public key, or a file that holds one")
    parser.add_argument("--name", help="trust, forget: the name of the key's holder")


def _run(options: argparse.Namespace, context: Context) -> dict[str, Any]:
    if options.act in ("make", "show") and (options.key is not None or options.name is not None):
        raise ParameterError(f"`key {options.act}` takes no key and no name", hint="leave it out")
    if options.act in ("trust", "forget") and options.name is None:
        raise ParameterError(f"`key {options.act}` needs --name", hint="add the name of the key's owner")
    if options.act == "make":
        signature.make_key()
    elif options.act == "trust":
        if options.key is None:
            raise ParameterError("`key trust` needs a public key", hint="give the key, or a file with it")
        path = Path(options.key)
        text = read_text(path, "public key") if path.is_file() else options.key
        signature.trust(signature.public_key_in(text), options.name)
    elif options.act == "forget":
        if options.key is not None:
            raise ParameterError("`key forget` takes only a name", hint="use --name NAME")
        signature.forget(options.name)
    own = signature.own_public_key()
    trusted = [{"name": name, **_stated(key)} for key, name in signature.trusted_keys().items()]
    return {
        "key": None if own is None else {**_stated(own), "pem": signature.public_pem(own)},
        "file": str(signature.signing_key_path()),
        "trusted": sorted(trusted, key=lambda entry: entry["name"]),
    }


def _stated(public: bytes) -> dict[str, str]:
    return {"public_key": base64.b64encode(public).decode(), "fingerprint": signature.fingerprint(public)}


def _text(result: Mapping[str, Any]) -> str:
    own = result["key"]
    if own is None:
        lines = ["no signing key; `workbench key make` makes one"]
    else:
        lines = [f"your public key {own['public_key']}", f"fingerprint {own['fingerprint']}"]
        lines.append(f"the secret half is in {result['file']}: keep a copy where nobody else can read it")
    lines += [f"trusted: {entry['name']}  {entry['fingerprint']}" for entry in result["trusted"]]
    return "\n".join(lines)


COMMAND = Command("workbench key show", _configure, _run, _text)
