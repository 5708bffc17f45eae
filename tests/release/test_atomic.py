"""Files that appear whole or not at all."""

import errno
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from release_cases import forks, names_in

from workbench.params import InputError
from workbench.release import atomic
from workbench.release.atomic import PartFile, part_folder, remove_stale_parts, write_output, write_whole


def test_a_part_file_takes_its_name_with_all_its_bytes(tmp_path: Path) -> None:
    target = tmp_path / "a.csv"
    target.write_text("old")
    with PartFile(target) as part:
        part.stream.write(b"new" * 100_000)
        assert target.read_text() == "old"
        assert not part.published
        part.publish()
        assert part.published
    assert target.read_bytes() == b"new" * 100_000
    assert names_in(tmp_path) == {"a.csv"}


def test_a_part_file_that_is_not_published_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), PartFile(tmp_path / "a.csv") as part:
        part.stream.write(b"%d" % (1 // 0))
    with PartFile(tmp_path / "a.csv") as part:
        part.stream.write(b"x")
    assert names_in(tmp_path) == set()
    assert not part.published


def test_what_killed_runs_left_goes_and_what_running_ones_write_stays(tmp_path: Path) -> None:
    for name in ("a.csv.0123abcd.part", "a.csv.ffffffff.part"):
        (tmp_path / name).write_text("x")
    others = {
        "b.csv.0123abcd.part",
        "a.csv.0123abcd.part.csv",
        "a.csv.notes123.part",
        "a.csv.0123ABCD.part",
        "xa.csv.0123abcd.part",
        "a.csv.01.part",
    }
    for name in others:
        (tmp_path / name).write_text("a person's own")
    (tmp_path / "a.csv.00000000.part").mkdir()
    with PartFile(tmp_path / "a.csv") as running:
        assert names_in(tmp_path) == others | {"a.csv.00000000.part", running.path.name}
        with PartFile(tmp_path / "a.csv") as second:
            remove_stale_parts(tmp_path / "a.csv")
            assert running.path.exists()
            assert second.path.exists()


def test_names_with_the_signs_of_patterns_are_taken_literally(tmp_path: Path) -> None:
    (tmp_path / "ax.csv.0123abcd.part").write_text("another's")
    (tmp_path / "a[xy].csv.0123abcd.part").write_text("ours")
    remove_stale_parts(tmp_path / "a[xy].csv")
    assert names_in(tmp_path) == {"ax.csv.0123abcd.part"}


@pytest.mark.parametrize("anonymous", [True, False])
def test_a_whole_file_is_written_and_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, anonymous: bool) -> None:
    if not anonymous:
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    for data in (b"first", b"second, longer", b""):
        write_whole(tmp_path / "a.json", data)
        assert (tmp_path / "a.json").read_bytes() == data
        assert names_in(tmp_path) == {"a.json"}


@pytest.mark.parametrize("refused", ["open", "link"])
def test_where_a_system_has_no_anonymous_files_a_part_name_serves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: str
) -> None:
    real_open = os.open

    def refuse(path: object, flags: int, *rest: int) -> int:
        if flags & os.O_TMPFILE == os.O_TMPFILE:
            raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))
        return real_open(path, flags, *rest)  # type: ignore[arg-type]

    def no_link(*_: object, **__: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    if sys.platform != "linux":
        pytest.skip("anonymous files are of Linux")
    monkeypatch.setattr(os, refused, refuse if refused == "open" else no_link)
    write_whole(tmp_path / "a.json", b"x")
    write_whole(tmp_path / "a.json", b"y")
    assert (tmp_path / "a.json").read_bytes() == b"y"
    assert names_in(tmp_path) == {"a.json"}


def test_a_reader_sees_the_old_file_or_the_new_one_and_never_none(tmp_path: Path) -> None:
    target = tmp_path / "a.json"
    write_whole(target, b"0" * 1000)
    stop = threading.Event()
    seen: list[int] = []

    def read() -> None:
        while not stop.is_set():
            data = target.read_bytes()
            assert len(data) == 1000
            assert len(set(data)) == 1
            seen.append(data[0])

    with ThreadPoolExecutor(1) as readers:
        reader = readers.submit(read)
        for number in range(100):
            write_whole(target, bytes([number]) * 1000)
        stop.set()
        reader.result()
    assert seen


def test_an_output_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for target, sentence in {
        tmp_path: "the output is a folder",
        tmp_path / "missing" / "a": "the folder of the output does not exist",
        tmp_path / "file" / "a": "the folder of the output does not exist",
        tmp_path / ("x" * 300): "the output cannot be written: File name too long",
    }.items():
        for write in (lambda t: write_output(t, b"x"), PartFile):
            with pytest.raises(InputError) as refused:
                write(target)
            assert str(refused.value).startswith(sentence), str(refused.value)
    assert names_in(tmp_path) == {"file"}


# -- folders ----------------------------------------------------------------------------------------------------------


def test_a_folder_takes_its_name_with_all_its_files(tmp_path: Path) -> None:
    target = tmp_path / "model"
    target.mkdir()  # an empty one may be there already
    with part_folder(target) as part:
        (part / "a").write_text("x")
        (part / "private").mkdir()
        (part / "private" / "b").write_text("y")
        assert names_in(target) == set()
    assert names_in(target) == {"a", "private"}
    assert names_in(tmp_path) == {"model"}


def test_a_folder_whose_work_fails_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), part_folder(tmp_path / "model") as part:
        (part / "a").write_text(str(1 // 0))
    with pytest.raises(InputError, match="the disk is full"), part_folder(tmp_path / "model"):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert names_in(tmp_path) == set()


def test_a_folder_never_replaces_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("mine")
    for name in ("file", "full"):
        with pytest.raises(InputError, match="exists already"), part_folder(tmp_path / name):
            raise AssertionError("unreachable")
    assert (tmp_path / "full" / "mine").read_text() == "mine"


def test_a_killed_runs_folder_goes_and_a_running_ones_stays(tmp_path: Path) -> None:
    stale = tmp_path / "model.0123abcd.part"
    stale.mkdir()
    (stale / "a").write_text("x")
    with part_folder(tmp_path / "model") as running:
        assert names_in(tmp_path) == {running.name}
        second = part_folder(tmp_path / "model")
        second.__enter__()
        assert running.is_dir()
        (tmp_path / "model").mkdir()
        (tmp_path / "model" / "other").write_text("a third run was faster")
        with pytest.raises(InputError, match="cannot be written"):
            second.__exit__(None, None, None)
        (tmp_path / "model" / "other").unlink()
        assert names_in(tmp_path) == {running.name, "model"}
    assert names_in(tmp_path) == {"model"}


# -- locks ------------------------------------------------------------------------------------------------------------


def take_turns(folder: Path, log: Path, rounds: int) -> None:
    for _ in range(rounds):
        with atomic.naming(folder):
            with log.open("a") as stream:
                stream.write(f"{os.getpid()} in\n")
            with log.open("a") as stream:
                stream.write(f"{os.getpid()} out\n")


def test_processes_that_name_files_take_turns(tmp_path: Path) -> None:
    folder, log = tmp_path / "out", tmp_path / "log"
    folder.mkdir()
    workers = [forks().Process(target=take_turns, args=(folder, log, 20)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    lines = log.read_text().splitlines()
    assert len(lines) == 120
    for entered, left in zip(lines[::2], lines[1::2], strict=True):
        assert entered.split() == [left.split()[0], "in"]
    assert names_in(folder) == set()


def test_a_file_system_without_locks_still_serves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fcntl = pytest.importorskip("fcntl")

    def no_locks(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", no_locks)
    (tmp_path / "a.csv.0123abcd.part").write_text("perhaps somebody is writing this")
    with PartFile(tmp_path / "a.csv") as part, atomic.naming(tmp_path):
        part.publish()
    assert names_in(tmp_path) == {"a.csv", "a.csv.0123abcd.part"}
