"""Fixtures that every test may use."""

import gc
import itertools
import json
import os
import re
import sys
import threading
from collections.abc import Generator
from decimal import Decimal
from multiprocessing import util
from pathlib import Path
from typing import Any

import hypothesis
import pytest

# Before numpy and torch are loaded. Processes of tests with a thread per core each wait for one another: ten times as
# long. The program trains in one thread itself.
for library in ("OPENBLAS", "OMP"):
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

# No example is judged by the time it takes: a busy machine would find faults that are not there. The examples are the
# same in every run, so that a commit that passed passes again; --hypothesis-profile=explore looks for new ones.
_UNTIMED = hypothesis.settings(deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.register_profile("steady", _UNTIMED, derandomize=True, max_examples=50)
hypothesis.settings.register_profile("explore", _UNTIMED)
hypothesis.settings.load_profile("steady")

IN_MEMORY, ROOM = Path("/dev/shm"), 2**30
"""A folder that Linux keeps in memory, and the bytes that have to be free there: several times what the tests write."""


def folders_in_memory() -> bool:
    """Return whether the folders of the tests can lie in memory: there is room, and programs may run there.

    Half the time of a release is spent waiting for the disk, once for every entry of the ledger. That a file survives
    the end of a process is tested there as well; that it survives a cut of the power can be tested nowhere here.
    """
    if not (IN_MEMORY.is_dir() and os.access(IN_MEMORY, os.W_OK)):
        return False
    place = os.statvfs(IN_MEMORY)
    return place.f_bavail * place.f_frsize > ROOM and not place.f_flag & os.ST_NOEXEC


# Before pytest chooses where its numbered folders lie; whoever wants them elsewhere says so.
if "PYTEST_DEBUG_TEMPROOT" not in os.environ and folders_in_memory():
    os.environ["PYTEST_DEBUG_TEMPROOT"] = str(IN_MEMORY)

# The address of the process that forks others, which is made once: not where a test has its temporary files.
util.get_temp_dir()

POOLS = ("TCP-Executor", "Dask-Offload")
"""Idle threads that Dask keeps until the program ends."""

SHARED = Path(__file__).resolve().parent.parent.parent / "shared" / "data"

SELDOM = 20_000, 20, 20
"""When Python looks for what can be thrown away: windows and tables make many objects that stay as long as a test."""

NUMBERS = itertools.count()
"""Of the folders of tests."""

SLOW_TESTS = Path(__file__).with_name("slow_tests.txt")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests as slow that the list names."""
    listed = {line for line in SLOW_TESTS.read_text("utf-8").splitlines() if not line.startswith("#")}
    for item in items:
        place = item.nodeid.removeprefix("tests/")
        if place in listed or place.partition("::")[0] in listed:
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Read the tests without a look for what can be thrown away: all of it stays, and looking takes seconds."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
        gc.set_threshold(*SELDOM)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object | None:
    """Keep the window's tests in two groups where files are shared out among several (``--dist loadscope``)."""
    if config.getvalue("dist") != "loadscope":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class FewWindows(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            # A window that has been made once is made faster the next time. The two groups take about as long.
            file = nodeid.partition("::")[0]
            return ("window" if file < "tests/gui/test_o" else "other window") if "tests/gui/" in file else file

    return FewWindows(config, log)


@pytest.fixture(scope="session")
def shared_data():
    """The folder of real tables for tests; the test is skipped where a checkout has none beside it."""
    if not SHARED.is_dir():
        pytest.skip(f"the test data are not beside the checkout ({SHARED})")
    return SHARED


@pytest.fixture(scope="session")
def golden_entries(shared_data):
    """The golden values: name, inputs, value and tolerance of each."""
    entries: list[dict[str, Any]] = json.loads((shared_data / "golden.json").read_text(encoding="utf-8"))
    return entries


@pytest.fixture(scope="session")
def golden(golden_entries):
    """The same by name."""
    found: dict[str, list[dict[str, Any]]] = {}
    for entry in golden_entries:
        found.setdefault(entry["name"], []).append(entry)
    return found


def new_folder(factory: pytest.TempPathFactory, name: str) -> Path:
    """Return an empty folder. pytest looks through all that it has made for the next number: seconds, in the end."""
    folder = factory.getbasetemp() / f"{name}_{next(NUMBERS)}"
    folder.mkdir(mode=0o700)
    return folder


@pytest.fixture
def tmp_path(request, tmp_path_factory):
    return new_folder(tmp_path_factory, re.sub(r"\W", "_", request.node.name)[:30])


@pytest.fixture(autouse=True)
def user_folders(tmp_path_factory, monkeypatch):
    """Give each test an empty home, so that no test touches the user's ledger."""
    home = new_folder(tmp_path_factory, "home")
    for variable in (
        "HOME",
        "XDG_DATA_HOME",
        "XDG_STATE_HOME",
        "XDG_CONFIG_HOME",
        "XDG_CACHE_HOME",
        "LOCALAPPDATA",
        "APPDATA",
    ):
        monkeypatch.setenv(variable, str(home))


@pytest.fixture
def spawned():
    """For tests of how processes start: as the program starts them."""


@pytest.fixture(autouse=True)
def forked(request, monkeypatch):
    """Fork the processes of the other tests, which saves each the half second in which Python loads its libraries."""
    if sys.platform == "linux" and "spawned" not in request.fixturenames:
        from forked import fork_what_is_spawned

        fork_what_is_spawned(monkeypatch)


@pytest.fixture
def no_bounds_beyond_the_rows(monkeypatch):
    """Let bounds that a release finds be wider than the rows once in 10^8, where it is once in a thousand."""
    monkeypatch.setattr("workbench.release.values_work._EMPTY_TAKEN", Decimal("1e-8"))


@pytest.fixture(autouse=True)
def no_thread_left_behind():
    """Fail a test that leaves a thread running, and name the thread."""
    before = set(threading.enumerate())
    yield
    left = [t for t in threading.enumerate() if t not in before and t.is_alive() and not t.daemon]
    left = [t for t in left if not t.name.startswith(POOLS)]
    for thread in left:
        thread.join(timeout=60)
    left = [t.name for t in left if t.is_alive()]
    assert not left, f"threads left behind: {left}"
