"""What goes wrong in a set-up is one sentence that names the thing, the place and the mend."""

import errno
import sys

import apt
import failure
import pytest
import qt_libraries
from failure import SetupError

from workbench.cli import gui

NO_NETWORK = """Looking in indexes: http://127.0.0.1:9/simple
WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError('<HTTPConnection>: [Errno 111]')'
ERROR: Could not find a version that satisfies the requirement hatchling>=1.27 (from versions: none)
ERROR: No matching distribution found for hatchling>=1.27
"""
DISK_FULL = """Collecting torch==2.13.0
ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device
"""
NO_BUILD = """ERROR: Could not find a version that satisfies the requirement torch==2.13.0 (from versions: 3.0.0)
ERROR: No matching distribution found for torch==2.13.0
"""
OTHER = """Collecting something
ERROR: something-1.0.whl is not a supported wheel

"""


@pytest.mark.parametrize(
    ("output", "what"),
    [
        (NO_NETWORK, "pip got no answer from the package index"),
        (DISK_FULL, "there is no space left on the disk"),
        (DISK_FULL + NO_NETWORK, "there is no space left on the disk"),
        (NO_BUILD, "the package index has no torch==2.13.0 for this computer"),
        (OTHER, "pip failed: something-1.0.whl is not a supported wheel"),
        ("Killed\n", "pip failed: Killed"),
        ("", "pip failed: it said nothing"),
    ],
)
def test_what_pip_printed_becomes_one_sentence(output, what, tmp_path):
    error = failure.from_output("pip", output, tmp_path / "setup.log")
    assert str(error).startswith(what)
    assert str(tmp_path) in str(error)
    assert error.hint
    assert "\n" not in str(error)


@pytest.mark.parametrize(
    ("number", "what"),
    [
        (errno.ENOSPC, "there is no space left"),
        (errno.EDQUOT, "there is no space left"),
        (errno.EACCES, "the environment cannot be written"),
        (errno.EROFS, "the environment cannot be written"),
    ],
)
def test_errors_of_the_system_become_one_sentence(number, what, tmp_path):
    error = failure.from_os(OSError(number, "as the system says", str(tmp_path)), tmp_path / "not" / "yet")
    assert str(error).startswith(what)


def test_a_sentence_names_what_where_and_the_mend():
    assert str(SetupError("this is wrong", "there", "do that")) == "this is wrong (there); do that"
    assert str(SetupError("this is wrong")) == "this is wrong"


@pytest.mark.parametrize(("count", "words"), [(2_900_000_000, "2.7 GiB"), (2**30, "1.0 GiB"), (73_500_000, "70 MiB")])
def test_bytes_are_given_in_words(count, words):
    assert failure.in_words(count) == words


# -- Qt's system libraries: found, installed by root on Debian, else named in the exact line --------------------------


TWO = {"libGL.so.1": "libgl1", "libEGL.so.1": "libegl1"}


@pytest.fixture
def linux(monkeypatch):
    """Any machine taken for Linux, with what it installs."""
    monkeypatch.setattr(sys, "platform", "linux")
    installed: list[list[str]] = []
    monkeypatch.setattr(apt, "install", lambda packages, log: installed.append(packages))
    return installed


def test_only_what_the_loader_does_not_find_is_missing(linux):
    assert qt_libraries.missing(TWO, loads=lambda library: library == "libGL.so.1") == {"libEGL.so.1": "libegl1"}
    assert qt_libraries.missing(TWO, loads=lambda library: True) == {}


def test_the_window_asks_for_the_same_libraries():
    assert gui._LIBRARIES == qt_libraries.OFFSCREEN | qt_libraries.WINDOW


def test_a_library_that_is_nowhere_does_not_load():
    assert not qt_libraries.loads("libof-no-system.so.99")


@pytest.mark.parametrize("system", ["win32", "darwin"])
def test_other_systems_need_none(monkeypatch, system):
    monkeypatch.setattr(sys, "platform", system)
    assert qt_libraries.missing(TWO, loads=lambda library: False) == {}


def test_root_on_debian_installs_what_is_missing(monkeypatch, linux, tmp_path):
    found = iter([{"libEGL.so.1": "libegl1"}, {}])
    monkeypatch.setattr(qt_libraries, "missing", lambda libraries: next(found))
    monkeypatch.setattr(apt, "may_install", lambda: True)
    assert qt_libraries.ensure(TWO, tmp_path / "log") == {}
    assert linux == [["libegl1"]]


def test_anyone_else_is_told_the_exact_line(monkeypatch, linux, tmp_path):
    monkeypatch.setattr(qt_libraries, "missing", lambda libraries: TWO)
    monkeypatch.setattr(apt, "may_install", lambda: False)
    monkeypatch.setattr(apt, "is_here", lambda: True)
    lacking = qt_libraries.ensure(TWO, tmp_path / "log")
    assert linux == []
    assert qt_libraries.advice(lacking).endswith(
        "with: sudo apt-get update && sudo apt-get install -y --no-install-recommends libgl1 libegl1"
    )


def test_a_system_without_apt_is_told_the_libraries(monkeypatch):
    monkeypatch.setattr(apt, "is_here", lambda: False)
    assert "install libGL.so.1, libEGL.so.1 with this system's package manager" in qt_libraries.advice(TWO)


def test_the_lists_of_packages_are_refreshed_before_the_first_install(monkeypatch, tmp_path):
    ran: list[list[str]] = []
    monkeypatch.setattr(apt, "stream", lambda arguments, **options: ran.append(arguments) or (100, "E: no source"))
    apt.install(["libegl1"], tmp_path / "log")
    assert [line[3] for line in ran] == ["update", "install"]
    assert ran[1][-1] == "libegl1"
