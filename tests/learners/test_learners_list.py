"""The list of learners is complete, and shares of ε are exact."""

import importlib
import itertools
import pkgutil
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from learner_conformance import CheckingNoise, Heard, spent

import workbench.learners
from workbench.cli.main import main
from workbench.data.person_join import join_on_person
from workbench.data.schema import Attribute
from workbench.data.table import Table
from workbench.learners import LEARNERS, Learner, learner
from workbench.learners.naive_bayes.estimator import NAIVE_BAYES
from workbench.learners.setting import split_epsilon
from workbench.params import ParameterError
from workbench.privacy.accounting.event import Cost, PureDp, ZeroConcentrated, exact, floor_double
from workbench.privacy.entropy import SeededEntropy
from workbench.release.card import contradictions
from workbench.release.certificate import read_card
from workbench.release.model.release_learner import columns_of, fit_on, unfitted
from workbench.sanitize.plan import Plan
from workbench.work.noise import Study


def test_every_descriptor_of_the_folder_is_listed():
    modules = [
        importlib.import_module(m.name)
        for m in pkgutil.walk_packages(workbench.learners.__path__, "workbench.learners.")
    ]
    declared = {id(v): v for module in modules for v in vars(module).values() if isinstance(v, Learner)}
    assert {entry.name for entry in declared.values()} == {entry.name for entry in LEARNERS}
    assert len({entry.name for entry in LEARNERS}) == len(LEARNERS)


def test_the_list_is_light():
    heavy = "sklearn", "scipy", "polars", "opendp", "torch"
    code = f"import sys, workbench.learners; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout.strip() == "[]"


def test_learners_are_found_by_name():
    assert learner("naive-bayes") is NAIVE_BAYES
    with pytest.raises(ParameterError, match="did you mean 'naive-bayes'"):
        learner("naive-bays")


@given(st.floats(1e-9, 1e6), st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=80))
def test_shares_sum_to_epsilon_exactly_and_doubles_never_pass_them(epsilon, weights):
    total = exact(epsilon)
    shares = split_epsilon(total, weights)
    assert sum(shares, Decimal(0)) == total
    for share, weight in zip(shares, weights, strict=True):
        assert share > 0
        assert Decimal(floor_double(share)) <= share
        assert float(share) == pytest.approx(epsilon * weight / sum(weights), rel=1e-9)


@pytest.mark.parametrize("weights", [[], [1.0, 0.0], [1.0, float("nan")], [-1.0], [float("inf")]])
def test_weights_that_are_no_weights_are_refused(weights):
    with pytest.raises(ParameterError):
        split_epsilon(Decimal(1), weights)


# -- A learner of two joined tables: what it asks moves by one row where a person is emptied in both ------------------


EPSILON = 2.0
PLAN = Plan.from_plain(
    {
        "epsilon": 1.0,
        "unit": "who",
        "invalid": "replace",
        "join": {"on": "who"},
        "column": [
            {"name": "who", "action": "drop"},
            {"name": "days", "kind": "integer", "lower": 0, "upper": 9},
            {"name": "age", "kind": "integer", "lower": 0, "upper": 9},
            {"name": "sex", "kind": "category", "domain": ["f", "m"]},
        ],
    }
)
VISITS = [("a", "9"), ("a", "0"), ("b", "9"), ("a", "5"), (None, "3")]
PEOPLE = [("a", "0", "f"), ("b", "9", "m"), ("a", "9", "m"), ("c", "4", "f")]


def heard(emptied: str, key: int, script: dict[str, list[int]]) -> tuple[Heard, Cost]:
    """What is asked, by the keys of a seed, where the rows of a person are empty in both tables."""
    sides = [[(None,) * len(row) if row[0] == emptied else row for row in rows] for rows in (VISITS, PEOPLE)]
    left, right = (
        Table(pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row"), names[-1])
        for rows, names in zip(sides, (("who", "days"), ("who", "age", "sex")), strict=True)
    )
    rows = PLAN.rows_of(join_on_person(left, right, "who", "who", SeededEntropy(key)), SeededEntropy(key + 1))
    chosen, noise = learner("naive-bayes"), CheckingNoise(script, None)
    estimator = unfitted(chosen, chosen.parameters.from_plain({"epsilon": EPSILON, "noise_limit": 1e6}), PLAN, "sex")
    fit_on(estimator.set_params(noise=noise), rows, columns_of(PLAN, "sex"))
    assert noise.paid is not None
    return noise.heard, noise.paid


def test_emptying_a_person_in_both_tables_moves_what_is_asked_by_no_more_than_one_row():
    found = []
    for key, person in itertools.product(range(0, 20, 2), "abc"):
        script: dict[str, list[int]] = {}
        found.append(spent(heard("", key, script), heard(person, key, script)))
    assert 0.5 * EPSILON < max(found) <= EPSILON * (1 + 1e-12)
    assert min(found) == 0  # a person of the second table alone is nowhere


# -- A δ is used where queries are many enough that Gaussian noise is less, by a forecast that reads no row


COLUMNS = [Attribute(name=f"x{j}", kind="real", lower=0.0, upper=1.0) for j in range(6)]
TARGETS = {
    "classification": Attribute(name="y", kind="category", domain=("a", "b")),
    "regression": Attribute(name="y", kind="real", lower=0.0, upper=1.0),
}
GIVEN = [entry for entry in LEARNERS if "delta" in entry.parameters.declared() and entry.name != "linear-regression"]


def cost_of(name: str, rows: int, delta: float | None, epsilon: float = 1.0) -> tuple[float, set[type]]:
    chosen = learner(name)
    target = TARGETS.get(chosen.task, TARGETS["classification"])
    parameters = chosen.parameters.from_plain({"epsilon": epsilon} | ({} if delta is None else {"delta": delta}))
    made = chosen.private(COLUMNS, target, parameters, Study(np.random.default_rng(1)))
    cost = made.cost(rows)
    assert cost is not None
    assert (float(cost.epsilon), made.gaussian(rows)) == (epsilon, cost.delta > 0)
    return float(cost.delta), {type(event) for event in made.events(rows)}


@pytest.mark.parametrize("name", [entry.name for entry in GIVEN])
def test_few_queries_are_paid_in_epsilon_and_many_in_rho(name):
    assert cost_of(name, 60, 1e-6) == (0.0, {PureDp})
    assert cost_of(name, 60, None) == (0.0, {PureDp})
    many = 1e-4 if name in ("naive-bayes", "random-forest", "forest-regression") else 1e-6
    assert cost_of(name, 40_000, many) == (many, {ZeroConcentrated})


def test_a_card_of_a_delta_that_did_not_pay_has_none_and_verifies(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = [f"{i % 7 / 7:.2f},{'ab'[i % 2]}" for i in range(40)]
    Path("t.csv").write_text("\n".join(["x,y", *rows]) + "\n", encoding="utf-8")
    Path("p.toml").write_text(
        'version = 1\nepsilon = 1.0\n[[column]]\nname = "x"\nkind = "real"\nlower = 0.0\nupper = 1.0\n'
        '[[column]]\nname = "y"\nkind = "category"\ndomain = ["a", "b"]\n',
        encoding="utf-8",
    )
    fit = ["fit", "t.csv", "--model", "random-forest", "--target", "y", "--bounds", "p.toml", "--ledger", "l.sqlite"]
    unused = ["--epsilon", "100", "--delta", "0.025", "-o", "none"]
    assert main([*fit, *unused]) == 2
    assert "delta = 0.025 is not below 1/rows = 0.025" in capsys.readouterr().err
    assert main([*fit, "--epsilon", "1", "--delta", "1e-4", "-o", "model"]) == 0
    card = read_card(tmp_path / "model")
    assert (card["guarantee"]["epsilon"], card["guarantee"]["delta"]) == ("1", "0")
    assert "Laplace" in card["guarantee"]["randomness"]
    assert contradictions(card, tmp_path / "model") == []
