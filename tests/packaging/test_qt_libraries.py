"""Qt's system libraries: found, installed by root on Debian, else named in the exact line."""

from __future__ import annotations

import sys

import apt
import pytest
import qt_libraries

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
