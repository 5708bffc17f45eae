"""Files that appear whole or not at all."""

import errno
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from release_cases import names_in

from workbench.params import InputError
from workbench.release.atomic import PartFile, remove_stale_parts, write_output, write_whole
from workbench.release.part_files import require_new


def test_a_part_file_takes_its_name_with_all_its_bytes(tmp_path):
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


def test_a_part_file_that_is_not_published_leaves_nothing(tmp_path):
    with pytest.raises(ZeroDivisionError), PartFile(tmp_path / "a.csv") as part:
        part.stream.write(b"%d" % (1 // 0))
    with PartFile(tmp_path / "a.csv") as part:
        part.stream.write(b"x")
    assert names_in(tmp_path) == set()
    assert not part.published


def test_what_killed_runs_left_goes_and_what_running_ones_write_stays(tmp_path):
    for name in ("a.csv.0123abcd.tmp.part", "a.csv.ffffffff.tmp.part"):
        (tmp_path / name).write_text("x")
    others = {
        "b.csv.0123abcd.tmp.part",
        "a.csv.0123abcd.part",  # a draw, which its own ledger looks after
        "a.csv.0123abcd.tmp.part.csv",
        "a.csv.notes123.tmp.part",
        "a.csv.0123ABCD.tmp.part",
        "xa.csv.0123abcd.tmp.part",
        "a.csv.01.tmp.part",
    }
    for name in others:
        (tmp_path / name).write_text("a person's own")
    (tmp_path / "a.csv.00000000.tmp.part").mkdir()
    with PartFile(tmp_path / "a.csv") as running:
        assert names_in(tmp_path) == others | {"a.csv.00000000.tmp.part", running.path.name}
        with PartFile(tmp_path / "a.csv") as second:
            remove_stale_parts(tmp_path / "a.csv")
            assert running.path.exists()
            assert second.path.exists()


def test_a_part_is_for_its_owner_alone_and_the_output_for_whom_the_umask_lets(tmp_path):
    if os.name == "nt":
        pytest.skip("Windows has no such rights")
    mask = os.umask(0o027)
    try:
        with PartFile(tmp_path / "a.csv") as part:
            assert part.path.stat().st_mode & 0o777 == 0o600
            part.publish()
    finally:
        os.umask(mask)
    assert (tmp_path / "a.csv").stat().st_mode & 0o777 == 0o640


def test_names_with_the_signs_of_patterns_are_taken_literally(tmp_path):
    (tmp_path / "ax.csv.0123abcd.tmp.part").write_text("another's")
    (tmp_path / "a[xy].csv.0123abcd.tmp.part").write_text("ours")
    remove_stale_parts(tmp_path / "a[xy].csv")
    assert names_in(tmp_path) == {"ax.csv.0123abcd.tmp.part"}


@pytest.mark.parametrize("anonymous", [True, False])
def test_a_whole_file_is_written_and_replaced(tmp_path, monkeypatch, anonymous):
    if not anonymous:
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    for data in (b"first", b"second, longer", b""):
        write_whole(tmp_path / "a.json", data)
        assert (tmp_path / "a.json").read_bytes() == data
        assert names_in(tmp_path) == {"a.json"}


@pytest.mark.parametrize("refused", ["open", "link"])
def test_where_a_system_has_no_anonymous_files_a_part_name_serves(tmp_path, monkeypatch, refused):
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


def test_a_reader_sees_the_old_file_or_the_new_one_and_never_none(tmp_path):
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


def test_an_output_that_cannot_be_written_is_one_sentence(tmp_path):
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


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="a system without pipes that have a name")
def test_a_device_or_a_pipe_is_not_replaced_by_a_file(tmp_path):
    """Whoever may write to its folder would lose it: root, with -o /dev/null, the device of the whole system."""
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    makers = (lambda t: write_output(t, b"x"), PartFile, lambda t: require_new(t, replace=True))
    for target in (pipe, link):
        for write in makers:
            with pytest.raises(InputError, match="the output is a device or a pipe"):
                write(target)
    assert pipe.is_fifo()
    assert link.is_symlink()


# -- locks ------------------------------------------------------------------------------------------------------------


def test_a_file_system_without_locks_still_serves(tmp_path, monkeypatch):
    fcntl = pytest.importorskip("fcntl")

    def no_locks(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", no_locks)
    (tmp_path / "a.csv.0123abcd.tmp.part").write_text("perhaps somebody is writing this")
    with PartFile(tmp_path / "a.csv") as part:
        part.publish()
    assert names_in(tmp_path) == {"a.csv", "a.csv.0123abcd.tmp.part"}
