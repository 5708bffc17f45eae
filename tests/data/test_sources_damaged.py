"""A damaged or hostile Parquet or Feather file ends in a table or in one sentence, never in a dead program."""

import random
import sys
import tempfile
import threading
from pathlib import Path

import polars as pl
import psutil
import pytest

from workbench.data import isolated_reader
from workbench.data.isolated_child import LEAST_BYTES, limits
from workbench.data.table_reader import read_table
from workbench.params import CancelledError, InputError
from workbench.params.errors import WorkbenchError
from workbench.processes.child_program import WORD
from workbench.signals.cancel import CancelToken

pytestmark = pytest.mark.usefixtures("spawned")

FRAME = pl.DataFrame(
    {
        "whole": [1, None, -3] * 20,
        "real": [0.1, 1e-7, float("nan")] * 20,
        "truth": [True, False, None] * 20,
        "word": ["007", "", None] * 20,
    }
)
SUFFIXES = (".parquet", ".feather")


def written(path: Path, frame: pl.DataFrame = FRAME) -> bytes:
    """The bytes of ``frame`` in the format that the suffix of ``path`` names."""
    if path.suffix == ".parquet":
        frame.write_parquet(path)
    else:
        frame.write_ipc(path)
    return path.read_bytes()


def read_or_one_sentence(path: Path) -> str:
    """Read ``path``; return the sentence where that is refused."""
    sentence = ""
    try:
        table = read_table(path)
    except InputError as error:
        sentence = str(error)
    if sentence:
        assert "\n" not in sentence
        return sentence
    assert all(kind == pl.String for kind in table.frame.dtypes)
    return ""


@pytest.mark.slow
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_hundreds_of_flipped_bits_and_cut_ends_are_a_table_or_one_sentence(tmp_path, suffix, capfd):
    path, generator = tmp_path / f"t{suffix}", random.Random(2)
    whole = written(path)
    for number in range(400):
        content = bytearray(whole)
        if number % 5:
            bit = generator.randrange(8 * len(content))
            content[bit // 8] ^= 1 << bit % 8
        else:
            del content[generator.randrange(len(content)) :]
            content = content or bytearray(b"P")
        path.write_bytes(content)
        read_or_one_sentence(path)
    assert capfd.readouterr() == ("", "")  # what a library prints may hold values


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_small_file_that_unfolds_into_gigabytes_is_refused(tmp_path, suffix):
    path = tmp_path / f"t{suffix}"
    rows = 1_200_000
    frame = pl.select(pl.repeat("x" * 4_000, rows, dtype=pl.String).alias("a").cast(pl.Categorical))
    written(path, frame)
    assert path.stat().st_size < 8_000_000
    before = psutil.Process().memory_info().rss
    sentence = read_or_one_sentence(path)
    assert f"reading it needs more than {LEAST_BYTES / 1e6:,.0f} MB of memory" in sentence
    assert psutil.Process().memory_info().rss - before < 2 * LEAST_BYTES


def test_what_a_file_may_take_follows_its_size_its_cells_and_what_is_free():
    gigabyte = 1 << 30
    assert limits(500_000, 1_000, 16 * gigabyte) == (LEAST_BYTES, 60)
    assert limits(100_000_000, 1_000, 16 * gigabyte) == (6_400_000_000, 160)
    assert limits(100_000_000, 1_000, 2 * gigabyte) == (3 * gigabyte // 2, 160)
    assert limits(1_000, 100_000_000, 16 * gigabyte) == (6_400_000_000, 160)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(("name", "what"), [(" ", "a blank name"), ("\ufeffage", "begins with a byte-order mark")])
def test_a_name_that_a_release_could_not_carry_is_refused_before_anything_is_charged(tmp_path, suffix, name, what):
    path = tmp_path / f"t{suffix}"
    written(path, pl.DataFrame({"a": [1], name: [2]}))
    assert "column 2 has a" in read_or_one_sentence(path)
    assert what in read_or_one_sentence(path)


def test_names_that_a_library_takes_for_patterns_are_names(tmp_path):
    path = tmp_path / "t.parquet"
    frame = pl.DataFrame({"^a$": ["1"], "a": ["2"], "*": ["3"], "0": ["4"], "a b\n": ["5"]})
    written(path, frame)
    assert read_table(path).frame.equals(frame)


CHILDREN = {
    "prints": "import sys; sys.stderr.write('SECRET'); sys.stdout.write('SECRET')",
    "dies": "import os; os.abort()",
    "says nothing": "",
    "stays": "import time; time.sleep(600)",
    "says too little": "import struct, sys; sys.stdout.buffer.write(struct.pack('>cQ', b'E', 10) + b'123')",
    "ends without its rows": "import struct, sys; sys.stdout.buffer.write("
    "struct.pack('>cQ', b'S', 12) + b'[5,1,9999,9]' + struct.pack('>cQ', b'E', 0)); sys.stdout.flush(); input()",
    "says nonsense": "import struct, sys; sys.stdout.buffer.write(struct.pack('>cQ', b'S', 2) + b'17')",
    "is too long": "import struct, sys; sys.stdout.buffer.write(struct.pack('>cQ', b'T', 1 << 60)); sys.stdin.read()",
}


@pytest.fixture
def child(request, tmp_path, monkeypatch):
    """A Parquet file whose reader is another program."""
    (tmp_path / "another_reader.py").write_text(CHILDREN[request.param], "utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(isolated_reader, "_MODULE", "another_reader")
    path = tmp_path / "t.parquet"
    written(path)
    return path


@pytest.mark.parametrize("child", sorted(set(CHILDREN) - {"stays"}), indirect=True)
def test_a_reader_that_goes_wrong_is_one_sentence(child, capfd):
    before = psutil.Process().children()
    sentence = read_or_one_sentence(child)
    assert "Parquet file" in sentence
    assert "SECRET" not in sentence
    assert capfd.readouterr() == ("", "")
    assert psutil.Process().children() == before


@pytest.mark.parametrize("child", ["stays"], indirect=True)
def test_reading_is_cancelled_at_once_and_leaves_no_process(child):
    before = psutil.Process().children()
    cancel = CancelToken()
    timer = threading.Timer(0.5, cancel.cancel)
    timer.start()
    with pytest.raises(CancelledError):
        read_table(child, cancel=cancel)
    timer.join()
    assert psutil.Process().children() == before


@pytest.mark.parametrize("child", ["stays"], indirect=True)
def test_a_reader_that_takes_too_long_is_ended(child, monkeypatch):
    monkeypatch.setattr(isolated_reader, "PATIENCE", 0.01)
    assert read_or_one_sentence(child).startswith("the Parquet file was not read within 0.6 seconds (")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_nothing_of_the_rows_is_left_on_the_disk(tmp_path, suffix, monkeypatch):
    other = tmp_path / "tmp"
    other.mkdir()
    monkeypatch.setenv("TMPDIR", str(other))
    monkeypatch.setattr(tempfile, "tempdir", str(other))
    path = tmp_path / f"t{suffix}"
    written(path)
    assert read_table(path).rows == 60
    assert list(other.iterdir()) == []


def test_a_bundle_reads_with_itself(tmp_path, monkeypatch):
    """A bundled interpreter takes no module: the program is called with a word that makes it the reader."""
    commands: list[list[str]] = []

    def refused(command: list[str], **_: object) -> None:
        commands.append(command)
        raise OSError(12, "Cannot allocate memory")

    path = tmp_path / "t.parquet"
    written(path)
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(isolated_reader.subprocess, "Popen", refused)
    with pytest.raises(WorkbenchError, match="no process can be started to read the file: Cannot allocate memory"):
        read_table(path)
    assert commands == [[sys.executable, WORD, "workbench.data.isolated_child"]]
