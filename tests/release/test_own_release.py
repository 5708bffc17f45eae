"""A table counts as released only where the certificate beside it is unchanged and of exactly its bytes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from release_cases import certificate_of, release

from workbench.data.read import read_table
from workbench.release.certificate import certificate_path
from workbench.release.described_release import is_release


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out.csv"


def test_the_released_file_is_one(out: Path) -> None:
    release(out.with_name("l.sqlite"), out)
    assert is_release(read_table(str(out)))


def test_a_certificate_that_was_changed_by_hand_shows_nothing(out: Path) -> None:
    """Rows that were never released do not become public by writing their checksum into a certificate."""
    release(out.with_name("l.sqlite"), out)
    out.write_text("Age\n47\n", "utf-8")
    table = read_table(str(out))
    assert not is_release(table)
    document = certificate_of(out)
    document["output"]["sha256"] = table.digest.hex()
    certificate_path(out).write_text(json.dumps(document), "utf-8")
    assert not is_release(table)


def test_without_a_certificate_rows_are_private(out: Path) -> None:
    out.write_text("Age\n47\n", "utf-8")
    assert not is_release(read_table(str(out)))
