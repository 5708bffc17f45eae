"""The command that runs the plan of a release again, derived from its certificate or card."""

from __future__ import annotations

import dataclasses
from decimal import Decimal
from typing import Any

from workbench import learners
from workbench.learners import learner
from workbench.params import Parameters
from workbench.release.certificate import MADE_FROM
from workbench.release.described_release import DescribedRelease
from workbench.release.kinds import kind
from workbench.release.open_release import plan_of
from workbench.release.statements import EVERY_TABLE
from workbench.sanitize.plan import REPLACE, Plan

DATA, PLAN, OUT = "@DATA", "@PLAN", "@OUT"
"""Stand for the files that a person names; ``@NAME`` is the file of this name in the bundle."""


def command(stated: DescribedRelease) -> list[str]:
    """Return the words of the command line after ``workbench``, with :data:`DATA` and the like for files."""
    document = stated.document
    if stated.kind == "table":
        return ["sanitize", DATA, "--plan", PLAN, "-o", OUT]
    if stated.kind == "model":
        return _model(document)
    known, claims = kind(document["kind"]), document["guarantee"]
    values, _ = known.repeated(document["request"], plan_of(document, stated.path))
    delta = claims.get("delta_row", "0")
    cost = [] if known.own_cost else ["--epsilon", claims["epsilon_row"]]
    rest = ["-o", OUT, *(["--delta", delta] if Decimal(delta) else []), *options(known.asked(), values)]
    return [*known.words, DATA, "--plan", PLAN, *cost, *rest]


def plan_text(stated: DescribedRelease) -> str:
    """Return the plan as TOML: the certificate's, or of a model the columns that its card declares."""
    document = stated.document
    if stated.kind != "model":
        found: str = document["plan"]
        return found
    plain: dict[str, Any] = {
        "version": 1,
        "epsilon": max(float(document["guarantee"]["epsilon"]), 1e-6),
        "rows_per_person": int(document["training"].get("rows_per_person", 1)),
        "column": [{**column, "action": "protect"} for column in document["inputs"]],
    }
    unit = document["training"].get("unit")
    if unit is not None:
        plain["unit"] = unit
        plain["column"].append({"name": unit, "action": "drop"})
    if EVERY_TABLE in document["guarantee"]["statement"]:
        plain["invalid"] = REPLACE
    if "account" in document:
        plain["account"] = document["account"]["name"]
    return Plan.from_plain(plain, where="the card").to_toml()


def request_texts(stated: DescribedRelease) -> dict[str, str]:
    """Return the files that the command reads besides data and plan, by their names in the bundle."""
    if stated.kind != "central":
        return {}
    document = stated.document
    return kind(document["kind"]).repeated(document["request"], plan_of(document, stated.path))[1]


def options(cls: type[Parameters], values: dict[str, Any]) -> list[str]:
    """Return the options that give ``cls`` these plain values."""
    words: list[str] = []
    defaults = {f.name: f.default for f in dataclasses.fields(cls)}
    for name, spec in cls.declared().items():
        if name not in values or values[name] is None:
            continue
        flag, value = "--" + (spec.flag or name).replace("_", "-"), values[name]
        if isinstance(value, bool):
            if value != defaults[name]:
                words.append(flag if value else flag.replace("--", "--no-", 1))
        else:
            words += [flag, ",".join(map(str, value)) if isinstance(value, list) else str(value)]
    return words


def _model(card: dict[str, Any]) -> list[str]:
    target, name = card["inputs"][-1]["name"], card["model"]
    if name not in (known.name for known in learners.LEARNERS):
        from workbench.deep.plan import DpSgdPlan

        given = options(DpSgdPlan, card["parameters"])
        return ["dpsgd", DATA, "--target", target, "--bounds", PLAN, "-o", OUT, *given]
    if MADE_FROM in card:
        return ["fit", "--on-release", DATA, "--target", target, "--model", name, "-o", OUT]
    given = options(learner(name).parameters, card["parameters"])
    return ["fit", DATA, "--target", target, "--model", name, "--bounds", PLAN, "-o", OUT, *given]
