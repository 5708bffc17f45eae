"""A run that is cut off settles what it leaves, and says what stays charged without a release."""

from __future__ import annotations

from pathlib import Path

from release_cases import loss_of

from workbench.release.ledger.ledger import Ledger
from workbench.release.recover import CHARGED_FIRST, settle_own


def test_what_was_charged_without_a_release_is_said_and_what_was_reserved_is_void(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    told = {"part": "out.csv.0123abcd.part", CHARGED_FIRST: True}
    with Ledger.open(path) as ledger:
        reserved = ledger.reserve("a", loss_of("0.5"), work="test", details=told)
    assert settle_own(path) == ""
    with Ledger.open(path) as ledger:
        assert ledger.release(reserved).status == "void"
        ledger.set_cap("a", loss_of("9").epsilon)
        charged = ledger.reserve("a", loss_of("2"), work="test", details=told)
        ledger.charge(charged)
    assert settle_own(path).startswith("epsilon = 2 stays charged")
    with Ledger.open(path) as ledger:
        ledger.certify(charged, "c" * 64, "r" * 64)
    assert settle_own(path) == ""
