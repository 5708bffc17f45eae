"""The canonical form of a cell: its content, however it was written.

Blanks around it are trimmed, letters composed (Unicode NFC), and a number is its value: ``1.50``, ``+1,5`` and
``15e-1`` are all ``1.5``. Only the cell itself matters, never the dialect it was read with or another row.
"""

from __future__ import annotations

import decimal

import polars as pl

_NUMBER = r"^[+-]?([0-9]+([.,][0-9]*)?|[.,][0-9]+)([eE][+-]?[0-9]{1,4})?$"
_LARGEST_EXPONENT = 400
_EXACT = decimal.Context(prec=100_000, Emin=-20_000, Emax=20_000, traps=[decimal.Inexact, decimal.InvalidOperation])


def canonical(cells: pl.Series) -> pl.Series:
    """Return cells in canonical form, shape (n,); null where a cell is missing, empty or blank."""
    texts = cells.str.normalize("NFC").str.strip_chars()
    number = texts.str.contains(_NUMBER).fill_null(value=False)
    if number.any():
        texts = texts.scatter(number.arg_true(), _numbers(texts.filter(number)))
    return texts.replace("", None)


def _numbers(texts: pl.Series) -> pl.Series:
    """Return numbers in their one way of writing: no sign but a minus, no needless zero, a point."""
    texts = texts.str.replace(",", ".", literal=True)
    power = texts.str.contains("[eE]")
    if power.any():
        values = [_spelt_out(text) for text in texts.filter(power)]
        texts = texts.scatter(power.arg_true(), pl.Series(values, dtype=pl.String))
    frame = pl.DataFrame({"text": texts}).select(
        pl.col("text").str.starts_with("-").alias("negative"),
        pl.col("text").str.strip_chars_start("+-").str.strip_chars_start("0").alias("digits"),
    )
    digits = pl.col("digits")
    trimmed = (
        pl.when(digits.str.contains(".", literal=True))
        .then(digits.str.strip_chars_end("0").str.strip_chars_end("."))
        .otherwise(digits)
    )
    whole = pl.when(trimmed.str.contains(r"^(\.|$)")).then(pl.lit("0") + trimmed).otherwise(trimmed)
    signed = pl.when(pl.col("negative") & (whole != "0")).then(pl.lit("-") + whole).otherwise(whole)
    return frame.select(signed.alias("text"))["text"]


def _spelt_out(text: str) -> str:
    """Return a number with an exponent without it, unless that would be very long."""
    value = decimal.Decimal(text)
    if value and abs(value.adjusted()) > _LARGEST_EXPONENT:
        return text.lower()
    return f"{_EXACT.plus(value):f}"
