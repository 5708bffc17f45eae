"""The document of a release: the sections that its certificate or card has something for, in one order.

Nothing is in it that the verified JSON, or the model beside it, does not hold.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from workbench import learners
from workbench.learners.base import Effect
from workbench.learners.tasks import NO_TARGET
from workbench.params.amounts import counted
from workbench.params.field import ChoiceField, Field
from workbench.privacy.accounting.accountant import accountant_titles
from workbench.privacy.accounting.posterior import DELTA_NOTE, posterior
from workbench.privacy.local.mechanisms import mechanism
from workbench.release.certificate import JOINED_ROWS, MADE_FROM
from workbench.release.kinds import kind
from workbench.release.open_release import plan_of, with_mechanisms_used
from workbench.release.statements import CANNOT_KNOW
from workbench.render.document import Block, Bullets, Document, FactList, Grid, Paragraph, Picture, Section
from workbench.render.palette import FREE_STYLES
from workbench.render.values import Bar, BarsFigure, BarsRow
from workbench.risk.generalise.models import MODELS
from workbench.sanitize.calibrated_columns import each_protected_column
from workbench.statistics.queries import DRAWN
from workbench.synth.base import CHOICE, MODEL

PRIORS = (0.01, 0.1, 0.5, 0.9)

FORMULA = "P[ M(T) ∈ S ]  ≤  e^ε · P[ M(T′) ∈ S ]"
_NEIGHBOURS = (
    "Two tables are neighbours (zero-out) if one is the other with {unit} emptied: the row stays, and contributes "
    "nothing. The number of rows is public."
)


_ERRORS_OF_VALUES = (
    "Expected error: of a number, the mean distance between the released and the true value, in its own unit; of a "
    "category, the chance that it was changed. Each is the mean over the values that the column can have. It follows "
    "from the mechanism alone and does not depend on the rows."
)
_MOST_SHOWN, _NAMED = 120, 8
_ERRORS_OF_COUNTS = (
    "Expected error: the mean absolute noise of each number, in units of the largest contribution of one row. "
)
_LAPLACE = "The noise is discrete Laplace: 1 / sinh(ε/Δ) for a query of sensitivity Δ."
_GAUSSIAN = "The noise is discrete Gaussian: σ² = Δ²/(2ρ) for a query of sensitivity Δ."
_FAR = 50.0  # from this σ on, the mean absolute noise is that of the continuous normal distribution in all digits shown

_TRAINING = {
    "noise_multiplier": "Noise multiplier σ",
    "clip": "Clipping norm C",
    "target_unclipped_quantile": "Share of rows not clipped",
    "clipbound_learning_rate": "Learning rate of the norm",
    "unclipped_num_std": "Standard deviation of the noise on the count of unclipped rows",
    "last_clip": "Clipping norm after the last step",
    "bands": "Steps with correlated noise",
    "power": "Power of the prefix sums in the noise",
    "noise_standard_deviation": "Standard deviation of the noise",
    "sample_rate": "Sample rate",
    "steps": "Steps",
    "batch": "Expected batch",
    "sampling": "Sampling",
    "accountant": "Privacy accountant",
    "delta_row": "δ of one row",
}


def release_document(stated: Mapping[str, Any], name: str, effects: Sequence[Effect] = ()) -> Document:
    """Return the document of the release that ``stated``, a verified certificate or card, describes.

    ``name`` is the released file or folder, ``effects`` what each column does to the predictions of a model.
    """
    guarantee = stated["guarantee"]
    return Document(
        title=f"Certificate of {_title(stated)}",
        subtitle=f"{name} · {day(stated['time'])} · ε = {guarantee['epsilon']}, δ = {guarantee['delta']}",
        sections=tuple(_sections(stated, name, effects)),
        foot=f"{program(stated)} · release {release_id(stated)} · checksum {stated['checksum'][:16]}…",
        time=stated["time"],
    )


def _title(stated: Mapping[str, Any]) -> str:
    if "training" in stated:
        return "a private model"
    return kind(stated["kind"]).released if "kind" in stated else "a sanitised table"


def _sections(stated: Mapping[str, Any], name: str, effects: Sequence[Effect]) -> Iterator[Section]:
    people = int({**stated["guarantee"], **stated.get("training", {})}.get("rows_per_person", 1))
    yield Section("What was released", (FactList(tuple(_facts(stated))),))
    yield _guarantee(stated, people)
    if "training" in stated:
        yield _training(stated, people)
        yield Section("The columns it reads", (_inputs(stated["inputs"][: -1 if _alone(stated) else None]),))
        if effects:
            yield _effects(effects)
    elif "queries" in stated:
        yield _queries(stated, people)
    else:
        yield _columns(stated)
    yield _not_covered(stated)
    yield _account(stated)
    yield _checks(stated, name)
    if "plan" in stated:
        yield Section("The plan", tuple(_plan(stated["plan"])))


def _plan(text: str) -> Iterator[Block]:
    """Yield the plan without the columns that are not released, and their names: of sixty columns they fill pages."""
    parts, dropped = text.split("\n\n"), []
    for part in list(parts):
        if part.startswith("[[column]]\n") and '\naction = "drop"' in part:
            dropped += [line.removeprefix("name = ") for line in part.split("\n") if line.startswith("name = ")]
            parts.remove(part)
    yield Paragraph("\n\n".join(parts), "code")
    if dropped:
        yield Paragraph(f"Not released, and left out above: {', '.join(dropped)}.")


# -- what was released -------------------------------------------------------------------------------------------------


def _alone(stated: Mapping[str, Any]) -> bool:
    """Return whether a model has no target."""
    alone: bool = stated["inputs"][-1] == NO_TARGET.to_plain()
    return alone


def _facts(stated: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if "training" in stated:
        made = stated.get(MADE_FROM)
        yield "Model", _model(stated["model"])[0]
        yield "Trained on", f"the release {made['file']}" if made else counted(stated["rows"], "row")
        yield "Target, predicted or left out", "nothing" if _alone(stated) else stated["inputs"][-1]["name"]
        yield "Trained", day(stated["time"])
        yield "Made by", program(stated)
        return
    output = stated["output"]
    yield "File", output["file"]
    if "kind" in stated:
        yield "Contents", kind(stated["kind"]).gives
        yield "Computed from", f"{counted(stated['rows'], 'row')}, columns {', '.join(stated['columns'])}"
    else:
        acts = [c["action"] for c in stated["columns"]]
        yield "Contents", f"{counted(stated['rows'], 'row')}, each value drawn at random from its column's mechanism"
        counts = f"{acts.count('protect')} protected, {acts.count('drop')} left out, {acts.count('keep')} as they are"
        yield "Columns", counts
        yield "Order of rows", "as in the original" if stated["keep_order"] else "random"
    yield "Size", f"{counted(output['bytes'], 'byte')} of {output['format']}"
    yield "Released", day(stated["time"])
    yield "Made by", program(stated)
    yield from _asked(stated)


def _asked(stated: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if "kind" not in stated:
        return
    made, asked = kind(stated["kind"]), stated["request"]
    for key, spec in made.asked().declared().items() if made.derived else ():
        value = asked.get(key)
        if isinstance(value, str | int | float):
            yield _parameter(key, value, spec)


# -- what every release has --------------------------------------------------------------------------------------------


def _privacy_unit(stated: Mapping[str, Any], rows_per_person: int) -> str:
    if "unit" in stated:
        beside = f", beside one row with it as {stated['join']} in a second table" if "join" in stated else ""
        return (
            f"one person: all rows with the same {stated['unit']}, of which {rows_per_person} at most were read{beside}"
        )
    return "one row" if rows_per_person == 1 else f"one person with at most {counted(rows_per_person, 'row')}"


def _guarantee(stated: Mapping[str, Any], rows_per_person: int) -> Section:
    claims = stated["guarantee"]
    persons = {**claims, **stated.get("training", {})}
    epsilon, delta = Decimal(claims["epsilon"]), Decimal(claims["delta"])
    other = claims["replace_one"]
    both = JOINED_ROWS in stated
    unit = "one row" if rows_per_person == 1 else f"all rows of one person, {rows_per_person} at most,"
    if "unit" in persons:
        unit = "all rows of one person" + (" in both tables" if both else "")
    factor = f"{math.exp(float(epsilon)):.4g}" if epsilon <= 700 else "more than 10^300"
    of_delta = f" {sentence(DELTA_NOTE)}" if delta else ""
    facts = [
        ("ε, δ", f"{claims['epsilon']}, {claims['delta']}"),
        ("e^ε", f"{factor}: the most by which the odds that a person's rows were used, not empty ones, can change"),
        ("Privacy unit", _privacy_unit(persons, rows_per_person)),
        ("Neighbours", f"{claims['relation']}, the number of rows n public"),
        *([("Rows of the second table", f"{stated[JOINED_ROWS]:,}, public")] if both else []),
        ("Replace-one", f"ε = {figure(other['epsilon'])}, δ = {figure(other['delta'])}"),
    ]
    if "epsilon_row" in claims and claims["epsilon_row"] != claims["epsilon"]:
        facts.insert(1, ("ε of one row", claims["epsilon_row"]))
    blocks: list[Block] = [
        Paragraph(FORMULA + ("  +  δ" if delta else ""), "formula"),
        Paragraph(
            f"for every set S of outputs and every pair of neighbouring tables T and T′, where M is the release. "
            f"{_NEIGHBOURS.format(unit=unit)}",
            "muted",
        ),
        FactList(tuple(facts)),
        Paragraph(claims["statement"]),
        Paragraph(
            "What it means: changing a fact about one person replaces one row by another, which the replace-one "
            "figures bound. Someone who sees the release and knows everything else can become no surer of the "
            "fact than this table says."
        ),
        belief_table(other["epsilon"]),
        Paragraph(
            f"Each line is p / (p + e^∓ε (1 − p)) for the prior probability p, at the replace-one ε.{of_delta}",
            "muted",
        ),
        FactList((("Randomness", claims["randomness"]),)),
    ]
    return Section("The guarantee", tuple(blocks))


def belief_table(epsilon: float) -> Grid:
    """Return by how sure someone was before how sure they can become."""
    beliefs = [posterior(epsilon, prior) for prior in PRIORS]
    rows = tuple((share(b.prior), share(b.low), share(b.high)) for b in beliefs)
    return Grid(("prior probability", "afterwards, at least", "afterwards, at most"), rows, (0, 1, 2))


def _not_covered(stated: Mapping[str, Any]) -> Section:
    listed = stated["outside_guarantee"]
    first: Block = Bullets(tuple(listed)) if listed else Paragraph("The certificate lists nothing.")
    return Section(
        "What is not covered",
        (
            first,
            Paragraph(
                "ε bounds what is learnt about a person because their row was there. It does not hide what is true of "
                "people in general: a release may well show that smokers fall ill more often, and so reveal something "
                "about a smoker who is not in the table.",
                "muted",
            ),
            Paragraph(sentence(CANNOT_KNOW), "muted"),
        ),
    )


def _account(stated: Mapping[str, Any]) -> Section:
    charged = f"ε = {stated['guarantee']['epsilon']}, δ = {stated['guarantee']['delta']}"
    facts = [("Release", release_id(stated)), ("Charged", charged)]
    account = stated.get("account")
    if account is None:
        note = (
            "The account has no public name, so this document does not say what else was charged to it: the "
            "account is found from the rows, and nothing published may depend on them. The steward's ledger "
            "lists the release under its id."
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


def _checks(stated: Mapping[str, Any], name: str) -> Section:
    sums = stated["files"].items() if "files" in stated else [("Released file", stated["output"]["sha256"])]
    version = f"{stated['format']}, version {stated['version']}"
    facts = [*sums, ("Certificate", stated["checksum"]), ("Made by", program(stated)), ("Format", version)]
    how = (
        f"`workbench verify {name}` recomputes the checksums, the mechanisms and the sums of ε. This document only "
        "repeats what the JSON file says."
    )
    return Section("Checksums and versions", (FactList(tuple(facts)), Paragraph(how, "muted")))


# -- what was done -----------------------------------------------------------------------------------------------------


def _columns(stated: Mapping[str, Any]) -> Section:
    where = Path(stated["output"]["file"])
    plan = with_mechanisms_used(plan_of(stated, where), stated, where)
    protected = (c for c in each_protected_column(plan))
    errors = {c.column.name: c.facts.expected_absolute_error for c in protected}
    rows = []
    for column in stated["columns"]:
        if column["action"] != "protect":
            done = "left out" if column["action"] == "drop" else "published as it is: not covered"
            rows.append((column["name"], column.get("kind", ""), done, "–", "–", "–", ""))
            continue
        title = mechanism(column["mechanism"]).title
        exact, error = f"{column['exact_epsilon']:.10g}", figure(errors.get(column["name"]))
        rows.append((column["name"], column["kind"], title, column["epsilon"], exact, error, _domain(column)))
    header = ("column", "kind", "mechanism", "ε, its share", "exact ε", "expected error", "public values")
    notes = [f"{c['name']}: {c['note']}" for c in stated["columns"] if c.get("note")]
    blocks: list[Block] = [
        Grid(header, tuple(rows), (3, 4, 5)),
        Paragraph(
            "The shares add up to the ε of one row. The exact ε is the largest log-ratio of probabilities in the "
            "table that the values were drawn from; it is never above the share.",
            "muted",
        ),
        Paragraph(_ERRORS_OF_VALUES, "muted"),
        *(Paragraph(note, "muted") for note in notes),
    ]
    return Section("What was done with each column", tuple(blocks))


def _domain(column: dict[str, Any]) -> str:
    origin = ", taken from the data" if column.get("bounds_origin") == "data" else ""
    if "lower" in column:
        return f"{column['lower']} to {column['upper']}, {counted(column['cells'], 'cell')}{origin}"
    if "domain" not in column:
        return f"{counted(column['cells'], 'value')}{origin}"
    names = ", ".join(column["domain"])
    listed = names if len(names) <= _MOST_SHOWN else counted(len(column["domain"]), "value")
    return f"{listed}{origin}"


def _queries(stated: Mapping[str, Any], people: int) -> Section:
    method, made = stated["method"], kind(stated["kind"])
    about = method.get("queries") or method.get("measured") or [{}] * len(stated["queries"])
    gaussian = "rho" in stated["queries"][0]
    key, unit, noise = ("rho", "ρ", "Gaussian") if gaussian else ("epsilon", "ε", "Laplace")
    rows = []
    for query, more in zip(stated["queries"], about, strict=True):
        error = None
        if more.get("form") == CHOICE:
            what = "a choice by the exponential mechanism"
        elif more.get("form") == DRAWN:
            what = f"cells drawn by the exponential mechanism, and counts around them with discrete {noise} noise"
        elif more.get("form") == MODEL:
            what = f"the training of a model, with discrete {noise} noise"
        elif made.local:
            what = "every row randomised by itself"
        else:
            size, share = more.get("sensitivity", 1), float(query[key]) / more.get("levels", 1)
            numbers = more.get("numbers") or math.prod(more.get("cells") or [1])
            what = f"{counted(numbers, 'number')} with discrete {noise} noise"
            error = (expected_gaussian_error if gaussian else expected_error)(share, size) / size
        rows.append((query["label"], what, query[key], figure(error)))
    errors = sentence(made.randomness)
    if not made.local:
        errors = _ERRORS_OF_COUNTS + (_GAUSSIAN if gaussian else _LAPLACE)
    blocks: list[Block] = [
        Grid(("query", "mechanism", unit, "expected error"), tuple(rows), (2, 3)),
        Paragraph(f"{_queries_note(people, unit)} {errors}", "muted"),
    ]
    if isinstance(method.get("intervals"), str):
        blocks.append(Paragraph(method["intervals"], "muted"))
    if isinstance(method.get("values"), str):
        blocks.append(Paragraph(f"How rows are made from the noisy counts: {method['values']}.", "muted"))
    return Section("Queries", tuple(blocks))


def expected_error(epsilon: float, sensitivity: int) -> float:
    """Return the mean absolute discrete Laplace noise: with b = e^(−ε/Δ) it is 2b/(1 − b²) = 1/sinh(ε/Δ)."""
    ratio = epsilon / sensitivity
    return 1 / math.sinh(ratio) if ratio < 700 else 0.0


def expected_gaussian_error(rho: float, sensitivity: int) -> float:
    """Return the mean absolute discrete Gaussian noise, P(k) ∝ e^(−k²/(2σ²)) with σ = Δ/√(2ρ)."""
    sigma = sensitivity / math.sqrt(2 * rho)
    if sigma > _FAR:
        return sigma * math.sqrt(2 / math.pi)
    weights = [math.exp(-(k * k) / (2 * sigma * sigma)) for k in range(1, int(12 * sigma) + 3)]
    return 2 * math.fsum(k * w for k, w in enumerate(weights, 1)) / (1 + 2 * math.fsum(weights))


def _queries_note(people: int, unit: str = "ε") -> str:
    whole = f"The {unit} of the queries add up to that of one row"
    if unit == "ρ":
        return f"{whole}, from which its ε at the δ above follows." + (
            "" if people == 1 else f" A person has {counted(people, 'row')}, and is charged for all of them together."
        )
    return whole + ("." if people == 1 else f", which is charged {people} times, once for each row of a person.")


def _effects(effects: Sequence[Effect]) -> Section:
    """Return a picture of what each column does to the predictions: the model is the sum of these."""
    blocks: list[Block] = []
    for effect in effects:
        groups = tuple(zip(effect.outputs, ("private", "sanitized", *FREE_STYLES), strict=False))
        one = len(groups) == 1
        rows = tuple(
            BarsRow(part, tuple(map(Bar.alone, own[: len(groups)])), float(effect.start[0]) if one else None)
            for part, own in zip(effect.parts, effect.shares.tolist(), strict=True)
        )
        title, mark = f"By {effect.column}", "without this column" if one else ""
        figure = BarsFigure(title, groups, rows, mark, "where the other columns add nothing", "")
        blocks.append(Picture(figure, 720, 160 + len(rows) * (16 + 14 * len(groups))))
    return Section("What each column does to the prediction", tuple(blocks))


def _training(stated: Mapping[str, Any], people: int) -> Section:
    facts = stated["training"]
    blocks: list[Block] = []
    if MADE_FROM in stated:
        blocks.append(Paragraph("It was trained only on a release: it has no queries to the rows and costs nothing."))
    if stated["parameters"]:
        declared = _model(stated["model"])[1]
        given = {name: value for name, value in stated["parameters"].items() if name != "network"}  # it is the model
        blocks.append(FactList(tuple(_parameter(name, value, declared.get(name)) for name, value in given.items())))
    if "queries" in facts:
        key, unit = ("rho", "ρ") if "rho" in facts["queries"][0] else ("epsilon", "ε")
        rows = tuple((q["label"], q[key]) for q in facts["queries"])
        blocks += [Grid(("query", unit), rows, (1,)), Paragraph(_queries_note(people, unit), "muted")]
    accountants = accountant_titles()
    known = tuple(
        (word, accountants.get(facts[key], facts[key]) if key == "accountant" else _value(facts[key]))
        for key, word in _TRAINING.items()
        if key in facts
    )
    if known:
        blocks.append(FactList(known))
    architecture = facts.get("architecture")
    remarks = architecture.get("remarks", ()) if isinstance(architecture, Mapping) else ()
    blocks += [Paragraph(sentence(remark)) for remark in remarks if isinstance(remark, str)]
    accuracy = facts.get("accuracy")
    if isinstance(accuracy, Mapping):
        accuracy_text = f"{_value(accuracy['value'])} on {counted(accuracy['rows'], 'row')} of {accuracy['on']}"
        blocks.append(FactList((("Accuracy", accuracy_text),)))
    else:
        blocks.append(
            Paragraph("The card gives no accuracy: measured on private rows, it would not be private.", "muted")
        )
    return Section("How it was trained", tuple(blocks))


def _model(name: str) -> tuple[str, Mapping[str, Field]]:
    known = next((learner for learner in learners.LEARNERS if learner.name == name), None)
    if known is not None:
        return known.title, known.parameters.declared()
    from workbench.deep.networks import NETWORKS
    from workbench.deep.plan import DpSgdPlan

    return next((network.title for network in NETWORKS if network.name == name), name), DpSgdPlan.declared()


def _parameter(name: str, value: Any, spec: Field | None) -> tuple[str, str]:
    word = (spec.title if spec is not None else "") or name.replace("_", " ")
    if isinstance(spec, ChoiceField) and isinstance(value, str):
        value = spec.title_of(value)
    return f"{word[:1].upper()}{word[1:]}", f"{value:,}" if type(value) is int else _value(value)


def _inputs(inputs: list[dict[str, Any]]) -> Grid:
    rows = []
    for column in inputs:
        if "lower" in column:
            values = f"{figure(column['lower'])} to {figure(column['upper'])}"
        else:
            domain = [str(value) for value in column.get("domain", ())]
            values = ", ".join(domain[:_NAMED]) + (f" and {len(domain) - _NAMED} more" if len(domain) > _NAMED else "")
        rows.append((column["name"], column.get("kind", ""), values))
    return Grid(("column", "kind", "public values"), tuple(rows))


def _value(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "–"}[value]
    if isinstance(value, float):
        return figure(value)
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


# -- words -------------------------------------------------------------------------------------------------------------


def release_id(stated: Mapping[str, Any]) -> str:
    """Return the id of the release; of a model made from one, that one's."""
    found: str = stated["release_id"] if "release_id" in stated else stated["made_from"]["release_id"]
    return found


def program(stated: Mapping[str, Any]) -> str:
    """Return which program made the release."""
    return f"{stated['program']['name']} {stated['program']['version']}"


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


def sentence(words: str) -> str:
    """Return words as a sentence."""
    return f"{words[:1].upper()}{words[1:]}."


def generalised_document(stated: Mapping[str, Any], name: str) -> Document:
    """Return the document of the generalised table that ``stated``, a verified certificate, describes."""
    titles = {model.name: model.title for model in MODELS}
    facts = [
        ("Rows", f"{stated['rows']:,}"),
        ("Rows left out", f"{stated['suppressed']:,}"),
        ("Rows of the smallest class", f"{stated['k']:,}"),
        *(
            (
                titles.get(model["model"], model["model"]),
                ", ".join(f"{k} = {v}" for k, v in model.items() if k != "model"),
            )
            for model in stated["models"]
        ),
        ("Method", stated["method"]),
        ("Order of rows", stated["order"]),
    ]
    lines = tuple((c["name"], c["role"], _level(c)) for c in stated["columns"])
    return Document(
        title="Certificate of a generalised table",
        subtitle=f"{name} · {day(stated['time'])} · no guarantee",
        sections=(
            Section("What this is not", (Paragraph(stated["statement"]),)),
            Section("What was published", (FactList(tuple(facts)),)),
            Section("The columns", (Grid(("column", "role", "level"), lines),)),
            Section("What no check can show", (Paragraph(sentence(CANNOT_KNOW)),)),
        ),
        foot=f"{program(stated)} · release {release_id(stated)} · checksum {stated['checksum'][:16]}…",
        time=stated["time"],
    )


def _level(column: Mapping[str, Any]) -> str:
    if "height" not in column:
        return f"as it is; distance: {column['distance']}" if "distance" in column else "as it is"
    if "level" not in column:
        return f"differs by row, of {column['height']}"
    return f"{column['level']} of {column['height']}"
