"""Mutated files of every binary format: each is a table or one sentence, in bounded time and memory."""

import io
import multiprocessing
import random
import sys
import time
import zipfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from tests.source_files import BINARY, written
from workbench.data.table_reader import read_table
from workbench.params import InputError

HUGE = (
    b"\xff\xff\xff\xff",
    b"\xff\xff\xff\x7f",
    b"\x00\x00\x00\x80",
    b"\xff" * 8,
    b"\xfe" + b"\xff" * 6 + b"\x7f",
    b"\x00",
)
"""Lengths and counts as a file writes them, of either order: 2³² − 1, 2³¹ − 1, −2³¹, −1, 2⁶³ − 2, none."""

MOST_BYTES, SECONDS = 2 * 1024**3, 30
HANDFUL, HUNDREDS = 10, 200
FEW = ("people.csv.gz",)
"""Formats of which a handful is read in the default suite: each file takes a process."""


def hurt(content: bytes, dice: random.Random) -> bytes:
    """Flip bytes, cut the end off, or put a huge number in."""
    data = bytearray(content)
    match dice.randrange(4):
        case 0 | 1:
            for _ in range(dice.choice((1, 2, 8, 32))):
                data[dice.randrange(len(data))] = dice.randrange(256)
        case 2:
            del data[dice.randrange(1, len(data)) :]
        case _:
            at, put = dice.randrange(len(data)), dice.choice(HUGE)
            data[at : at + len(put)] = put
    return bytes(data)


def mutated(content: bytes, seed: int) -> bytes:
    """Return the file with something wrong; of an archive often one member alone, which is packed again."""
    dice = random.Random(seed)
    if not content.startswith(b"PK") or dice.random() < 0.4:
        return hurt(content, dice)
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as whole, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as out:
        chosen = dice.choice(whole.namelist())
        for name in whole.namelist():
            member = whole.read(name)
            out.writestr(zipfile.ZipInfo(name), hurt(member, dice) if name == chosen and member else member)
    return made.getvalue()


def read_all(folder: Path, name: str, count: int) -> list[str]:
    """Read ``count`` mutated files; return the sentences."""
    content, told = written(folder, name).read_bytes(), []
    for seed in range(count):
        path = folder / name
        path.write_bytes(mutated(content, seed) or b"x")
        began, sentence = time.monotonic(), ""
        try:
            assert read_table(path).rows > 0
        except InputError as error:
            sentence = str(error)
        assert "\n" not in sentence, seed
        assert time.monotonic() - began < SECONDS, seed
        told += [sentence] if sentence else []
    return told


def measured(folder: Path, name: str) -> tuple[list[str], int]:
    """Read hundreds of mutated files; return the sentences, and the most bytes that a child held (0 if unknown)."""
    sentences = read_all(folder, name, HUNDREDS)
    if sys.platform != "linux":
        return sentences, 0
    import resource

    return sentences, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024


@pytest.mark.parametrize("name", FEW)
def test_a_handful_of_mutated_files_are_tables_or_one_sentence(name, tmp_path):
    assert read_all(tmp_path, name, HANDFUL)


@pytest.mark.slow
@pytest.mark.parametrize("name", BINARY)
def test_hundreds_of_mutated_files_are_tables_or_one_sentence(name, tmp_path, capfd):
    # In a process of its own: the peak of a process's children counts those of every test before this one.
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as fresh:
        sentences, most_bytes = fresh.submit(measured, tmp_path, name).result()
    assert sentences
    assert most_bytes < MOST_BYTES
    assert capfd.readouterr() == ("", "")  # what a library prints may hold values
