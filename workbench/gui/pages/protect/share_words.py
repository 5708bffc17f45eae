"""What the Protect page says of a column's mechanism and share, and of the plan as a whole."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from workbench.gui.pages.protect.share_model import KEPT
from workbench.gui.pages.protect.tasks import Candidate, Outlook
from workbench.gui.session.draft import DraftColumn
from workbench.gui.session.draft_edits import FROM_DATA
from workbench.gui.style.language import tr, tr_later, tr_number, tr_sentence
from workbench.gui.widgets.formatting import at_most, count, listed

OTHER_WAY = tr_later("release synthetic rows or a private model")
"""What serves where noisy rows do not."""

OF_ROWS = tr_later("one value {one}, {statistic} over the {rows}")
OF_CLAMPED = tr_later("one value {one}, {statistic} over the {rows} (of clamped values)")
TWO_ANSWERS = tr_later(
    "Every released value is one of the two bounds: the mean can be estimated from them, nothing else."
)


def why(column: DraftColumn, outlook: Outlook | None, share: Decimal | None) -> str:
    """Return what is done with a column, by which mechanism, and how far off it will be."""
    if column.action == "drop":
        return tr("Dropped: nothing of it is released, and it takes no ε.")
    if column.action == "keep":
        return tr("Kept as it is.")
    if column.problems():
        return tr("{problem}: go back to Data.", problem=_capital(tr_sentence(column.problems()[0].text)))
    if outlook is None or share is None:
        return "…"
    used, best = outlook.used, outlook.candidates[0]
    both = _both_errors(outlook, used)
    title = _capital(tr_sentence(used.title))
    if outlook.advised:
        aim = tr("the least noise in statistics") if outlook.for_statistics else tr("the least error")
        fit = (
            tr("the only mechanism that fits")
            if len(outlook.candidates) == 1
            else tr("{aim} of those that fit", aim=aim)
        )
        stated = tr(
            "{title} ★ at a share of {share}: {errors}; {fit}.",
            title=title,
            share=at_most(share),
            errors=both,
            fit=fit,
        )
    else:
        stated = tr(
            "{title}, chosen by you, at a share of {share}: {errors}. The advisor would take the {advised} ★: {best}.",
            title=title,
            share=at_most(share),
            errors=both,
            advised=tr_sentence(best.title),
            best=outlook.relevant(best),
        )
    return f"{stated} {tr(TWO_ANSWERS)}" if outlook.two_answers else stated


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _both_errors(outlook: Outlook, used: Candidate) -> str:
    """Return the error of one value and that of a statistic over the table's rows."""
    one, statistic = outlook.in_words(used.error), outlook.statistic_in_words(used.statistic)
    if used.statistic is None:
        return tr("one value {one}, {statistic}", one=one, statistic=statistic)
    words = OF_CLAMPED if outlook.column.numeric else OF_ROWS
    return tr(words, one=one, statistic=statistic, rows=count(outlook.rows, "row"))


def warning(column: DraftColumn, outlook: Outlook | None, *, high: bool) -> str:
    """Return the warning about a column with its ways out, or nothing; ``high`` says that ε is high already."""
    if column.action == "keep":
        return tr(KEPT)
    relations = f"{outlook.faded_words} " if outlook is not None and outlook.faded else ""
    if outlook is not None and outlook.useless and outlook.for_statistics:
        noise = tr("Even over all {rows} a mean or a count is mostly noise.", rows=count(outlook.rows, "row"))
        return f"{noise} {_ways(outlook, high=high)}"
    if outlook is not None and outlook.useless:
        noise = tr(
            "Writing “{answer}” in every row would be {closeness}, at no privacy cost: at this share, {name} is mostly "
            "noise.",
            answer=outlook.constant,
            closeness=outlook.useless_words,
            name=column.name,
        )
        return f"{noise} {relations}{_ways(outlook, high=high)}"
    if outlook is not None and outlook.bare:
        return tr(
            "At this share nearly every value leaves as it is: whoever sees the release can be almost "
            "sure of anybody's {name}. Give it less ε, or ask whether it has to be published.",
            name=column.name,
        )
    if outlook is not None and relations:
        taken = f" {tr(FROM_DATA)}" if column.bounds_origin == "data" else ""
        return f"{relations}{_ways(outlook, high=high)}{taken}"
    if column.protected and column.bounds_origin == "data":
        return tr(FROM_DATA)
    if outlook is not None and outlook.served is not None:
        return tr(
            "A share above {served} is served by the table for {served}: the rest is wasted.",
            served=tr_number(outlook.served, "g"),
        )
    return ""


def _ways(outlook: Outlook, *, high: bool) -> str:
    """Return the ways out of a column that is mostly noise or faded; more ε is none where ε is high already."""
    statistics = (
        [] if outlook.for_statistics or not outlook.statistics_help else [tr("choose “means and counts” below")]
    )
    more = [] if high else [tr("raise ε")]
    steps = [tr("round it to fewer steps")] if outlook.for_statistics and outlook.column.numeric else []
    return f"{_either([tr('Drop columns'), *statistics, *steps, *more, tr(OTHER_WAY)])}."


def note(useless: Sequence[Outlook], epsilon: Decimal, *, high: bool) -> str:
    """Return the one warning about a plan as a whole: what is mostly noise, how weak ε is, and the ways out of both."""
    names = listed([outlook.column.name for outlook in useless])
    helped = any(o.statistics_help and not o.for_statistics for o in useless)
    statistics = [tr("choose “means and counts” for what you need the average of")] if helped else []
    ways = _either([tr("drop columns"), *statistics, *([] if high else [tr("raise ε")]), tr(OTHER_WAY)])
    weak = tr("At ε = {epsilon} the guarantee says little about any one row", epsilon=at_most(epsilon))
    if high and useless:
        return tr("⚠ {weak}, and {names} would still be mostly noise: {ways}.", weak=weak, names=names, ways=ways)
    if useless:
        return f"{tr('⚠ Mostly noise at this ε: {names}.', names=names)} {_capital(ways)}."
    return f"⚠ {weak}." if high else ""


def _either(ways: Sequence[str]) -> str:
    return tr("{ways}, or {last}", ways=", ".join(ways[:-1]), last=ways[-1])
