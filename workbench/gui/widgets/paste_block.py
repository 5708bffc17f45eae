"""A block of cells from a spreadsheet over any table that can be edited: all of it is taken, or nothing."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from workbench.gui.style.language import again, tr, tr_sentence
from workbench.gui.widgets.formatting import STAR, count
from workbench.gui.widgets.table_model import EditedModel
from workbench.params import ParameterError
from workbench.params.field import did_you_mean

TICKED, FREE = ("yes", "1", "true", "x", "✓"), ("no", "0", "false", "-", "–")
SIGNS = f" {STAR}⚠"
"""What is shown behind a word and is no part of it."""


def block_of(text: str) -> list[list[str]]:
    """Return the cells of a block as a spreadsheet puts it on the clipboard, without its empty last lines."""
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter="\t"))
    while rows and not any(cell.strip() for cell in rows[-1]):
        rows.pop()
    return [[cell.strip() for cell in row] for row in rows]


def paste_cells(model: EditedModel, rows: Sequence[int], place: int, block: Sequence[Sequence[str]]) -> None:
    """Edit the cells of a table as a block says; an empty cell changes nothing.

    Args:
        model: the table.
        rows: its rows that those of the block are for, in order; a block of one row is for all of them. Where the
            block begins in the column of names, these say which row each is for.
        place: the column in which the block begins.
        block: its cells.

    Raises:
        ParameterError: a cell is refused; row and column are named.
    """
    width = max(map(len, block), default=0)
    if not width:
        raise ParameterError(tr("the clipboard holds no cells"), hint=tr("copy a block of cells first"))
    if place + width > len(model.columns):
        what = tr("the block is {columns} wide, which do not fit from here on", columns=count(width, "column"))
        raise ParameterError(what, hint=tr("start further left"))
    names = {model.name_at(row): row for row in range(model.height())}
    named = place == 0 and model.columns[0].edit is None
    if named:
        rows = [_row_of(names, cells[0], at) for at, cells in enumerate(block, start=1)]
    elif len(block) == 1:
        block = list(block) * len(rows)
    if len(block) > len(rows):
        what = tr(
            "the block has {rows}, and there are {left} from here on",
            rows=count(len(block), "row"),
            left=count(len(rows), "row"),
        )
        raise ParameterError(what, hint=tr("start further up"))
    for at, (row, cells) in enumerate(zip(rows, block, strict=False), start=1):
        for step, text in enumerate(cells):
            if text and not (named and step == 0):
                _paste_cell(model, at, row, place + step, text)


def _row_of(names: dict[str, int], name: str, at: int) -> int:
    if name not in names:
        unknown = tr("row {at}: the table has no row {name}", at=at, name=repr(name))
        raise ParameterError(f"{unknown}{tr_sentence(did_you_mean(name, names))}")
    return names[name]


def _paste_cell(model: EditedModel, at: int, row: int, place: int, text: str) -> None:
    cell, column = model.cell(row, place), model.columns[place]
    title = again(column.title).lower()
    where = tr("row {at} ({name}), {title}", at=at, name=model.name_at(row), title=title)
    try:
        if column.edit is not None and cell.value is not None:
            words = column.choices(row) if callable(column.choices) else column.choices
            taken = column.edit(row, _one_of(text, words) if words else text)
        elif column.tick is not None and cell.ticked is not None:
            taken = column.tick(row, _ticked(text))
        elif text in (cell.text, cell.exact):
            return  # as it was copied
        else:
            raise ParameterError(tr("this cell cannot be edited"), hint=tr("leave it empty"))
    except ParameterError as error:
        raise ParameterError(f"{where}: {tr_sentence(error.what)}", hint=error.remedies) from None
    model.forget_cells()
    if taken is False:
        raise ParameterError(tr("{where}: {text} is not taken", where=where, text=repr(text)))


def _one_of(text: str, words: Sequence[str]) -> str:
    """Return the word of a list that is meant: in any case, and without what the list says behind it."""
    wanted = text.rstrip(SIGNS).casefold()
    same = [word for word in words if wanted in (_bare(word), _bare(tr_sentence(word)))]
    found = same or [word for word in words if word.casefold().startswith(f"{wanted}  ")]
    if not found:
        unknown = tr("{text} is not known", text=repr(text))
        raise ParameterError(
            f"{unknown}{tr_sentence(did_you_mean(text, words))}", hint=tr("write {words}", words=", ".join(words))
        )
    return found[0]


def _bare(word: str) -> str:
    return word.rstrip(SIGNS).casefold()


def _ticked(text: str) -> bool:
    yes, no = (*TICKED, tr("yes").casefold()), (*FREE, tr("no").casefold())
    if text.casefold() not in yes + no:
        raise ParameterError(tr("{text} is neither yes nor no", text=repr(text)), hint=tr("write yes or no"))
    return text.casefold() in yes
