"""The environment: known to be whole by its stamp, mended where it is not, made by one run at a time."""

import errno
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import apt
import console
import environment as environments
import pytest
from environment import Environment
from failure import SetupError

PYPROJECT = """[build-system]
requires = ["hatchling"]
[project]
name = "it"
[tool.hatch.version]
path = "it.py"
[tool.ruff]
line-length = 120
"""


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """An empty checkout whose set-up is played: ``made`` notes what was done."""
    (tmp_path / "packaging").mkdir()
    (tmp_path / "packaging" / "constraints.txt").write_text("torch==2.13.0\n", "utf-8")
    (tmp_path / "pyproject.toml").write_text(PYPROJECT, "utf-8")
    checkout = Environment(tmp_path)
    made: list[str] = []

    def remake(environment, lock):
        made.append("remake")
        environment.scripts.mkdir(parents=True, exist_ok=True)
        environment.packages.mkdir(parents=True, exist_ok=True)
        environment.python.touch()
        (environment.folder / "pyvenv.cfg").touch()

    def install(environment, lock):
        made.append("install")
        for name in ("numpy", "numpy-2.4.6.dist-info"):
            (environment.packages / name).mkdir(exist_ok=True)

    monkeypatch.setattr(environments, "remake", remake)
    monkeypatch.setattr(environments, "install", install)
    monkeypatch.setattr(environments, "probe", lambda environment: [] if environment.python.exists() else None)
    monkeypatch.setattr(environments, "NEEDED_BYTES", 1)
    return SimpleNamespace(environment=checkout, made=made, root=tmp_path)


def test_a_fresh_clone_is_set_up_once(checkout):
    environments.ensure(checkout.environment)
    environments.ensure(checkout.environment)
    assert checkout.made == ["remake", "install"]


def test_an_interrupted_set_up_goes_on_from_where_it_stopped(checkout, monkeypatch):
    def interrupt(environment, lock):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(environments, "install", interrupt)
        with pytest.raises(KeyboardInterrupt):
            environments.ensure(checkout.environment)
    assert not checkout.environment.is_ready()
    environments.ensure(checkout.environment)
    assert checkout.made == ["remake", "install"]
    assert checkout.environment.is_ready()


def test_what_pip_left_half_done_is_laid_down_again(checkout, monkeypatch):
    environments.ensure(checkout.environment)
    checkout.environment.stamp.unlink()
    half = checkout.environment.packages / "torch-2.13.0.dist-info"
    stash = checkout.environment.packages / "~orch"
    half.mkdir()
    stash.mkdir()
    monkeypatch.setattr(environments, "probe", lambda environment: [half])
    environments.ensure(checkout.environment)
    assert not half.exists()
    assert not stash.exists()
    assert checkout.made == ["remake", "install", "install"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda it: it.python.unlink(),
        lambda it: shutil.rmtree(it.packages / "numpy"),
        lambda it: shutil.rmtree(it.packages / "numpy-2.4.6.dist-info"),
        lambda it: shutil.rmtree(it.folder / ("Lib" if os.name == "nt" else "lib")),
        lambda it: (it.folder / "pyvenv.cfg").unlink(),
        lambda it: it.stamp.write_text("no JSON", "utf-8"),
        lambda it: it.stamp.write_text("[]", "utf-8"),
    ],
)
def test_a_damaged_environment_is_noticed_and_mended(checkout, damage):
    environments.ensure(checkout.environment)
    damage(checkout.environment)
    assert not checkout.environment.is_ready()


def test_new_versions_or_dependencies_are_installed_but_the_style_of_code_is_no_part_of_it(checkout):
    environments.ensure(checkout.environment)
    (checkout.root / "pyproject.toml").write_text(PYPROJECT.replace("120", "100"), "utf-8")
    assert checkout.environment.is_ready()
    (checkout.root / "pyproject.toml").write_text(PYPROJECT.replace("hatchling", "hatchling>=1.27"), "utf-8")
    assert not checkout.environment.is_ready()
    environments.ensure(checkout.environment)
    (checkout.root / "packaging" / "constraints.txt").write_text("torch==2.13.1\n", "utf-8")
    assert not checkout.environment.is_ready()


def test_a_checkout_that_was_moved_is_set_up_anew(checkout, tmp_path_factory):
    environments.ensure(checkout.environment)
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "moved"
    shutil.move(checkout.root, elsewhere)
    assert not Environment(elsewhere).is_ready()


def test_what_you_add_to_it_is_left_alone(checkout):
    environments.ensure(checkout.environment)
    (checkout.environment.packages / "yours").mkdir()
    assert checkout.environment.is_ready()


def test_two_runs_at_once_set_up_once(checkout, monkeypatch, capsys):
    installing, go_on = threading.Event(), threading.Event()
    install = environments.install

    def slow(environment, lock):
        installing.set()
        assert go_on.wait(10)
        install(environment, lock)

    monkeypatch.setattr(environments, "install", slow)
    first = threading.Thread(target=environments.ensure, args=(checkout.environment,))
    first.start()
    assert installing.wait(10)
    second = threading.Thread(target=environments.ensure, args=(checkout.environment,))
    second.start()
    second.join(0.2)
    assert second.is_alive()
    go_on.set()
    first.join(10)
    second.join(10)
    assert checkout.made == ["remake", "install"]
    assert capsys.readouterr().out.count("Another run is setting this folder up") == 1


def test_too_small_a_disk_is_told_before_anything_is_fetched(checkout, monkeypatch):
    monkeypatch.setattr(environments, "NEEDED_BYTES", 10**18)
    with pytest.raises(SetupError, match="no space left on the disk"):
        environments.ensure(checkout.environment)
    assert checkout.made == []


def test_a_folder_that_cannot_be_written_is_one_sentence(checkout, monkeypatch):
    def refuse(self, **options):
        raise PermissionError(errno.EACCES, "Permission denied", str(self))

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(SetupError, match=r"cannot be written \(.*\.venv: Permission denied\)"):
        environments.ensure(checkout.environment)


def test_a_file_in_its_place_is_one_sentence(checkout):
    checkout.environment.folder.write_text("", "utf-8")
    with pytest.raises(SetupError, match="is a file"):
        environments.ensure(checkout.environment)


def test_variables_that_bend_python_elsewhere_do_not_reach_it(checkout, monkeypatch):
    for name in ("PYTHONPATH", "PYTHONHOME", "PIP_TARGET", "PIP_USER"):
        monkeypatch.setenv(name, "/elsewhere")
    variables = checkout.environment.variables()
    assert "/elsewhere" not in variables.values()
    assert variables["PATH"].startswith(str(checkout.environment.scripts) + os.pathsep)


class TestWithoutVenv:
    @pytest.fixture(autouse=True)
    def bare_python(self, monkeypatch):
        """A Python as Debian ships it, which learns to make environments from a package."""
        self.installed: list[list[str]] = []
        monkeypatch.setattr(environments, "makes_environments", lambda: bool(self.installed))
        monkeypatch.setattr(apt, "install", lambda packages, log: self.installed.append(packages))
        monkeypatch.setattr(environments, "stream", lambda *arguments, **options: (0, ""))

    def test_root_on_debian_gets_the_package(self, monkeypatch, tmp_path):
        monkeypatch.setattr(apt, "may_install", lambda: True)
        Environment(tmp_path).folder.mkdir()
        environments.remake(Environment(tmp_path), 0)
        assert self.installed == [["python{}.{}-venv".format(*sys.version_info[:2])]]

    def test_anyone_else_is_told_the_line(self, monkeypatch, tmp_path):
        monkeypatch.setattr(apt, "may_install", lambda: False)
        with pytest.raises(
            SetupError, match=r"module venv or ensurepip is missing .*sudo apt-get install python3\.\d+-venv"
        ):
            environments.remake(Environment(tmp_path), 0)


class TestProbe:
    """With a real environment, made without pip, in which a pip and a package are played."""

    @pytest.fixture
    def real(self, tmp_path):
        environment = Environment(tmp_path)
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment.folder], check=True)
        self.lay_down(environment, "pip")
        return environment

    def lay_down(self, environment: Environment, name: str, *, finished: bool = True) -> Path:
        """Write a package as pip does; return the folder of its metadata."""
        package, metadata = environment.packages / name, environment.packages / f"{name}-1.0.dist-info"
        for folder in (package, metadata):
            folder.mkdir()
        (package / "__init__.py").touch()
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", "utf-8")
        record = [
            f"{name}/__init__.py,,",
            f"{name}/__pycache__/__init__.cpython-311.pyc,,",
            f"{metadata.name}/RECORD,,",
        ]
        if finished:
            record.append(f"{metadata.name}/INSTALLER,,")
            (metadata / "INSTALLER").write_text("pip\n", "utf-8")
        (metadata / "RECORD").write_text("\n".join(record) + "\n", "utf-8")
        return metadata

    def test_a_whole_environment_has_nothing_half_done(self, real):
        self.lay_down(real, "whole")
        assert environments.probe(real) == []

    def test_an_unfinished_package_is_found(self, real):
        metadata = self.lay_down(real, "half", finished=False)
        assert environments.probe(real) == [metadata]

    def test_a_lost_file_is_found(self, real):
        metadata = self.lay_down(real, "holed")
        (real.packages / "holed" / "__init__.py").unlink()
        assert environments.probe(real) == [metadata]

    def test_without_a_whole_pip_the_environment_is_broken(self, real):
        (real.packages / "pip-1.0.dist-info" / "INSTALLER").unlink()
        assert environments.probe(real) is None
        shutil.rmtree(real.packages / "pip")
        assert environments.probe(real) is None

    def test_without_its_python_the_environment_is_broken(self, real):
        real.python.unlink()
        assert environments.probe(real) is None
        real.python.write_text("#!/nowhere/python\n", "utf-8")
        assert environments.probe(real) is None


class TestStream:
    def run(self, code: str, log: Path) -> tuple[int, str]:
        progress = console.Progress("playing")
        arguments = [sys.executable, "-c", code]
        return console.stream(arguments, log=log, env=dict(os.environ), cwd=log.parent, progress=progress)

    def test_what_a_program_prints_is_kept_and_logged(self, tmp_path):
        code = "import sys; print('Collecting numpy'); print('ε', file=sys.stderr); raise SystemExit(7)"
        status, printed = self.run(f"import sys; sys.stderr.reconfigure(encoding='utf-8'); {code}", tmp_path / "log")
        assert status == 7
        assert set(printed.splitlines()) == {"Collecting numpy", "ε"}
        assert (tmp_path / "log").read_text("utf-8") == printed

    def test_a_log_that_cannot_be_written_ends_the_program_too(self, tmp_path):
        with pytest.raises(FileNotFoundError):
            self.run("import time; time.sleep(60)", tmp_path / "absent" / ".." / "absent" / "log")

    def test_progress_tells_what_pip_is_at(self, monkeypatch, capsys):
        progress = console.Progress("installing")
        progress.read("Collecting numpy==2.4.6 (from it)\n")
        progress.read("  Downloading numpy-2.4.6-cp311.whl (16.2 MB)\n")
        assert progress.detail == "numpy-2.4.6-cp311.whl (16.2 MB), 1 packages so far"
        progress.read("Installing collected packages: numpy, torch\n")
        monkeypatch.setattr(console, "HEARTBEAT", -1.0)
        progress.show()
        assert "installing    0 s  2 packages, this takes longest" in capsys.readouterr().out


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_an_interruption_ends_the_program_that_was_called(tmp_path):
    code = (
        "import sys, signal, console\n"
        "from pathlib import Path\n"
        "def stop(number, frame): raise KeyboardInterrupt\n"
        "signal.signal(signal.SIGTERM, stop)\n"
        "child = 'import os, time; print(os.getpid(), flush=True); time.sleep(600)'\n"
        "try:\n"
        "    console.call([sys.executable, '-c', child], env={}, cwd=Path('.'), patience=0.05)\n"
        "except KeyboardInterrupt:\n"
        "    print('cancelled')\n"
    )
    variables = dict(os.environ, PYTHONPATH=str(Path(console.__file__).parent))
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=variables) as caller:
        child = int(caller.stdout.readline())
        caller.terminate()
        assert caller.communicate(timeout=300)[0].strip() == "cancelled"
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)
