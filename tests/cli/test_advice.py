"""The commands that refusals advise can be copied and run as they stand, and then the refused command works."""

import re
import shlex

import pytest
from command_cases import Answer, written

from workbench.params.remedies import DATA, LEDGER, raise_cap, run, shown

NAMED = "our people's table.csv"
LEDGERS = ["--ledger", "the ledger.sqlite"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Stand in a folder with a table whose name needs quotes, and its plan."""
    table, _, _ = written(tmp_path)
    table.rename(tmp_path / NAMED)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def advised(answer: Answer) -> list[str]:
    """Return the words of the last command that an error names."""
    told = re.findall(r"`workbench ([^`]*)`", answer.err)
    assert told, answer
    return shlex.split(told[-1])


def sanitize(output: str, *more: str) -> list[str]:
    return ["sanitize", NAMED, "--plan", "plan.toml", "-o", output, *LEDGERS, *more]


def test_the_advised_cap_is_that_of_the_ledger_in_use_and_is_enough(folder, run):
    assert run(*sanitize("a.csv")).code == 0
    refused = run(*sanitize("b.csv"))
    assert refused.code == 3
    words = advised(refused)
    assert words == ["ledger", "cap", NAMED, "--epsilon", "6", *LEDGERS]
    assert run(*words).code == 0
    assert run(*sanitize("b.csv")).code == 0
    assert not any(folder.rglob("user*"))


def test_a_table_is_read_as_its_plan_says_by_the_advised_command_too(folder, run):
    rows = (folder / NAMED).read_text("utf-8").replace("31,Graz", "n.d.,Graz")
    (folder / NAMED).write_text(f"a title\n\n{rows}", "utf-8")
    plan = (folder / "plan.toml").read_text("utf-8")
    reading = 'invalid = "replace"\n[reading]\nskip_lines = 2\nmissing = ["n.d.", "-9"]\n\n'
    (folder / "plan.toml").write_text(plan.replace("[[column]]", f"{reading}[[column]]", 1), "utf-8")
    assert run(*sanitize("a.csv")).code == 0
    words = advised(run(*sanitize("b.csv")))
    assert words == ["ledger", "cap", NAMED, "--skip-lines", "2", "--missing=n.d.,-9", "--epsilon", "6", *LEDGERS]
    assert run(*words).code == 0
    assert run(*sanitize("b.csv")).code == 0


def test_an_awkward_sum_is_rounded_up(folder, run):
    plan = (folder / "plan.toml").read_text("utf-8")
    (folder / "plan.toml").write_text(plan.replace("epsilon = 3.0", "epsilon = 0.1234567890123457", 1), "utf-8")
    assert run(*sanitize("a.csv")).code == 0
    for turn in range(3):
        refused = run(*sanitize(f"b{turn}.csv"))
        assert refused.code == 3
        assert run(*advised(refused)).code == 0
        assert run(*sanitize(f"b{turn}.csv")).code == 0


def test_the_users_own_ledger_is_not_named(folder, run):
    words = ["sanitize", NAMED, "--plan", "plan.toml", "-o"]
    assert run(*words, "a.csv").code == 0
    refused = run(*words, "b.csv")
    assert "--ledger" not in refused.err
    assert run(*advised(refused)).code == 0
    assert run(*words, "b.csv").code == 0


def test_the_advised_cap_of_delta_is_enough(folder, run):
    words = ["statistics", NAMED, "--plan", "plan.toml", "--epsilon", "0.5", "--mean", "age", *LEDGERS]
    assert run(*words, "-o", "a.csv").code == 0
    assert run("ledger", "cap", NAMED, "--epsilon", "9", *LEDGERS).code == 0
    assert run(*words, "-o", "b.csv", "--delta", "1e-6").code == 0
    refused = run(*words, "-o", "c.csv", "--delta", "1e-6")
    assert refused.code == 3
    assert advised(refused) == ["ledger", "cap", NAMED, "--epsilon", "9", "--delta", "0.000002", *LEDGERS]
    assert run(*advised(refused)).code == 0
    assert run(*words, "-o", "c.csv", "--delta", "1e-6").code == 0


def test_how_the_file_is_read_is_repeated(folder, run):
    text = (folder / NAMED).read_text("utf-8")
    (folder / NAMED).write_text("a note\n" + text.replace(",", " ; "), "utf-8")
    reading = ["--delimiter", ";", "--skip-lines", "1", "--trim"]
    assert run(*sanitize("a.csv", *reading)).code == 0
    refused = run(*sanitize("b.csv", *reading))
    assert run(*advised(refused)).code == 0
    assert run(*sanitize("b.csv", *reading)).code == 0


def test_guesses_are_confirmed_by_the_advised_command(folder, run):
    plan = (folder / "plan.toml").read_text("utf-8")
    odd = "my plan's guess.toml"
    (folder / odd).write_text(plan.replace('kind = "integer"', 'kind = "integer"\norigin = "guess"', 1), "utf-8")
    words = ["sanitize", NAMED, "--plan", odd, "-o", "a.csv", *LEDGERS]
    refused = run(*words)
    assert refused.code == 2
    assert run(*advised(refused)).code == 0
    assert run(*words).code == 0


def test_an_account_is_named_by_the_advised_command(folder, run):
    assert run(*sanitize("a.csv")).code == 0
    plan = (folder / "plan.toml").read_text("utf-8")
    (folder / "plan.toml").write_text('account = "town of Graz"\n' + plan, "utf-8")
    refused = run(*sanitize("b.csv"))
    assert refused.code == 2
    assert advised(refused) == ["ledger", "name", NAMED, "town of Graz", *LEDGERS]
    assert run(*advised(refused)).code == 0
    assert run("ledger", "cap", NAMED, "--epsilon", "9", *LEDGERS).code == 0
    assert run(*sanitize("b.csv")).code == 0


def test_a_filter_is_made_possible_by_the_advised_command(folder, run):
    count = ["ledger", "count", NAMED, "--by", "renyi-filter", *LEDGERS]
    assert run("ledger", "cap", NAMED, "--epsilon", "3", *LEDGERS).code == 0
    refused = run(*count)
    assert refused.code == 2
    assert run(*advised(refused)).code == 0
    assert run(*count).code == 0


def test_an_older_ledger_is_accepted_by_the_advised_command(folder, run):
    assert run("ledger", "cap", NAMED, "--epsilon", "9", *LEDGERS).code == 0
    older = (folder / LEDGERS[1]).read_bytes()
    assert run(*sanitize("a.csv")).code == 0
    (folder / LEDGERS[1]).write_bytes(older)
    refused = run(*sanitize("b.csv"))
    assert refused.code == 5
    assert run(*advised(refused)).code == 0
    assert run(*sanitize("b.csv")).code == 0


def test_an_output_is_replaced_as_the_refusal_says(folder, run):
    assert run("ledger", "cap", NAMED, "--epsilon", "9", *LEDGERS).code == 0
    assert run(*sanitize("a.csv")).code == 0
    refused = run(*sanitize("a.csv"))
    assert refused.code == 2
    assert "--replace" in refused.error()
    again = run(*sanitize("a.csv", "--replace"))
    assert again.code == 0
    assert "charged again" in again.err


def test_documents_are_made_later_by_the_hint(folder, run, monkeypatch):
    from workbench.params import WorkbenchError

    def failed(*_: object, **__: object) -> None:
        raise WorkbenchError("no printer")

    with monkeypatch.context() as broken:
        broken.setattr("workbench.release.bundle.write_bundle", failed)
        refused = run(*sanitize("my release.csv", "--bundle", "b"))
    assert advised(refused) == ["certificate", "my release.csv", *LEDGERS]


def test_a_file_that_is_called_as_a_placeholder_is_not_mistaken_for_one():
    made = raise_cap("epsilon", epsilon=_decimal("6"), delta=_decimal("0")).repeating(["DATA"], ["--ledger", "DATA"])
    assert made.text == "raise the cap with `workbench ledger cap DATA --epsilon 6 --ledger DATA`"
    assert shown(["verify", ""]) == "`workbench verify ''`"
    assert str(run("do", "ledger", "cap", DATA, LEDGER)) == "do `workbench ledger cap DATA`"


def _decimal(text: str):  # type: ignore[no-untyped-def]
    from decimal import Decimal

    return Decimal(text)


def test_the_next_step_after_a_plan_can_be_copied(folder, run):
    told = run("plan", NAMED, "--epsilon", "1", "-o", "a plan.toml", "--from-data")
    assert told.code == 0
    for line in told.out.splitlines():
        if "workbench " in line:
            words = shlex.split(line.partition("workbench ")[2])
            assert run(*words).code == 0, line
