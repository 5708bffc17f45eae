"""The card of a released model, and what it says against itself.

Whoever forges a card can compute its checksum anew, so a checksum alone says nothing where no ledger is at hand: cost,
queries and steps must follow from parameters and columns.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from workbench import learners
from workbench.data.csv.options import ReadOptions
from workbench.data.reading_options import file_form
from workbench.data.schema import Attribute
from workbench.learners import Learner, corrected, learner
from workbench.learners.checks import checked_schema, plain_part
from workbench.learners.tasks import NO_TARGET
from workbench.params import InputError, ParameterError, WorkbenchError, read_json
from workbench.privacy.accounting.event import Cost, exact
from workbench.privacy.central.share import Budget
from workbench.release.certificate import CARD_FORMAT, MADE_FROM, READING, guarantee_facts, queries_of
from workbench.release.delta_limit import replace_one_cost, require_small_cost
from workbench.release.ledger.entry import decimal_text
from workbench.release.statements import TRAINED_ON_RELEASE, Persons, model_statement
from workbench.work.noise import Charged, uncharged
from workbench.work.work import WorkOutput, amount_of, cost_of

if TYPE_CHECKING:
    from workbench.deep.plan import DpSgdPlan, Schedule

MODEL = "model.json"
CANNOT_KNOW_ORIGIN = "whether the model was trained on the release that its card names (train it again to see)"
"""What a verification leaves open of such a model, besides all that it leaves open of any."""

_RELATIVE = 1e-6  # how far a figure may be from the one that is computed here, on a processor that may round otherwise

_EPOCHS, _CAP, _CLOCK = "epochs", "cap", "clock"


class FittedModel(Protocol):
    """A fitted learner."""

    def to_plain(self) -> dict[str, Any]:
        """Return it as JSON holds it."""
        ...


def model_bytes(model: FittedModel) -> bytes:
    """Return the file of a learner's model: public facts and noisy whole numbers, from which the rest follows."""
    return (json.dumps(model.to_plain(), indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


def model_output(files: Mapping[str, bytes], stated: Mapping[str, Any], *, releasable: bool) -> WorkOutput:
    """Return what is published of a model: its files, and a card that says this beside its guarantee.

    Raises:
        AssertionError: its noise was seeded (not ``releasable``): a bug, found before anything is written.
    """
    if not releasable:
        raise AssertionError("a model trained with seeded noise cannot be released")
    return WorkOutput(files, stated)


def card_facts(made: WorkOutput, cost: Cost) -> dict[str, Any]:
    """Return what the card of a model says beside its files and what the ledger says of it."""
    stated = made.method
    figures = (cost.epsilon, cost.delta), replace_one_cost(cost, stated["rows"])
    guarantee = guarantee_facts(stated["guarantee"]["statement"], *figures, stated["guarantee"]["randomness"])
    return {"format": CARD_FORMAT, **stated, "guarantee": guarantee}


def file_form_facts(reading: ReadOptions | None) -> dict[str, Any]:
    """Return what a card says of how the file of the training is read, where its plan states something."""
    form = file_form(reading)
    return {READING: form} if form else {}


def read_learner_model(card: dict[str, Any], folder: Path) -> Any:
    """Return the model of a learner as its file has it.

    Raises:
        InputError: the file cannot be read.
        ParameterError: it is not one of such a model of this version.
    """
    chosen = learner(card["model"])
    return (corrected(chosen) if MADE_FROM in card else chosen.estimator).from_plain(_values(folder))


def _values(folder: Path) -> dict[str, Any]:
    values = read_json(folder / MODEL, "model")
    if not isinstance(values, dict):
        raise InputError("this is not a model", str(folder / MODEL), "get the original folder")
    return values


# -- what a card says against itself -----------------------------------------------------------------------------------


def contradictions(card: dict[str, Any], folder: Path) -> list[str]:
    """Return a sentence for each statement of a card, valid by its schema, that the others or its files contradict."""
    try:
        inputs = [Attribute.from_plain(stated, "inputs") for stated in card["inputs"]]
        form = card.get(READING, {})
        if file_form(ReadOptions.from_plain(form, where=READING)) != form:
            return ["the card's description of how the training table is read is malformed"]
        if MADE_FROM not in card and "queries" not in card["training"]:
            return list(_of_steps(card, inputs))
        found = list(_of_release(card, inputs) if MADE_FROM in card else _of_queries(card, inputs, folder))
        return found or list(_of_answers(card, folder))
    except (ParameterError, InputError, ArithmeticError, ValueError, TypeError, KeyError) as error:
        reason = str(error)[:300] if isinstance(error, WorkbenchError) else type(error).__name__
        return [f"the facts on the card cannot be recomputed: {reason}"]


def _of_release(card: dict[str, Any], inputs: list[Attribute]) -> Iterator[str]:
    stated, guarantee = card["training"], card["guarantee"]
    if card["model"] not in {known.name for known in learners.LEARNERS}:
        yield "a network cannot be trained on a release, but the card names one"
        return
    chosen = learner(card["model"])
    if chosen.corrected is None:
        yield f"the model {chosen.name} cannot learn from a release"
    chosen.require(inputs[:-1], inputs[-1])
    if stated.keys() - {"rows_per_person", "unit", "join", "attributes_used"} or card["parameters"]:
        yield "a model trained on a release has no queries to the rows, but its card lists some"
    yield from _used(stated, inputs)
    if not guarantee["statement"].startswith(TRAINED_ON_RELEASE):
        yield "the card does not say that the model was trained on a release"
    claimed = float(guarantee["epsilon"]), float(guarantee["delta"])
    yield from _replaced(card, claimed)  # a table's mechanisms are local: the figures of both relations are the same
    if Decimal(guarantee["delta"]):
        yield "the release of a table has no delta, but the card has one"


def _of_answers(card: dict[str, Any], folder: Path) -> Iterator[str]:
    """Yield where the file of a learner holds something else than what follows from the answers in it."""
    if list(card["files"]) != [MODEL]:
        yield f"the model is not one file called {MODEL}"
        return
    made, held = json.loads(model_bytes(read_learner_model(card, folder))), read_json(folder / MODEL, "model")
    if made != held:
        yield "the model's file contains something other than its public facts and its answers"
    said = {"rows": card["rows"], "attributes": card["inputs"][:-1], "target": card["inputs"][-1]}
    if MADE_FROM not in card:
        said |= {"parameters": card["parameters"], "noise": Charged.name}
    yield from (f"the model's file and the card differ on {key}" for key in said if made[key] != said[key])


def _of_queries(card: dict[str, Any], inputs: list[Attribute], folder: Path) -> Iterator[str]:
    """Yield what contradicts itself on the card of a learner: its queries follow from parameters, columns and rows."""
    stated, claimed = card["training"], Decimal(card["guarantee"]["epsilon"])
    if card["model"] not in {known.name for known in learners.LEARNERS}:
        yield f"the card has the queries of a learner, but {card['model']!r} is not one"
        return
    chosen, people = learner(card["model"]), stated["rows_per_person"]
    parameters = chosen.parameters.from_plain(card["parameters"], where="parameters")
    if parameters.to_plain() != card["parameters"]:
        yield "the parameters on the card do not match those of the model"
    estimator = chosen.private(inputs[:-1], inputs[-1], parameters, uncharged())
    estimator.version = plain_part(_values(folder), "format", int)  # by the rules of its format: see _of_answers
    events = queries_of(stated)
    asked = [(e.label, amount_of(e)) for e in events]
    if not _agree(asked, _expected(chosen, estimator, card["rows"], len(asked))):
        yield "the queries on the card do not follow from its parameters, columns and rows"
    gaussian = estimator.gaussian(card["rows"])
    row = Budget(exact(parameters.epsilon), exact(parameters.delta)) if gaussian else None  # type: ignore[attr-defined]
    whole = cost_of(events, people, row)
    if whole.epsilon != claimed:
        yield f"the queries on the card cost epsilon = {decimal_text(whole.epsilon)}, and it states {claimed}"
    if whole.delta != Decimal(card["guarantee"]["delta"]):
        yield f"the queries on the card cost delta = {decimal_text(whole.delta)}, and the card has another"
    yield from _used(stated, inputs)
    yield from _replaced(card, replace_one_cost(whole, card["rows"]))
    randomness = (estimator.randomness(card["rows"]),)
    yield from _said(card, people, delta=gaussian, randomness=randomness, alone=inputs[-1] == NO_TARGET)


def _agree(asked: list[tuple[str, Decimal]], planned: list[tuple[str, Decimal]]) -> bool:
    fixed = [query for query in planned if not query[0].startswith("chosen attribute ")]
    if len(fixed) == len(planned):
        return asked == planned
    return all(query in asked for query in fixed) and sum(e for _, e in asked) == sum(e for _, e in planned)


def _expected(chosen: Learner, estimator: Any, rows: int, count: int) -> list[tuple[str, Decimal]]:
    """Return each query with its share, of ε or of ρ."""
    if chosen.each_prediction:  # which rows were asked about is in a file, how many in the number of queries
        share = exact(estimator.parameters.epsilon)
        return [(f"prediction {place}", share) for place in range(1, count + 1)]
    return [(event.label, amount_of(event)) for event in estimator.events(rows)]


def _of_steps(card: dict[str, Any], inputs: list[Attribute]) -> Iterator[str]:
    """Yield what contradicts itself on the card of a network: its cost follows from rows, batch, noise and steps."""
    stated, rows, people = card["training"], card["rows"], card["training"]["rows_per_person"]
    plan = _plan(card)
    schedule = _schedule(plan, stated, rows, people)
    checked_schema(inputs[:-1], inputs[-1])
    said = {
        **dict.fromkeys(("bands", "power", "target_unclipped_quantile")),  # not on the card of a run without them
        "network": card["model"],
        "target": inputs[-1].to_plain(),
        "classes": list(inputs[-1].values()),
        **_widths(card, inputs),
        **schedule.facts(stated["steps"]),
    }
    for key, value in said.items():
        if not _same(stated.get(key), value):
            given = str(stated.get(key))[:60]
            yield f"the card says {key} = {given!r}, its parameters and rows give {str(value)[:60]!r}"
    yield from _norm_moved(stated, schedule)
    yield from _ended(stated, schedule, plan)
    cost = _claimed(card, schedule, stated)
    if cost is None:
        own, claimed = schedule.cost(stated["steps"]), card["guarantee"]
        costs = f"epsilon = {own.epsilon} and delta = {own.delta:.6g}"
        yield f"the steps on the card cost {costs}, and it states {claimed['epsilon']} and {claimed['delta']}"
        return
    # Cards of the former version state the general rule, however large its delta is.
    yield from _replaced(card, replace_one_cost(cost, rows), cost.replace_one())
    yield from _said(card, people, delta=True, randomness=_randomness())
    require_small_cost(cost, rows, rows_per_person=people)


def _plan(card: dict[str, Any]) -> DpSgdPlan:
    """Return the parameters of a training; of code that is not at hand, a built-in network takes its place."""
    from workbench.deep import networks
    from workbench.deep.plan import FORMER, DpSgdPlan

    stated, known = card["parameters"], {network.name for network in networks.NETWORKS}
    name = stated.get("network")
    house = name in known
    if not isinstance(name, str) or not (name == card["model"] if house else ":" in name):
        raise ParameterError(f"the card is of {card['model']!r}, and its parameters of {str(name)[:60]!r}")
    plan = DpSgdPlan.from_plain({**stated, "network": name if house else networks.NETWORKS[0].name}, where="parameters")
    if {**plan.to_plain(), "network": name} != {key: value for key, value in stated.items() if key not in FORMER}:
        raise ParameterError("the parameters on the card do not match those of a training")
    return plan


def _schedule(plan: DpSgdPlan, stated: dict[str, Any], rows: int, people: int) -> Schedule:
    """Return what the parameters mean for ``rows`` rows, with the noise of the card."""
    if plan.noise is None:
        # What ε it was made for is compared with what it costs; it need not be calibrated again.
        own = replace(plan, noise=stated["noise_multiplier"], epsilon=None).schedule(rows, people)
        return replace(own, cap=None if plan.epsilon is None else exact(plan.epsilon))
    return plan.schedule(rows, people)


def _norm_moved(stated: dict[str, Any], schedule: Schedule) -> Iterator[str]:
    """Yield where the last clipping norm is missing, is that of a run whose norm stays, or is out of range."""
    if ("last_clip" in stated) != (schedule.norm is not None):
        yield "the card and its parameters differ on whether the clipping norm is adaptive"
    elif schedule.norm is not None and not schedule.norm.reaches(stated["last_clip"], schedule.clip):
        yield f"the card says last_clip = {stated['last_clip']}, which the clipping norm cannot reach"


def _ended(stated: dict[str, Any], schedule: Schedule, plan: DpSgdPlan) -> Iterator[str]:
    steps, stopped = stated["steps"], stated["stopped"]
    whole = _EPOCHS if schedule.steps == schedule.steps_asked else _CAP
    fits = steps == schedule.steps if stopped == whole else stopped == _CLOCK and steps <= schedule.steps
    if not fits or (stopped == _CLOCK and plan.seconds is None):
        yield f"the card says that {steps} steps were taken, of {schedule.steps}, and that {stopped!r} ended them"


def _claimed(card: dict[str, Any], schedule: Schedule, stated: dict[str, Any]) -> Cost | None:
    """Return the cost that the card claims, if it is that of its steps; a run that a clock ended may cost them all."""
    claimed = float(card["guarantee"]["epsilon"]), float(card["guarantee"]["delta"])
    for steps in (stated["steps"], schedule.steps):
        cost = schedule.cost(steps)
        if all(_same(own, float(found)) for own, found in zip(claimed, (cost.epsilon, cost.delta), strict=True)):
            # What is claimed, rounded as it was where the card was written.
            return Cost(Decimal(card["guarantee"]["epsilon"]), Decimal(card["guarantee"]["delta"]), cost.event)
        if stated["stopped"] != _CLOCK:
            break
    return None


def _widths(card: dict[str, Any], inputs: list[Attribute]) -> dict[str, Any]:
    """Return the widths of the layers, of a network that its name describes."""
    from workbench.deep import networks
    from workbench.deep.model import features_of

    found = next((n for n in networks.NETWORKS if n.name == card["model"] and not n.options), None)
    if found is None:
        return {}
    features = features_of(inputs, inputs[-1], card["training"], "training")
    return {"widths": list(found.widths(features.width, len(features.classes)))}


def _randomness() -> tuple[str, ...]:
    from workbench.deep.noise import FORMER_ON_GPU, GAUSSIAN_SENTENCE, ON_GPU

    return (GAUSSIAN_SENTENCE, *(f"{GAUSSIAN_SENTENCE} {more}" for more in (ON_GPU, *FORMER_ON_GPU)))


def _used(stated: dict[str, Any], inputs: list[Attribute]) -> Iterator[str]:
    if not set(stated["attributes_used"]) <= {a.name for a in inputs[:-1]}:
        yield "the card says that the model uses columns that it does not have"


def _replaced(card: dict[str, Any], *given: tuple[float, float]) -> Iterator[str]:
    stated = card["guarantee"]["replace_one"]
    if not any(_same(stated["epsilon"], epsilon) and _same(stated["delta"], delta) for epsilon, delta in given):
        yield "the replace-one figures do not follow from the zero-out ones"


def _said(
    card: dict[str, Any], people: int, *, delta: bool, randomness: tuple[str, ...], alone: bool = False
) -> Iterator[str]:
    persons = Persons(people, card["training"].get("unit"), card["training"].get("join"))
    # Rows of a person are emptied only where the plan replaces invalid values.
    ways = (False, True) if persons.unit is None else (True,)
    words = [model_statement(persons, replaces_invalid=way, delta=delta, alone=alone) for way in ways]
    if card["guarantee"]["statement"] not in words:
        yield "the wording of the guarantee is not that of such a model"
    if card["guarantee"]["randomness"] not in randomness:
        yield "the card names a source of randomness that such a model does not use"


def _same(one: Any, other: Any) -> bool:
    if any(isinstance(value, bool) or not isinstance(value, int | float) for value in (one, other)):
        return type(one) is type(other) and bool(one == other)
    return math.isclose(one, other, rel_tol=_RELATIVE, abs_tol=1e-12)
