"""Who gets a release, which columns they need and what they will ask of it: public choices, and the plan they lead to.

:class:`IntendedUse` has all answers; :class:`PlanQuestions` is the part of them that a plan's file has in
``[questions]`` (the needed columns and the target are in its columns); :class:`UseOption` is one choice of what is
asked. :func:`suggestion` uses only names, kinds and counts of the columns; no other fact of the rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from workbench.params import ParameterError, Parameters, choice, texts
from workbench.params.field import did_you_mean
from workbench.sanitize.wishes import CORRELATION, MEDIAN, QUANTILE, Wish

if TYPE_CHECKING:  # loads polars, which the window's first paint does not wait for
    from workbench.data.columns.profile import ColumnProfile

FIRST_EPSILON = Decimal(1)  # the ε of a plan for which nobody has chosen one

VALUES, STATISTICS = "values", "statistics"  # the purposes of a column (`Questions.purpose`)

DROPPED = "drop"  # the action of a column that is not released


@dataclass(frozen=True)
class Recipient:
    """Somebody who may get a release."""

    name: str  # one word, as files and options write it
    title: str
    most: Decimal  # the largest ε that is offered
    why: str  # the reason for that limit, in a sentence


RECIPIENTS = (
    Recipient(
        "anyone",
        "Anyone",
        Decimal(1),
        "What is published cannot be taken back, and anyone may combine it with what they know: ε up to 1.",
    ),
    Recipient(
        "named",
        "Named recipients",
        Decimal(3),
        "They are known and have agreed not to identify anyone, so a release may reveal more: ε up to 3.",
    ),
    Recipient(
        "us",
        "Only us",
        Decimal(10),
        "It stays with people who may see the table itself; ε limits what a leak would reveal: ε up to 10.",
    ),
)


@dataclass(frozen=True)
class UseOption:
    """One thing that recipients may do with a release."""

    name: str  # one word, as files and options write it
    title: str
    help: str  # what it is, in a sentence
    ways: tuple[str, ...]  # the ways to release that give it, the one that suits it best first


AVERAGES, PAIRS, MODEL, ROWS, FIGURES = NAMES = ("averages", "pairs", "model", "rows", "figures")
WAYS = A_MODEL, SYNTHETIC, A_FEW, NOISY = ("model", "synthetic", "statistics", "rows")
"""The ways to release; of two that suit the answers as well, the first is advised."""

USE_OPTIONS = (
    UseOption(
        AVERAGES,
        "Averages and shares",
        "Means, percentages and histograms of single columns",
        (A_FEW, SYNTHETIC, NOISY),
    ),
    UseOption(
        PAIRS,
        "Relations between columns",
        "Tables of two columns, correlations, differences between groups",
        (SYNTHETIC, NOISY),
    ),
    UseOption(MODEL, "Train a model of", "Predict one column from the others", (A_MODEL, SYNTHETIC, NOISY)),
    UseOption(ROWS, "Look at rows", "Open a table row by row, where each value may be far off", (NOISY, SYNTHETIC)),
    UseOption(FIGURES, "A few exact figures", "A handful of figures, each as accurate as ε allows", (A_FEW,)),
)

_ASK_OF = {CORRELATION: PAIRS, MEDIAN: FIGURES, QUANTILE: FIGURES, MODEL: MODEL, ROWS: ROWS}
"""Which ask a question belongs to, by what it asks; any other is of averages and shares."""


def use_of(asked: str, by: Sequence[str]) -> str:
    """Return the ask that a question belongs to: exact figures, where only statistics say how near they are."""
    return FIGURES if by else _ASK_OF.get(asked, AVERAGES)


def recipient(name: str) -> Recipient:
    """Return the recipient of that name."""
    return next(each for each in RECIPIENTS if each.name == name)


def parse_uses(words: Sequence[str]) -> tuple[tuple[str, ...], str | None]:
    """Return the names of :data:`USE_OPTIONS` in ``words``, in that order, and the column of ``model:COLUMN``.

    Raises:
        ParameterError: a word is not known, or a model names no column.
    """
    target = None
    asks = []
    for word in words:
        name, _, column = word.strip().partition(":")
        if name == MODEL and not column:
            raise ParameterError("a model predicts one column", word, f"write {MODEL}:COLUMN")
        if name not in NAMES or (column and name != MODEL):
            hint = f"choose from {', '.join(NAMES)}, a model with its column: {MODEL}:COLUMN"
            raise ParameterError(f"{word!r} is not known{did_you_mean(name, NAMES)}", hint=hint)
        asks.append(name)
        target = column or target
    return PlanQuestions(asks=tuple(dict.fromkeys(asks))).asks, target


def recipient_at(epsilon: Decimal) -> Recipient:
    """Return the widest recipient that is offered ``epsilon``; "us" where it is above every limit or not a number."""
    offered = () if epsilon.is_nan() else RECIPIENTS
    return next((each for each in offered if epsilon <= each.most), RECIPIENTS[-1])


@dataclass(frozen=True, kw_only=True)
class PlanQuestions(Parameters):
    """The table ``[questions]`` of a plan. Actions and roles of the columns say which are needed, and the target."""

    recipient: str = choice(
        choices=tuple(r.name for r in RECIPIENTS), default="anyone", help="who receives the release: the range of ε"
    )
    asks: tuple[str, ...] = texts(default=(AVERAGES, PAIRS), help=f"how they will use it: {', '.join(NAMES)}")
    wishes: tuple[str, ...] = texts(default=(), help="figures with their margins of error, such as mean(age) ± 2")

    @classmethod
    def key_of(cls, name: str) -> str:
        """Return the TOML key: ``recipient`` is written ``for``."""
        return "for" if name == "recipient" else name

    def __post_init__(self) -> None:
        """Check the values; the asks take the order of :data:`USE_OPTIONS`, the wishes their usual form."""
        super().__post_init__()
        for name in self.asks:
            if name not in NAMES:
                hint = f"choose from {', '.join(NAMES)}"
                raise ParameterError(f"asks has {name!r}, which is not known{did_you_mean(name, NAMES)}", hint=hint)
        object.__setattr__(self, "asks", tuple(name for name in NAMES if name in self.asks))
        written = dict.fromkeys(Wish.parse(text).text for text in self.wishes)
        object.__setattr__(self, "wishes", tuple(written))


@dataclass(frozen=True)
class IntendedUse:
    """The answers to all three questions."""

    recipient: str = "anyone"  # the name of one of `RECIPIENTS`
    needed: tuple[str, ...] = ()  # the columns that are released, in the table's order
    asks: tuple[str, ...] = (AVERAGES, PAIRS)  # names of `USE_OPTIONS`, in their order
    target: str | None = None  # the column to predict; `None` where there is none
    wishes: tuple[Wish, ...] = ()  # figures that must be close to the truth, with their margins

    @property
    def asked(self) -> PlanQuestions:
        """What a plan's file says of them."""
        return PlanQuestions(recipient=self.recipient, asks=self.asks, wishes=tuple(w.text for w in self.wishes))

    @property
    def most(self) -> Decimal:
        """The largest ε that is offered."""
        return recipient(self.recipient).most

    def require_offered(self, epsilon: float) -> None:
        """Raise :class:`ParameterError` if ``epsilon`` is above what is offered to this recipient."""
        if epsilon > self.most:
            wider = [each.name for each in RECIPIENTS if epsilon <= each.most]
            hint = f"give at most {self.most}" + (f", or release to {' or '.join(wider)} only" if wider else "")
            who = recipient(self.recipient).title.lower()
            raise ParameterError(f"epsilon = {epsilon:g} is above the range for {who}", hint=hint, field="epsilon")

    def offered(self, epsilon: Decimal) -> Decimal:
        """Return ``epsilon``, or the largest that is offered if it is above that or not a number."""
        return self.most if epsilon.is_nan() else min(epsilon, self.most)

    @cached_property
    def answers(self) -> tuple[str, ...]:
        """The asks, with those that the wishes belong to: exact figures by default."""
        given = {*self.asks, *(use_of(wish.asked, wish.by) for wish in self.wishes_of(self.needed))}
        return tuple(name for name in NAMES if name in given) or (FIGURES,)

    def left_out(self, way: str) -> tuple[str, ...]:
        """Return the answers that ``way`` does not give, whatever ε."""
        return tuple(ask.name for ask in USE_OPTIONS if ask.name in self.answers and way not in ask.ways)

    @cached_property
    def ways(self) -> tuple[str, ...]:
        """The ways that suit: those that give every answer, the best first.

        Where none does, they are those that give all but exact figures, for which there are statistics beside them.
        Noisy rows are the last, except for those who only look at rows.
        """
        every = any(not self.left_out(way) for way in WAYS)
        asked = [ask for ask in USE_OPTIONS if ask.name in self.answers and (every or ask.name != FIGURES)]
        found = [way for way in WAYS if all(way in ask.ways for ask in asked)]
        last = NOISY if len(self.answers) > 1 else ""
        return tuple(sorted(found, key=lambda way: (way == last, sum(ask.ways.index(way) for ask in asked))))

    @property
    def way(self) -> str:
        """The way that suits best: ``rows``, ``synthetic``, ``statistics`` or ``model``."""
        return self.ways[0]

    def of(self, answers: Iterable[str]) -> IntendedUse:
        """Return them with ``answers`` alone."""
        return replace(self, asks=tuple(answers), wishes=())

    def beside(self, way: str) -> str:
        """Return the way of a second release, for what ``way`` leaves out; empty where it leaves nothing out."""
        left = self.left_out(way)
        return self.of(left).way if left else ""

    @property
    def purpose(self) -> str:
        """The purpose of each released column: values for those who look at noisy rows, else statistics."""
        return VALUES if self.way == "rows" else STATISTICS

    def wishes_of(self, needed: Sequence[str]) -> tuple[Wish, ...]:
        """Return the wishes that are about ``needed`` columns alone."""
        named = (wish.named(needed) for wish in self.wishes)
        return tuple(wish for wish in named if all(name in needed for name in wish.reads))

    @property
    def unanswered(self) -> tuple[Wish, ...]:
        """The wishes about a column that is not needed: no release answers them."""
        answered = self.wishes_of(self.needed)
        return tuple(wish for wish in self.wishes if wish.named(self.needed) not in answered)


class PlannedColumn(Protocol):
    """What is read of a column of a plan or of a draft."""

    @property
    def name(self) -> str:
        """The column's name."""
        ...

    @property
    def action(self) -> str:
        """What happens to it: ``protect``, ``drop`` or ``keep``."""
        ...

    @property
    def role(self) -> str | None:
        """Its role, such as ``target``; ``None`` where it has none."""
        ...


def questions_of(columns: Sequence[PlannedColumn], epsilon: Decimal, asked: PlanQuestions | None) -> IntendedUse:
    """Return the answers that a plan has; for a plan without questions, those that fit its ε and target."""
    target = next((c.name for c in columns if c.role == "target" and c.action != DROPPED), None)
    if asked is None:
        model = (MODEL,) if target is not None else ()
        asked = PlanQuestions(recipient=recipient_at(epsilon).name, asks=(AVERAGES, PAIRS, *model))
    needed = tuple(c.name for c in columns if c.action != DROPPED)
    return IntendedUse(asked.recipient, needed, asked.asks, target, tuple(map(Wish.parse, asked.wishes)))


def changes(questions: IntendedUse, columns: Sequence[PlannedColumn]) -> dict[str, dict[str, Any]]:
    """Return what the answers change in a plan, by column: action, role and purpose.

    Columns that are not needed are dropped; needed ones that were dropped are protected; no other action changes.
    """
    out: dict[str, dict[str, Any]] = {}
    for column in columns:
        needed = column.name in questions.needed
        now: dict[str, Any] = {}
        if needed == (column.action == DROPPED):
            now["action"] = "protect" if needed else DROPPED
        role = "target" if needed and column.name == questions.target else column.role
        role = None if role == "target" and column.name != questions.target else role
        role = None if needed and role == "identifier" else role
        if role != column.role:
            now["role"] = role
        if needed and getattr(column, "purpose", questions.purpose) != questions.purpose:
            now["purpose"] = questions.purpose
        if now:
            out[column.name] = now
    return out


# -- what is suggested ----------------------------------------------------------------------------------------------

FURTHER = "not suggested"
"""The reason of a column that nothing is wrong with, where enough others are suggested."""
FEW, MOST = 8, 12
"""How many columns of a wide table are suggested, at least and at most: more where more names say what they are."""

_NEVER = {
    "identifier": "an identifier",
    "e-mail": "e-mail addresses",
    "phone": "telephone numbers",
    "person": "names of persons",
    "name": "may be names of persons",
    "household": "says which rows belong together",
    "constant": "every row has the same value",
    "empty": "no row has a value",
    "domain": "too many different values",
}
_TARGET = re.compile(
    r"^(labels?|target|outcome|class|diagnosis|response|y|churn(ed)?|survived|default(ed)?)$", re.IGNORECASE
)
_TELLING = re.compile(
    r"(^|[_\W])(age|sex|gender|income|salary|wage|education|occupation|employment|marital|region|state|country"
    r"|satisfaction|height|weight|bmi|smok\w*)([_\W]|$)",
    re.IGNORECASE,
)
_TEXT = re.compile(
    r"(^|[_\W])(comments?|remarks?|notes?|text|description|message|feedback|other)([_\W]|$)", re.IGNORECASE
)
_IDENTIFIES = ("identifier", "e-mail", "phone", "person")

_ENOUGH_ROWS = 10  # with fewer rows, many different values do not show that a column is nearly unique

_RANK_OF_TELLING = 1  # what `_rank` gives a column whose name says what it is

_NAMED_EACH = 3  # columns that a sentence names for each reason; of more it gives the number


@dataclass(frozen=True)
class Suggestion:
    """Which columns are suggested."""

    needed: tuple[str, ...] = ()  # their names, in the table's order
    why_not: Mapping[str, str] = field(default_factory=dict)  # the reason of each column that is not
    identifiers: tuple[str, ...] = ()  # those of them that identify a person by themselves
    target: str | None = None  # the column to predict if somebody wants to, by its name; `None` if no name says so
    asked: PlanQuestions = field(default_factory=PlanQuestions)  # the other answers that are suggested

    @property
    def left_out_in_words(self) -> str:
        """One sentence about the columns that are not suggested; empty where all are."""
        if not self.why_not:
            return ""
        by_reason: dict[str, list[str]] = {}
        for name, why in self.why_not.items():
            by_reason.setdefault(why, []).append(name)
        for names in by_reason.values():
            if len(names) > _NAMED_EACH + 1:
                names[_NAMED_EACH:] = [f"{len(names) - _NAMED_EACH} more"]
        parts = [f"{', '.join(names)} ({why})" for why, names in by_reason.items()]
        what = "1 column is" if len(self.why_not) == 1 else f"{len(self.why_not)} columns are"
        return f"{what} left out, as suggested: {'; '.join(parts)}"


def target_by_name(names: Iterable[str]) -> str | None:
    """Return the first column whose name says that it is to be predicted; ``None`` where none does."""
    return next((name for name in names if _TARGET.match(name.strip())), None)


def suggestion(
    columns: Sequence[ColumnProfile], rows: int, roles: Mapping[str, str | None] | None = None
) -> Suggestion:
    """Return which columns are suggested, from names, kinds and counts.

    Identifiers, free text and near-unique columns never are. If at most :data:`MOST` others are left, all of them are;
    otherwise :data:`FEW` to :data:`MOST`: those whose names say what they are first, then numbers and short categories.
    A column whose declared role is identifier is never suggested, and a target always.
    """
    roles = roles or {}
    why_not = {c.name: why for c in columns if (why := _why_never(c, rows, roles.get(c.name)))}
    able = [c for c in columns if c.name not in why_not]
    target = next((c.name for c in able if roles.get(c.name) == "target"), None)
    target = target or target_by_name([c.name for c in able])
    ranked = sorted(able, key=lambda c: _rank(c, c.name == target))
    if len(able) > MOST:
        telling = sum(_rank(c, c.name == target) <= _RANK_OF_TELLING for c in able)
        ranked = ranked[: min(max(telling, FEW), MOST)]
    chosen = {c.name for c in ranked}
    why_not |= {c.name: FURTHER for c in able if c.name not in chosen}
    identifiers = tuple(
        c.name for c in columns if c.name in why_not and any(s.what in _IDENTIFIES for s in c.suspicions)
    )
    return Suggestion(tuple(c.name for c in columns if c.name in chosen), why_not, identifiers, target)


def _why_never(column: ColumnProfile, rows: int, role: str | None) -> str:
    """Return why a column is never suggested; empty for one that may be."""
    if role == "target":
        return ""
    if role == "identifier":
        return _NEVER["identifier"]
    found = next((s for s in column.suspicions if s.what in _NEVER), None)
    if found is not None:
        return _NEVER[found.what]
    if column.kind != "category":
        return ""
    present = rows - column.missing
    if rows >= _ENOUGH_ROWS and 2 * column.distinct > present:
        return "nearly every row has its own value"
    return "free text, by its name" if _TEXT.search(column.name) and column.distinct > MOST else ""


def _rank(column: ColumnProfile, target: bool) -> int:
    """Return how early a column is suggested: target, clear name, number or short category, rest, doubtful ones."""
    if target:
        return 0
    doubtful = any(s.what in ("code", "date", "date-order") for s in column.suspicions)
    if doubtful or column.kind == "date":
        return 4
    if _TELLING.search(_words_of(column.name)):
        return _RANK_OF_TELLING
    short = column.kind == "boolean" or (column.kind == "category" and column.distinct <= MOST)
    return 2 if short or column.kind in ("integer", "real") else 3


def _words_of(name: str) -> str:
    """Return a name with blanks between its words: ``MaritalStatus`` gives ``Marital Status``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", name)
