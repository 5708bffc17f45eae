"""Paste a block from a spreadsheet over the facts of the columns: all of it is one plan, or none of it is taken."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from workbench.data.schema import KINDS, ROLES
from workbench.gui.pages.data.attribute_edits import Edit
from workbench.gui.pages.data.attribute_model import KIND, LOWER, NAME, NO_ROLE, ROLE, UPPER
from workbench.gui.pages.data.facts import changes, kind_changes, read, role_changes
from workbench.gui.session.draft import DraftColumn, DraftPlan
from workbench.gui.session.draft_edits import protect_changes
from workbench.gui.style.language import tr, tr_later, tr_sentence
from workbench.gui.widgets.formatting import count
from workbench.params import ParameterError
from workbench.params.field import did_you_mean

PLACES = (NAME, ROLE, KIND, LOWER, UPPER)
TITLES = {
    NAME: tr_later("attribute"),
    ROLE: tr_later("role"),
    KIND: tr_later("kind"),
    LOWER: tr_later("lower bound or values"),
    UPPER: tr_later("upper bound"),
}


def pasted(
    plan: DraftPlan,
    names: Sequence[str],
    place: int,
    block: Sequence[Sequence[str]],
    kind_of: Callable[[str], str],
    decimal: str = ".",
) -> Edit:
    """Return the plan with a block of cells over its columns; an empty cell changes nothing.

    Args:
        plan: the plan.
        names: the columns that the rows of the block are for, from the current one down; a block of one row is for
            all of them. Where the block begins with names, these say which column each row is for.
        place: the column of the table in which the block begins.
        block: its cells.
        kind_of: the kind that a column seems to have, by its name.
        decimal: the decimal mark of the file.

    Raises:
        ParameterError: a cell is refused; row and column are named.
    """
    width = max(map(len, block), default=0)
    if not width:
        raise ParameterError(tr("the clipboard holds no cells"), hint=tr("copy a block of cells first"))
    if place not in PLACES or place + width > len(PLACES):
        what = tr("the block is {width} wide, which do not fit from here on", width=count(width, "column"))
        raise ParameterError(what, hint=tr("start further left"))
    if place == NAME:
        targets = [cells[0] for cells in block]
    else:
        targets = list(names) if len(block) == 1 else list(names[: len(block)])
    rows = list(block) * len(targets) if len(block) == 1 and place != NAME else list(block)
    if len(rows) > len(targets):
        what = tr(
            "the block has {rows}, and there are {targets} from here on",
            rows=count(len(rows), "row"),
            targets=count(len(targets), "column"),
        )
        raise ParameterError(what, hint=tr("start further up"))
    drafts: Mapping[str, DraftColumn] = {c.name: c for c in plan.columns}
    for at, (name, cells) in enumerate(zip(targets, rows, strict=True), start=1):
        if name not in drafts:
            raise ParameterError(
                tr(
                    "row {row}: the table has no column {name}{did_you_mean}",
                    row=at,
                    name=repr(name),
                    did_you_mean=tr_sentence(did_you_mean(name, drafts)),
                )
            )
        for step, text in enumerate(cells):
            where = place + step
            if where == NAME or not text:
                continue
            try:
                made = _taken(plan.column(name), where, text, kind_of, decimal)
            except ParameterError as error:
                what = tr(
                    "row {row} ({name}), {fact}: {problem}",
                    row=at,
                    name=name,
                    fact=tr(TITLES[where]),
                    problem=tr_sentence(error.what),
                )
                raise ParameterError(what, hint=error.remedies) from None
            if made.get("role") == "target":
                plan = plan.with_target(None)
            plan = plan.with_columns({name: made})
    return tr("paste {rows} of facts", rows=count(len(rows), "row")), plan


def _taken(
    column: DraftColumn, place: int, text: str, kind_of: Callable[[str], str], decimal: str
) -> Mapping[str, Any]:
    """Return what one cell changes of a column."""
    if place == ROLE:
        role = None if text == NO_ROLE else _one_of(text, ROLES)
        back = protect_changes(column, kind_of(column.name)) if role == "target" and column.action == "drop" else {}
        return {**back, "role": role} if role == "target" else role_changes(column, role, kind_of(column.name))
    if not column.protected:
        raise ParameterError(
            tr("the column is not released, and needs no facts"), hint=tr("tick it among the questions")
        )
    if place == KIND:
        kind = _one_of(text, KINDS)
        return kind_changes(column, kind) if kind != column.kind else {"kind": kind}
    fact = {LOWER: "lower", UPPER: "upper"}[place] if column.numeric else "domain" if place == LOWER else ""
    if fact not in column.needs:
        raise ParameterError(
            tr("a column of kind {kind} has no such fact", kind=tr(column.kind or "")), hint=tr("leave the cell empty")
        )
    return changes(column, fact, read(column, fact, text, decimal))


def _one_of(text: str, known: Sequence[str]) -> str:
    """Return the word that ``text`` is, as the plan or as the window writes it."""
    found = next((word for word in known if text.lower() in (word, tr(word).lower())), None)
    if found is None:
        near = tr_sentence(did_you_mean(text, known))
        raise ParameterError(
            tr("{text} is not known{did_you_mean}", text=repr(text), did_you_mean=near),
            hint=tr("write {words}", words=", ".join(map(tr, known))),
        )
    return found
