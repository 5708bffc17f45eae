"""README and the topics of ``workbench help``: their commands work, and what they name exists."""

import re
import shlex
from pathlib import Path

import pytest

from workbench.cli.catalogue import COMMANDS, load
from workbench.cli.main import parser_of
from workbench.paths import resources
from workbench.render.help_topics import TOPICS, search_topics, topic_text, topic_title

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")


def test_the_first_release_of_the_readme_works_as_it_is_written(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"## The first release\n\n```console\n(.*?)```", README, re.DOTALL)
    commands = [shlex.split(line.removeprefix("$ "), comments=True) for line in block.splitlines()]
    raised = re.search(r"`workbench (ledger cap [^`]+)`", README)
    assert raised is not None
    for words in [*(c[1:] for c in commands if c[0] == "workbench"), shlex.split(raised[1])]:
        answer = run(*words)
        assert answer.code == 0, answer
    assert len(commands) == 7


def test_the_readme_is_two_screens_and_names_every_command_topic_and_file():
    assert len(README.splitlines()) <= 90
    assert set(COMMANDS) <= set(re.findall(r"`([a-z-]+)`", README))
    assert set(re.findall(r"`workbench help ([a-z]+)`", README)) == set(TOPICS)
    named = re.findall(r"\]\(([^)]+)\)|src(?:set)?=\"([^\"]+)\"|python3 (\S+)", README)
    assert all((ROOT / "".join(places)).is_file() for places in named)
    shown = set(re.findall(r"pictures/([^\"]+)", README))
    assert shown == {path.name for path in (resources() / "pictures").iterdir()}


@pytest.mark.parametrize("name", TOPICS)
def test_a_topic_has_a_title_and_options_that_exist(name, run):
    answer = run("help", name)
    assert answer.code == 0
    assert answer.out.startswith(topic_text(name).rstrip("\n"))
    assert topic_title(name)
    assert f"  {name} " in run("help").out
    for line in re.findall(r"^    workbench (.*)$", topic_text(name), re.MULTILINE):
        command, *words = shlex.split(line)
        parser_of(load(command)).parse_args(words)


def test_every_text_of_the_help_is_a_topic():
    assert {path.stem for path in (resources() / "help").glob("*.md")} == set(TOPICS)


def test_help_of_a_command_is_its_help_and_a_topic_names_its_command(run):
    assert run("help", "fit") == run("fit", "--help")
    assert run("help", "rappor").out.endswith("Options: workbench rappor --help\n")


def test_an_unknown_topic_is_refused_with_the_nearest_one(run):
    assert "did you mean 'reading'?" in run("help", "readin").error()
    assert "one topic" in run("help", "plan", "reading").error()


def test_reading_options_are_listed_in_every_help_and_explained_in_one(run):
    explained = run("help", "reading").out
    for words in (["sanitize"], ["ledger", "cap"]):
        listed = run(*words, "--help").out
        assert "--skip-lines" in listed
        assert "lines before the table" not in listed
    assert "lines before the table" in explained


def test_the_help_is_searched_by_every_word_with_titles_first():
    found = [hit.topic for hit in search_topics("bounds")]
    assert found[0] == "bounds"
    assert {"ways", "plan", "learners"} & set(found)
    assert all("epsilon" in topic_text(hit.topic).lower() for hit in search_topics("epsilon ledger"))
    assert search_topics("no such hippopotamus") == []
    shown = {hit.topic: hit.line for hit in search_topics("budget")}
    assert shown["ledger"].startswith("The ledger recognises a table"), "a whole sentence, cut after a word"
    assert all(line.endswith((" …", ".", ";", ":")) or len(line) < 90 for line in shown.values())
    assert not any("`" in line for line in shown.values())
