"""Files on the web and in object stores: fetched once, into a private file, and read as any other file.

fsspec (the extra ``remote``) fetches them; its own libraries find who reads, in the environment or in the service's own
files. Nothing of that is asked for here, and no text of an error is passed on, as it may repeat an address that was
signed. The bytes are parsed where those of other files are.
"""

from __future__ import annotations

import contextlib
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from workbench.data.private_file import private_file, write_private
from workbench.params import InputError, ParameterError, WorkbenchError
from workbench.params.errors import how_to_install, require
from workbench.signals.cancel import CancelToken

SCHEMES = ("http", "https", "s3", "gs", "abfs", "abfss")
_ADDRESS = re.compile(rf"({'|'.join(SCHEMES)}):/(/?)[^/]", re.IGNORECASE)
_SECRET = re.compile(r"passw|pwd|secret|token|sig|credential|key|auth", re.IGNORECASE)
"""In the name of a parameter that may let others in."""
_PIECE = 1 << 23
_SILENCE = 60  # seconds in which a web server says something


def is_remote(source: str) -> bool:
    """Return whether ``source`` is the address of a file that is fetched.

    Raises:
        InputError: it holds a password or a signature, which would stay in plans and projects, or a second address; it
            is not repeated.
    """
    found = _ADDRESS.match(source)
    if found is None:
        return False
    if not found.group(2):
        raise InputError("the address lacks a slash", "", f"write {found.group(1)}://…, as text and not as a path")
    if "::" in source:  # fsspec would take what follows for the address of another service, or of a file here
        hint = "give the address of one file, and its server by name"
        raise InputError("the address of the file holds two colons in a row", "", hint, code="address")
    try:
        parts = urlsplit(source)
        user, password = parts.username, parts.password
    except ValueError:
        raise InputError("the address of the file cannot be read", "", "check it", code="address") from None
    shared = [part.partition("=")[0] for part in re.split("[&;]", unquote(f"{parts.query}&{parts.fragment}"))]
    named = user is not None and parts.scheme.startswith("http")  # abfs://CONTAINER@ACCOUNT is no person
    if password is not None or named or any(map(_SECRET.search, shared)):
        hint = "leave it out: the environment or the service's own file has the credentials; or download the file"
        raise InputError("the address of the file holds a password or a signature", "", hint, code="password-shown")
    return True


@contextlib.contextmanager
def fetched_file(source: str, cancel: CancelToken) -> Iterator[Path]:
    """Give the file behind an address, for the block; :func:`private_file` says what is left of it.

    Raises:
        InputError: it cannot be fetched, changes meanwhile, or does not fit on the disk.
        ParameterError: fsspec, or what it needs for this service, is not installed.
    """
    with private_file() as (file, path):
        with _said_plainly(source):
            files, place = _files_of(source)
            found = _state(files, place)
            if found.get("type") == "directory":
                raise InputError("this is a folder, not a file", source, "give a file in it")
            _require_room(found.get("size") or 0, source)
            # Of a web server in one answer, as not all of them send ranges.
            with files.open(place, "rb", block_size=0 if _on_the_web(source) else _PIECE) as stream:
                while piece := stream.read(_PIECE):
                    cancel.check()
                    write_private(file, piece, source)
            files.invalidate_cache()
            if _state(files, place) != found:
                raise InputError("the file changed while it was fetched", source, "run it again")
        file.flush()
        yield path


def ranges_of(source: str, ranges: Sequence[tuple[int, int]]) -> tuple[bytes, ...]:
    """Return some ranges of the bytes behind an address.

    Raises:
        InputError: they cannot be fetched.
        ParameterError: fsspec, or what it needs for this service, is not installed.
    """
    with _said_plainly(source):
        files, place = _files_of(source)
        # Not by cat_file, which takes a whole body into memory where a server sends one in place of a range.
        try:
            with files.open(place, "rb", cache_type="none") as stream:
                return tuple(_range_of(stream, start, stop) for start, stop in ranges)
        except ValueError:
            hint = "put the file where every worker reads it under the same path, or leave out --engine dask"
            raise InputError("the server sends the file only as a whole", source, hint) from None


def _range_of(stream: Any, start: int, stop: int) -> bytes:
    stream.seek(start)
    return bytes(stream.read(stop - start))


def _files_of(source: str) -> tuple[Any, str]:
    require("fsspec", "a file on the web")
    from fsspec.core import url_to_fs

    more: dict[str, Any] = {}
    if _on_the_web(source):
        import aiohttp

        # A large file may take hours, and of one that is packed on the way no range is sent. Proxies are named in the
        # environment, and who reads in ~/.netrc.
        patience = aiohttp.ClientTimeout(total=None, sock_connect=_SILENCE, sock_read=_SILENCE)
        plain = {"Accept-Encoding": "identity"}
        more = {"client_kwargs": {"timeout": patience, "headers": plain, "trust_env": True}}
    scheme, _, rest = source.partition(":")
    found: tuple[Any, str] = url_to_fs(f"{scheme.lower()}:{rest}", **more)
    return found


def _on_the_web(source: str) -> bool:
    return source[:4].lower() == "http"


def _state(files: Any, place: str) -> dict[str, Any]:
    """Return what a service says of a file; where it is sent on to may have another signature each time."""
    return {name: said for name, said in files.info(place).items() if name != "url"}


def _require_room(size: int, source: str) -> None:
    folder = tempfile.gettempdir()
    free = shutil.disk_usage(folder).free
    if size > free:
        what = f"the file has {size / 1e9:,.1f} GB, and {free / 1e9:,.1f} GB are free in {folder}"
        raise InputError(what, source, "free some space there, or set TMPDIR to another folder")


@contextlib.contextmanager
def _said_plainly(source: str) -> Iterator[None]:
    try:
        yield
    except WorkbenchError:
        raise
    except ImportError:
        what = f"{source.partition(':')[0].lower()}:// needs a library that is not installed"
        raise ParameterError(what, source, how_to_install("fsspec")) from None
    except Exception as error:  # noqa: BLE001 - each service has its own
        # A server that does not answer is, for some of them, a file that is not found.
        reason, hint = "there is no such file, or the service does not answer", "check the address and your rights"
        if isinstance(error, PermissionError):
            reason = "the service does not let you read it"
        elif "Credential" in type(error).__name__:  # NoCredentialsError of botocore, DefaultCredentialsError of Google
            reason, hint = "no credentials for the service were found", "put them into the environment or its own file"
        raise InputError(f"the file cannot be fetched: {reason}", source, hint) from None
