"""Commands count one row as one row and show ε in four digits; their JSON has all of them."""

from pathlib import Path

from command_cases import PLAN

from workbench.release.verification import verified
from workbench.render.document import FactList

LEDGER = ("--ledger", "l.sqlite")


def one_row(folder: Path) -> tuple[str, ...]:
    (folder / "one.csv").write_text("age,city\n31,Graz\n", "utf-8")
    (folder / "one.toml").write_text(PLAN.replace("3.0", "0.9992841"), "utf-8")
    return ("sanitize", "one.csv", "--plan", "one.toml", "-o", "out.csv", *LEDGER)


def test_one_row_is_one_row_in_commands_documents_and_faults(folder, run):
    command = one_row(folder)
    assert "1 row, 2 columns" in run("describe", "one.csv", "--header", "yes").shown
    assert "released 1 row to" in run(*command).shown
    document = verified(folder / "out.csv").to_document()
    blocks = (block for section in document.sections for block in section.blocks)
    facts = dict(line for block in blocks if isinstance(block, FactList) for line in block.lines)
    assert facts["Contents"].startswith("1 row, each value")


def test_a_charge_is_shown_in_four_digits_rounded_up_and_json_has_all(folder, run):
    command = one_row(folder)
    shown = run(*command).shown
    assert "charged epsilon = 0.9993, 0 remain" in shown
    assert run("ledger", "show", *LEDGER, "--json").json["entries"][0]["epsilon"] == 0.9992841
    table = run("ledger", "show", *LEDGER).shown
    assert "0.9993" in table
    assert "0.99928" not in table


def test_a_refused_charge_is_in_four_digits_and_its_command_in_all(folder, run):
    command = one_row(folder)
    assert run(*command).code == 0
    said = run(*command, "--replace").error(3)
    assert "costs epsilon = 0.9993 but nothing is left (cap epsilon = 0.9993, spent or reserved 0.9993)" in said
    assert "--epsilon 1.9985682" in said
