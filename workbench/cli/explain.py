"""``workbench explain``: what an ε means, published values, and a guided choice."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from workbench.cli.command import Command, Context, add_options, read_options
from workbench.cli.common_options import columns_text
from workbench.params import Parameters, integer, real
from workbench.privacy.accounting.event import group
from workbench.privacy.explain.deployments import DEPLOYMENTS, published_between
from workbench.privacy.explain.guide import CAVEAT, QUESTIONS, SOURCE, advice
from workbench.privacy.explain.sections import MOST_EPSILON, sections


@dataclass(frozen=True, kw_only=True)
class Explained(Parameters):
    """What is explained."""

    epsilon: float = real(default=1, above=0.0, upto=MOST_EPSILON, symbol="ε", help="the privacy loss to explain")
    delta: float = real(default=0, at_least=0.0, below=1.0, symbol="δ", help="its δ")
    rows_per_person: int = integer(
        default=1,
        at_least=1,
        upto=10_000,
        symbol="K",
        help="maximum rows per person: the ε of a person is that many times larger",
    )


def _configure(parser: argparse.ArgumentParser) -> None:
    add_options(parser, Explained)
    group_of = parser.add_argument_group("a guided choice of ε")
    for question in QUESTIONS:
        names = ", ".join(answer.name for answer in question.answers)
        group_of.add_argument(f"--{question.name}", metavar="ANSWER", help=f"{question.title} {names}")


def _run(options: argparse.Namespace, context: Context) -> dict[str, Any]:
    asked = read_options(options, Explained)
    epsilon, delta = group(asked.epsilon, asked.delta, asked.rows_per_person)
    given = {q.name: getattr(options, q.name) or q.answers[0].name for q in QUESTIONS}
    chosen = advice(**given)
    return {
        "epsilon": epsilon,
        "delta": delta,
        "rows_per_person": asked.rows_per_person,
        "sections": [
            {
                "name": s.name,
                "title": s.title,
                "text": list(s.text),
                **({"header": list(s.table.header), "rows": [list(r) for r in s.table.rows]} if s.table else {}),
            }
            for s in sections(epsilon, delta)
        ],
        "published": list(map(asdict, DEPLOYMENTS)),
        "advice": {
            "answers": chosen.answers,
            "low": chosen.low,
            "high": chosen.high,
            "reasons": [*chosen.reasons, CAVEAT],
            "published": [d.who for d in published_between(chosen.low, chosen.high)],
            "source": SOURCE,
        },
    }


def _text(result: Mapping[str, Any]) -> str:
    parts = [f"ε = {result['epsilon']:.6g}, δ = {result['delta']:.3g}"]
    for section in result["sections"]:
        parts += ["", section["title"], *map(_wrapped, section["text"])]
        if "rows" in section:
            parts += ["", columns_text(section["header"], section["rows"])]
    stated = [
        [d["who"], d["what"], _range(d["low"], d["high"]), d["delta"] or "0", d["unit"]] for d in result["published"]
    ]
    parts += ["", "What others have published", columns_text(["who", "what", "ε", "δ", "of"], stated), ""]
    parts += [_wrapped(f"{d['who']}: {d['source']}.") for d in result["published"]]
    chosen = result["advice"]
    answers = ", ".join(f"{name}: {answer}" for name, answer in chosen["answers"].items())
    parts += ["", f"A starting range: ε = {_range(chosen['low'], chosen['high'])} ({answers})"]
    parts += [*map(_wrapped, chosen["reasons"]), _wrapped(f"Source of the ranges: {chosen['source']}.")]
    return "\n".join(parts)


def _range(low: float, high: float) -> str:
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 100)


COMMAND = Command(
    "workbench explain --epsilon 1 --reader everyone --knowledge some --purpose statistics", _configure, _run, _text
)
