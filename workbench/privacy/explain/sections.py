"""What an ε and a δ mean, as sections of sentences and small tables: the page, the command and the help say the same.

Every number in them is computed from ε and δ, by the formula that the sentence beside it names.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from workbench.params import ParameterError
from workbench.privacy.accounting.event import group
from workbench.privacy.accounting.posterior import DELTA_NOTE, posterior

PRIORS = (0.01, 0.1, 0.25, 0.5, 0.75, 0.9)
ROWS = (1, 2, 5, 10)
RELEASES = (1, 2, 5, 10)
PREMIUM = 1000
MOST_EPSILON = 1000.0


@dataclass(frozen=True)
class Table:
    """A small table of text: its header and its rows; the first column is a name, the others are figures."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: bool = False


@dataclass(frozen=True)
class Section:
    """A heading, its sentences, and a table below them where there is one."""

    name: str
    title: str
    text: tuple[str, ...]
    table: Table | None = None


def sections(epsilon: float, delta: float = 0.0) -> tuple[Section, ...]:
    """Return what ``epsilon`` and ``delta`` mean.

    Raises:
        ParameterError: ε is not in [0, 1000], or δ not in [0, 1).
    """
    if not 0 <= epsilon <= MOST_EPSILON:
        raise ParameterError(f"epsilon = {epsilon} is not from 0 to {MOST_EPSILON:g}", hint="give such a number")
    if not 0 <= delta < 1:
        raise ParameterError(f"delta = {delta} is not a number from 0 to below 1", hint="give such a number")
    return (
        _belief(epsilon, delta),
        _insurance(epsilon, delta),
        _delta(delta),
        _composition(epsilon, delta),
        _group(epsilon, delta),
        TRUST,
        ANONYMITY,
    )


REPLACED = (
    "Changing one fact about a person puts one row in place of another. For noisy rows, ε bounds exactly that. For "
    "statistics, synthetic rows and models, ε is about a row that becomes empty: for those, enter the replace-one ε "
    "from the certificate here, which is at most twice as large."
)
"""Which ε of a certificate bounds a belief about a fact."""


def _belief(epsilon: float, delta: float) -> Section:
    reached = posterior(epsilon, 0.5)
    # The best test errs with (1 − δ)/(1 + e^ε) where both cases are equally likely (Kairouz, Oh & Viswanath 2017).
    guess = 1 - (1 - delta) / (1 + math.exp(min(epsilon, 700.0)))
    text = [
        "ε limits how much a release can change what anyone believes about one person. Think of someone who wants to "
        "know one fact about a person, and who knows every other row of the table.",
        f"At ε = {number(epsilon)}, the release multiplies the odds of that fact by at most {factor(epsilon)}. "
        f"Someone who was 50 % sure ends up between {percent(reached.low)} and {percent(reached.high)}.",
        f"Put as a game: someone who sees the release guesses whether the person's row was in the table or empty, each "
        f"being equally likely. The best guess is right in at most {percent(guess)} of such games. A coin is right in "
        f"50 %.",
    ]
    text.append(REPLACED)
    if delta:
        text.append(f"{DELTA_NOTE[:1].upper()}{DELTA_NOTE[1:]}.")
    rows = tuple((percent(b.prior), percent(b.low), percent(b.high)) for b in (posterior(epsilon, p) for p in PRIORS))
    table = Table(("prior probability p", "at least p / (p + e^ε (1 − p))", "at most p / (p + e^−ε (1 − p))"), rows)
    return Section("belief", "How much can anyone learn about one person?", tuple(text), table)


def _insurance(epsilon: float, delta: float) -> Section:
    most = f"{PREMIUM * math.exp(epsilon):,.0f}" if epsilon <= 10 else f"{factor(epsilon)} times as much"
    beside = " Because of δ, add δ times the highest possible premium." if delta else ""
    text = (
        f"An insurer sets premiums from a private study. If your row were empty, you would pay {PREMIUM:,} a year on "
        f"average. With your row in the study you pay at most {most} on average: e^ε = {factor(epsilon)} times as "
        "much. The average is taken over the noise of the study. The same bound holds for any other decision that is "
        "based on the study."
        f"{beside}",
        "What ε does not prevent: the study may show that smokers fall ill twice as often. Then smokers pay twice as "
        "much, including those who were never in the study. This is what the study was for, and it says nothing about "
        "your row.",
        "So the question that ε answers is not “will this release harm me?” but “how much worse off can I be because "
        "my row was in it?”",
    )
    return Section("insurance", "An example: the insurer", text)


def _delta(delta: float) -> Section:
    now = (
        f"Here δ = {small(delta)}."
        if delta
        else "Here δ = 0: the bounds on this page always hold, for every single output."
    )
    text = (
        f"{now} With δ > 0, the probability of any set of outputs may exceed the bound of ε by δ.",
        "It is often called the chance that the guarantee fails, but that does not say what happens then. The "
        "definition allows two very different things. One program with noise from a bell curve exceeds the bound "
        "rarely, and then mostly by a little. Another program publishes each row as it is with probability δ: that "
        "program, too, meets the definition, with ε = 0.",
        "With that second program and δ = 1/n, somebody's row is published in 63 % of releases. So δ must be far below "
        "1/n, where n is the number of rows. This program refuses any δ of 1/n or more, and its networks use noise "
        "from a bell curve.",
    )
    return Section("delta", "What is δ, and what can happen then?", text)


def _composition(epsilon: float, delta: float) -> Section:
    text = [
        "Every further release about the same people adds to what can be learnt. Two releases at ε₁ and ε₂ together "
        "have at most ε₁ + ε₂, whoever combines them and however. Their δ add up as well.",
        "This is why there is one budget for one table, and why the ledger refuses what would exceed it. No later "
        "calculation on a release makes its ε larger or smaller.",
    ]
    if delta:
        text.append(
            "For releases with δ, closer calculations give less than the sum: the total ε of k equal steps grows more "
            "like √k than like k, at the price of a slightly larger δ."
        )
    rows = []
    for count in RELEASES:
        both = f"{number(count * epsilon)}" + (f", δ = {small(count * delta)}" if delta else "")
        rows.append((f"{count}", both, percent(posterior(count * epsilon, 0.5).high)))
    table = Table((f"releases at ε = {number(epsilon)}", "together, ε", "from 50 % sure to at most"), tuple(rows))
    return Section("composition", "What do several releases cost together?", tuple(text), table)


def _group(epsilon: float, delta: float) -> Section:
    text = (
        "ε is about one row. If one person has k rows, or if k relatives have one row each and share a secret, the "
        "bound for them is k·ε, with δ growing to at most k·e^((k−1)ε)·δ.",
        "State the maximum number of rows per person in the plan. The program then charges k times as much, and the ε "
        "of the certificate is that of the whole person.",
    )
    rows = []
    for count in ROWS:
        whole, fails = group(epsilon, delta, count)
        stated = number(whole) + (f", δ = {small(fails)}" if delta else "")
        rows.append((f"{count}", stated, percent(posterior(whole, 0.5).high)))
    table = Table(("rows per person", "their ε", "from 50 % sure to at most"), tuple(rows))
    return Section("group", "What if one person has several rows?", text, table)


TRUST = Section(
    "trust",
    "Who has to be trusted?",
    (
        "The same ε can be reached in three places, which differ in who sees the true values.",
        "The fewer others a person has to trust, the more noise a given ε needs. At a small ε, a count of n people "
        "has an error of about 1/ε in the central model, and of about √n/ε in the local one. The shuffled model is "
        "between them.",
    ),
    Table(
        ("model", "who sees the true values", "where the noise is added", "here"),
        (
            (
                "local",
                "nobody but the person",
                "to each value, before it is collected",
                "Release: the same mechanisms, used by a steward who has the rows",
            ),
            (
                "shuffled",
                "nobody, if a trusted party mixes the reports unread",
                "to each value, then the order is lost",
                "budget shuffle: its ε, and a simulation",
            ),
            (
                "central",
                "the steward of the table",
                "to sums over all rows, before they are published",
                "Statistics, Synthetic rows, Train",
            ),
        ),
        words=True,
    ),
)

ANONYMITY = Section(
    "anonymity",
    "Why not k-anonymity?",
    (
        "A table is k-anonymous if every combination of the columns that identify people occurs at least k times. That "
        "is a property of the table. It does not limit what can be learnt from it.",
        "In a class of ten patients of the same age and postcode, all ten may have the same illness. Whoever knows "
        "that a neighbour is in the table then knows the illness, without knowing which row is the neighbour's.",
    ),
    Table(
        ("if…", "k-anonymity", "differential privacy"),
        (
            ("all rows of a class share the secret", "the secret is out", "the bound of ε holds"),
            ("someone knows more than expected", "classes can be narrowed down", "the bound of ε holds"),
            ("two releases are compared", "people in both can be singled out", "their ε add up"),
            ("the method is known", "its choices can reveal something of the rows", "the bound of ε holds"),
            ("someone asks how much is learnt", "there is no figure for it", "at most e^ε"),
        ),
        words=True,
    ),
)


def number(value: float) -> str:
    """Return a number with four digits."""
    return f"{value:.4g}"


def small(value: float) -> str:
    """Return a small number with three digits, its exponent without leading zeros."""
    digits, e, exponent = f"{value:.3g}".partition("e")
    return f"{digits}e{int(exponent)}" if e else digits


def factor(epsilon: float) -> str:
    """Return e^ε with four digits, as a power of ten where it is large."""
    if epsilon < math.log(1e6):
        return f"{math.exp(epsilon):,.4g}" if epsilon < math.log(9999.5) else f"{math.exp(epsilon):,.0f}"
    return f"10^{epsilon / math.log(10):.1f}"


def percent(share: float) -> str:
    """Return a probability in per cent, never rounded to certainty."""
    if share > 0.9999:
        return "over 99.99 %"
    return "under 0.01 %" if share < 0.0001 else f"{100 * share:.{4 if share > 0.999 else 3}g} %"
