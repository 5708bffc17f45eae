"""``ledger cap`` with one of its two caps alone."""

from __future__ import annotations

from pathlib import Path

from command_cases import Run

from workbench.release.ledger.ledger import Ledger

CAP = ("ledger", "cap", "people.csv", "--ledger", "l.sqlite")


def caps(run: Run) -> tuple[float | None, float | None]:
    (account,) = run("ledger", "show", "--ledger", "l.sqlite", "--json").json["accounts"]
    return account["cap_epsilon"], account["cap_delta"]


def test_the_cap_of_delta_can_be_set_alone_and_that_of_epsilon_stays(folder: Path, run: Run) -> None:
    assert run(*CAP, "--epsilon", "4.5").code == 0
    assert run(*CAP, "--delta", "1e-5").code == 0
    assert caps(run) == (4.5, 1e-5)
    assert run(*CAP, "--delta", "2e-5").code == 0
    assert run(*CAP, "--epsilon", "6").code == 0
    assert caps(run) == (6.0, 2e-5)


def test_a_cap_of_delta_alone_is_refused_where_none_of_epsilon_stands_and_nothing_is_recorded(
    folder: Path, run: Run
) -> None:
    said = run(*CAP, "--delta", "1e-5").error()
    assert "there is no cap of epsilon yet that could stay as it is (--delta); give --epsilon as well" in said
    with Ledger.open(folder / "l.sqlite") as ledger:
        assert list(ledger.entries()) == []


def test_a_cap_without_a_number_is_refused(folder: Path, run: Run) -> None:
    assert "no cap is named (ledger cap); give --epsilon, --delta or both" in run(*CAP).error()
