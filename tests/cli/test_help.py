"""What holds of every command: a help with an example that works, --json, and no seed where something is released."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from workbench.cli.catalogue import COMMANDS, load
from workbench.cli.main import parser_of


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_every_command_has_an_example_that_works(name, tmp_path, monkeypatch, run):
    """In an empty folder, with an empty home: nothing is presumed but the bundled samples."""
    if name in ("dpsgd", "accuracy"):
        pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    command = load(name)
    told = run(name, "--help")
    assert (told.code, told.err) == (0, "")
    assert command.example in " ".join(told.out.split())
    if command.foreground:
        return  # it stays until a person closes it; tests/gui opens it
    for line in command.example.split(" && "):
        words = shlex.split(line)
        assert words[0] == "workbench"
        answer = run(*words[1:])
        assert answer.code == 0, answer
        assert answer.out
        assert all(line.startswith(("warning: ", "note: ")) for line in answer.err.splitlines()), answer.err
    last = shlex.split(command.example.split(" && ")[-1])[1:]
    assert last[0] == name
    assert not any(p.name.endswith(".part") for p in tmp_path.rglob("*"))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_takes_json_and_only_a_releasing_one_refuses_a_seed(name):
    command = load(name)
    told = parser_of(command).format_help()
    assert "--json" in told
    seeds = [a for a in parser_of(command)._actions if "--seed" in a.option_strings]
    assert all(a.dest == "seed_refused" for a in seeds) is (command.releases or not seeds)
    if command.releases:
        assert seeds
        assert {"--ledger", "--replace"} <= set(told.replace(",", " ").split())


@pytest.mark.parametrize("name", COMMANDS)
def test_a_help_opens_with_what_the_command_is_for_and_ends_with_how_files_are_read(name):
    command = load(name)
    told = parser_of(command).format_help()
    lines = told.splitlines()
    assert " ".join(told.split()).startswith(" ".join(command.help.split()))
    assert lines[lines.index("") + 1].startswith(f"usage: workbench {name}")
    if "--encoding" in told:
        assert told.index("--encoding") > max(told.index(word) for word in ("--json", "-h, --help"))
        assert told.rindex("\n\n") < told.index("--encoding")  # the last paragraph


def test_the_help_of_an_action_opens_with_what_it_is_for(run):
    assert run("ledger", "cap", "--help").out.startswith("set the cap of a dataset\n\nusage: workbench ledger cap DATA")


def test_a_template_goes_to_standard_output(tmp_path, monkeypatch, run):
    from workbench.studies.grid.files import TEMPLATE

    monkeypatch.chdir(tmp_path)
    assert run("grid", "--template", "-").out == TEMPLATE
    assert json.loads(run("grid", "--template", "-", "--json").out)["text"] == TEMPLATE
    assert not list(tmp_path.iterdir())


def test_the_overview_names_every_command_and_every_exit_code(run):
    told = run("--help")
    assert (told.code, told.err) == (0, "")
    assert all(f"  {name} " in told.out for name in COMMANDS)
    assert all(f"{code} " in told.out for code in range(6))
    assert run("-h") == told
    assert told.out.index("  values ") < told.out.index("  plan ")
    assert all("None" not in run(name, "--help").out.split("\n\n")[1] for name in COMMANDS)


def test_the_module_and_the_script_are_the_same_program():
    script = Path(sys.executable).with_name("workbench")
    if not script.exists():
        pytest.skip("the package is not installed with its script")
    answers = [
        subprocess.run([*program, "samples", "--json"], capture_output=True, text=True, timeout=300)
        for program in ([script], [sys.executable, "-m", "workbench"])
    ]
    assert [a.returncode for a in answers] == [0, 0]
    assert answers[0].stdout == answers[1].stdout
    assert "people" in json.loads(answers[0].stdout)["samples"]
