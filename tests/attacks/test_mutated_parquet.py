"""Hundreds of mutated Parquet files: each is a table or one sentence, in bounded time and memory.

The file's own header is what is attacked most: its lengths, counts and types are changed where they stand, so that the
file goes on looking like one. Flipped bits all over the file are in ``tests/data/test_sources_damaged.py``.
"""

import io
import random
import struct
import time
from pathlib import Path

import polars as pl
import psutil
import pytest

from workbench.data.isolated_child import LEAST_BYTES
from workbench.data.table_reader import read_table
from workbench.params import InputError

MAGIC = b"PAR1"
FRAME = pl.DataFrame(
    {"whole": [1, None, -3] * 40, "real": [0.1, 1e-7, float("nan")] * 40, "word": ["secret", "", None] * 40}
)
HUGE = (b"\xff" * 9 + b"\x01", b"\xff\xff\xff\xff\x0f", b"\xfe\xff\xff\xff\xff\xff\xff\xff\x7f", b"\x80" * 9, b"\x00")
"""Lengths and counts as the header writes them: −1, 2³² − 1, 2⁶², one that never ends, none."""

HANDFUL, HUNDREDS = 20, 500
SECONDS = 240
"""The most that a small file may take, four times the processor time that is allowed it; most take half a second."""


def whole(dice: random.Random) -> bytes:
    """A file of one of the ways to write it."""
    made = io.BytesIO()
    FRAME.write_parquet(
        made,
        compression=dice.choice(["zstd", "snappy", "gzip", "lz4", "uncompressed"]),
        row_group_size=dice.choice([10, 1_000]),
        statistics=dice.random() < 0.5,
    )
    return made.getvalue()


def mutated(number: int) -> bytes:
    """Return a file with something wrong, which follows from ``number``."""
    dice = random.Random(number)
    data = bytearray(whole(dice))
    length = struct.unpack("<I", data[-8:-4])[0]
    footer = len(data) - 8 - length
    match dice.randrange(8):
        case 0 | 1:  # a few bytes of the header
            for _ in range(dice.choice((1, 2, 8))):
                data[footer + dice.randrange(length)] = dice.randrange(256)
        case 2:  # a huge number where a small one was; the length of the header is kept right
            at, put = footer + dice.randrange(length), dice.choice(HUGE)
            data[at : at + 1] = put
            data[-8:-4] = struct.pack("<I", length + len(put) - 1)
        case 3:  # the length of the header itself
            told = dice.choice((0, 1, length - 1, length + 1, len(data), 2**31 - 1, 2**31, 2**32 - 1))
            data[-8:-4] = struct.pack("<I", told)
        case 4:  # the heads of pages, which say how long the values are when unpacked
            for _ in range(dice.choice((1, 4))):
                data[4 + dice.randrange(60)] = dice.randrange(256)
        case 5:  # cut anywhere, with or without an end
            del data[dice.randrange(len(data)) :]
            data += dice.choice((b"", MAGIC, struct.pack("<I", dice.randrange(2**32)) + MAGIC))
        case 6:  # a part is there twice, or is missing
            at, size = sorted((dice.randrange(len(data)), dice.randrange(len(data))))
            data[at:size] = dice.choice((b"", bytes(data[at:size]) * 2))
        case 7:  # another file's header, or noise between the right marks
            other = whole(random.Random(number + 1))
            data[footer:] = dice.choice((other[-8 - length :], dice.randbytes(40) + struct.pack("<I", 40) + MAGIC))
    return bytes(data) or MAGIC


def attacked(numbers: range, folder: Path) -> tuple[int, int]:
    """Read each mutated file; return how many were tables and how many were refused."""
    path, me = folder / "people.parquet", psutil.Process()
    before, tables, refused = me.memory_info().rss, 0, 0
    for number in numbers:
        path.write_bytes(mutated(number))
        at, sentence = time.monotonic(), ""
        try:
            table = read_table(path)
        except InputError as error:
            sentence = str(error)
        except Exception as error:
            raise AssertionError(f"file {number}") from error
        assert time.monotonic() - at < SECONDS, number
        if sentence:
            refused += 1
            assert "\n" not in sentence, number
            assert "secret" not in sentence, number
        else:
            tables += 1
            assert all(kind == pl.String for kind in table.frame.dtypes), number
    assert me.memory_info().rss - before < LEAST_BYTES
    return tables, refused


def test_mutated_parquet_is_a_table_or_one_sentence(tmp_path, capfd):
    _, refused = attacked(range(HANDFUL), tmp_path)
    assert refused > HANDFUL // 4
    assert capfd.readouterr() == ("", "")  # what a library prints may hold values


@pytest.mark.slow
def test_hundreds_of_mutated_parquet_files_are_tables_or_one_sentence(tmp_path, capfd):
    tables, refused = attacked(range(HANDFUL, HANDFUL + HUNDREDS), tmp_path)
    assert tables > 10
    assert refused > HUNDREDS // 4
    assert capfd.readouterr() == ("", "")
