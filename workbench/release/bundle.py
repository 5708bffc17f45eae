"""A bundle: a folder with a release and everything that checks it, which appears whole or not at all.

Data, certificate, plan, ledger entry, the command that runs the plan again, scripts and checksums.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import shutil
from collections.abc import Iterator, Mapping
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

from workbench import learners
from workbench.learners import learner
from workbench.learners.tasks import NO_TARGET
from workbench.params import CheckFailedError, InputError, ParameterError, Parameters, WorkbenchError, read_json
from workbench.paths import resources
from workbench.release.atomic import PART, new_file, public_mode, sha256_of, write_error
from workbench.release.certificate import GENERALISED_FORMAT, JOINED_ROWS, MADE_FROM, certificate_bytes, ledger_facts
from workbench.release.described_release import GENERALISED, DescribedRelease, release_at
from workbench.release.documents.release_document import day, program, release_id
from workbench.release.documents.written_document import document_bytes
from workbench.release.kinds import kind
from workbench.release.ledger.entry import decimal_text
from workbench.release.ledger.ledger import Ledger
from workbench.release.manifest import MANIFEST, RELEASE, is_of_this_version, manifest, read_manifest
from workbench.release.open_release import plan_of
from workbench.release.part_files import DrawFolder, require_new
from workbench.release.signature import SUFFIX, signature_bytes, signature_of, signature_path
from workbench.release.signature import SUFFIX as SIGNATURE
from workbench.release.statements import EVERY_TABLE
from workbench.sanitize.plan import REPLACE, Plan

DATA, PLAN, OUT, JOIN = "@DATA", "@PLAN", "@OUT", "@JOIN"
"""Placeholders for the files that a person names; ``@NAME`` is the file of this name in the bundle."""


def command(stated: DescribedRelease) -> list[str]:
    """Return the words of the command line after ``workbench``, with :data:`DATA` and the like for files."""
    words, document = _command(stated), stated.document
    return words if JOINED_ROWS not in document or MADE_FROM in document else [*words, "--join", JOIN]


def _command(stated: DescribedRelease) -> list[str]:
    document = stated.document
    if stated.kind == "table":
        return ["sanitize", DATA, "--plan", PLAN, "-o", OUT]
    if stated.kind == "model":
        return _model(document)
    known, claims = kind(document["kind"]), document["guarantee"]
    values, _ = known.repeated(document["request"], plan_of(document, stated.path))
    delta = claims.get("delta_row", "0")
    cost = [] if known.own_cost else ["--epsilon", claims["epsilon_row"]]
    rest = ["-o", OUT, *(["--delta", delta] if Decimal(delta) else []), *options(known.asked(), values)]
    return [*known.words, DATA, "--plan", PLAN, *cost, *rest]


def plan_text(stated: DescribedRelease) -> str:
    """Return the plan as TOML: the certificate's, or of a model the columns that its card declares."""
    document = stated.document
    if stated.kind != "model":
        found: str = document["plan"]
        return found
    plain: dict[str, Any] = {
        "version": 1,
        "epsilon": max(float(document["guarantee"]["epsilon"]), 1e-6),
        "rows_per_person": int(document["training"].get("rows_per_person", 1)),
        "column": [_column(column) for column in document["inputs"] if column != NO_TARGET.to_plain()],
    }
    unit = document["training"].get("unit")
    if unit is not None:
        plain["unit"] = unit
        plain["column"].append({"name": unit, "action": "drop"})
        plain |= {"join": {"on": join}} if (join := document["training"].get("join")) is not None else {}
    if EVERY_TABLE in document["guarantee"]["statement"]:
        plain["invalid"] = REPLACE
    if "account" in document:
        plain["account"] = document["account"]["name"]
    return Plan.from_plain(plain, where="the card").to_toml()


def _column(column: dict[str, Any]) -> dict[str, Any]:
    """Return a column of a card as a plan writes it: a card has the day numbers of dates."""
    days: dict[str, Any] = {}
    if column.get("kind") == "date":
        try:
            days = {key: date.fromordinal(int(column[key])) for key in ("lower", "upper") if key in column}
        except (TypeError, ValueError, OverflowError):
            raise ParameterError("the bounds are no day numbers", f"the card, column {column.get('name')!r}") from None
    return {**column, **days, "action": "protect"}


def request_texts(stated: DescribedRelease) -> dict[str, str]:
    """Return the files that the command reads besides data and plan, by their names in the bundle."""
    if stated.kind != "central":
        return {}
    document = stated.document
    return kind(document["kind"]).repeated(document["request"], plan_of(document, stated.path))[1]


def options(cls: type[Parameters], values: dict[str, Any]) -> list[str]:
    """Return the options that give ``cls`` these plain values."""
    words: list[str] = []
    defaults = {f.name: f.default for f in dataclasses.fields(cls)}
    for name, spec in cls.declared().items():
        if name not in values or values[name] is None:
            continue
        flag, value = "--" + (spec.flag or name).replace("_", "-"), values[name]
        if isinstance(value, bool):
            if value != defaults[name]:
                words.append(flag if value else flag.replace("--", "--no-", 1))
        else:
            words += [flag, ",".join(map(str, value)) if isinstance(value, list) else str(value)]
    return words


def _model(card: dict[str, Any]) -> list[str]:
    target, name = card["inputs"][-1]["name"], card["model"]
    if name not in (known.name for known in learners.LEARNERS):
        from workbench.deep.plan import DpSgdPlan

        given = options(DpSgdPlan, card["parameters"])
        return ["dpsgd", DATA, "--target", target, "--bounds", PLAN, "-o", OUT, *given]
    if MADE_FROM in card:
        return ["fit", "--on-release", DATA, "--target", target, "--model", name, "-o", OUT]
    given = options(learner(name).parameters, card["parameters"])
    of_target = [] if card["inputs"][-1] == NO_TARGET.to_plain() else ["--target", target]
    return ["fit", DATA, *of_target, "--model", name, "--bounds", PLAN, "-o", OUT, *given]


CHECK = "verify.py"
SCRIPTS = (CHECK, "rerun.py")
ENTRY, RERUN = "ledger-entry.json", "rerun.json"
HTML, PDF = "certificate.html", "certificate.pdf"
PRIVATE = "private"  # the folder of what was computed from the rows, in a bundle that is not for everybody

_ROOM = 1 << 20
_ENTRY_FORMAT = "privacy-workbench-ledger-entry"
_NO_TRUST = """\
Whoever can change a file here can change verify.py too. To be sure, run a verify.py that you got elsewhere, or
`workbench verify` of an installed program; and if there is a signature (MANIFEST.json.sig), compare the number of its
key with the one that its owner told you: python -I verify.py --key NUMBER.
"""


def check_bundle_place(target: Path, *, replace: bool = False) -> None:
    """Raise :class:`InputError` unless ``target`` can become the folder of a bundle, or may replace one."""
    require_new(target, replace=replace, known_by=MANIFEST, charged=False)
    if not os.path.isdir(target.absolute().parent):
        raise InputError("the folder of the bundle cannot be made there", str(target), "choose an existing folder")


def write_bundle(
    stated: DescribedRelease,
    target: Path,
    ledger: Ledger,
    *,
    signed: bool = False,
    replace: bool = False,
    private: Mapping[str, bytes] | None = None,
) -> None:
    """Write the bundle of a release as the folder ``target``.

    Args:
        stated: the release, which agrees with its certificate.
        target: a new folder.
        ledger: holds its entry; only what the certificate says too is copied.
        signed: whether to sign certificate and manifest with this user's key.
        replace: whether the folder of a bundle may be replaced.
        private: files of a folder ``private`` in it, by name: a bundle for those who may see the rows.

    Raises:
        InputError: the folder exists or cannot be written, the ledger does not know the release, or there is no key.
        CheckFailedError: the ledger's entry does not belong to the certificate, or a file changed meanwhile.
        WorkbenchError: Qt cannot print here.
    """
    check_bundle_place(target, replace=replace)
    released = f"{RELEASE}/{stated.release.absolute().name}"
    entry = ledger_entry(stated, ledger)
    made = {
        **generated_files(stated),
        PDF: document_bytes(stated.to_document(), ".pdf"),
        ENTRY: certificate_bytes(entry),
    }
    made |= {f"{PRIVATE}/{name}": data for name, data in (private or {}).items()}
    copied = _copied_files(stated, released)
    room = _ROOM + sum(p.stat().st_size for p in copied.values())
    with DrawFolder(target, room, MANIFEST, ending=PART, replace=replace) as part:
        try:
            part.write(made)
            sums = {name: hashlib.sha256(data).hexdigest() for name, data in made.items()}
            for name, path in copied.items():
                sums[name] = _copy(path, part.path / name)
            _require_whole(stated, released, sums)
            if signed:
                folder = released if stated.kind == "model" else RELEASE
                name, data = f"{folder}/{stated.path.name}{SIGNATURE}", stated.path.read_bytes()
                part.write({name: signature_bytes(data, stated.path.name)})
                sums[name] = sha256_of(part.path / name)
            listed = certificate_bytes(manifest(release_id(stated.document), released, sums))
            part.write({MANIFEST: listed})
            if signed:
                part.write({f"{MANIFEST}{SIGNATURE}": signature_bytes(listed, MANIFEST)})
            _open_to_others(part.path)
            part.publish()
        except OSError as error:
            raise write_error(error, target) from None


def ledger_entry(stated: DescribedRelease, ledger: Ledger) -> dict[str, Any]:
    """Return the ledger's entry of a release, as far as its certificate says the same.

    Raises:
        InputError: the ledger does not know it.
        CheckFailedError: the ledger has another certificate of it.
    """
    claims = ledger_facts(stated.document)
    if stated.kind == GENERALISED:
        if not ledger.published_generalised(claims["checksum"]):
            what = "the ledger has no note of this generalised table"
            raise InputError(what, str(ledger.path), "give the ledger that has noted it, with --ledger")
        return {"format": _ENTRY_FORMAT, "status": "noted", **expected_entry(claims)}
    found = ledger.release(claims["release_id"])
    if found is None:
        what = f"the ledger does not know the release {claims['release_id']}"
        raise InputError(what, str(ledger.path), "give the ledger that was charged, with --ledger")
    if found.body.get("certificate", claims["checksum"]) != claims["checksum"]:
        raise CheckFailedError("the certificate is not the one that was released", str(stated.path))
    return {
        "format": _ENTRY_FORMAT,
        "release_id": found.release_id,
        "time": found.time,
        "epsilon": decimal_text(found.epsilon),
        "delta": decimal_text(found.delta),
        "status": found.status,
        "certificate": claims["checksum"],
    }


def expected_entry(claims: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a ledger's entry must say of a certificate; of a generalised table that is no charge."""
    cost = {} if claims.get("format") == GENERALISED_FORMAT else claims["guarantee"]
    said = {"release_id": claims["release_id"], "time": claims["time"], "certificate": claims["checksum"]}
    return said | {name: cost[name] for name in ("epsilon", "delta") if name in cost}


def readme(stated: DescribedRelease) -> str:
    """Return what a recipient reads first."""
    document = stated.document
    if stated.kind == GENERALISED:
        return f"""A generalised table, without differential privacy: no epsilon bounds what it reveals.
Release {release_id(document)}, {day(document["time"])}, made by {program(document)}.

release/            the table, with its certificate (JSON), which says what was asked for and what it is not
{PDF}     the certificate to read and to print ({HTML}: the same)
ledger-entry.json   that the ledger of the person who published it has noted it; nothing was charged
verify.py           checks this folder with Python alone: python -I verify.py
MANIFEST.json       the SHA-256 of every other file

{document["statement"]}

{_NO_TRUST}"""
    claims = document["guarantee"]
    made = "a model made from a release" if MADE_FROM in document else "a release with differential privacy"
    return f"""{made[:1].upper()}{made[1:]}: epsilon = {claims["epsilon"]}, delta = {claims["delta"]}
Release {release_id(document)}, {day(document["time"])}, made by {program(document)}.

release/            what was released, with its certificate (JSON), which contains the whole claim
{PDF}     the certificate to read and to print ({HTML}: the same)
plan.toml           what was done with each column
ledger-entry.json   the charge, as the ledger of the person who released it records it
rerun.py            runs the plan again on the private table (a new release, which is charged again)
verify.py           checks this folder with Python alone: python -I verify.py
MANIFEST.json       the SHA-256 of every other file

{claims["statement"]}

{_NO_TRUST}"""


def scripts() -> dict[str, bytes]:
    """Return the scripts that are in every bundle."""
    return {name: (resources() / "bundle" / name).read_bytes() for name in SCRIPTS}


def generated_files(stated: DescribedRelease) -> dict[str, bytes]:
    """Return the files of a bundle that follow from the certificate alone, byte for byte."""
    read = {name: text.encode() for name, text in request_texts(stated).items()}
    to_read = {"README.txt": readme(stated).encode(), HTML: document_bytes(stated.to_document(), ".html")}
    if stated.kind == GENERALISED:  # its hierarchies name values of rows that were left out: it cannot be run again
        return {**to_read, CHECK: scripts()[CHECK]}
    return {
        **to_read,
        "plan.toml": plan_text(stated).encode(),
        RERUN: certificate_bytes({"command": command(stated), "files": sorted(read)}),
        **read,
        **scripts(),
    }


def _copied_files(stated: DescribedRelease, released: str) -> dict[str, Path]:
    """Return what is copied, by its path in the bundle: never a model's private figures."""
    if stated.kind != "model":
        return {released: stated.release, f"{RELEASE}/{stated.path.name}": stated.path}
    names = [*stated.document["files"], stated.path.name]
    return {f"{released}/{name}": stated.release / name for name in names}


def _copy(source: Path, target: Path) -> str:
    for folder in reversed([p for p in target.parents if not p.exists()]):
        folder.mkdir(mode=0o700)
    with source.open("rb") as stream, os.fdopen(new_file(target), "wb") as copy:
        shutil.copyfileobj(stream, copy, 1 << 20)
        copy.flush()
        os.fsync(copy.fileno())
    return sha256_of(target)


def _require_whole(stated: DescribedRelease, released: str, sums: Mapping[str, str]) -> None:
    document = stated.document
    if stated.kind == "model":
        wanted = {f"{released}/{name}": digest for name, digest in document["files"].items()}
    else:
        wanted = {released: document["output"]["sha256"]}
    if any(sums[name] != digest for name, digest in wanted.items()):
        raise CheckFailedError("the released file is not the one that was certified", str(stated.release))


def _open_to_others(folder: Path) -> None:
    """Let others read the sub-folders once the bundle has its name; its own folder is closed until then."""
    mode = public_mode()
    for path in folder.rglob("*"):
        os.chmod(path, mode | (mode & 0o444) >> 2 if path.is_dir() else mode)


_FORMER_REQUEST = "@REQUEST", "request.toml"  # the word of the command and the file, in bundles of version 1


def bundle_unverified(folder: Path) -> str:
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
        release = release_at(folder / listed["released"])
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
    made, same = generated_files(release), is_of_this_version(listed)
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
            raise InputError("this is not a bundle's command file", str(folder / RERUN), "get the original file")
    if version > 1:
        return list(rerun["files"])
    word, name = _FORMER_REQUEST
    return [name] if word in rerun["command"] else []


def _entry(folder: Path, listed: dict[str, Any], release: DescribedRelease) -> Iterator[str]:
    if listed["release_id"] != release_id(release.document):
        yield "the manifest names another release than the certificate"
    claims = ledger_facts(release.document)
    entry = read_json(folder / ENTRY, "ledger's entry")
    wanted = expected_entry(claims)
    if not isinstance(entry, dict) or any(entry.get(key) != value for key, value in wanted.items()):
        yield "the ledger's entry does not belong to the certificate"
