"""What holds of every kind of central release; a kind gives one small case and inherits the tests.

A test file of a kind has a class that inherits :class:`KindConformance` and returns its :class:`Case`.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest
from asks import exact_ask, released_ask, study_ask
from release_cases import certificate_of, die_at, forge, names_in, run_to_exit, statuses

from workbench.data.person_join import Join, join_on_person
from workbench.data.table import Table
from workbench.params import BudgetRefusedError, CancelledError
from workbench.privacy.accounting.event import PureDp, ZeroConcentrated
from workbench.privacy.audit import LowerBound, epsilon_lower
from workbench.privacy.central.laplace import ReleasedNoise, StudyNoise
from workbench.privacy.entropy import Entropy, OsEntropy, SeededEntropy
from workbench.release.certificate import checksum
from workbench.release.ledger.ledger import Ledger
from workbench.release.release_path import Prepared, Released, destination, prepare, release_prepared
from workbench.release.verification import ledger_claims, verify_any
from workbench.release.verify import verify_in_ledger
from workbench.sanitize.plan import Column, Plan
from workbench.signals import Progress
from workbench.signals.cancel import CancelToken
from workbench.signals.events import ignore
from workbench.work.ask import Ask, Cells, UndeclaredError
from workbench.work.work import Answers, Work

FEW = 100
"""Releases of each side that show what has no noise at all: fewer prove less, so that the bound sees it with more."""
FALSE_ALARM = 1e-6
"""Chance that a sound kind fails the bound of its files."""

PERSON = "person of the test"
L1, L2 = "numbers", "numbers with Gaussian noise"
"""The forms of questions for numbers, by the norm that bounds what one row adds."""
WHOLE = {"out.csv", "out.csv.certificate.json"}
AskRows = Callable[[Table, Ask, Any, CancelToken], Answers]


@dataclass(frozen=True)
class Case:
    """A small release of a kind, of a table whose first row is hostile: alone in its cells, or at a bound.

    Attributes:
        plan: of it; it takes an empty value for a value that is missing or replaced.
        table: a few rows.
        work: how it is released as CSV.
        numbers: what a released file says, as a vector of a fixed length.
        formats: of its files.
    """

    plan: Plan
    table: Table
    work: Work
    numbers: Callable[[bytes], Sequence[float]]
    formats: Mapping[str, str] = field(default_factory=lambda: {".csv": "csv"})

    def of(self, work: Work) -> Case:
        """The same with another work."""
        return dataclasses.replace(self, work=work)

    def prepared(self, target: Path) -> Prepared:
        to = destination(target, formats=dict(self.formats), replace=True)
        return prepare(self.plan, self.table, to, self.work)

    def release(self, folder: Path, **keys: Any) -> Released:
        (folder / "out").mkdir(exist_ok=True)
        with Ledger.open(folder / "l.sqlite") as opened:
            return release_prepared(self.prepared(folder / "out" / "out.csv"), opened, **keys)

    def emptied(self, row: int, *columns: str) -> Table:
        """The rows with one of them emptied, or some of its cells."""
        here = pl.int_range(pl.len()) == row
        named = columns or self.table.frame.columns
        cells = [pl.when(here).then(None).otherwise(pl.col(name)).alias(name) for name in named]
        return dataclasses.replace(self.table, frame=self.table.frame.with_columns(cells))

    def by_persons(self) -> Case:
        """The case with a column of persons of three rows each, of which two are read."""
        owners = pl.Series(PERSON, [f"p{row // 3}" for row in range(self.table.rows)])
        plan = dataclasses.replace(
            self.plan,
            invalid="replace",
            unit=PERSON,
            rows_per_person=2,
            columns=(*self.plan.columns, Column(name=PERSON, action="drop")),
        )
        table = dataclasses.replace(self.table, frame=self.table.frame.with_columns(owners))
        return dataclasses.replace(self, plan=plan, table=table)

    def by_joined_persons(self) -> Case:
        """The same with the last column in a second table, which has one row or three of a person, of the last none."""
        case = self.by_persons()
        *_, last = self.table.names
        owners = case.table.column(PERSON)
        row = pl.Series(range(case.table.rows))
        kept = (owners != owners[-1]) & ((row % 3 == 0) | (owners.str.slice(1).cast(pl.Int64) % 2 == 0))
        frame = case.table.frame.select(PERSON, last).filter(kept)
        second = dataclasses.replace(case.table, frame=frame, source="second.csv")
        first = dataclasses.replace(case.table, frame=case.table.frame.drop(last))
        plan = dataclasses.replace(case.plan, join=Join(on=PERSON))
        return dataclasses.replace(
            case, plan=plan, table=join_on_person(first, second, PERSON, PERSON, SeededEntropy(4))
        )

    def without(self, person: str) -> Table:
        """The table with all rows of a person emptied; of a joined one, in both of the two."""

        def emptied(table: Table) -> Table:
            here = table.frame[PERSON] == person
            cells = pl.when(here).then(None).otherwise(pl.all()).name.keep()
            return dataclasses.replace(table, frame=table.frame.select(cells))

        of = self.table.joined
        if of is None:
            return emptied(self.table)
        return join_on_person(emptied(of.first), emptied(of.second), PERSON, PERSON, SeededEntropy(4))


# -- an Ask that keeps what it is asked -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """One question.

    Attributes:
        form: how it was asked.
        label: of its event.
        parts: exact numbers, those of disjoint parts of the rows by themselves.
        sensitivity: what was said of it.
        names: the values that are counted, where nobody declared them.
    """

    form: str
    label: str
    parts: tuple[tuple[int, ...], ...]
    sensitivity: int
    names: tuple[str, ...] = ()

    def moved(self, beside: Asked) -> float:
        """By how many times the stated sensitivity the neighbour's numbers differ; infinite for another question."""
        if self.form == beside.form == "occurring" and self.label == beside.label:
            here, there = (dict(zip(a.names, a.parts[0], strict=True)) for a in (self, beside))
            return float(sum(abs(here.get(name, 0) - there.get(name, 0)) for name in {*here, *there}))
        shape, other = ((a.form, a.label, a.sensitivity, len(a.parts)) for a in (self, beside))
        sizes, others = ([len(p) for p in a.parts] for a in (self, beside))
        if shape != other or (sizes != others and self.form != "quantiles"):
            return float("inf")
        pairs = list(zip(self.parts, beside.parts, strict=True))
        if self.form == "quantiles":  # sorted values: how many came and went
            return float(sum(sum(abs(one.count(v) - two.count(v)) for v in {*one, *two}) for one, two in pairs))
        apart = [[b - a for a, b in zip(one, two, strict=True)] for one, two in pairs]
        if self.form in (L1, L2):
            power = 1 if self.form == L1 else 2
            return float(sum(abs(v) ** power for part in apart for v in part) ** (1 / power)) / self.sensitivity
        if self.form == "choose":
            return max(abs(v) for part in apart for v in part) / self.sensitivity
        # Report-noisy-max pays once: of one part alone, and all in one direction.
        changed = [part for part in apart if any(part)]
        if any(min(part) < 0 < max(part) for part in changed):
            return float("inf")
        return sum(max(abs(v) for v in part) for part in changed) / self.sensitivity


class Recorder(Ask):
    """Seeded answers, or those of another run; everything that is asked is kept."""

    asked: list[Asked]
    answers: list[Any]
    given: list[Any] | None

    @classmethod
    def of(cls, events: Any, given: list[Any] | None = None) -> Recorder:
        ask = cls(events, StudyNoise(np.random.default_rng(1)), SeededEntropy(1))
        ask.asked, ask.answers, ask.given = [], [], given
        return ask

    def _kept(self, form: str, label: str, parts: Sequence[Sequence[int]], sensitivity: int, drawn: Any) -> Any:
        self.asked.append(Asked(form, label, tuple(tuple(int(v) for v in part) for part in parts), sensitivity))
        self.answers.append(drawn if self.given is None else self.given[len(self.answers)])
        return self.answers[-1]

    def __call__(self, label: str, exact: Sequence[int], sensitivity: int) -> list[int]:
        form = L2 if isinstance(self._open.get(label), ZeroConcentrated) else L1
        return self._kept(form, label, [exact], sensitivity, super().__call__(label, exact, sensitivity))

    def choose(self, label: str, scores: Sequence[int], sensitivity: int) -> int:
        return self._kept("choose", label, [scores], sensitivity, super().choose(label, scores, sensitivity))

    def largest(self, label: str, parts: Sequence[Sequence[int]], sensitivity: int) -> list[int]:
        return self._kept("largest", label, parts, sensitivity, super().largest(label, parts, sensitivity))

    def least(self, label: str, parts: Sequence[Sequence[int]], sensitivity: int) -> list[int]:
        return self._kept("least", label, parts, sensitivity, super().least(label, parts, sensitivity))

    def quantiles(self, label: str, parts: Sequence[Cells], low: int, high: int, shares: Any) -> list[list[int]]:
        drawn = super().quantiles(label, parts, low, high, shares)
        return self._kept("quantiles", label, parts, 1, drawn)

    def occurring(self, label: str, counts: Mapping[str, int]) -> dict[str, int]:
        drawn = super().occurring(label, counts)
        answer: dict[str, int] = self._kept("occurring", label, [[*counts.values()]], 1, drawn)
        self.asked[-1] = dataclasses.replace(self.asked[-1], names=tuple(counts))
        return answer

    def local(self, label: str, epsilon: float | Decimal) -> Entropy:
        coins = super().local(label, epsilon)
        self.asked.append(Asked("local", label, (), 1))
        return coins

    def divided(self, label: str, parts: Mapping[str, tuple[int, int]]) -> Ask:
        inner = super().divided(label, parts)
        inner.__class__ = type(self)
        vars(inner).update(asked=self.asked, answers=self.answers, given=self.given)
        return inner


def recorded(case: Case, table: Table, given: list[Any] | None = None) -> Recorder:
    ask = Recorder.of(case.work.events, given)
    case.work.run(case.plan.rows_of(table), ask, ignore, CancelToken())
    return ask


# -- works that say one thing and want another ------------------------------------------------------------------------


def undeclared(work: Work) -> AskRows:
    return lambda rows, ask, emit, cancel: ask("not declared", [0], 1)


def twice(work: Work) -> AskRows:
    def asked(rows: Table, ask: Ask, emit: Any, cancel: CancelToken) -> Answers:
        answers = work.ask(rows, ask, emit, cancel)
        ask(work.events[0].label, [0], 1)
        return answers

    return asked


def less(work: Work) -> AskRows:
    return lambda rows, ask, emit, cancel: None


def in_parts_of_more(work: Work) -> AskRows:
    return lambda rows, ask, emit, cancel: ask.divided(work.events[0].label, {"fifty": (50, 1)})


def local_of_more(work: Work) -> AskRows:
    return lambda rows, ask, emit, cancel: ask.local(work.events[0].label, 50.0)


OVERSPENDING = {
    "asks what it did not declare": undeclared,
    "asks twice": twice,
    "asks less than it declared": less,
    "wants a hundred times as much, in parts": in_parts_of_more,
    "wants epsilon 50 for each row": local_of_more,
}


class NoDraw(ReleasedNoise):
    """Noise of a release that may be made and not drawn."""

    def integers(self, *arguments: Any) -> list[int]:
        raise AssertionError("noise was drawn")

    gaussian = below = words = integers  # type: ignore[assignment]


def die_and_release(kind: type[KindConformance], folder: Path, owner: str, attribute: str) -> None:
    """Release the case of a kind and die after a call of an inner function."""
    case = kind.case()
    importlib.import_module(owner.partition(":")[0])
    die_at(owner, attribute, 1, after=True)
    case.release(folder)


LEDGER = "workbench.release.ledger.ledger:Ledger"


class KindConformance:
    """Inherited by the tests of a kind."""

    local: ClassVar[bool] = False
    """Whether each row is randomised by itself."""

    @classmethod
    def case(cls) -> Case:
        """Return the small release; called in other processes, too."""
        raise NotImplementedError

    # What is declared is what can be drawn.

    @pytest.mark.parametrize("how", OVERSPENDING)
    def test_a_work_that_overspends_is_refused_and_writes_nothing(self, tmp_path, monkeypatch, how):
        case = self.case()
        if how != "asks twice":  # the others are refused before a bit is drawn
            monkeypatch.setattr("workbench.work.noise.ReleasedNoise", NoDraw)
            monkeypatch.setattr(OsEntropy, "words", NoDraw.integers)
        with pytest.raises(UndeclaredError):
            case.of(dataclasses.replace(case.work, ask=OVERSPENDING[how](case.work))).release(tmp_path)
        assert names_in(tmp_path / "out") == set()
        assert statuses(tmp_path / "l.sqlite") == ["void"]

    def test_noise_for_fifty_cannot_be_asked_of_a_half(self):
        """A question names no ε: whatever the Work wants, noise is that of the declared 0.5, which 50 would hardly be.

        200 draws at ε = 0.5 are all 0 in one of 10^122 cases; at ε = 50 a single one is not 0 in one of 10^21.
        """
        work = dataclasses.replace(
            self.case().work,
            events=(PureDp(Decimal("0.5"), "toy"),),
            budget=None,
            ask=lambda rows, ask, emit, cancel: ask("toy", [0] * 200, 1),
            files=lambda answers, cancel: answers,  # type: ignore[arg-type, return-value]
        )
        assert any(work.run(self.case().table, released_ask(work.events), ignore, CancelToken()))  # type: ignore[call-overload]

    def test_it_asks_each_declared_event_once_with_the_budget_reserved(self, tmp_path):
        case = self.case()
        seen: list[list[str]] = []

        def watched(*given: Any) -> Answers:
            seen.append(statuses(tmp_path / "l.sqlite"))
            return case.work.ask(*given)

        done = case.of(dataclasses.replace(case.work, ask=watched)).release(tmp_path)
        assert seen == [["reserved"]]
        assert statuses(tmp_path / "l.sqlite") == ["charged"]
        assert done.epsilon_charged == case.work.cost(case.plan.rows_per_person).epsilon

    # Sensitivity, by every neighbour.

    def test_emptying_a_row_moves_no_question_farther_than_its_sensitivity(self):
        case = self.case()
        here = recorded(case, case.table)
        for row in range(case.table.rows):
            there = recorded(case, case.emptied(row), here.answers)
            assert len(there.asked) == len(here.asked)
            for one, other in zip(here.asked, there.asked, strict=True):
                assert one.moved(other) <= 1, (row, one, other)

    def test_emptying_a_cell_moves_no_question_farther_than_twice(self):
        """The row becomes another one: as if it were emptied, and a new one put into its place."""
        case = self.case()
        here = recorded(case, case.table)
        for row in range(case.table.rows):
            for column in case.table.frame.columns:
                there = recorded(case, case.emptied(row, column), here.answers)
                for one, other in zip(here.asked, there.asked, strict=True):
                    # A quantity that moves in one direction only may move in both for two rows.
                    assert one.moved(other) <= 2 or one.form in ("largest", "least"), (row, column, one, other)

    @pytest.mark.parametrize("tables", [1, 2])
    def test_emptying_all_rows_of_a_person_moves_no_question_farther_than_k_rows(self, tables):
        """For given keys; that the keys decide nothing else is in ``test_persons.py`` and ``test_person_join.py``."""
        most, case = 2, self.case().by_persons() if tables == 1 else self.case().by_joined_persons()
        owners = case.table.column(PERSON).to_list()

        def asked(table: Table, given: list[Any] | None = None) -> Recorder:
            ask = Recorder.of(case.work.events, given)
            case.work.run(case.plan.rows_of(table, SeededEntropy(5)), ask, ignore, CancelToken())
            return ask

        here = asked(case.table)
        for person in sorted(set(owners)):
            there = case.without(person)
            for one, other in zip(here.asked, asked(there, here.answers).asked, strict=True):
                assert one.moved(other) <= most, (person, one, other)

    # What its files show.

    def lower_bound(self, ask: Callable[[int], Ask], samples: int, times: int = 1) -> LowerBound:
        """What so many files of either side prove, each found so many times, read by whoever knows both tables."""
        case, sides = self.case(), []
        for side, table in enumerate((case.table, case.emptied(0))):
            rows = case.plan.rows_of(table)
            asks = (ask(2 * number + side) for number in range(samples))
            made = (case.work.run(rows, opened, ignore, CancelToken()) for opened in asks)
            seen = np.array([case.numbers(one.whole) for one in made], dtype=np.float64)
            sides.append(np.repeat(seen, times, axis=0))
        return epsilon_lower(*sides, alpha=FALSE_ALARM)

    def test_its_files_prove_no_more_than_what_is_charged(self):
        """Here a few files, which show what is not noisy at all; finer faults are hunted in ``tests/attacks``."""
        case = self.case()
        found = self.lower_bound(lambda seed: study_ask(case.work.events, seed), FEW)
        assert not found.refutes(float(case.work.cost().epsilon))

    def test_answers_without_noise_are_seen_in_its_files(self):
        if self.local:
            pytest.skip("it asks for no numbers")
        # Exact answers, and the same coins for what costs nothing: a file is the same however often it is made.
        assert self.lower_bound(lambda seed: exact_ask(), 1, FEW).refutes(float(self.case().work.cost().epsilon))

    # Certificate and ledger.

    def test_a_release_verifies_and_a_changed_one_does_not(self, tmp_path):
        self.case().release(tmp_path)
        target = tmp_path / "out" / "out.csv"
        assert names_in(tmp_path / "out") == WHOLE
        assert verify_any(target) == []
        with Ledger.open(tmp_path / "l.sqlite") as opened:
            assert verify_in_ledger(ledger_claims(target), opened) == []
        path, document, data = target.with_name("out.csv.certificate.json"), certificate_of(target), target.read_bytes()
        target.write_bytes(data[:-2] + bytes([data[-2] ^ 1]) + data[-1:])
        assert "SHA-256 differs" in " ".join(verify_any(target))
        target.write_bytes(data)
        changes = {
            "guarantee": {**document["guarantee"], "epsilon": "0.01"},
            "rows": document["rows"] + 1000,
            "columns": [*document["columns"], "town"],
            "method": {**document.get("method", {}), "leaks": "row 17 is Ann"},
            "kind": "unknown",
        }
        if "queries" in document:
            changes["queries"] = document["queries"][:-1]
        for key, value in changes.items():
            forged = {**document, key: value}
            path.write_text(json.dumps(forged), "utf-8")
            assert verify_any(target), key
            path.write_text(json.dumps({**forged, "checksum": checksum(forged)}), "utf-8")
            found = verify_any(target)
            with Ledger.open(tmp_path / "l.sqlite") as opened:
                assert found or verify_in_ledger(ledger_claims(target), opened), key

    def test_a_file_that_does_not_follow_from_the_answers_in_its_certificate_is_found(self, tmp_path):
        case, target = self.case(), tmp_path / "out" / "out.csv"
        if case.work.answers is None:
            pytest.skip("its answers are not in its certificate")
        method = case.release(tmp_path).document["method"]
        changed = [{**method, key: value} for key in method for value in (None, "x", [], {}, [0.5], {"x": "1"})]
        for stated in ({}, *changed):
            forge(target, lambda document, stated=stated: document.update(method=stated))  # type: ignore[misc]
            assert verify_any(target), stated
        data = target.read_bytes().replace(b"1", b"2") + b"3\n"
        target.write_bytes(data)
        output = {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
        forge(target, lambda document: document.update(method=method, output={**document["output"], **output}))
        assert verify_any(target)

    def test_several_rows_of_a_person_multiply_the_charge(self, tmp_path):
        case = self.case()
        several = dataclasses.replace(case, plan=dataclasses.replace(case.plan, rows_per_person=3))
        done = several.release(tmp_path)
        assert done.epsilon_charged == case.work.cost(3).epsilon == 3 * case.work.cost().epsilon
        stated = done.document["guarantee"]
        assert (Decimal(stated["epsilon"]), stated["rows_per_person"]) == (done.epsilon_charged, 3)
        assert "one person with at most 3 rows" in stated["statement"]
        assert verify_any(done.output) == []

    # Ways out.

    def test_a_refused_charge_asks_and_writes_nothing(self, tmp_path):
        case = self.case()

        def never(*arguments: Any) -> Answers:
            raise AssertionError("asked without a charge")

        with Ledger.open(tmp_path / "l.sqlite") as opened:
            opened.set_cap(opened.identify(case.table), case.work.cost().epsilon * Decimal("0.9"))
        with pytest.raises(BudgetRefusedError):
            case.of(dataclasses.replace(case.work, ask=never)).release(tmp_path)
        assert names_in(tmp_path / "out") == set()
        assert statuses(tmp_path / "l.sqlite") == ["refused"]

    def test_an_error_before_the_charge_costs_nothing(self, tmp_path):
        case = self.case()

        def fails(*arguments: Any) -> Any:
            raise OSError("it fails")

        for part in ("ask", "files"):
            with pytest.raises(OSError, match="it fails"):
                case.of(dataclasses.replace(case.work, **{part: fails})).release(tmp_path)
        assert names_in(tmp_path / "out") == set()
        assert statuses(tmp_path / "l.sqlite") == ["void", "void"]

    def test_a_cancel_before_the_first_byte_costs_nothing_and_none_leaves_a_file(self, tmp_path):
        case, labels = self.case(), []
        case.release(tmp_path, emit=lambda event: labels.extend([event.label] if isinstance(event, Progress) else []))
        assert labels[-1] == "certified"
        for number, label in enumerate(dict.fromkeys(labels[:-1])):
            folder, token = tmp_path / str(number), CancelToken()
            folder.mkdir()

            def stop(event: Any, label: str = label, token: CancelToken = token) -> None:
                if isinstance(event, Progress) and event.label == label:
                    token.cancel()

            with pytest.raises(CancelledError):
                case.release(folder, emit=stop, cancel=token)
            assert names_in(folder / "out") == set(), label
            # From the first written byte on somebody could have read it.
            assert statuses(folder / "l.sqlite") == ["charged" if label == "written" else "void"], label

    @pytest.mark.skipif(sys.platform == "win32", reason="fork servers and SIGKILL are POSIX")
    @pytest.mark.parametrize(
        ("owner", "attribute", "becomes"),
        [
            ("workbench.work.work:Work", "run", ["void", "charged"]),
            (LEDGER, "charge", ["charged", "charged"]),
            (LEDGER, "certify", ["charged"]),
        ],
    )
    def test_a_killed_run_is_settled_by_the_next(self, tmp_path, owner, attribute, becomes):
        case = self.case()
        (tmp_path / "out").mkdir()
        assert run_to_exit(die_and_release, type(self), tmp_path, owner, attribute) == -9
        assert not names_in(tmp_path / "out") & WHOLE
        with Ledger.open(tmp_path / "l.sqlite") as opened:
            opened.set_cap(opened.identify(case.table), Decimal(100), Decimal("0.5"))
        done = case.release(tmp_path)
        assert done.published_earlier == (len(becomes) == 1)
        assert statuses(tmp_path / "l.sqlite") == becomes
        assert names_in(tmp_path / "out") == WHOLE
        assert verify_any(done.output) == []
