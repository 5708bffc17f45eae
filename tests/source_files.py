"""The same small table in every format that is read."""

import bz2
import datetime
import gzip
import io
import json
import lzma
import zipfile
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pyreadstat
import xlsxwriter

ROWS = [("34", "44.5", "Graz", "2024-01-31"), ("61", "0.1", "Linz", "1999-12-01"), ("7", "1", None, "2020-02-29")] * 20
NAMES = ("age", "weight", "city", "day")
CSV = ",".join(NAMES) + "\n" + "".join(",".join(cell or "" for cell in row) + "\n" for row in ROWS)
AGES, WEIGHTS = [int(row[0]) for row in ROWS], [float(row[1]) for row in ROWS]
DAYS = [datetime.date.fromisoformat(row[3]) for row in ROWS]
FRAME = pl.DataFrame({"age": AGES, "weight": WEIGHTS, "city": [row[2] for row in ROWS], "day": DAYS})
PANDAS = pd.DataFrame({"age": AGES, "weight": WEIGHTS, "city": [row[2] or "" for row in ROWS], "day": DAYS})
CITIES = {"Graz": 1, "Linz": 2}


def packed_zip(path: Path, *names: str) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names or ("people.csv",):
            archive.writestr(name, CSV)


def zstd(path: Path) -> None:
    with pa.CompressedOutputStream(str(path), "zstd") as out:
        out.write(CSV.encode())


def json_lines(path: Path) -> None:
    rows = [{"age": int(a), "weight": float(w) if w != "1" else 1, "city": c, "day": d} for a, w, c, d in ROWS]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


def workbook(path: Path, *more: str) -> None:
    """An Excel workbook with the table on its first sheet, and other sheets with a cell each."""
    with xlsxwriter.Workbook(str(path)) as book:
        day = book.add_format({"num_format": "yyyy-mm-dd"})
        sheet = book.add_worksheet("People")
        sheet.write_row(0, 0, NAMES)
        for k, (age, weight, city, _) in enumerate(ROWS, start=1):
            sheet.write_number(k, 0, int(age))
            sheet.write_number(k, 1, float(weight))
            if city is not None:
                sheet.write_string(k, 2, city)
            sheet.write_datetime(k, 3, datetime.datetime.combine(DAYS[k - 1], datetime.time()), day)
        for name in more:
            book.add_worksheet(name).write_column(0, 0, ["note", 1])


def ods(path: Path) -> None:
    def cell(value: str | None, kind: str) -> str:
        if value is None:
            return "<table:table-cell/>"
        stated = {"float": "office:value", "date": "office:date-value", "string": "office:string-value"}[kind]
        text = f"<text:p>{value}</text:p>"
        return f'<table:table-cell office:value-type="{kind}" {stated}="{value}">{text}</table:table-cell>'

    kinds = ("float", "float", "string", "date")
    rows = [[cell(name, "string") for name in NAMES]]
    rows += [[cell(value, kind) for value, kind in zip(row, kinds, strict=True)] for row in ROWS]
    body = "".join(f"<table:table-row>{''.join(row)}</table:table-row>" for row in rows)
    spaces = " ".join(
        f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in ("office", "table", "text")
    )
    content = (
        f'<?xml version="1.0"?><office:document-content {spaces} office:version="1.2"><office:body>'
        f'<office:spreadsheet><table:table table:name="People">{body}</table:table></office:spreadsheet>'
        f"</office:body></office:document-content>"
    )
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    manifest = (
        '<?xml version="1.0"?><manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">'
        f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{kind}"/></manifest:manifest>'
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(zipfile.ZipInfo("mimetype"), kind)
        archive.writestr("content.xml", content)
        archive.writestr("META-INF/manifest.xml", manifest)


def partitioned(path: Path) -> None:
    """A folder of Parquet files: the days are in the names of its folders."""
    for k, row in enumerate(FRAME.iter_slices(20)):
        folder = path / f"part={k}"
        folder.mkdir(parents=True)
        row.write_parquet(folder / "rows.parquet")


def coded(path: Path, *, missing: bool = True) -> None:
    """An SPSS or Stata file whose cities are codes with labels; 9 (or .a) means that nobody answered."""
    frame = PANDAS.assign(city=[CITIES.get(row[2] or "", 9) for row in ROWS])
    labels = {"city": {1: "Graz", 2: "Linz", 9: "no answer"}}
    titles = {"age": "Age in years", "city": "City of birth"}
    if path.suffix == ".sav":
        ranges = {"city": [9]} if missing else None
        pyreadstat.write_sav(
            frame, str(path), column_labels=titles, variable_value_labels=labels, missing_ranges=ranges
        )
        return
    frame["city"] = [CITIES.get(row[2] or "", "a") for row in ROWS]
    labels["city"] = {1: "Graz", 2: "Linz", "a": "no answer"}  # type: ignore[dict-item]
    pyreadstat.write_dta(
        frame, str(path), column_labels=titles, variable_value_labels=labels, missing_user_values={"city": ["a"]}
    )


WRITERS: dict[str, Callable[[Path], object]] = {
    "people.csv": lambda path: path.write_text(CSV, "utf-8"),
    "people.csv.gz": lambda path: path.write_bytes(gzip.compress(CSV.encode())),
    "people.csv.bz2": lambda path: path.write_bytes(bz2.compress(CSV.encode())),
    "people.csv.xz": lambda path: path.write_bytes(lzma.compress(CSV.encode())),
    "people.csv.zst": zstd,
    "people.zip": packed_zip,
    "people.jsonl": json_lines,
    "people.parquet": FRAME.write_parquet,
    "people.feather": FRAME.write_ipc,
    "people.xlsx": workbook,
    "people.ods": ods,
    "people.sav": lambda path: pyreadstat.write_sav(PANDAS, str(path)),
    "people.dta": lambda path: pyreadstat.write_dta(PANDAS, str(path)),
    "people.xpt": lambda path: pyreadstat.write_xport(PANDAS, str(path)),
}
"""How a file of each name is written."""
BINARY = [name for name in WRITERS if not name.endswith((".csv", ".jsonl"))]


def written(folder: Path, name: str) -> Path:
    path = folder / name
    WRITERS[name](path)
    return path


def content(name: str, folder: Path) -> bytes:
    return written(folder, name).read_bytes()


def packed_json_lines(path: Path) -> None:
    plain = io.BytesIO()
    json_lines(path)
    plain.write(path.read_bytes())
    path.write_bytes(gzip.compress(plain.getvalue()))
