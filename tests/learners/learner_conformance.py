"""What every learner inherits: tests of its cost, its questions, its file and its protocol.

A subclass names the learner and small tables of hostile rows. Neighbours are enumerated: in every table of some of
these rows each row is emptied, and what is then asked may move by no more than the sensitivity that was given with it.
"""

import itertools
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pytest
from fake_noise import Scripted, TooLittle
from numpy.typing import NDArray
from sklearn.base import clone

from workbench.data.schema import Attribute
from workbench.learners import Learner
from workbench.learners.tasks import EMPTY
from workbench.params import BudgetRefusedError, InputError, ParameterError
from workbench.privacy.accounting.event import Cost, PureDp, ZeroConcentrated, exact
from workbench.privacy.accounting.private_selection import epsilon_of_try
from workbench.privacy.accounting.zcdp import rho_of
from workbench.privacy.audit import LowerBound, epsilon_lower
from workbench.privacy.central.laplace import ReleasedNoise, StudyNoise
from workbench.privacy.entropy import OsEntropy, SeededEntropy
from workbench.work.ask import TRY, Ask, declared
from workbench.work.noise import Charged, Exact, Study

ALPHA = 1e-7
"""Each black-box verdict on a sound learner is wrong with a probability of at most this."""

TURNED = 3
"""Of so many tables of several rows one is also asked about with its rows in the other order."""

REPLACED_BY = 12
"""Rows that a row is replaced by: all of them, or as many spread over the list."""

DAMAGED = 12
"""Answers of a file that are damaged: all of them, or as many spread over the list."""

RANGES = "ranges"
"""The parameter of learners that find the range of each column."""

Row = Sequence[float]
Heard = dict[str, tuple[str, list[list[int]], int, PureDp | ZeroConcentrated]]
"""What was asked: by label the kind of question, the exact numbers in parts, the sensitivity and what was paid."""


class Checking(Ask):
    """Serves what was declared, remembers it, and gives every table the answers of the first one.

    Neighbours then see the same released numbers, as the proof compares them: the later questions are the same. What is
    in the script is not drawn again.
    """

    def __init__(self, events: Iterable[Any], script: dict[str, list[int]], seed: int | None, heard: Heard) -> None:
        self.events = {event.label: event for event in events}
        self.script, self.seed, self.heard = script, seed, heard
        super().__init__(self.events.values(), Scripted(seed), SeededEntropy(0))

    def _told(
        self, kind: str, label: str, parts: Sequence[Sequence[int]], sensitivity: int, draw: Callable[[], list[int]]
    ) -> list[int]:
        exact = [[int(v) for v in part] for part in parts]
        self.heard[label] = kind, exact, sensitivity, self.events[label]
        if label in self.script:
            self._share(label)
        else:
            self.script[label] = draw()
        return self.script[label]

    def __call__(self, label: str, exact: Sequence[int], sensitivity: int) -> list[int]:
        draw = partial(super().__call__, label, exact, sensitivity)
        return self._told("numbers", label, [exact], sensitivity, draw)

    def _found(self, label: str, parts: Sequence[Sequence[int]], best: Callable[..., Any]) -> list[int]:
        self._share(label)
        return [int(best(part)) for part in parts]

    def least(self, label: str, parts: Sequence[Sequence[int]], sensitivity: int) -> list[int]:
        draw = partial(super().least, label, parts, sensitivity)
        if isinstance(self.events[label], ZeroConcentrated):  # drawn by weights, and not by noise
            draw = partial(self._found, label, parts, np.argmin)
        return self._told("least", label, parts, sensitivity, draw)

    def largest(self, label: str, parts: Sequence[Sequence[int]], sensitivity: int) -> list[int]:
        return self._told("largest", label, parts, sensitivity, partial(self._found, label, parts, np.argmax))

    def median(self, label: str, cells: Sequence[int], size: int, aggregate: str) -> int:
        draw = partial(self._found, label, [cells], lambda sorted_cells: sorted_cells[len(sorted_cells) // 2])
        return self._told("median", label, [cells], 1, draw)[0]

    def _of_try(self, event: PureDp) -> Ask:
        # All neighbours are shown the same tries; what each may see of a row is counted once.
        return Checking((event,), self.script, self.seed, self.heard)

    def best_of(self, label: str, tries: float, choices: int, attempt: Any) -> Any:
        share = self._share(label)
        made = attempt(self._of_try(PureDp(epsilon_of_try(share.amount), TRY)), choices - 1)
        return made[1]

    def into(self, label: str, events: Iterable[PureDp]) -> Ask:
        parts = tuple(events)
        super().into(label, parts)
        return Checking(parts, self.script, self.seed, self.heard)


class CheckingNoise:
    """Opens the questions of a cost for :class:`Checking`."""

    name, releasable = "study", False

    def __init__(self, script: dict[str, list[int]], seed: int | None) -> None:
        self.script, self.seed = script, seed
        self.heard: Heard = {}
        self.paid: Cost | None = None

    def ask(self, cost: Cost | None) -> Ask:
        assert cost is not None
        self.paid = cost
        return Checking(declared(cost.event), self.script, self.seed, self.heard)


@dataclass(frozen=True)
class Tables:
    """All tables of ``rows`` rows out of ``records``, each a row of X with its y at the end."""

    rows: int
    records: Sequence[Row]


@dataclass(frozen=True)
class Way:
    """Parameters, and the tables that they are checked on.

    Attributes:
        parameters: plain; ε is n·ε where ``known`` says so.
        spends: the least part of ε (with a δ of ρ) that some neighbours must spend, or the enumeration is blind.
        seeds: of the answers that every table gets; ``None`` is the exact ones of the first table.
        known: whether ``epsilon`` is divided by the number of rows.
    """

    parameters: Mapping[str, Any]
    spends: float = 0.3
    seeds: tuple[int | None, ...] = (None,)
    known: bool = False


@dataclass(frozen=True)
class BlackBox:
    """A table whose first row is there or is emptied, and what an auditor sees of a fit.

    Attributes:
        rows: of the table, y at the end.
        parameters: plain.
        fits: of each side.
        times: the planted fault: drawn as for a multiple of the ε that is charged.
        seen: what is seen of a fitted model; by default every answer.
        slow: whether the sound side is left to the slow tests.
        attributes: of the rows, if not those of the suite.
        target: the same.
    """

    rows: Sequence[Row]
    parameters: Mapping[str, Any]
    fits: int
    times: float
    seen: Callable[[Any], Sequence[float]] | None = None
    slow: bool = False
    attributes: tuple[Attribute, ...] | None = None
    target: Attribute | None = None


class Unreadable:
    """A table whose shape is public and whose rows nobody may look at yet."""

    def __init__(self, *shape: int) -> None:
        self.shape, self.ndim = shape, len(shape)

    def __array__(self, *_args: object, **_more: object) -> np.ndarray:
        raise AssertionError("the rows were read")


class LearnerConformance:
    """To be inherited by a test class of each learner."""

    chosen: ClassVar[Learner]
    attributes: ClassVar[tuple[Attribute, ...]]
    target: ClassVar[Attribute]
    ways: ClassVar[tuple[Way, ...]]
    tables: ClassVar[tuple[Tables, ...]]
    black_boxes: ClassVar[tuple[BlackBox, ...]] = ()
    given: ClassVar[Mapping[str, Any]] = {}
    """Parameters of all other tests."""

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Give each test the ways, tables and black boxes of its suite."""
        cases = {
            "way": [pytest.param(way, id=str(i)) for i, way in enumerate((*self.ways, *self.ranged()))],
            "tables": [pytest.param(tables, id=f"{tables.rows} rows") for tables in self.tables],
            "box": [
                pytest.param(box, id=str(i), marks=pytest.mark.slow if box.slow else ())
                for i, box in enumerate(self.black_boxes)
            ],
        }
        for name, values in cases.items():
            if name in metafunc.fixturenames:
                metafunc.parametrize(name, values)

    def ranged(self) -> list[Way]:
        """Return the ways that find the range of each column first; all others leave them as they are declared."""
        numeric = sum(a.numeric for a in (*self.attributes, self.target))
        asks = RANGES in self.chosen.parameters.declared()
        deltas = [{}, {"delta": 1e-6}] if "delta" in self.chosen.parameters.declared() else [{}]
        return [Way({"epsilon": 120.0 * numeric, RANGES: "found", **d}, 0.05, known=True) for d in deltas if asks]

    by_place: ClassVar[bool] = False
    """Whether rows are dealt to blocks or held out by their place."""
    keys: ClassVar[tuple[str, ...]] = ()
    """What its file holds besides public facts and answers."""

    @pytest.fixture(autouse=True)
    def _every_delta_is_used(self, monkeypatch):
        """A δ that is given is used, whether or not it pays for so few queries."""
        monkeypatch.setattr(self.chosen.estimator.model_type.setting_type, "delta_weighed_since", 0)

    # -- what it asks -------------------------------------------------------------------------------------------------

    def test_emptying_a_row_moves_what_is_asked_by_no_more_than_was_said(self, way, tables):
        epsilon = way.parameters["epsilon"] / (tables.rows if way.known else 1)
        emptied = replaced = 0.0
        for seed in way.seeds:
            heard = self.heard({**way.parameters, "epsilon": epsilon}, tables, seed)
            emptied = max(emptied, *(spent(*pair) for pair in zero_out(heard, len(tables.records))))
            replaced = max(replaced, *(spent(*pair, replaced=True) for pair in replace_one(heard, len(tables.records))))
        epsilon *= self.answers()
        paid, steps = epsilon, 2
        if "delta" in way.parameters:
            paid, steps = float(rho_of(exact(epsilon), exact(way.parameters["delta"]))), 4
        assert way.spends * paid < emptied <= paid * (1 + 1e-12)
        assert replaced <= steps * paid * (1 + 1e-12)

    def heard(
        self, parameters: Mapping[str, Any], tables: Tables, seed: int | None
    ) -> dict[tuple[int, ...], tuple[Heard, Cost]]:
        """Return what is asked of every table, by the numbers of its rows; the last number is the empty row's.

        Where rows are not dealt by their place, the same is asked of two orders of the same rows, and one is returned;
        that it is the same is looked at for each :data:`TURNED` th table.
        """
        empty = [0.0] * len(self.attributes) + [np.nan if self.target.numeric else EMPTY]
        whole = np.array([*tables.records, empty], dtype=np.float64)
        script: dict[str, list[int]] = {}
        known = self.known(parameters)

        def asked_of(chosen: tuple[int, ...]) -> tuple[Heard, Cost]:
            noise = CheckingNoise(script, seed)
            estimator = self.chosen.private(self.attributes, self.target, known, noise)
            rows = whole[list(chosen)]
            estimator.fit(rows[:, :-1], rows[:, -1])
            assert noise.paid is not None
            return noise.heard, noise.paid

        if self.by_place:
            return {chosen: asked_of(chosen) for chosen in itertools.product(range(len(whole)), repeat=tables.rows)}
        found = {}
        for chosen in itertools.combinations_with_replacement(range(len(whole)), tables.rows):
            found[chosen] = asked_of(chosen)
            turned = chosen[::-1]
            if turned != chosen and len(found) % TURNED == 0:
                assert asked_of(turned) == found[chosen], f"the order of rows {chosen} matters"
        return found

    def test_its_events_have_a_label_each_and_sum_to_its_cost(self, way):
        estimator = self.made(Charged(refuse), **way.parameters)
        labels = [event.label for event in estimator.events(20)]
        assert len(set(labels)) == len(labels)
        if way in self.ranged():
            assert f"range of {next(a.name for a in (*self.attributes, self.target) if a.numeric)}" in labels
        cost = estimator.cost(20)
        assert cost is not None
        if "delta" in way.parameters:
            assert (float(cost.epsilon), float(cost.delta)) == (way.parameters["epsilon"], way.parameters["delta"])
            assert sum(event.rho for event in estimator.events(20)) == rho_of(cost.epsilon, cost.delta)
            return
        assert cost.delta == 0
        assert cost.epsilon == sum(event.epsilon for event in estimator.events(20))
        assert float(cost.epsilon) == pytest.approx(estimator.parameters.epsilon * self.answers())

    def answers(self) -> int:
        """How many times ε a fit costs."""
        return 1

    def test_a_fit_is_never_seen_above_its_epsilon(self, box):
        assert not self.bound(box, 1.0).refutes(box.parameters["epsilon"])

    @pytest.mark.slow
    def test_too_little_noise_is_seen(self, box):
        assert self.bound(box, box.times).refutes(box.parameters["epsilon"])

    def bound(self, box: BlackBox, times: float) -> LowerBound:
        """Return what fits with so many times the ε that is paid for are seen to spend of it, beside their δ."""
        sides = [self.outputs(box, emptied, times) for emptied in (False, True)]
        return epsilon_lower(*sides, alpha=ALPHA, delta=box.parameters.get("delta", 0.0))

    def outputs(self, box: BlackBox, emptied: bool, times: float) -> NDArray[np.float64]:
        """Return what is seen of fits (fits, numbers) with so many times the ε that is paid for."""
        rows = np.array(box.rows, dtype=np.float64)
        attributes, target = box.attributes or self.attributes, box.target or self.target
        if emptied:
            rows[0, -1] = np.nan if target.numeric else EMPTY
        noise = TooLittle(StudyNoise(np.random.default_rng(1 + emptied)), times)
        parameters = self.chosen.parameters.from_plain({**box.parameters})
        estimator = self.chosen.private(attributes, target, parameters, noise)
        seen = box.seen or (lambda model: [v for answer in model.answers.values() for v in answer])
        return np.array(
            [seen(estimator.fit(rows[:, :-1], rows[:, -1]).model_) for _ in range(box.fits)], dtype=np.float64
        )

    # -- when it pays -------------------------------------------------------------------------------------------------

    def test_a_refused_charge_reads_no_row_and_draws_nothing(self, monkeypatch):
        def drawn(*_args: object, **_more: object) -> Any:
            raise AssertionError("a bit was drawn")

        for source, name in ((ReleasedNoise, "integers"), (ReleasedNoise, "below"), (OsEntropy, "words")):
            monkeypatch.setattr(source, name, drawn)
        estimator = self.made(Charged(refuse))
        with pytest.raises(BudgetRefusedError):
            estimator.fit(Unreadable(20, len(self.attributes)), Unreadable(20))
        assert not hasattr(estimator, "model_")

    def test_it_is_charged_once_and_before_a_row_is_read(self):
        charged: list[Cost] = []
        X, y = self.rows(20)
        spoilt = X.copy()
        spoilt[1, 0] = np.inf
        estimator = self.made(Charged(charged.append))
        with pytest.raises(InputError) as caught:
            estimator.fit(spoilt, y)
        assert caught.value.where == f"row 2, column {self.attributes[0].name}"
        assert charged == [estimator.cost(20)]
        assert estimator.releasable
        model = estimator.fit(X, y).model_
        assert len(charged) == 2
        for released in (model, self.chosen.estimator.from_plain(estimator.to_plain())):
            assert (released.noise, released.releasable) == ("released", True)
        unpaid = self.made(Exact(), epsilon=None)
        assert (unpaid.events(20), unpaid.cost(20)) == ((), None)

    def test_noise_needs_an_epsilon(self):
        estimator = self.made(Charged(lambda cost: pytest.fail("it was charged")), epsilon=None)
        with pytest.raises(ParameterError, match="epsilon is not given"):
            estimator.fit(*self.rows(20))

    # -- what it writes, and its protocol -----------------------------------------------------------------------------

    def test_its_file_gives_the_same_model(self):
        X, y = self.rows(20)
        for noise in (Study(np.random.default_rng(2)), Exact()):
            estimator = self.made(noise, **({"epsilon": None} if noise.name == "none" else {}))
            fitted = estimator.fit(X, y)
            plain = json.loads(json.dumps(fitted.to_plain(), allow_nan=False))
            # Neither labels, losses nor scores: what is published is what was asked, and public facts.
            facts = {"learner", "format", "noise", "rows", "parameters", "attributes", "target"}
            assert set(plain) == {*facts, *self.keys, "answers"}
            again = self.chosen.estimator.from_plain(plain)
            asked = self.asked(X)
            for method in ("predict", "predict_proba", "transform"):
                if hasattr(fitted, method):
                    np.testing.assert_array_equal(getattr(again, method)(asked), getattr(fitted, method)(asked))
            if hasattr(fitted, "predict_proba"):
                np.testing.assert_allclose(again.predict_proba(asked).sum(axis=1), 1)
            if hasattr(fitted, "attributes_after"):
                assert again.attributes_after == fitted.attributes_after
                assert sum(map(len, plain["answers"].values())) <= fitted.numbers(20)
            assert again.to_plain() == fitted.to_plain()
            assert again.attributes_used == fitted.attributes_used
            assert again.noise == noise.name
            assert not again.releasable
            self.refuses_damage(plain)

    def refuses_damage(self, plain: dict[str, Any]) -> None:
        """Check that what such a model cannot hold is refused by name."""
        answers, columns, parameters = plain["answers"], plain["attributes"], plain["parameters"]
        unbounded = [{key: value for key, value in columns[0].items() if key != "lower"}, *columns[1:]]
        changes: dict[str, list[dict[str, Any]]] = {
            "learner": [{"learner": "another"}],
            "format": [{"format": 99}, {"format": True}],
            "noise": [{"noise": "loud"}],
            "rows": [{"rows": rows} for rows in (0, 2**60, "20", 3.5)],
            "": [{"attributes": value} for value in ([], [1], "x", columns * 2)],
            "lower": [{"attributes": unbounded}] if "lower" in columns[0] else [],
            "epsilon": [{"parameters": {**parameters, "epsilon": value}} for value in (-1.0, float("nan"))],
            "unknown": [{"parameters": {"unknown": 1}}],
            "answers": [{"answers": {**answers, "another": [1]}}],
        }
        damaged = [("", {key: value for key, value in plain.items() if key != gone}) for gone in plain]
        damaged += [(named, {**plain, **change}) for named, wrong in changes.items() for change in wrong]
        for label, known in [*answers.items()][:: 1 + len(answers) // DAMAGED]:
            damaged.append(("", {**plain, "answers": {k: v for k, v in answers.items() if k != label}}))
            for answer in ([], [0.5] * len(known), [2**70] * len(known), "1", [True], [*known, 1]):
                damaged.append((label, {**plain, "answers": {**answers, label: answer}}))
        for named, values in damaged:
            with pytest.raises((ParameterError, InputError), match=re.escape(named) or None):
                self.chosen.estimator.from_plain(values)

    def test_scikit_learn_can_copy_and_set_it(self):
        estimator = self.made(Exact())
        copied = clone(estimator)
        assert type(copied) is type(estimator)
        assert copied is not estimator
        assert set(copied.get_params()) == {"attributes", "target", "parameters", "noise"}
        assert copied.get_params()["parameters"] == estimator.parameters
        assert copied.set_params(noise=Exact()).noise is not estimator.noise
        with pytest.raises(ParameterError, match="'charge'"):
            copied.set_params(charge=None)
        assert not hasattr(copied, "model_")
        assert not hasattr(copied, "classes_")

    @pytest.mark.parametrize("epsilon", [None, 2.0])
    def test_an_empty_row_contributes_nothing_but_its_place(self, epsilon):
        def fitted(rows: Any, y: Any) -> Any:
            noise = Exact() if epsilon is None else Study(np.random.default_rng(5))
            return self.made(noise, epsilon=epsilon).fit(rows, y)

        X, y = self.rows(20)
        y[::3] = empty = np.nan if self.target.numeric else EMPTY
        other = X.copy()
        other[::3] = X[1]
        assert fitted(X, y).to_plain() == fitted(other, y).to_plain()
        nothing, none = fitted(X, np.full(20, empty)), np.full(20, empty)
        assert np.isfinite(nothing.predict(self.asked(X))).all()
        if hasattr(nothing, "predict_proba"):
            with pytest.raises(ParameterError, match="no row has a class"):
                nothing.score(X, none)

    def test_the_order_of_rows_does_not_matter_unless_they_are_dealt_by_their_place(self):
        X, y = self.rows(20)
        one, other = (
            self.made(Exact(), epsilon=None).fit(rows, z).to_plain() for rows, z in ((X, y), (X[::-1], y[::-1]))
        )
        assert self.by_place or one == other

    # -- helpers ------------------------------------------------------------------------------------------------------

    def made(self, noise: Any, **parameters: Any) -> Any:
        """Return the estimator, not yet fitted."""
        return self.chosen.private(self.attributes, self.target, self.known(parameters), noise)

    def known(self, parameters: Mapping[str, Any]) -> Any:
        """Return the checked parameters of the suite with these among them."""
        plain = {"epsilon": 2.0, **self.given, **parameters}
        if RANGES in self.chosen.parameters.declared():
            plain = {RANGES: "declared", **plain}
        return self.chosen.parameters.from_plain({k: v for k, v in plain.items() if v is not None})

    def rows(self, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return X and y of a table of valid rows."""
        generator = np.random.default_rng(1)
        columns = [
            generator.uniform(*a.bounds(), count) if a.numeric else generator.integers(0, len(a.values()), count)
            for a in (*self.attributes, self.target)
        ]
        return np.column_stack(columns[:-1]).astype(np.float64), np.asarray(columns[-1], dtype=np.float64)

    def asked(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return rows that a fitted model can be asked about."""
        return X


def refuse(_cost: Cost) -> None:
    """The charge of an empty account."""
    raise BudgetRefusedError("too dear")


def changed(heard: Mapping[tuple[int, ...], Any], chosen: tuple[int, ...], place: int, row: int) -> Any:
    """Return what is asked where that place has another row; of one order of the rows, where only that one is there."""
    one = (*chosen[:place], row, *chosen[place + 1 :])
    return heard[one if one in heard else tuple(sorted(one))]


def zero_out(heard: Mapping[tuple[int, ...], Any], empty: int) -> Iterator[tuple[Any, Any]]:
    """Yield what is asked of each pair of tables of which the second has one row emptied."""
    for chosen, one in heard.items():
        for i, row in enumerate(chosen):
            if row != empty:
                yield one, changed(heard, chosen, i, empty)


def replace_one(heard: Mapping[tuple[int, ...], Any], empty: int) -> Iterator[tuple[Any, Any]]:
    """Yield what is asked of pairs of tables that differ in one row, empty in neither."""
    step = max(1, empty // REPLACED_BY)
    for chosen, one in heard.items():
        for i, row in enumerate(chosen):
            for other in range(row % step, row, step) if row < empty else ():
                yield one, changed(heard, chosen, i, other)


def spent(one: tuple[Heard, Cost], other: tuple[Heard, Cost], *, replaced: bool = False) -> float:
    """Return what the difference of two neighbours spends of ε or ρ, by the sensitivities that the Ask was given."""
    (asked, cost), (instead, same) = one, other
    assert cost == same, "the cost depends on the rows"
    assert list(asked) == list(instead), "what is asked depends on the rows"
    total = 0.0
    for label, (kind, parts, sensitivity, event) in asked.items():
        gaussian = isinstance(event, ZeroConcentrated)
        assert instead[label][0] == kind
        assert instead[label][2:] == (sensitivity, event), "a query's noise depends on the rows"
        if parts == instead[label][1]:
            continue
        moved = [
            [a - b for a, b in zip(mine, theirs, strict=True)]
            for mine, theirs in zip(parts, instead[label][1], strict=True)
        ]
        if kind == "median":
            far = (Counter(parts[0]) - Counter(instead[label][1][0])).total()  # a row is in one block
        elif kind == "numbers":
            far = math.hypot(*moved[0]) if gaussian else sum(map(abs, moved[0]))
        else:  # losses or scores, of which a row moves those of its part, all of them in one direction
            if not replaced:
                assert all(d >= 0 for part in moved for d in part)
                assert sum(any(part) for part in moved) <= 1
            far = sum(max(0, *part) - min(0, *part) for part in moved)
        assert far <= sensitivity * (2 if replaced else 1), label
        part = far / sensitivity
        total += float(event.rho) * part**2 if gaussian else float(event.epsilon) * part
    return total
