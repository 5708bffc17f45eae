"""Tables on the web and in object stores: fetched once, read as a file, and no secret stays anywhere."""

import base64
import contextlib
import functools
import gzip
import http.server
import importlib.util
import shlex
import sqlite3
import sys
import tempfile
import threading
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest
from local_cluster import here

from workbench.cli import main
from workbench.data import cluster_parts, remote, table_reader
from workbench.data.cluster_parts import PartsOnWorkers, Workers
from workbench.data.sources import row_groups
from workbench.data.table_reader import read_table
from workbench.params import CancelledError, InputError, ParameterError
from workbench.release.ledger.ledger import Ledger
from workbench.signals.cancel import CancelToken
from workbench.signals.events import ignore

fsspec = pytest.importorskip("fsspec", reason='fsspec is not installed: pip install "privacy-workbench[remote]"')
from fsspec.implementations.memory import MemoryFileSystem  # noqa: E402

CANARY = "hunter2canary"
ROWS = 300
WORKERS = Workers("tcp://127.0.0.1:1", ignore, CancelToken())
PLAN = """version = 1
epsilon = 4.0
[reading]
header = "yes"
[[column]]
name = "city"
kind = "category"
domain = ["Graz", "Linz"]
[[column]]
name = "age"
kind = "integer"
lower = 0
upper = 120
"""


class Bucket(MemoryFileSystem):
    """An object store in the memory of this process."""

    protocol = "s3"
    store: ClassVar[dict[str, Any]] = {}
    pseudo_dirs: ClassVar[list[str]] = [""]

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return "/" + path.removeprefix("s3://").strip("/")


@pytest.fixture(autouse=True)
def bucket(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules["fsspec.registry"]._registry, "s3", Bucket)  # type: ignore[attr-defined]
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    yield Bucket.store
    Bucket.store.clear()
    assert list((tmp_path / "temporary").iterdir()) == []


def frame_of(rows: int = ROWS) -> pl.DataFrame:
    draw = np.random.default_rng(2)
    cities = np.array(["Graz", "Linz"])[draw.integers(0, 2, rows)]
    return pl.DataFrame({"city": cities, "age": draw.integers(0, 121, rows)})


def put(path: Path) -> str:
    """Put a file into the bucket, and return its address."""
    fsspec.filesystem("s3").pipe_file(f"/b/{path.name}", path.read_bytes())
    return f"s3://b/{path.name}"


def written(folder: Path, form: str) -> Path:
    path, frame = folder / f"a.{form}", frame_of()
    if form == "parquet":
        frame.write_parquet(path, row_group_size=100)
    elif form == "db":
        with contextlib.closing(sqlite3.connect(path)) as base, base:
            base.execute("PRAGMA journal_mode = WAL")
            base.execute("CREATE TABLE people (city TEXT, age INTEGER)")
            base.executemany("INSERT INTO people VALUES (?, ?)", frame.rows())
    else:
        text = frame.write_csv().encode()
        path.write_bytes(gzip.compress(text) if form == "csv.gz" else text)
    return path


FORMS = [(form, large) for form in ("csv", "csv.gz", "parquet") for large in (False, True)]


@pytest.mark.parametrize(("form", "large"), [*FORMS, ("db", False)])
def test_a_fetched_table_is_that_of_its_file(tmp_path, monkeypatch, form, large):
    monkeypatch.setattr(table_reader, "IN_PARTS_FROM", 0 if large else 1 << 30)
    monkeypatch.setattr(row_groups, "PIECE", 1)
    path = written(tmp_path, form)
    table, expected = read_table(put(path)), read_table(path)
    assert table.source == "s3://b/" + path.name
    assert table.digest == expected.digest
    assert table.in_parts is (large and form != "csv.gz")
    Bucket.store.clear()  # it is fetched once
    assert pl.concat([part.frame for part in table.parts()]).equals(expected.frame)


@pytest.mark.parametrize(("form", "sent"), [("csv", False), ("parquet", False), ("csv.gz", True)])
def test_workers_fetch_their_ranges_themselves(tmp_path, monkeypatch, form, sent):
    monkeypatch.setattr(table_reader, "IN_PARTS_FROM", 0)
    monkeypatch.setattr("workbench.data.sources.compressed.IN_MEMORY", 0)
    monkeypatch.setattr(row_groups, "PIECE", 1)
    monkeypatch.setattr(cluster_parts, "PART_BYTES", 1 << 10)
    monkeypatch.setattr(cluster_parts, "run_tasks_on", here())
    path = written(tmp_path, form)
    source = put(path)
    parts, expected = PartsOnWorkers(read_table(source), WORKERS), read_table(path).frame
    assert len(parts) > 1
    list(parts)
    assert all((part.path is None) is sent and bool(part.texts) is sent for part in parts)
    assert pl.concat(list(parts.in_order(_cells, None, ""))).equals(expected)
    if not sent:
        fsspec.filesystem("s3").pipe_file(f"/b/{path.name}", bytes(len(path.read_bytes())))
        with pytest.raises(InputError, match="a worker reads different bytes from this file than this computer"):
            list(parts.in_order(_cells, None, ""))
        Bucket.store.clear()
        with pytest.raises(InputError, match=f"the file cannot be fetched: .*the service does not answer.*{source}"):
            list(parts.in_order(_cells, None, ""))


def _cells(_: Any, part: Any) -> pl.DataFrame:
    found: pl.DataFrame = part.frame
    return found


@pytest.mark.filterwarnings("ignore")  # of the libraries, which leave connections to be closed
def test_a_bucket_of_a_real_service(tmp_path, monkeypatch):
    pytest.importorskip("s3fs", reason='s3fs is not installed: pip install "privacy-workbench[remote]"')
    service = pytest.importorskip("moto.server", reason="moto is not installed: pip install moto[server]")
    monkeypatch.delitem(sys.modules["fsspec.registry"]._registry, "s3")  # type: ignore[attr-defined]
    started = service.ThreadedMotoServer("127.0.0.1", 0)
    started.start()
    try:
        place = "http://{}:{}".format(*started.get_host_and_port())
        for name, value in (("ENDPOINT_URL", place), ("ACCESS_KEY_ID", "k"), ("SECRET_ACCESS_KEY", CANARY)):
            monkeypatch.setenv(f"AWS_{name}", value)
        files = fsspec.filesystem("s3")
        files.mkdir("bucket")
        for form in ("csv", "csv.gz", "parquet"):
            path = written(tmp_path, form)
            files.pipe_file(f"bucket/{path.name}", path.read_bytes())
            assert read_table(f"s3://bucket/{path.name}").digest == read_table(path).digest
        text = written(tmp_path, "csv").read_bytes()
        assert remote.ranges_of("s3://bucket/a.csv", [(3, 9), (20, 30)]) == (text[3:9], text[20:30])
        with pytest.raises(InputError, match="this is a folder"):
            read_table("s3://bucket")
        with pytest.raises(InputError, match="there is no such file"):
            read_table("s3://bucket/none.csv")
    finally:
        started.stop()
        fsspec.filesystem("s3").clear_instance_cache()


@pytest.mark.parametrize(
    "words",
    [
        ["describe", "{}"],
        ["plan", "{}", "--epsilon", "4", "-o", "new.toml"],
        ["sanitize", "{}", "--plan", "plan.toml", "-o", "out.csv"],
        ["statistics", "{}", "--plan", "plan.toml", "--epsilon", "1", "-o", "figures.csv"],
        ["synthesize", "{}", "--plan", "plan.toml", "--epsilon", "1", "-o", "made.csv"],
        shlex.split("fit {} --target city --model naive-bayes --epsilon 1 --bounds plan.toml -o m"),
        shlex.split("curve {} --target city --bounds plan.toml --epsilons 1 --repeats 2 -o c.csv"),
        ["rappor", "encode", "{}", "--column", "city", "--params", "params.csv", "-o", "reports.csv"],
    ],
    ids=lambda words: words[0],
)
def test_every_command_takes_an_address(tmp_path, monkeypatch, capsys, words):
    source = put(written(tmp_path, "csv"))
    monkeypatch.chdir(tmp_path)
    Path("plan.toml").write_text(PLAN)
    ledger = ["--ledger", "ledger.sqlite"]
    Path("params.csv").write_text("k,h,m,p,q,f\n64,2,4,0.5,0.75,0.25\n")
    known = {"describe", "plan", "curve"}
    code = main([*(source if word == "{}" else word for word in words), *([] if words[0] in known else ledger)])
    assert code == 0, capsys.readouterr().err


def test_python_takes_an_address(tmp_path):
    api = pytest.importorskip("workbench.api", reason="pandas is not installed", exc_type=ImportError)
    found = api.dataset(put(written(tmp_path, "csv")), account="a", reading={"header": "yes"})
    assert found["age"].tolist() == frame_of()["age"].to_list()


def test_a_copy_on_the_web_is_charged_to_the_account_of_the_file(tmp_path, monkeypatch):
    path = written(tmp_path, "csv")
    packed = tmp_path / "b.csv.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    (tmp_path / "plan.toml").write_text(PLAN)
    for k, source in enumerate([str(path), put(path), put(packed)]):
        words = ["sanitize", source, "--plan", str(tmp_path / "plan.toml"), "-o", str(tmp_path / f"{k}.csv")]
        assert main([*words, "--ledger", str(tmp_path / "ledger.sqlite")]) == 0
        with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
            assert len({release.dataset for release in ledger.releases()}) == 1
            ledger.set_cap(ledger.releases()[0].dataset, Decimal(100))


@pytest.mark.parametrize(
    "address",
    [
        f"https://anna:{CANARY}@example.org/a.csv",
        f"https://{CANARY}@example.org/a.csv",
        f"https://example.org/a.csv?X-Amz-Signature={CANARY}",
        f"https://example.org/a.csv?sv=2024&sig={CANARY}",
        f"s3://key:{CANARY}@b/a.csv",
        f"https://[{CANARY}/a.csv",
        f"https://example.org/a.csv?sv=2024;sig={CANARY}",
        f"https://example.org/a.csv?%73ig={CANARY}",
        f"https://example.org/a.csv#token={CANARY}",
        f"https://example.org/a.csv::https://anna:{CANARY}@example.org/b.csv",
        f"s3://b/a.csv::file:///{CANARY}",
    ],
)
def test_an_address_with_a_secret_is_refused_and_not_repeated(address, tmp_path, capsys):
    (tmp_path / "plan.toml").write_text(PLAN)
    words = ["sanitize", address, "--plan", str(tmp_path / "plan.toml"), "-o", str(tmp_path / "out.csv")]
    assert main([*words, "--ledger", str(tmp_path / "ledger.sqlite")]) != 0
    said = capsys.readouterr()
    assert "the address of the file" in said.err
    assert CANARY not in said.out + said.err
    assert not any(CANARY.encode() in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_what_a_service_says_and_who_reads_stay_nowhere(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", CANARY)
    source = put(written(tmp_path, "csv"))
    (tmp_path / "plan.toml").write_text(PLAN)
    words = ["sanitize", source, "--plan", str(tmp_path / "plan.toml"), "-o", str(tmp_path / "out.csv")]
    words += ["--ledger", str(tmp_path / "ledger.sqlite"), "--json"]
    assert main(words) == 0

    def refuse(*_: Any, **__: Any) -> Any:
        raise PermissionError(f"signed with {CANARY}")

    monkeypatch.setattr(Bucket, "_open", refuse)
    words[words.index("-o") + 1] = str(tmp_path / "again.csv")
    assert main(words) != 0
    said = capsys.readouterr()
    assert "the service does not let you read it" in said.err
    assert CANARY not in said.out + said.err
    assert not any(CANARY.encode() in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_what_cannot_be_fetched_is_one_sentence(tmp_path, monkeypatch):
    with pytest.raises(InputError, match=r"the service does not answer \(s3://b/none\.csv"):
        read_table("s3://b/none.csv")
    with pytest.raises(InputError, match="lacks a slash"):
        read_table(Path("s3://b/none.csv"))
    source = put(written(tmp_path, "csv"))
    with pytest.raises(InputError, match="this is a folder"):
        read_table("s3://b")
    cancel = CancelToken()
    cancel.cancel()
    with pytest.raises(CancelledError):
        read_table(source, cancel=cancel)
    with monkeypatch.context() as patch:
        patch.setattr(remote, "_require_room", functools.partial(_no_room, remote._require_room))
        with pytest.raises(InputError, match="are free in"):
            read_table(source)
    with monkeypatch.context() as patch:
        patch.setattr("fsspec.core.url_to_fs", _without_library)
        with pytest.raises(ParameterError, match=r"s3:// needs a library.*privacy-workbench\[remote\]"):
            read_table(source)
    with monkeypatch.context() as patch:
        patch.setattr(Bucket, "info", _nobody)
        with pytest.raises(InputError, match=r"no credentials for the service were found \(s3://b/a\.csv.*environment"):
            read_table(source)
    sizes = iter([{"size": 1}, {"size": 2}])
    monkeypatch.setattr(Bucket, "info", lambda self, path, **_: next(sizes))
    with pytest.raises(InputError, match="the file changed while it was fetched"):
        read_table(source)


def _no_room(ask: Any, size: int, source: str) -> None:
    ask(1 << 62, source)


class NoCredentialsError(Exception):
    """That of botocore, which s3fs passes on as it is."""


def _nobody(*_: Any, **__: Any) -> Any:
    raise NoCredentialsError("Unable to locate credentials")


def _without_library(source: str) -> Any:
    raise ImportError("Install s3fs")


PRIVATE = "Basic " + base64.b64encode(f"anna:{CANARY}".encode()).decode()


class _Ranges(http.server.BaseHTTPRequestHandler):
    """Serves one text, in ranges where they are asked for, and as servers do that are less obliging."""

    text = b""
    asked: ClassVar[list[str]] = []

    def do_HEAD(self) -> None:
        if self.path == "/unknown.csv":
            self.send_error(405)
            return
        self._head(200, len(self.text))

    def do_GET(self) -> None:
        wanted = self.headers.get("Range", "")
        self.asked.append(wanted)
        first, _, last = wanted.removeprefix("bytes=").partition("-")
        if self.path in ("/whole.csv", "/unknown.csv"):  # a server that sends all in place of a range
            wanted = first = last = ""
        piece = self.text[int(first or 0) : int(last) + 1 if last else None]
        if self._head(206 if wanted else 200, len(piece), f"bytes {first}-{last}/{len(self.text)}" if wanted else ""):
            self.wfile.write(piece[: len(piece) // 2 if self.path == "/torn.csv" else None])

    def _head(self, code: int, size: int, part: str = "") -> bool:
        path = self.path.partition("?")[0]
        if path == "/moved.csv":
            code, size = 302, 0
        elif path == "/private.csv" and self.headers.get("Authorization") != PRIVATE:
            code, size = 401, 0
        elif path not in ("/a.csv", "/whole.csv", "/unknown.csv", "/torn.csv", "/private.csv"):
            code, size = 404, 0
        self.send_response(code)
        if code == 302:
            self.send_header("Location", f"/a.csv?signed={len(self.asked)}")
        if path != "/unknown.csv":  # whose end is that of the connection
            self.send_header("Content-Length", str(size))
            self.send_header("Accept-Ranges", "bytes")
        if part:
            self.send_header("Content-Range", part)
        self.end_headers()
        return size > 0

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.mark.skipif(
    importlib.util.find_spec("aiohttp") is None,
    reason='aiohttp is not installed: pip install "privacy-workbench[remote]"',
)
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_table_on_a_web_server(tmp_path, monkeypatch):
    monkeypatch.setattr(remote, "_PIECE", 1 << 10)
    path = written(tmp_path, "csv")
    _Ranges.text = path.read_bytes()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Ranges) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            source = f"http://127.0.0.1:{server.server_port}/a.csv"
            assert read_table(source).frame.equals(read_table(path).frame)
            assert remote.ranges_of(source, [(3, 9), (20, 30)]) == (_Ranges.text[3:9], _Ranges.text[20:30])
            assert "bytes=20-29" in _Ranges.asked
            for other in ("whole", "unknown", "moved"):
                assert read_table(source.replace("/a.csv", f"/{other}.csv")).digest == read_table(path).digest
            for other in ("whole", "unknown"):
                with pytest.raises(InputError, match="the server sends the file only as a whole"):
                    remote.ranges_of(source.replace("/a.csv", f"/{other}.csv"), [(3, 9)])
            for other in ("torn", "private"):
                with pytest.raises(InputError, match="the file cannot be fetched"):
                    read_table(source.replace("/a.csv", f"/{other}.csv"))
            (tmp_path / "netrc").write_text(f"machine 127.0.0.1 login anna password {CANARY}\n")
            monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
            assert read_table(source.replace("/a.csv", "/private.csv")).rows == ROWS
            with pytest.raises(InputError, match="there is no such file"):
                read_table(source.replace("/a.csv", "/b.csv"))
        finally:
            server.shutdown()
    with pytest.raises(InputError, match="the service does not answer"):
        read_table(source)
