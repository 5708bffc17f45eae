"""``dev.py`` itself: old Pythons, the two tasks, how they end."""

import ast
import contextlib
import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import main_job
import pytest
import verification
import workshop
from environment import Environment
from failure import SetupError

ROOT = Path(__file__).resolve().parents[2]
DEV = ROOT / "packaging" / "dev.py"


def test_dev_py_keeps_to_syntax_that_an_old_python_reads():
    source = DEV.read_bytes().decode("ascii")
    beyond = (ast.JoinedStr, ast.AnnAssign, ast.NamedExpr, ast.AsyncFunctionDef, ast.Match, ast.Nonlocal)
    for node in ast.walk(ast.parse(source)):
        assert not isinstance(node, beyond), ast.unparse(node)
        if isinstance(node, ast.FunctionDef):
            assert node.returns is None
            assert not node.args.kwonlyargs


@pytest.mark.parametrize("version", ["2.7", "3.6", "3.8", "3.9", "3.10"])
def test_a_real_old_python_says_one_sentence(version):
    program = shutil.which(f"python{version}")
    if not program or subprocess.run([program, "--version"], capture_output=True).returncode:
        pytest.skip(f"there is no Python {version} on this machine")
    done = subprocess.run([program, str(DEV), "run"], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(f"error: the workbench needs Python 3.11 or newer (this is Python {version}")
    assert done.stderr.count("\n") == 1


def test_an_old_python_is_refused_before_anything_newer_is_read(monkeypatch, capsys):
    main = runpy.run_path(str(DEV))["main"]
    monkeypatch.setattr(sys, "version_info", (3, 10, 4))
    monkeypatch.setitem(sys.modules, "workshop", None)
    assert main() == 2
    assert "(this is Python 3.10.4)" in capsys.readouterr().err


def test_a_32_bit_python_is_refused(monkeypatch, capsys):
    main = runpy.run_path(str(DEV))["main"]
    monkeypatch.setattr(sys, "maxsize", 2**31 - 1)
    assert main() == 2
    assert "needs a 64-bit Python" in capsys.readouterr().err


def test_dev_py_finds_its_modules_in_safe_mode_and_from_any_folder(tmp_path):
    done = subprocess.run([sys.executable, "-P", str(DEV), "--help"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "run|test" in done.stdout


@pytest.fixture
def kept_signals(monkeypatch):
    """Leave the handling of signals as the test run has it."""
    monkeypatch.setattr(workshop.signal, "signal", lambda number, action: None)


@pytest.mark.usefixtures("kept_signals")
class TestMain:
    def test_a_set_up_that_fails_is_one_sentence_and_exit_2(self, monkeypatch, capsys):
        def fail(environment):
            raise SetupError("no\nnetwork", "here", "mend it")

        monkeypatch.setattr(workshop.environments, "ensure", fail)
        assert workshop.main(["test"]) == 2
        assert capsys.readouterr().err == "error: no network (here); mend it\n"

    def test_ctrl_c_is_exit_4_without_a_traceback(self, monkeypatch, capsys):
        def interrupt(environment):
            raise KeyboardInterrupt

        monkeypatch.setattr(workshop.environments, "ensure", interrupt)
        assert workshop.main(["run"]) == 4
        assert capsys.readouterr().err == "cancelled; run it again to go on\n"

    def test_a_missing_file_is_told_before_anything_is_set_up(self, monkeypatch, capsys):
        monkeypatch.setattr(workshop.environments, "ensure", lambda environment: pytest.fail("set up in vain"))
        assert workshop.main(["run", "absent.csv"]) == 2
        assert "there is no such file" in capsys.readouterr().err

    def test_unknown_options_of_run_are_refused(self, capsys):
        with pytest.raises(SystemExit, match="2"):
            workshop.main(["run", "--frobnicate"])
        assert "--frobnicate" in capsys.readouterr().err

    def test_further_arguments_of_test_reach_pytest_alone(self, monkeypatch):
        told = []
        monkeypatch.setattr(workshop.environments, "ensure", lambda environment: None)
        monkeypatch.setattr(workshop.qt_libraries, "ensure", lambda libraries, log: {})
        monkeypatch.setattr(workshop.verification, "run", lambda environment, further: told.append(further) or 0)
        monkeypatch.setattr(workshop.os, "chdir", lambda folder: None)
        assert workshop.main(["test", "-x", "tests/cli", "-k", "plan"]) == 0
        assert told == [["-x", "tests/cli", "-k", "plan"]]

    def test_tests_without_qts_libraries_end_with_the_line_that_installs_them(self, monkeypatch, capsys):
        monkeypatch.setattr(workshop.environments, "ensure", lambda environment: None)
        monkeypatch.setattr(workshop.qt_libraries, "ensure", lambda libraries, log: {"libEGL.so.1": "libegl1"})
        assert workshop.main(["test"]) == 2
        assert "apt-get install -y --no-install-recommends libegl1" in capsys.readouterr().err


@pytest.mark.usefixtures("kept_signals")
class TestRun:
    @pytest.fixture(autouse=True)
    def machine(self, monkeypatch):
        """A machine that is set up; what it opens and does is noted."""
        self.lacking: dict[str, str] = {}
        self.done: list[object] = []
        monkeypatch.setattr(workshop.environments, "ensure", lambda environment: None)
        monkeypatch.setattr(workshop.qt_libraries, "ensure", lambda libraries, log: self.lacking)
        monkeypatch.setattr(main_job.MainJob, "run", lambda job: self.done.append(job) or 0)
        monkeypatch.setattr(main_job, "open_window", lambda environment, table: self.done.append("window") or 0)
        monkeypatch.setattr(main_job, "has_window", lambda root: True)
        monkeypatch.setattr(main_job, "display_answers", lambda: True)

    def test_with_a_display_the_window_opens(self):
        assert workshop.main(["run"]) == 0
        assert self.done == ["window"]

    def test_without_a_display_the_main_job_is_done(self, monkeypatch):
        monkeypatch.setattr(main_job, "display_answers", lambda: False)
        assert workshop.main(["run"]) == 0
        assert isinstance(self.done[0], main_job.MainJob)
        assert not self.done[0].display

    def test_a_version_without_the_window_does_the_main_job(self, monkeypatch):
        monkeypatch.setattr(main_job, "has_window", lambda root: False)
        assert workshop.main(["run"]) == 0
        assert isinstance(self.done[0], main_job.MainJob)

    def test_a_window_that_qt_aborts_gives_way_to_the_main_job(self, monkeypatch):
        monkeypatch.setattr(main_job, "open_window", lambda environment, table: -6)
        assert workshop.main(["run"]) == 0
        assert isinstance(self.done[0], main_job.MainJob)

    def test_missing_libraries_are_told_and_the_job_is_done_without_a_picture(self, capsys):
        self.lacking = {"libEGL.so.1": "libegl1"}
        assert workshop.main(["run"]) == 0
        assert not self.done[0].picture
        assert "libegl1" in capsys.readouterr().out


class TestVerification:
    @pytest.fixture
    def ran(self, monkeypatch):
        """The command lines that were run, pytest's variables and what each gives."""
        self.lines: list[list[str]] = []
        self.variables: dict[str, str] = {}
        self.failing: set[str] = set()
        self.tests_status = 0

        def passes(step, environment, variables):
            self.lines.append([step[0]])
            return step[0] not in self.failing

        def call(arguments, *, env, cwd):
            self.lines.append([str(a) for a in arguments])
            self.variables = env
            return self.tests_status

        @contextlib.contextmanager
        def reading(arguments, **_):
            self.lines.append(["reads", *arguments[1:]])
            yield
            self.lines.append(["has read"])

        monkeypatch.setattr(verification, "passes", passes)
        monkeypatch.setattr(verification, "call", call)
        monkeypatch.setattr(verification.subprocess, "Popen", reading)

    @pytest.mark.usefixtures("ran")
    def test_pytest_comes_last_and_alone_gets_the_arguments(self):
        assert verification.run(Environment(ROOT), ["-k", "plan"]) == 0
        assert [line[0] for line in self.lines[:-1]] == [
            "ruff check",
            "ruff format",
            "mypy",
            "lint-imports",
            "house rules",
            "structure",
        ]
        assert self.lines[-1][1:] == ["-m", "pytest", "-k", "plan"]

    @pytest.mark.usefixtures("ran")
    def test_the_whole_suite_runs_in_two_processes(self):
        assert verification.run(Environment(ROOT), []) == 0
        assert self.lines[-1][1:] == ["-m", "pytest", "-n", "2", "--dist", "loadscope"]

    @pytest.mark.usefixtures("ran")
    def test_what_both_processes_need_is_compiled_beside_the_checks(self):
        assert verification.run(Environment(ROOT), []) == 0
        assert self.lines[0] == ["reads", "-m", "pytest", "--collect-only", "--quiet"]
        assert self.lines[-2] == ["has read"]
        assert len(self.lines) == 6 + 3

    @pytest.mark.usefixtures("ran")
    @pytest.mark.parametrize(
        ("failing", "tests", "status"), [("mypy", 0, 1), ("", 1, 1), ("mypy", 5, 5), ("", -11, 11)]
    )
    def test_any_fault_makes_the_status_other_than_zero(self, failing, tests, status, capsys):
        self.failing, self.tests_status = {failing}, tests
        assert verification.run(Environment(ROOT), []) == status
        assert ("faults found by: mypy" in capsys.readouterr().out) == (failing == "mypy")

    @pytest.mark.usefixtures("ran")
    def test_tests_draw_offscreen_unless_told_otherwise(self, monkeypatch):
        monkeypatch.delenv("QT_QPA_PLATFORM", raising=False)
        verification.run(Environment(ROOT), [])
        assert self.variables["QT_QPA_PLATFORM"] == "offscreen"
        monkeypatch.setenv("QT_QPA_PLATFORM", "xcb")
        verification.run(Environment(ROOT), [])
        assert self.variables["QT_QPA_PLATFORM"] == "xcb"

    @pytest.mark.usefixtures("ran")
    def test_what_the_tests_compile_is_kept(self, monkeypatch):
        monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
        verification.run(Environment(ROOT), [])
        assert "PYTHONDONTWRITEBYTECODE" not in self.variables

    def test_a_check_that_finds_a_fault_shows_what_it_printed(self, capsys):
        faulty = [sys.executable, "-c", "print('planted'); raise SystemExit(1)"]
        assert not verification.passes(("check", faulty), Environment(ROOT), dict(os.environ))
        assert verification.passes(("other", [sys.executable, "-c", ""]), Environment(ROOT), dict(os.environ))
        out = capsys.readouterr().out
        assert "check          FAULTS" in out
        assert "\nplanted\n" in out
        assert "other          ok" in out


@pytest.mark.skipif(os.name == "nt", reason="Windows has no executable bit")
def test_ci_runs_the_same_command():
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert "python3 packaging/dev.py test" in script.read_text("utf-8")
