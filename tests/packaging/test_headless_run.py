"""The main job without the window: what it calls, where its results go, when it stops."""

import socket
import sys
import tomllib
from datetime import datetime
from pathlib import Path

import main_job
import pytest
from environment import Environment
from main_job import MainJob

NOON = datetime(2030, 5, 17, 12, 0, 0)  # noqa: DTZ001 - the person's own clock
WAITING = '[[column]]\nname = "Age"\nlower = "?"\nupper = 120\n[[column]]\nname = "Sex"\ndomain = "?"\n'
FILLED = WAITING.replace('lower = "?"', "lower = 0").replace('domain = "?"', 'domain = ["?", "F", "M"]')


class Program:
    """Stands for ``workbench``: notes each call and writes the files that the real one would."""

    def __init__(self) -> None:
        self.calls: list[list[str]] = []
        self.plan = '[[column]]\nname = "label"\nrole = "target"\n'
        self.failing: dict[str, int] = {}

    def __call__(self, arguments, *, env, cwd) -> int:
        words = [str(a) for a in arguments[1:]]
        self.calls.append(words)
        if status := self.failing.get(words[0]):
            return status
        for option in ("-o", "--plot"):
            if option in words:
                content = self.plan if words[0] == "plan" else "x"
                Path(words[words.index(option) + 1]).write_text(content, "utf-8")
        return 0

    def commands(self) -> list[str]:
        return [words[0] for words in self.calls]

    def option(self, command: str, name: str) -> str | None:
        """Return what stood after an option of the last call of ``command``."""
        words = next(words for words in reversed(self.calls) if words[0] == command)
        return words[words.index(name) + 1] if name in words else None


@pytest.fixture
def program(monkeypatch):
    program = Program()
    monkeypatch.setattr(main_job, "call", program)
    return program


@pytest.fixture
def environment(tmp_path):
    return Environment(tmp_path)


@pytest.fixture
def table(tmp_path):
    file = tmp_path / "mine.csv"
    file.write_text("Age,Sex\n40,F\n", "utf-8")
    return file


def sample_job(environment, **options) -> MainJob:
    return MainJob(environment, now=lambda: NOON, **options)


def test_the_sample_goes_from_plan_to_picture(program, environment, capsys):
    assert sample_job(environment).run() == 0
    assert program.commands() == ["plan", "forecast", "sanitize", "verify", "curve"]
    folder = environment.root / "results" / "people-2030-05-17-120000"
    assert program.option("curve", "--plot") == str(folder / "private" / "curve.png")
    assert program.option("curve", "--target") == "label"
    assert program.option("sanitize", "--plan") == program.option("curve", "--bounds") == str(folder / "plan.toml")
    out = capsys.readouterr().out
    assert f"The results are in {folder}" in out
    assert "private/curve.png" in out
    assert "The window comes in the next version" in out


def test_trying_the_sample_spends_no_account_and_works_again(program, environment):
    assert sample_job(environment).run() == 0
    first = program.option("sanitize", "--ledger")
    assert sample_job(environment).run() == 0
    second = program.option("sanitize", "--ledger")
    assert {Path(ledger).parent.name for ledger in (first, second)} == {
        "people-2030-05-17-120000",
        "people-2030-05-17-120000-2",
    }


def test_public_bounds_are_asked_for_and_nothing_is_released_without_them(program, environment, table, capsys):
    program.plan = WAITING
    assert MainJob(environment, table).run() == 2
    assert program.commands() == ["plan"]
    assert "--from-data" not in program.calls[0]
    error = capsys.readouterr().err
    assert "public bounds and domains: lower of Age, domain of Sex" in error
    assert error.rstrip().endswith(f"dev.py run {table}")


def test_guesses_are_to_be_confirmed_by_the_person_alone(program, environment, table, capsys):
    program.plan = '[reading]\norigin = "guess"\n' + FILLED.replace("[[column]]", '[[column]]\norigin = "guess"')
    assert MainJob(environment, table).run() == 2
    assert program.commands() == ["plan"]
    error = capsys.readouterr().err
    assert "unconfirmed guesses from the rows: Age, Sex, how the file is read" in error
    assert "plan --confirm" in error
    assert error.rstrip().endswith(f"dev.py run {table}")
    plan = MainJob(environment, table).plan
    plan.write_text(plan.read_text("utf-8").replace("guess", "declared"), "utf-8")
    assert MainJob(environment, table).run() == 0


def test_the_plan_that_was_filled_in_is_used(program, environment, table):
    program.plan = WAITING
    MainJob(environment, table).run()
    plan = MainJob(environment, table).plan
    plan.write_text(FILLED, "utf-8")
    assert MainJob(environment, table).run() == 0
    assert program.commands() == ["plan", "forecast", "sanitize", "verify"]
    assert plan.read_text("utf-8") == FILLED


def test_a_table_of_yours_is_charged_to_your_ledger_once(program, environment, table, capsys):
    program.plan = FILLED
    assert MainJob(environment, table).run() == 0
    assert program.option("sanitize", "--ledger") is None
    program.calls.clear()
    assert MainJob(environment, table).run() == 0
    assert "sanitize" not in program.commands()
    assert "Another draw is another charge" in capsys.readouterr().out


def test_tables_of_one_name_in_two_folders_do_not_share_results(environment, tmp_path):
    jobs = [MainJob(environment, tmp_path / folder / "data.csv") for folder in ("a", "b")]
    assert jobs[0].folder != jobs[1].folder


@pytest.mark.parametrize(("command", "status"), [("plan", 2), ("sanitize", 3), ("verify", 5), ("curve", 4)])
def test_a_step_that_fails_ends_the_job_with_its_status(program, environment, command, status):
    program.failing = {command: status}
    assert sample_job(environment).run() == status
    assert program.commands()[-1] == command


def test_the_target_of_the_command_line_comes_before_that_of_the_plan(program, environment, table):
    program.plan = FILLED
    assert MainJob(environment, table, target="Sex").run() == 0
    assert program.option("plan", "--target") == program.option("curve", "--target") == "Sex"


def test_without_a_target_there_is_no_curve_and_it_says_how(program, environment, table, capsys):
    program.plan = FILLED
    assert MainJob(environment, table).run() == 0
    assert 'role = "target"' in capsys.readouterr().out


def test_without_qt_there_is_a_curve_but_no_picture(program, environment, capsys):
    assert sample_job(environment, picture=False).run() == 0
    assert program.option("curve", "--plot") is None
    assert "No picture of the curve" in capsys.readouterr().out


def test_a_question_mark_in_a_domain_is_a_value_like_any_other():
    assert main_job.unfilled(tomllib.loads(FILLED)) == []


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems always have a display")
class TestDisplay:
    def test_no_variable_means_no_display(self):
        assert not main_job.display_answers({})

    @pytest.mark.parametrize("display", [":4711", "127.0.0.1:4711.0", "nonsense", ""])
    def test_a_display_that_does_not_answer_is_none(self, display):
        assert not main_job.display_answers({"DISPLAY": display, "WAYLAND_DISPLAY": "none-here"})

    def test_a_socket_that_answers_is_a_display(self, tmp_path):
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(tmp_path / "wayland-7"))
            server.listen()
            assert main_job.display_answers({"WAYLAND_DISPLAY": "wayland-7", "XDG_RUNTIME_DIR": str(tmp_path)})
            assert main_job.display_answers({"WAYLAND_DISPLAY": str(tmp_path / "wayland-7")})
