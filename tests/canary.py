"""A value that only one row has, and where it has gone: every file, and every argument of a process.

It is looked for as text in several encodings, as a number in the processor's form, as hashes that anybody could make of
a guess, and inside compressed parts of PDF, Parquet, ZIP and gzip files.
"""

import gzip
import hashlib
import re
import struct
import threading
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import psutil

NAME, NUMBER = "Quirinius-Zwackelmann", "48151.6234"
ROWS = 60
COLUMNS = ("name", "pay", "city", "group")


def table(name: str = NAME, pay: str = NUMBER, city: str = "Graz") -> pl.DataFrame:
    """The table, with the canary in its 8th row; the other names are of no interest."""
    rows = [(f"p{i}", str(100 * i), ("Graz", "Linz", "Wien")[i % 3], "ab"[i % 2]) for i in range(ROWS)]
    rows[7] = (name, pay, city, "a")
    return pl.DataFrame(rows, schema=dict.fromkeys(COLUMNS, pl.String), orient="row")


PLAN = """\
epsilon = 8.0

[[column]]
name = "name"
action = "drop"

[[column]]
name = "pay"
kind = "real"
lower = 0.0
upper = 100000.0
cells = 11

[[column]]
name = "city"
kind = "category"
domain = ["Graz", "Linz", "Wien"]

[[column]]
name = "group"
kind = "category"
domain = ["a", "b"]
"""


def _forms(text: str) -> Iterator[bytes]:
    plain = text.encode()
    yield from (plain, text.encode("utf-16-le"), text.lower().encode(), text.upper().encode(), plain.hex().encode())
    for made in (hashlib.md5, hashlib.sha1, hashlib.sha256, hashlib.blake2b):
        digest = made(plain).digest()
        yield from (digest, digest.hex().encode())


FORMS = (
    *_forms(NAME),
    *_forms(NUMBER),
    struct.pack("<d", float(NUMBER)),
    struct.pack(">d", float(NUMBER)),
    b"48,151.62",
)


def found_in(data: bytes) -> bool:
    """Return whether a canary is in some bytes, in any form."""
    return any(form in data for form in FORMS)


def parts_of(path: Path) -> Iterator[bytes]:
    """Yield what a file holds: its bytes, and what they unfold into."""
    data = path.read_bytes()
    yield data
    if data[:4] == b"PAR1":
        yield pl.read_parquet(path).write_csv().encode()
    if data[:2] == b"\x1f\x8b":
        yield gzip.decompress(data)
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            yield from (archive.read(name) for name in archive.namelist())
    for stream in re.finditer(rb"stream\r?\n(.*?)endstream", data, re.DOTALL):
        unfolded = zlib.decompressobj()
        try:
            yield unfolded.decompress(stream.group(1))
        except zlib.error:
            continue


def hunted(folders: Iterable[Path], allowed: Iterable[Path] = ()) -> list[str]:
    """Return the files in which the canary is, or whose name has it; not the ``allowed`` ones."""
    spared, found = {path.resolve() for path in allowed}, []
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if found_in(str(path.relative_to(folder)).encode()):
                found.append(f"the name {path}")
            if path.is_file() and not path.is_symlink() and path.resolve() not in spared:
                found += [str(path)] if any(map(found_in, parts_of(path))) else []
    return found


@contextmanager
def watched_processes() -> Iterator[list[str]]:
    """Watch the processes that this one starts: their arguments and what they are told by the environment."""
    seen: dict[tuple[int, float], str] = {}
    done, me = threading.Event(), psutil.Process()

    def look() -> None:
        while not done.wait(0.01):
            for child in me.children(recursive=True):
                try:
                    seen[child.pid, child.create_time()] = "\0".join([*child.cmdline(), *child.environ().values()])
                except (psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
                    continue

    watcher, told = threading.Thread(target=look, daemon=True), []
    watcher.start()
    try:
        yield told
    finally:
        done.set()
        watcher.join()
        told += seen.values()
