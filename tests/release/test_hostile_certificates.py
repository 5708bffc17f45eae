"""Certificates of somebody else whose checksum was computed anew: the same lies as on cards, and nothing crashes."""

from __future__ import annotations

import json
import random
import tomllib
from pathlib import Path
from typing import Any

import pytest
from release_cases import release as release_rows
from test_hostile_cards import VALUES, _equal, changed, leaves, other
from test_statistics_release import release as release_statistics
from test_synthetic_release import release as release_rows_of_nobody

from workbench.release.verify_any import verify_any

KINDS = ("table", "statistics", "synthetic", "synthetic with delta")

FREE: dict[tuple[Any, ...], str] = {
    ("release_id",): "a random name, which the ledger knows",
    ("time",): "of a clock, which the ledger knows",
    ("program",): "of the program that wrote the certificate; nothing is computed from it",
    ("rows",): "of the original of synthetic rows and of figures, which do not tell how many it had",
    ("method", "answers"): "noisy sums whose figures, as the file writes them, are the same",
    ("output", "file"): "the name that the file had; its bytes are named by their digest",
}
"""What a valid certificate can say otherwise without contradicting itself, and why that is so.

The digest of a column's table is one of these where the table has a formula: doubles of another processor may differ in
their last bit. Of tables that are found by solving, whose digest alone identifies them, it is checked.
"""


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one release of each kind."""
    folder = tmp_path_factory.mktemp("released")
    for kind in KINDS:
        (folder / kind).mkdir()
    release_rows(folder / "1.sqlite", folder / "table" / "out.csv")
    release_statistics(folder / "2.sqlite", folder / "statistics" / "out.csv")
    release_rows_of_nobody(folder / "3.sqlite", folder / "synthetic" / "out.csv")
    release_rows_of_nobody(folder / "4.sqlite", folder / "synthetic with delta" / "out.csv", delta="1e-5")
    return folder


def lies(path: Path) -> list[tuple[tuple[Any, ...], Any]]:
    """Every place of a certificate with every hostile value."""
    document, found = json.loads(path.read_text("utf-8")), []
    for place in leaves(document):
        present: Any = document
        for key in place:
            present = present[key]
        found += [(place, value) for value in (*VALUES, *other(present)) if not _same(place, present, value)]
    return found


def _same(place: tuple[Any, ...], present: Any, value: Any) -> bool:
    """Whether a value says nothing else: 1 for true, or a plan that is written otherwise."""
    if place[-1:] == ("plan",) and isinstance(value, str):
        try:
            return tomllib.loads(value) == tomllib.loads(present)
        except tomllib.TOMLDecodeError:
            return False
    return _equal(present, value) or (value is True and present == 1)


def believed(folder: Path, chosen: list[tuple[tuple[Any, ...], Any]]) -> list[str]:
    """The lies that `verify` believes, beyond what a certificate may say freely; each is judged without a crash."""
    path = folder / "out.csv.certificate.json"
    original, wrong = path.read_text("utf-8"), []
    try:
        for place, value in chosen:
            path.write_text(json.dumps(changed(json.loads(original), place, value)), "utf-8")
            free = any(place[: len(known)] == known for known in FREE) or place[-1:] == ("table_digest",)
            if not verify_any(folder / "out.csv") and not free:
                wrong.append(f"{folder.name}: {place} = {str(value)[:40]!r}")
    finally:
        path.write_text(original, "utf-8")
    return wrong


@pytest.mark.parametrize("kind", KINDS)
def test_a_certificate_that_contradicts_itself_is_not_believed(released: Path, kind: str) -> None:
    assert verify_any(released / kind / "out.csv") == []
    chosen = lies(released / kind / "out.csv.certificate.json")
    chosen = [lie for lie in chosen if lie[0] == ("format",)] + random.Random(kind).sample(chosen, 40)
    assert believed(released / kind, chosen) == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_none_of_all_lies_is_believed(released: Path, kind: str) -> None:
    wrong = believed(released / kind, lies(released / kind / "out.csv.certificate.json"))
    assert not wrong, "\n".join(wrong)
