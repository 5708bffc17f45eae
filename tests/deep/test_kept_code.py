"""Compiled code on disk: what is damaged, old or cannot be written never decides what runs."""

import errno
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

pytest.importorskip("numba")

from workbench.deep.compiled import described

SOURCE = """
import numpy as np
from parts_of_loops import part
from workbench.deep.compiled import loops

ADDED = np.float64({added})

@loops
def changed(x):
    for i in range(len(x)):
        x[i] = part(x[i]) + ADDED
"""
PART = """
from workbench.deep.compiled import within

@within
def part(x):
    return {times} * x
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def loaded(name: str, path: Path) -> ModuleType:
    """A module as a new process would find it."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    exec(compile(path.read_text(), str(path), "exec"), module.__dict__)
    return module


def run(folder: Path, monkeypatch: pytest.MonkeyPatch, *, added: int = 1, times: int = 2) -> tuple[float, bool]:
    """What the loop makes of 10 in a new process, and whether its code was found on disk."""
    (folder / "parts_of_loops.py").write_text(PART.format(times=times))
    (folder / "some_loops.py").write_text(SOURCE.format(added=added))
    part = loaded("parts_of_loops", folder / "parts_of_loops.py")
    monkeypatch.setitem(sys.modules, "parts_of_loops", part)
    module = loaded("some_loops", folder / "some_loops.py")
    x = np.array([10.0])
    module.changed(x)
    return float(x[0]), sum(module.changed.stats.cache_hits.values()) > 0


def kept(folder: Path) -> Path:
    (found,) = (folder / "__pycache__").glob("some_loops.changed*")
    return found


def test_code_is_found_again_by_the_next_process(folder, monkeypatch):
    assert run(folder, monkeypatch) == (21, False)
    assert run(folder, monkeypatch) == (21, True)


@pytest.mark.parametrize("hint", [{"added": 5}, {"times": 3}])
def test_a_constant_that_changed_here_or_in_another_module_is_compiled_anew(folder, monkeypatch, hint):
    run(folder, monkeypatch)
    true = 10 * hint.get("times", 2) + hint.get("added", 1)
    assert run(folder, monkeypatch, **hint) == (true, False)
    assert run(folder, monkeypatch, **hint) == (true, True)


def _flipped(code: bytes) -> bytes:
    return code[:-100] + bytes([code[-100] ^ 1]) + code[-99:]


@pytest.mark.parametrize("damage", [lambda _code: b"", lambda code: code[:20], lambda code: code[:999], _flipped])
def test_a_damaged_file_is_as_none_and_replaced(folder, monkeypatch, damage):
    run(folder, monkeypatch)
    path = kept(folder)
    path.write_bytes(damage(path.read_bytes()))
    assert run(folder, monkeypatch) == (21, False)
    assert run(folder, monkeypatch) == (21, True)


def test_a_full_disk_costs_the_file_alone(folder, monkeypatch):
    def full(path: Path, data: bytes) -> int:
        with path.open("wb") as file:
            file.write(data[:100])
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", full)
        (folder / "__pycache__").mkdir()
        assert run(folder, patch) == (21, False)
    assert not list((folder / "__pycache__").glob("some_loops.changed*")), "nothing half written stays"
    assert run(folder, monkeypatch) == (21, False)


def test_a_write_that_was_cut_off_leaves_no_old_code_in_force(folder, monkeypatch):
    """As by kill −9 while the code of a new version is written: the next process compiles it."""
    run(folder, monkeypatch)

    def killed(_path: Path, _target: Path) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", killed)
        with pytest.raises(KeyboardInterrupt):
            run(folder, patch, added=7)
    assert run(folder, monkeypatch, added=7) == (27, False)


def test_what_cannot_be_described_is_refused():
    def outer() -> Callable[[], object]:
        inner = object()
        return lambda: inner

    with pytest.raises(TypeError, match="cannot be kept"):
        list(described(outer()))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="uses loaded"):
        list(described(run))  # type: ignore[arg-type]
