"""The sections that the documents of all kinds of release share: guarantee, what is not covered, account, checks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from workbench.privacy.accounting.posterior import DELTA_NOTE, posterior
from workbench.release.verify import CANNOT_KNOW
from workbench.render.document import Block, Bullets, Document, FactList, Grid, Paragraph, Section

PRIORS = (0.01, 0.1, 0.5, 0.9)

FORMULA = "P[ M(T) ∈ S ]  ≤  e^ε · P[ M(T′) ∈ S ]"
_NEIGHBOURS = (
    "Two tables are neighbours (zero-out) if one is the other with {unit} emptied: the row stays, and contributes "
    "nothing. The number of rows is public."
)


def document(title: str, stated: Mapping[str, Any], name: str, sections: Iterable[Section]) -> Document:
    """Return a document about the release that ``stated``, its certificate or card, describes.

    Args:
        title: its title.
        stated: the verified JSON.
        name: the released file or folder.
        sections: its sections.
    """
    guarantee = stated["guarantee"]
    return Document(
        title=title,
        subtitle=f"{name} · {day(stated['time'])} · ε = {guarantee['epsilon']}, δ = {guarantee['delta']}",
        sections=tuple(sections),
        foot=f"{program(stated)} · release {release_id(stated)} · checksum {stated['checksum'][:16]}…",
        time=stated["time"],
    )


def guarantee_section(stated: Mapping[str, Any], rows_per_person: int) -> Section:
    """Return the guarantee in words and symbols, with what it lets anybody learn about one person."""
    claims = stated["guarantee"]
    epsilon, delta = Decimal(claims["epsilon"]), Decimal(claims["delta"])
    other = claims["replace_one"]
    unit = "one row" if rows_per_person == 1 else f"all rows of one person, {rows_per_person} at most,"
    formula = FORMULA + ("  +  δ" if delta else "")
    facts = [
        ("ε, δ", f"{claims['epsilon']}, {claims['delta']}"),
        ("e^ε", f"{_factor(epsilon)}: the most by which the odds of anything about one person can change"),
        ("Privacy unit", "one row" if rows_per_person == 1 else f"one person with at most {rows_per_person} rows"),
        ("Neighbours", f"{claims['relation']}, the number of rows n public"),
        ("Replace-one", f"ε = {figure(other['epsilon'])}, δ = {figure(other['delta'])}"),
    ]
    if "epsilon_row" in claims and claims["epsilon_row"] != claims["epsilon"]:
        facts.insert(1, ("ε of one row", claims["epsilon_row"]))
    blocks: list[Block] = [
        Paragraph(formula, "formula"),
        Paragraph(
            f"for every set S of outputs and every pair of neighbouring tables T and T′, where M is the release. "
            f"{_NEIGHBOURS.format(unit=unit)}",
            "muted",
        ),
        FactList(tuple(facts)),
        Paragraph(claims["statement"]),
        Paragraph(
            "What it means: someone who sees the release, and knows everything else, can become no surer of a fact "
            "about one person than this."
        ),
        belief_table(float(epsilon)),
        Paragraph(f"Each line is p / (p + e^∓ε (1 − p)) for the belief p from before.{_delta_note(delta)}", "muted"),
        FactList((("Randomness", claims["randomness"]),)),
    ]
    return Section("The guarantee", tuple(blocks))


def belief_table(epsilon: float) -> Grid:
    """Return by how sure someone was before how sure they can become."""
    beliefs = [posterior(epsilon, prior) for prior in PRIORS]
    rows = tuple((share(b.prior), share(b.low), share(b.high)) for b in beliefs)
    return Grid(("sure before", "at least, after", "at most, after"), rows, (0, 1, 2))


def not_covered_section(stated: Mapping[str, Any]) -> Section:
    """Return what ε does not cover, and what no file can show."""
    listed = stated["outside_guarantee"]
    first: Block = Bullets(tuple(listed)) if listed else Paragraph("The certificate lists nothing.")
    return Section(
        "What is not covered",
        (
            first,
            Paragraph(
                "ε bounds what is learnt about a person because their row was there. It does not hide what is true of "
                "people in general: a release may well show that smokers fall ill more often, and so tell something "
                "about a smoker who is not in the table.",
                "muted",
            ),
            Paragraph(f"{CANNOT_KNOW[:1].upper()}{CANNOT_KNOW[1:]}.", "muted"),
        ),
    )


def account_section(stated: Mapping[str, Any]) -> Section:
    """Return where the release stands in the ledger."""
    charged = f"ε = {stated['guarantee']['epsilon']}, δ = {stated['guarantee']['delta']}"
    facts = [("Release", release_id(stated)), ("Charged", charged)]
    account = stated.get("account")
    if account is None:
        note = (
            "The account has no public name, so this document does not say what else was charged to it: the account is "
            "found by the rows, and nothing that is published may follow from them. The steward's ledger holds the "
            "release under its id."
        )
        return Section("In the ledger", (FactList(tuple(facts)), Paragraph(note, "muted")))
    facts += [
        ("Account", account["name"]),
        ("Cap", f"ε = {account['cap_epsilon']}"),
        ("Spent before", f"ε = {account['spent_before']}"),
        ("Remaining after", f"ε = {account['remaining_after']}"),
    ]
    facts += [("Cap raised", f"to ε = {step['epsilon']} on {day(step['time'])}") for step in account["cap_raised"]]
    return Section("In the ledger", (FactList(tuple(facts)),))


def check_section(stated: Mapping[str, Any], sums: Iterable[tuple[str, str]], name: str) -> Section:
    """Return the checksums, and how to check the release.

    Args:
        stated: the verified JSON.
        sums: what has which SHA-256.
        name: what `verify` is given.
    """
    facts = [*sums, ("Certificate", stated["checksum"]), ("Made by", program(stated)), ("Format", version_of(stated))]
    how = (
        f"`workbench verify {name}` recomputes the checksums, the mechanisms and the sums of ε. This document adds "
        "nothing to the JSON file: it repeats it."
    )
    return Section("Checksums and versions", (FactList(tuple(facts)), Paragraph(how, "muted")))


def release_id(stated: Mapping[str, Any]) -> str:
    """Return the id of the release; of a model made from one, that one's."""
    found: str = stated["release_id"] if "release_id" in stated else stated["made_from"]["release_id"]
    return found


def program(stated: Mapping[str, Any]) -> str:
    """Return which program made the release."""
    return f"{stated['program']['name']} {stated['program']['version']}"


def version_of(stated: Mapping[str, Any]) -> str:
    """Return the format of the JSON file."""
    return f"{stated['format']}, version {stated['version']}"


def day(time: str) -> str:
    """Return the day and minute of a time, in UTC as it was written."""
    return f"{time[:10]} {time[11:16]} UTC"


def figure(value: float | None) -> str:
    """Return a number with four digits; a dash where there is none."""
    if value is None:
        return "–"
    if abs(value) < 1e15 and (float(value).is_integer() or abs(value) >= 10_000):
        return f"{value:,.0f}"
    return f"{value:.4g}"


def share(value: float) -> str:
    """Return a probability in per cent, never rounded to certainty."""
    if value in (0.0, 1.0):
        return f"{value:.0%}"
    if value > 0.999:
        return "over 99.9 %"
    return "under 0.01 %" if value < 0.0001 else f"{100 * value:.3g} %"


def queries_note(people: int, unit: str = "ε") -> str:
    """Return how the ε (or ρ) of the queries add up to the ε of the release."""
    whole = f"The {unit} of the queries add up to that of one row"
    if unit == "ρ":
        return f"{whole}, from which its ε at the δ above follows." + (
            "" if people == 1 else f" A person has {people} rows, and is charged for all of them together."
        )
    return whole + ("." if people == 1 else f", which is charged {people} times, once for each row of a person.")


def _factor(epsilon: Decimal) -> str:
    return f"{math.exp(float(epsilon)):.4g}" if epsilon <= 700 else "more than 10^300"


def _delta_note(delta: Decimal) -> str:
    return f" {DELTA_NOTE[:1].upper()}{DELTA_NOTE[1:]}." if delta else ""
