"""What is still open of the table or the images, and what the highlighted button of Data, Columns does about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workbench.gui.session.blocking import FOUND, open_facts
from workbench.gui.session.draft import DraftPlan
from workbench.gui.session.draft_edits import GUESSED_FACTS
from workbench.gui.session.open_images import OpenImages
from workbench.gui.session.session import OpenTable, Session
from workbench.gui.style.language import tr, tr_later, tr_n, tr_number, tr_sentence
from workbench.gui.widgets.formatting import listed

EVERY = tr_later("Every public fact is declared.")
ONWARD_TIP = tr_later("See what a recipient would get at which ε, and choose the way to release")
CONFIRM = tr_later("These are right, and they are public knowledge")
CONFIRM_TIP = tr_later(
    "Nothing is released by a guess: a single row could change it, and with it every released "
    "value. Look at the names of the columns, at the kinds marked ? and at what a missing value "
    "means, and correct what is wrong. Then confirm the rest; Ctrl+Z takes it back"
)
TRAIN = tr_later("Train a network →")
TRAIN_TIP = tr_later("Choose a network, see what it costs, and train it on these images")
TAKEN_FACTS = {
    "names of the classes": tr_later("names of the classes"),
    "size of the images": tr_later("size of the images"),
}
NAMED = 3
"""Most columns that are named for each guessed fact; of the others the number is given."""


@dataclass(frozen=True)
class NextStep:
    """The sentence at the foot of the page, the words of its button, and its tip, which is said where it is shown."""

    note: str
    verb: str
    tip: str = ONWARD_TIP
    wrapped: bool = False


def next_step(session: Session, *, at_dialect: bool) -> NextStep | None:
    """Return what comes next; ``None`` while nothing is open. ``at_dialect``: how the file is read is shown."""
    if session.images is not None:
        return NextStep(_images_note(session.images), tr(TRAIN), TRAIN_TIP)
    return None if session.opened is None else _of_table(session.opened, session.plan, at_dialect=at_dialect)


def _of_table(opened: OpenTable, plan: DraftPlan, *, at_dialect: bool) -> NextStep:
    open_still = open_facts(plan)
    wrong = [p for p in plan.problems() if not p.open and p.column]
    if opened.table.doubts:
        from workbench.gui.pages.data.dialect import doubts_in_words

        verb = tr("That is right →") if at_dialect else tr("Confirm how it is read →")
        return NextStep(
            tr("How the file is written was guessed: {guesses}.", guesses=doubts_in_words(opened.table)), verb
        )
    if open_still:
        stated = "; ".join(_of(tr(words), listed(names)) for words, names in open_still.items())
        return NextStep(tr("Still to be declared: {stated}.", stated=stated), tr("Fill the next →"), wrapped=True)
    if wrong:
        return NextStep(f"{wrong[0].column}: {tr_sentence(wrong[0].text)}.", tr("Correct it →"))
    if plan.guesses():
        return NextStep(
            tr("Guessed from the rows: {guesses}.", guesses=guessed_in_words(plan)),
            tr(CONFIRM),
            CONFIRM_TIP,
            wrapped=True,
        )
    if refused := FOUND.columns(opened, plan):
        why = FOUND.why(opened, plan, refused[0])
        said = tr("A release would stop: {column}: {why}.", column=refused[0], why=why.words if why else "")
        others = len(refused) - 1
        more = tr_n("{n} other column also.", "{n} other columns also.", others) if others else ""
        return NextStep(f"{said} {more}".rstrip(), tr("Correct it →"), wrapped=True)
    dropped = [c.name for c in plan.columns if c.action == "drop"]
    gone = tr("Not released: {columns}.", columns=listed(dropped)) if dropped else ""
    taken = [c.name for c in plan.protected if c.bounds_origin == "data"]
    said = tr("⚠ Read off the data, which publishes it: {columns}.", columns=", ".join(taken)) if taken else tr(EVERY)
    return NextStep(f"{said} {gone}".rstrip(), tr("Decide →"))


def guessed_in_words(plan: DraftPlan) -> str:
    """Return what was guessed of the columns and nobody has confirmed."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for guess in plan.guesses():
        groups.setdefault(guess.facts, []).append(guess.of)
    return "; ".join(
        _of(joined([tr(GUESSED_FACTS.get(fact, fact)) for fact in facts]), joined(_shortened(names)))
        for facts, names in groups.items()
    )


def _of(facts: str, columns: str) -> str:
    return tr("{facts} of {columns}", facts=facts, columns=columns)


def _shortened(names: list[str]) -> list[str]:
    more = len(names) - NAMED
    return names if more <= 1 else [*names[:NAMED], tr("{n} more", n=tr_number(more, ","))]


def joined(words: Sequence[str]) -> str:
    """Return words with commas between them, and an “and” before the last."""
    if len(words) < 2:
        return "".join(words)
    return tr("{words} and {last}", words=", ".join(words[:-1]), last=words[-1])


def taken_words(taken: str) -> str:
    """Return the public facts that were taken from images, which the engine joins, as they are shown."""
    return joined([tr(TAKEN_FACTS.get(fact, fact)) for fact in taken.split(" and ")])


def _images_note(opened: OpenImages) -> str:
    if opened.table.taken:
        return tr("⚠ Not declared yet: {taken}.", taken=taken_words(opened.table.taken))
    return tr("Every public fact is declared, or follows from the format.")
