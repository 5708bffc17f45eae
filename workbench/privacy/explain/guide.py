"""A guided choice of ε by three questions: who reads it, what do they know, and what is it for?

The ranges are a starting point for a discussion. They follow the usual reading of ε (up to 1 strong, up to 10
reasonable, above that weak as a formal promise: Ponomareva and others, How to DP-fy ML, JAIR 77, 2023) and are narrowed
by the answers.
"""

from __future__ import annotations

from dataclasses import dataclass

from workbench.params import ParameterError
from workbench.params.field import did_you_mean

SOURCE = "Ponomareva and others, How to DP-fy ML, Journal of Artificial Intelligence Research 77, 2023"


@dataclass(frozen=True)
class Answer:
    """An answer to one of the questions."""

    name: str  # its word on the command line
    title: str  # the answer as a person reads it
    reason: str  # why it moves the range
    low: float  # lower end, where the question sets the range; else a factor
    high: float  # upper end, or a factor


@dataclass(frozen=True)
class Question:
    """One question with its answers, the most cautious one first."""

    name: str
    title: str
    answers: tuple[Answer, ...]

    def answer(self, name: str) -> Answer:
        """Return the answer called ``name``.

        Raises:
            ParameterError: there is none.
        """
        for known in self.answers:
            if known.name == name:
                return known
        names = [known.name for known in self.answers]
        what = f"the answer {name!r} is not known{did_you_mean(name, names)}"
        raise ParameterError(what, f"--{self.name}", f"choose one of {', '.join(names)}")


QUESTIONS: tuple[Question, ...] = (
    Question(
        "reader",
        "Who reads it?",
        (
            Answer("everyone", "Everyone: it is published", "What is published can never be taken back.", 0.1, 1.0),
            Answer(
                "contract",
                "Known researchers under a contract",
                "A contract forbids attacks; ε limits what someone who breaks it can learn.",
                0.5,
                3.0,
            ),
            Answer(
                "inside",
                "Colleagues who are not allowed to see the rows",
                "Few people read it, and the organisation can hold them to account.",
                1.0,
                8.0,
            ),
        ),
    ),
    Question(
        "knowledge",
        "What do they know?",
        (
            Answer(
                "much",
                "Nearly everything about some people",
                "Someone who knows a lot needs little more to be sure, so the upper end is halved.",
                1.0,
                0.5,
            ),
            Answer(
                "some", "Some facts about some people", "This is the usual case: the range stays as it is.", 1.0, 1.0
            ),
            Answer(
                "little",
                "Little: the facts are hard to find elsewhere",
                "The range stays as it is, because what people know tends to grow after the release.",
                1.0,
                1.0,
            ),
        ),
    ),
    Question(
        "purpose",
        "What is it for?",
        (
            Answer(
                "statistics",
                "A few figures about everyone",
                "Counts and means of many rows are accurate even at a small ε, so the upper end is halved.",
                1.0,
                0.5,
            ),
            Answer(
                "model",
                "A model, or synthetic rows",
                "Noise is added to sums over all rows, not to each row: the whole range is useful.",
                1.0,
                1.0,
            ),
            Answer(
                "rows",
                "A table of noisy rows",
                "Every value gets its own noise, and below ε = 1 per column it is mostly noise: use the upper end, "
                "release fewer columns, or publish statistics instead.",
                1.0,
                1.0,
            ),
        ),
    ),
)


@dataclass(frozen=True)
class Advice:
    """A range of ε and the reasons for it."""

    low: float
    high: float
    reasons: tuple[str, ...]
    answers: dict[str, str]


CAVEAT = (
    "Use this range to start a discussion. No single ε is safe by itself: what matters is the total over all releases "
    "about the same people, which the ledger tracks."
)


def advice(reader: str, knowledge: str, purpose: str) -> Advice:
    """Return the range of ε to begin with.

    Raises:
        ParameterError: an answer is not known.
    """
    given = (reader, knowledge, purpose)
    chosen = [question.answer(name) for question, name in zip(QUESTIONS, given, strict=True)]
    low, high = chosen[0].low, chosen[0].high
    for answer in chosen[1:]:
        low, high = low * answer.low, high * answer.high
    names = [question.name for question in QUESTIONS]
    return Advice(low, max(low, high), tuple(a.reason for a in chosen), dict(zip(names, given, strict=True)))
