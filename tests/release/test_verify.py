"""A release is what its certificate says, or it does not verify."""

import copy
import json
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from release_cases import certificate_of, loss_of, names_in, raise_cap, release

from workbench.params import InputError
from workbench.release.certificate import checksum
from workbench.release.ledger.ledger import Ledger
from workbench.release.verification import verify_any
from workbench.release.verify import verify_in_ledger, verify_release

Document = dict[str, Any]


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """A release whose certificate has something in every field, after two raises of the cap."""
    folder = tmp_path_factory.mktemp("original")
    ledger, target = folder / "ledger.sqlite", folder / "people.csv"
    plan: dict[str, Any] = {
        "rows_per_person": 2,
        "keep_order": True,
        "account": "people",
        "column": [
            {"name": "age", "kind": "integer", "lower": 0, "upper": 120, "mechanism": "staircase", "role": "sensitive"},
            {"name": "city", "kind": "category", "domain": ["Graz", "Linz", "Wien"], "missing": "own-value"},
            {"name": "pay", "action": "keep"},
        ],
    }
    release(ledger, target, **plan)
    for cap in ("12", "30"):
        raise_cap(ledger, cap)
        release(ledger, target, **plan)
    return target


@pytest.fixture
def target(original, tmp_path):
    for name in names_in(original.parent):
        shutil.copy(original.parent / name, tmp_path / name)
    return tmp_path / original.name


def certificate_path(target: Path) -> Path:
    return target.with_name(target.name + ".certificate.json")


def write(target: Path, document: Document, *, forged: bool = False) -> None:
    if forged:
        document["checksum"] = checksum(document)
    certificate_path(target).write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n", "utf-8")


def in_ledger(target: Path) -> list[str]:
    with Ledger.open(target.parent / "ledger.sqlite") as ledger:
        return verify_in_ledger(certificate_of(target), ledger)


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every single value in a JSON document."""
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from leaves(item, (*path, key))
    elif isinstance(value, list) and value:
        for index, item in enumerate(value):
            yield from leaves(item, (*path, index))
    else:
        yield path


def changed(value: Any) -> Any:
    """Another value of the same type that the schema may well allow."""
    match value:
        case bool():
            return not value
        case int():
            return value + 1
        case float():
            return value * 0.5 if value else 0.25
        case str() if value.replace(".", "").isdigit():
            return str(int(value.split(".")[0]) + 1)
        case str() if len(value) in (16, 32, 64) and set(value) <= set("0123456789abcdef"):
            return ("1" if value[0] == "0" else "0") + value[1:]
        case str():
            return value + " "
        case _:
            return ["added"]


def test_a_release_verifies_by_its_table_its_certificate_and_its_folder(original, tmp_path):
    alone = tmp_path / "alone"
    alone.mkdir()
    for name in (original.name, certificate_path(original).name):
        shutil.copy(original.parent / name, alone / name)
    for path in (original, certificate_path(original), alone):
        assert verify_release(path) == []
    assert in_ledger(original) == []


def test_a_renamed_pair_still_verifies(target):
    """The name of the file says nothing about its rows; the bytes are bound by their hash."""
    target.rename(target.with_name("other.csv"))
    certificate_path(target).rename(target.with_name("other.csv.certificate.json"))
    assert verify_release(target.with_name("other.csv")) == []


def test_each_edited_field_of_the_certificate_is_found(target):
    document = certificate_of(target)
    paths = list(leaves(document))
    assert len(paths) > 50
    for path in paths:
        edited = copy.deepcopy(document)
        place = edited
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = changed(place[path[-1]])
        assert edited != document
        write(target, edited)
        assert verify_release(target), path


def test_each_removed_or_added_field_of_the_certificate_is_found(target):
    document = certificate_of(target)
    for key in document:
        write(target, {k: v for k, v in document.items() if k != key})
        assert verify_release(target), key
    for edited in ({**document, "note": "fine"}, {**document, "guarantee": {**document["guarantee"], "x": 1}}):
        write(target, edited)
        assert verify_release(target)
    fewer = copy.deepcopy(document)
    fewer["columns"].pop()
    write(target, fewer)
    assert verify_release(target)


WHOLE = {("release_id",), ("time",), ("program", "name"), ("program", "version")}
"""Facts that only the ledger knows (the program's version: nobody)."""

UNBOUND = {("output", "file")}
"""A file may be renamed; its SHA-256 binds it."""


def test_a_forger_who_recomputes_the_checksum_is_found_by_the_plan_or_by_the_ledger(target):
    """Without the ledger, what the plan implies cannot be changed; with it, nothing can."""
    document = certificate_of(target)
    silent = set()
    for path in leaves(document):
        if path == ("checksum",):
            continue
        edited = copy.deepcopy(document)
        place = edited
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = changed(place[path[-1]])
        write(target, edited, forged=True)
        if not verify_release(target):
            silent.add(path)
            assert in_ledger(target), path
    # A digest is not recomputed, because the last bit of an exponential differs between processors; the caps and
    # their times are the steward's; a blank at the end of a plan means nothing.
    digests = {("plan",)} | {p for p in silent if p[-1] == "table_digest"}
    raises = {p for p in silent if p[:2] == ("account", "cap_raised")}
    assert silent <= WHOLE | UNBOUND | digests | raises, silent - WHOLE - UNBOUND


FORGERIES: dict[str, Callable[[Document], None]] = {
    "a smaller epsilon, consistently": lambda d: d.update(
        plan=d["plan"].replace("epsilon = 3.0", "epsilon = 1.0"),
    ),
    "fewer rows per person": lambda d: d.update(plan=d["plan"].replace("rows_per_person = 2", "rows_per_person = 1")),
    "a column dropped": lambda d: d.update(plan=d["plan"].replace('action = "keep"', 'action = "drop"')),
    "an order that was random": lambda d: d.update(plan=d["plan"].replace("keep_order = true", "keep_order = false")),
    "wider bounds": lambda d: d.update(plan=d["plan"].replace("upper = 120", "upper = 121")),
    "another mechanism": lambda d: d.update(plan=d["plan"].replace("staircase", "bounded-laplace")),
    "no plan": lambda d: d.update(plan=""),
    "a plan that is no TOML": lambda d: d.update(plan="epsilon = "),
    "a plan of other columns": lambda d: d.update(plan=d["plan"].replace('name = "age"', 'name = "years"')),
    "a remaining budget that does not add up": lambda d: d["account"].update(remaining_after="29"),
    "another account": lambda d: d["account"].update(name="others"),
    "no account": lambda d: d.pop("account"),
    "an infinite exact epsilon": lambda d: d["columns"][0].update(exact_epsilon=1e300),
    "no exact epsilon": lambda d: d["columns"][0].pop("exact_epsilon"),
    "a file that says less": lambda d: d["output"].update(bytes=3),
    "decimals of a thousand digits": lambda d: d["account"].update(cap_epsilon="1" * 2000),
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_forged_certificate_does_not_verify(target, forgery):
    document = certificate_of(target)
    before = copy.deepcopy(document)
    FORGERIES[forgery](document)
    assert document != before
    write(target, document, forged=True)
    assert verify_release(target)


def test_a_certificate_forged_as_a_whole_is_found_in_the_ledger(target):
    """A release of her own, under a ledger of her own, verifies; it is only not the one that was charged."""
    other = target.parent / "other"
    other.mkdir()
    release(other / "ledger.sqlite", other / "people.csv", epsilon=0.01)
    shutil.copy(other / "people.csv", target)
    shutil.copy(certificate_path(other / "people.csv"), certificate_path(target))
    assert verify_release(target) == []
    assert in_ledger(target) == ["the ledger does not know this release"]
    stolen = certificate_of(target)
    with Ledger.open(target.parent / "ledger.sqlite") as ledger:
        real = ledger.releases()[-1]
    write(target, {**stolen, "release_id": real.release_id, "time": real.time}, forged=True)
    assert verify_release(target) == []
    problems = in_ledger(target)
    assert "the ledger was charged another epsilon or delta than the certificate states" in problems
    assert "the certificate is not the one that was released" in problems


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet"])
def test_one_changed_byte_anywhere_in_the_table_is_found(tmp_path, suffix):
    target = tmp_path / f"people.{suffix}"
    release(tmp_path / "ledger.sqlite", target, rows=40)
    whole = target.read_bytes()
    generator = random.Random(5)
    for position in {0, len(whole) - 1, *(generator.randrange(len(whole)) for _ in range(20))}:
        flipped = bytes([whole[position] ^ 1 << generator.randrange(8)])
        target.write_bytes(whole[:position] + flipped + whole[position + 1 :])
        assert any("SHA-256 differs" in p for p in verify_release(target))
    for other in (whole[:-1], whole + b"\n", b"", whole + whole):
        target.write_bytes(other)
        assert any("bytes, its certificate says" in p for p in verify_release(target))
    target.write_bytes(whole)
    assert verify_release(target) == []


def test_one_changed_byte_anywhere_in_the_certificate_is_found(target):
    certificate = certificate_path(target)
    whole = certificate.read_bytes()
    generator = random.Random(6)
    for position in {0, len(whole) - 2, *(generator.randrange(len(whole)) for _ in range(150))}:
        bit = generator.randrange(8)
        damaged = whole[:position] + bytes([whole[position] ^ 1 << bit]) + whole[position + 1 :]
        certificate.write_bytes(damaged)
        same_number = whole[position : position + 1] == b"e" and damaged[position : position + 1] == b"E"
        assert verify_release(target) or same_number, (position, bit)
    for text in (b"", b"{}", b"[]", b"null", whole[:-40], b"\xff", b'{"format": NaN}', b"[" * 100_000):
        certificate.write_bytes(text)
        (problem,) = verify_release(target)
        assert "\n" not in problem


def test_a_released_value_that_is_not_on_the_grid_is_named_with_its_row(target):
    """As a rogue writer would leave it: bytes and hash agree, the values do not."""
    import hashlib

    text = target.read_text("utf-8").splitlines()
    for changed_row, sentence in (
        ("121,Graz,1.0", "'121' is not a value that column age can release"),
        ("31,Paris,1.0", "'Paris' is not a value that column city can release"),
        (",Graz,1.0", "None is not a value that column age can release"),
    ):
        data = ("\n".join([*text[:3], changed_row, *text[4:]]) + "\n").encode()
        target.write_bytes(data)
        document = certificate_of(target)
        document["output"].update(sha256=hashlib.sha256(data).hexdigest(), bytes=len(data))
        write(target, document, forged=True)
        (problem,) = verify_release(target)
        assert sentence in problem
        assert "row 3" in problem
    data = ("\n".join(text[:-1]) + "\n").encode()
    target.write_bytes(data)
    document["output"].update(sha256=hashlib.sha256(data).hexdigest(), bytes=len(data))
    write(target, document, forged=True)
    assert verify_release(target) == ["the file has 49 rows, its certificate says 50"]


def test_what_cannot_be_checked_at_all_is_bad_input(target, tmp_path):
    cases: dict[Path, str] = {
        tmp_path / "missing.csv": "the file does not exist",
        tmp_path / ("x" * 300): "the file does not exist",
        tmp_path / "ledger.sqlite": "there is no certificate next to the file",
    }
    (tmp_path / "empty").mkdir()
    cases[tmp_path / "empty"] = "the folder holds no certificate"
    (tmp_path / "two").mkdir()
    for name in ("a", "b"):
        shutil.copy(certificate_path(target), tmp_path / "two" / f"{name}.csv.certificate.json")
    cases[tmp_path / "two"] = "the folder holds 2 certificates"
    cases[tmp_path / "two" / "a.csv.certificate.json"] = "the released file is missing"
    for path, sentence in cases.items():
        with pytest.raises(InputError) as refused:
            verify_release(path)
        assert str(refused.value).startswith(sentence)


def test_the_ledger_names_a_release_that_it_voided(target):
    with Ledger.open(target.parent / "ledger.sqlite") as ledger:
        document = certificate_of(target)
        real = ledger.release(document["release_id"])
        assert real is not None
        ledger.set_cap(real.dataset, loss_of("100").epsilon)
        void = ledger.reserve(real.dataset, loss_of("6"), work="test")
        ledger.void(void, "test")
        document["release_id"] = void
        assert "the ledger lists this release as void" in verify_in_ledger(document, ledger)


def test_a_ledger_that_was_tampered_with_vouches_for_nothing(target):
    import sqlite3

    connection = sqlite3.connect(target.parent / "ledger.sqlite")
    with connection:
        connection.execute("UPDATE entry SET epsilon = '1' WHERE seq = 2")
    connection.close()
    assert any("entry 2 was changed" in p for p in in_ledger(target))


@pytest.mark.parametrize("named", [".certificate.json", "."])
@pytest.mark.parametrize("verified", [verify_any, verify_release])
def test_a_certificate_of_no_name_is_refused_in_words(tmp_path, named, verified):
    (tmp_path / ".certificate.json").write_text("{}", "utf-8")
    with pytest.raises(InputError, match="no file name before its suffix"):
        verified(tmp_path / named)
