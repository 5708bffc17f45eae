"""Which attributes naive Bayes uses where ε does not allow all: chosen, paid for, and told; no order of columns."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from fake_noise import Scripted
from hypothesis import given
from hypothesis import strategies as st

from workbench.data.schema import Attribute
from workbench.learners.naive_bayes.estimator import NaiveBayes, NaiveBayesModel, Setting
from workbench.learners.naive_bayes.parameters import NaiveBayesParameters
from workbench.learners.selection import SENSITIVITY, UNIT
from workbench.learners.tasks import EMPTY
from workbench.params import ParameterError
from workbench.work.noise import Exact, Study

TARGET = Attribute(name="y", kind="category", domain=("a", "b", "c"))
KINDS = (
    Attribute(name="x", kind="real", lower=-3, upper=5),
    Attribute(name="gap", kind="real", lower=0, upper=1, missing="own-value"),
    Attribute(name="colour", kind="category", domain=("red", "blue"), missing="own-value"),
)
Record = tuple[float, float, float, int]
EMPTY_ROW: Record = (0.0, 0.0, 0.0, EMPTY)


def losses(rows: Sequence[Record]) -> list[int]:
    setting = Setting(KINDS, TARGET, NaiveBayesParameters(epsilon=1.0), len(rows), True)
    filled = np.array([row for row in rows if row != EMPTY_ROW], dtype=np.float64).reshape(-1, 4)
    return setting.losses(filled[:, :3], filled[:, 3].astype(np.int64))


RECORDS: list[Record] = [*itertools.product((-9.0, 5.0), (np.nan, 0.4), (0, 2), (0, 1, 2))]


@pytest.mark.parametrize(
    ("rows", "records"), [(1, RECORDS), (2, RECORDS), (3, RECORDS[::5]), (6, [RECORDS[0], RECORDS[7], RECORDS[-1]])]
)
def test_a_row_moves_every_loss_in_one_direction_and_by_what_is_paid_for(rows: int, records: list[Record]) -> None:
    found = {t: losses(t) for t in itertools.product([*records, EMPTY_ROW], repeat=rows)}
    moved = set()
    for table, whole in found.items():
        for i in (i for i, row in enumerate(table) if row != EMPTY_ROW):
            without = found[(*table[:i], EMPTY_ROW, *table[i + 1 :])]
            moved |= {a - b for a, b in zip(whole, without, strict=True)}
    assert min(moved) >= 0
    assert max(moved) <= UNIT + 1 <= SENSITIVITY
    if rows > 1:
        assert max(moved) >= UNIT // 2, "two rows of two classes in one cell"


@given(st.lists(st.sampled_from([*RECORDS, EMPTY_ROW]), min_size=1, max_size=40), st.integers(0, 39))
def test_the_same_holds_in_larger_tables(rows: list[Record], at: int) -> None:
    at %= len(rows)
    without = losses([*rows[:at], EMPTY_ROW, *rows[at + 1 :]])
    for whole, rest in zip(losses(rows), without, strict=True):
        assert 0 <= whole - rest <= SENSITIVITY


def test_losses_of_a_billion_rows_are_whole_numbers() -> None:
    from workbench.learners.naive_bayes.estimator import _loss

    assert _loss([10**9, 10**9]) == UNIT * 10**9 // 2
    assert _loss([10**9, 0]) == 0
    assert _loss([0, 0]) == 0


def many(columns: int, telling: int, rows: int = 600) -> tuple[np.ndarray, np.ndarray, tuple[Attribute, ...]]:
    """A table in which one column tells the class and the others are noise."""
    generator = np.random.default_rng(3)
    y = generator.integers(0, 3, rows)
    X = generator.uniform(-1, 1, (rows, columns))
    X[:, telling] = np.clip((y - 1) * 0.7 + generator.normal(0, 0.15, rows), -1, 1)
    return X, y, tuple(Attribute(name=f"c{j}", kind="real", lower=-1, upper=1) for j in range(columns))


@pytest.mark.parametrize("telling", [0, 7, 19])
def test_the_telling_attribute_is_found_wherever_it_stands(telling: int) -> None:
    X, y, attributes = many(20, telling)
    accuracies = []
    for seed in range(5):
        noise = Study(np.random.default_rng(seed))
        model = NaiveBayes(attributes, TARGET, NaiveBayesParameters(epsilon=1.0), noise).fit(X, y)
        assert model.attributes_used[0] == f"c{telling}"
        assert len(model.attributes_used) < 20
        accuracies.append(model.score(X, y))
    assert np.mean(accuracies) > 0.9


def test_without_noise_in_the_choice_the_order_of_columns_is_no_matter() -> None:
    X, y, attributes = many(12, 4)
    said = set()
    for seed in range(4):
        order = np.random.default_rng(seed).permutation(12)
        own = [attributes[j] for j in order]
        model = NaiveBayes(own, TARGET, NaiveBayesParameters(epsilon=0.5), Scripted()).fit(X[:, order], y)
        said.add((model.attributes_used, tuple(model.predict(X[:, order]))))
    assert len(said) == 1


@given(
    st.floats(1e-6, 1e4),
    st.integers(1, 10_000),
    st.integers(1, 30),
    st.floats(0.01, 0.99),
    st.floats(0.01, 0.99),
    st.data(),
)
def test_the_shares_sum_to_epsilon_whatever_is_chosen(
    epsilon: float, rows: int, columns: int, count: float, choice: float, data: st.DataObject
) -> None:
    kinds = [KINDS[j % 3] for j in range(columns)]
    attributes = tuple(
        Attribute(**{**{n: getattr(a, n) for n in Attribute.declared()}, "name": f"{j}"}) for j, a in enumerate(kinds)
    )
    parameters = NaiveBayesParameters(epsilon=epsilon, count_share=count, choice_share=choice)
    setting = Setting(attributes, TARGET, parameters, rows, True)
    whole = Decimal(epsilon) if Decimal(repr(epsilon)) != Decimal(epsilon) else Decimal(repr(epsilon))
    planned = sum((e.epsilon for e in setting.events()), Decimal(0))
    chosen = data.draw(st.permutations(range(columns)))[: setting.used]
    spent = [e.epsilon for e in setting.choices()] + [
        q.share.amount for q in setting.queries(chosen) if q.share is not None
    ]
    assert sum(spent, Decimal(0)) == planned
    assert planned in (whole, Decimal(repr(epsilon)))
    assert min(spent) > 0


def test_the_file_names_what_was_chosen_and_is_checked() -> None:
    X, y, attributes = many(20, 7)
    noise = Study(np.random.default_rng(0))
    model = NaiveBayes(attributes, TARGET, NaiveBayesParameters(epsilon=1.0), noise).fit(X, y)
    plain = json.loads(json.dumps(model.to_plain()))
    assert plain["used"] == list(model.attributes_used)
    np.testing.assert_array_equal(NaiveBayesModel.from_plain(plain).predict(X), model.predict(X))
    for used in (["c7"] * len(plain["used"]), ["nobody", *plain["used"][1:]], [], [*plain["used"], "c0"], [7]):
        with pytest.raises(ParameterError):
            NaiveBayesModel.from_plain({**plain, "used": used})


def test_without_noise_all_attributes_are_used() -> None:
    X, y, attributes = many(20, 7)
    model = NaiveBayes(attributes, TARGET, NaiveBayesParameters(), Exact()).fit(X, y)
    assert model.attributes_used == tuple(a.name for a in attributes)


def test_card_and_command_say_what_is_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from workbench.cli import main
    from workbench.release.certificate import read_card
    from workbench.release.verify import verify_release

    plan, model = str(tmp_path / "plan.toml"), str(tmp_path / "model")
    assert main(["plan", "sample:iris", "--epsilon", "1", "--target", "species", "-o", plan]) == 0
    words = ["--target", "species", "--model", "naive-bayes", "--bounds", plan, "-o", model]
    capsys.readouterr()
    assert main(["fit", "sample:iris", *words, "--epsilon", "0.1", "--ledger", str(tmp_path / "l.sqlite")]) == 0
    assert verify_release(Path(model)) == []  # the queries of choice and columns cost what is claimed
    (used,) = read_card(Path(model))["training"]["attributes_used"]
    assert f"At this epsilon it looks at 1 of 4 columns: {used}." in capsys.readouterr().out
