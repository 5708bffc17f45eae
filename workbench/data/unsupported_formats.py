"""Recognise well-known formats that cannot be read, by their first bytes, so that the refusal names the format.

Nothing is parsed or unpacked. Marks of binary formats decide whatever a person stated about the file; what is text in
another format (JSON, ARFF, HTML) is distinguished from a table only where nobody said how cells are separated.
"""

from __future__ import annotations

import codecs
import re
import shlex

from workbench.data.csv.encoding import AnyBytes
from workbench.data.sources.source import HEAD, Source
from workbench.params import InputError

_CSV = "save the table as CSV with the program that wrote it"
_IN_PYTHON = "convert it, in Python: {code}"
_GIVE = "give a table as CSV, Parquet or Feather"


def _from_pandas(name: str) -> str:
    return _IN_PYTHON.format(code=f"pandas.read_{name}(FILE).to_csv(NEW, index=False)")


_MARKS: tuple[tuple[bytes, str, str], ...] = (
    (rb"7z\xbc\xaf\x27\x1c", "a 7-Zip archive", "unpack it first"),
    (rb"Rar!\x1a\x07", "a RAR archive", "unpack it first"),
    (rb"\xd0\xcf\x11\xe0", "an old Excel or Word file", "save the sheet as CSV"),
    (rb"\x00\x01\x00\x00Standard (Jet|ACE) DB", "an Access database", "export the table as CSV"),
    (rb"Obj\x01", "an Avro file", "convert it to Parquet or CSV"),
    (rb"\x89HDF\r\n\x1a\n", "an HDF5 file", "convert it to Parquet or CSV"),
    (rb"\x93NUMPY", "an array of NumPy", _IN_PYTHON.format(code="pandas.DataFrame(numpy.load(FILE)).to_csv(NEW)")),
    (rb"RD[AX][23]\n", "a file of R", "write the table as CSV, in R: write.csv(TABLE, NEW)"),
    (rb"%PDF-", "a PDF document", _GIVE),
    (rb"\x89PNG|\xff\xd8\xff|GIF8[79]a", "a picture", _GIVE),
    (rb"\x7fELF|MZ\x90\x00", "a program", _GIVE),
)
"""What a binary file begins with, what it is, and what to do with it; the first that fits."""

_TEXTS: tuple[tuple[bytes, str, str], ...] = (
    (rb"\s*(<!doctype\s+html|<html|<head|<body)\b", "a web page (HTML), perhaps an error or a log-in page", _GIVE),
    (rb"\s*<\?xml\b", "an XML document", _CSV),
    (rb"(\s|%[^\r\n]*[\r\n])*@relation\b", "an ARFF file of Weka", "save it as CSV: in Weka, Save… with the type CSV"),
    (rb'\s*(\{\s*"[^"\r\n]*"\s*:|\[\s*[\[{])', "a JSON document", _from_pandas("json")),
)
"""The same of files of text, letters of either case."""

_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]{1,30}):/{1,3}[^/\\]", re.IGNORECASE)
_ON_THE_WEB = ("ftp", "ftps", "sftp", "az", "hdfs")


def refuse_address(source: str) -> None:
    """Raise :class:`InputError` where ``source`` is the URL of something that cannot be fetched.

    A file of such a name can still be read as ``./NAME``.
    """
    found = _ADDRESS.match(source)
    if found is None:
        return
    scheme = found.group(1).lower()
    if scheme == "file":
        raise InputError("this is a file: address, not a path", source, "give its path", code="address")
    hint = "download the file and give that" if scheme in _ON_THE_WEB else "export the table as CSV and give that"
    raise InputError("this is an address, and only files are read", source, hint, code="address")


def refuse_other_formats(view: AnyBytes, source: str, found: Source, *, stated: bool = False) -> None:
    """Raise :class:`InputError` where a file is of a well-known format that is no table which can be read here."""
    head = view[:HEAD].tobytes()
    if found.mark is not None and found.mark.match(head):
        return
    expected = None if found.is_text else found.name
    for mark, what, hint in _MARKS:
        if re.match(mark, head, re.DOTALL):
            raise _refusal(what, expected, source, hint)
    tail = view[-4:].tobytes()
    if head.startswith(b"ORC") and tail.startswith(b"ORC"):  # its last byte is the length of what is before
        raise _refusal("an ORC file", expected, source, _from_pandas("orc"))
    if re.match(rb"\x80[\x02-\x05][\x95cc}\]\x8c(]", head) and tail.endswith(b"."):
        what = "a pickle of Python, which can run code when it is opened"
        raise _refusal(what, expected, source, "save the table as Parquet or CSV: frame.to_parquet(NEW)")
    if expected is not None or found.mark is not None or stated:
        return
    text = head.removeprefix(codecs.BOM_UTF8)
    for mark, what, hint in _TEXTS:
        if re.match(mark, text, re.IGNORECASE):
            raise _refusal(what, expected, source, hint)


def name_of_binary(head: bytes) -> str:
    """Return what a binary file is that begins with ``head``; empty where it is none of the well-known formats."""
    return next((what for mark, what, _ in _MARKS if re.match(mark, head, re.DOTALL)), "")


def _refusal(what: str, expected: str | None, source: str, hint: str) -> InputError:
    wanted = "a text table" if expected is None else f"a {expected} file"
    # In a call of Python its name is a text, in a command a word.
    hint = hint.replace("(FILE", f"({source!r}").replace(" FILE", f" {shlex.quote(source)}")
    return InputError(f"the file is {what}, not {wanted}", source, hint, code="wrong-file-type")
