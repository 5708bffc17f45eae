"""The report on a table or a release as a document: its sections, in one order; every page says that it is private."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import workbench
from workbench.params import counted, one_line
from workbench.release.documents.release_document import belief_table, figure, sentence
from workbench.release.risk_report import RiskReport
from workbench.release.statements import CANNOT_KNOW
from workbench.render.document import Block, Bullets, Document, FactList, Grid, Paragraph, Picture, Section
from workbench.render.values import PRIVATE_BADGE as BADGE
from workbench.render.values import Bar, BarsFigure, BarsRow
from workbench.risk.attacks.bound import most_of_coin
from workbench.risk.attacks.outcome import Outcome, Rate, beyond, percent
from workbench.risk.measures import MEASURES
from workbench.studies.quality.study import Quality

_STATUS = (
    "This report is private. Its figures were computed from the rows themselves, without noise, and no ε covers them. "
    "It is for those who may see the rows."
)
_HEADER = ("attack", "with the release", "a guess", "not released", "risk", "ε allows")
_MEANING = (
    (_HEADER[1], "the share of attacks that were right about people who were released"),
    (_HEADER[2], "the same for someone who guesses without the release"),
    (_HEADER[3], "the same attack on people who were not released"),
    (_HEADER[4], "what the attack finds because they were released, with its 95 % interval"),
    (_HEADER[5], "the largest share that can be right, on average"),
)
NO_ATTACK = (
    "An attack that fails proves nothing: others, with more computing time or more knowledge, may do better. Only ε "
    "holds for attacks that nobody has thought of."
)
NOT_DP = (
    "Nothing bounds what this release reveals: it has no ε. Small classes, classes with one sensitive value, what an "
    "outsider knows beside the columns named here, and other releases of the same rows are not covered."
)
TABLE_ALONE = (
    "These figures are about the table itself, as if its rows were published with these columns. They count only what "
    "the columns named here reveal: an outsider who knows another column finds more."
)


def risk_document(report: RiskReport) -> Document:
    """Return the document of a report."""
    name = Path(report.release or report.source).name
    return Document(
        title=f"What an outsider could learn from {name}",
        subtitle=f"{counted(report.rows, 'row')} · compared on {', '.join(report.request.quasi or ())}",
        sections=tuple(_sections(report)),
        foot=f"privacy-workbench {workbench.__version__} · {BADGE}",
        badge=BADGE,
    )


def _sections(report: RiskReport) -> Iterator[Section]:
    yield Section("In short", (Paragraph(_STATUS, "strong"), Bullets(summary_sentences(report))))
    both = "" if report.released_risk is None else " and in the release"
    yield Section(f"Who could be found in the table{both}", (_sizes(report), *_risk(report)))
    if report.release:
        yield _attacks(report)
    yield _allowed(report)
    if report.quality is not None:
        yield _quality(report)
    yield _not_covered(report)


_OF_OTHERS = ", or more than it finds of people who were not released"


def summary_sentences(report: RiskReport) -> tuple[str, ...]:
    """Return the report in a few sentences."""
    said = [_found(report.risk, "the table")]
    if report.released_risk is not None:
        said.append(_found(report.released_risk, "the release"))
    made = [t.outcome for t in report.tried if t.outcome is not None]
    if made:
        worst = max(made, key=lambda outcome: _gained(outcome).low)
        title = next(t.attack.title for t in report.tried if t.outcome is worst)
        number = "One attack was" if len(made) == 1 else f"{len(made)} attacks were"
        most = f"The one that found most: {title}. {worst.words()[0]}"
        if _gained(worst).low <= 0:
            of_others = any(beyond(one.main, one.naive).low > 0 for one in made)
            most = f"None found more than a guess does{_OF_OTHERS if of_others else ''}."
        said.append(f"{number} made. {most}")
    above = [t.attack.title for t in report.tried if t.outcome is not None and _above(t.outcome)]
    if above:
        said.append(f"More than ε allows was found by: {', '.join(above)}. Something is wrong with this release.")
    if report.release and report.guarantee.epsilon is None:
        said.append("No ε bounds what the release reveals.")
    return tuple(said)


def _gained(outcome: Outcome) -> Rate:
    """Return what an attack found beyond a control set and beyond a guess, whichever leaves less."""
    return min(outcome.risk, beyond(outcome.main, outcome.naive), key=lambda rate: rate.low)


def _above(outcome: Outcome) -> bool:
    return outcome.allowed is not None and outcome.main.low > outcome.allowed


def _found(risk: Mapping[str, Any], where: str) -> str:
    are = "is" if risk["unique"] == 1 else "are"
    of = f"{risk['unique']:,} of {counted(risk['rows'], 'row')}"
    return f"By these columns {of} of {where} {are} unique (k = {risk['k']})."


def _risk(report: RiskReport) -> Iterator[Block]:
    """Yield a table for each measure: the figures of the table, and those of the release beside them."""
    shown = [("the table", report.risk)]
    if report.released_risk is not None:
        shown.append(("the release", report.released_risk))
    for measure in MEASURES:
        found = [
            {one_line(line.title).replace(" %", "\u00a0%"): one_line(line.value) for line in measure.lines(figures)}
            if measure.shows in figures
            else {}
            for _, figures in shown
        ]
        names = list(dict.fromkeys(name for lines in found for name in lines))
        if names:
            rows = tuple((name, *(lines.get(name, "–") for lines in found)) for name in names)
            header = (measure.title, *(where for where, _ in shown))
            yield Grid(header, rows, widths=(32, 34, 34) if len(shown) > 1 else (32, 68))


def _sizes(report: RiskReport) -> Picture:
    shown = [("the table", "sanitized", report.risk)]
    if report.released_risk is not None:
        shown.append(("the release", "private", report.released_risk))
    rows = []
    for at, first in enumerate(report.risk["classes"]["bars"]):
        name = f"{first['from']} or more" if first["to"] is None else f"{first['from']} – {first['to']}"
        if first["from"] == first["to"]:
            name = f"{first['from']}" if first["from"] > 1 else "1: unique"
        bars = tuple(Bar.alone(found["classes"]["bars"][at]["rows"] / found["rows"]) for _, _, found in shown)
        rows.append(BarsRow(name, bars))
    return _picture(
        BarsFigure(
            title="Rows by the size of their class",
            subtitle="rows that are alike in the columns compared",
            groups=tuple((name, style) for name, style, _ in shown),
            rows=tuple(rows),
        )
    )


def _shares(outcomes: list[tuple[str, Outcome]]) -> Picture:
    controlled = any(outcome.control is not None for _, outcome in outcomes)
    rows = []
    for title, outcome in outcomes:
        rates = [outcome.naive, outcome.main, *([outcome.control] if controlled else [])]
        bars = tuple(None if rate is None else Bar(rate.value, rate.low, rate.high) for rate in rates)
        rows.append(BarsRow(title, bars, outcome.allowed))
    others = (("not released", "private"),) if controlled else ()
    return _picture(
        BarsFigure(
            title="How often attacks were right",
            subtitle="with 95 % intervals",
            groups=(("a guess", "majority"), ("with the release", "sanitized"), *others),
            rows=tuple(rows),
            mark="the most that ε allows" if any(row.mark is not None for row in rows) else "",
        )
    )


def _scores(found: Quality) -> Picture:
    rows = tuple(
        BarsRow(
            score.title,
            (None if math.isnan(one.value) else Bar.alone(min(max(one.value, 0.0), 1.0)),),
            None if math.isnan(one.reached) else min(max(one.reached, 0.0), 1.0),
        )
        for score, one in found.found
    )
    return _picture(
        BarsFigure(
            title="Scores of the released rows",
            subtitle="100 % at best",
            groups=(("these rows", "private"),),
            rows=rows,
            mark="held-out rows",
        )
    )


def _picture(figure: BarsFigure) -> Picture:
    return Picture(figure, 720, 160 + len(figure.rows) * (16 + 14 * len(figure.groups)))


def _attacks(report: RiskReport) -> Section:
    blocks: list[Block] = []
    made = [(t.attack.title, t.outcome) for t in report.tried if t.outcome is not None]
    if made:
        blocks.append(_shares(made))
        rows = tuple(
            (
                title,
                percent(outcome.main.value),
                percent(outcome.naive.value),
                "–" if outcome.control is None else percent(outcome.control.value),
                f"{percent(outcome.risk.value)} ({percent(outcome.risk.low)} – {percent(outcome.risk.high)})",
                "–" if outcome.allowed is None else percent(outcome.allowed),
            )
            for title, outcome in made
        )
        blocks.append(Grid(_HEADER, rows, (1, 2, 3, 4, 5)))
        bounded = any(outcome.allowed is not None for _, outcome in made)
        blocks.append(FactList(_MEANING if bounded else _MEANING[:-1]))
    said = Counter(sentence for _, outcome in made for sentence in _beside(outcome))
    for title, outcome in made:
        own = [sentence for sentence in _beside(outcome) if said[sentence] == 1]
        blocks += [Paragraph(title, "strong"), Paragraph(" ".join(own))]
    shared = tuple(sentence for sentence, times in said.items() if times > 1)
    if shared:
        blocks += [Paragraph("For several of them", "strong"), Bullets(shared)]
    lacking = tuple(f"{t.attack.title}: {t.why_not}" for t in report.tried if t.outcome is None)
    if lacking:
        blocks += [Paragraph("Not made", "strong"), Bullets(lacking)]
    return Section("Results of attacks", tuple(blocks))


def _beside(outcome: Outcome) -> tuple[str, ...]:
    """Return what a reader needs beside the table of attacks, which has the other figures."""
    said = (outcome.words()[0], outcome.why_not, *outcome.remarks)
    return tuple(dict.fromkeys(filter(None, said)))


def _allowed(report: RiskReport) -> Section:
    guarantee = report.guarantee
    if guarantee.epsilon is None:
        why = guarantee.why_not if report.release else "Nothing was released here, so there is no ε."
        return Section("What ε allows", (Paragraph(why),))
    coin = most_of_coin(guarantee.epsilon, guarantee.delta)
    blocks: list[Block] = [
        Paragraph(
            f"ε = {guarantee.epsilon:g}, δ = {guarantee.delta:g}: someone who guesses whether a person's rows were "
            f"used, at even odds before the release, is right at most {percent(coin)} of the time afterwards."
        ),
        Paragraph("Changing a fact about a person replaces one row by another, which the replace-one figure bounds:"),
        belief_table(guarantee.replaced[0]),
    ]
    if guarantee.why_not:
        blocks.insert(0, Paragraph(guarantee.why_not, "strong"))
    return Section("What ε allows", tuple(blocks))


def _quality(report: RiskReport) -> Section:
    found = report.quality
    assert found is not None
    rows = tuple(
        (score.title, _score(one.value), _score(one.reached), _part(one.share), one.words or score.help)
        for score, one in found.found
    )
    return Section(
        "How good the released rows are",
        (
            _scores(found),
            Grid(("score, 1 at best", "these rows", "held-out rows", "share", "what it is"), rows, (1, 2, 3)),
            Paragraph(f"Held-out rows: what {found.comparison_words}.", "muted"),
        ),
    )


def _score(value: float) -> str:
    return "–" if math.isnan(value) else figure(value)


def _part(value: float) -> str:
    return "–" if math.isnan(value) else f"{100 * value:.0f} %"


def _not_covered(report: RiskReport) -> Section:
    blocks: list[Block] = []
    if report.not_covered:
        blocks.append(Bullets(report.not_covered))
    if not report.release:
        blocks.append(Paragraph(TABLE_ALONE))
    elif report.guarantee.epsilon is None:
        blocks.append(Paragraph(NOT_DP))
    if report.tried:
        blocks.append(Paragraph(NO_ATTACK))
    blocks.append(Paragraph(sentence(CANNOT_KNOW), "muted"))
    return Section("What is not covered", tuple(blocks))
