"""Models that predict nothing are released of all columns where nobody names a target."""

import tomllib
from decimal import Decimal
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from workbench import learners
from workbench.data.schema import OWN_VALUE, Attribute
from workbench.data.table import Table
from workbench.learners.tasks import EMPTY, NO_TARGET
from workbench.params import ParameterError
from workbench.release.bundle import plan_text
from workbench.release.certificate import read_card
from workbench.release.described_release import release_at
from workbench.release.documents.release_document import release_document
from workbench.release.ledger.ledger import Ledger
from workbench.release.model.open_model import open_model
from workbench.release.model.preflight import preflight
from workbench.release.model.release_learner import FitTask, release_fit
from workbench.release.verify import verify_release
from workbench.render.document import FactList, Grid
from workbench.sanitize.learner_advice import can_learn
from workbench.sanitize.plan import Plan
from workbench.signals import NEVER
from workbench.work.noise import Exact, Study

ALONE = [entry for entry in learners.LEARNERS if not entry.predicts]
COLUMNS = (
    {"name": "size", "kind": "real", "lower": 0, "upper": 10},
    {"name": "age", "kind": "integer", "lower": 0, "upper": 100},
    {"name": "sex", "kind": "category", "domain": ["f", "m"]},
)
PLAN = Plan.from_plain({"epsilon": 1.0, "column": [{**column, "action": "protect"} for column in COLUMNS]})
ATTRIBUTES = tuple(Attribute.from_plain({**column, "missing": OWN_VALUE}) for column in COLUMNS)
LABEL = Attribute(name="label", kind="category", domain=("a", "b"))


def rows_of(count: int) -> Table:
    cells = {"size": [f"{i % 11}" for i in range(count)], "age": [f"{i % 90}" for i in range(count)]}
    return Table(pl.DataFrame({**cells, "sex": ["fm"[i % 2] for i in range(count)]}), "people.csv")


@pytest.mark.parametrize("chosen", ALONE, ids=lambda entry: entry.name)
def test_it_is_released_of_all_columns_charged_and_verified(chosen: learners.Learner, tmp_path: Path) -> None:
    table, folder = rows_of(200), tmp_path / "model"
    parameters = chosen.parameters.from_plain({"epsilon": 1.0})
    found = preflight(chosen, parameters, PLAN, None, table.rows)
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        done = release_fit(FitTask(chosen, parameters, PLAN, None, table, folder, agreed=found.epsilon), ledger)
    assert done.epsilon_charged == Decimal(1)
    assert verify_release(folder) == []
    opened = open_model(folder)
    assert [a.name for a in opened.attributes] == ["size", "age", "sex"]
    assert len(list(opened.predict(table))) == table.rows
    card = read_card(folder)
    text = plan_text(release_at(folder))
    assert [column["name"] for column in tomllib.loads(text)["column"]] == ["size", "age", "sex"]
    parts = {section.title: section.blocks[0] for section in release_document(card, "model").sections}
    facts, columns = parts["What was released"], parts["The columns it reads"]
    assert isinstance(facts, FactList)
    assert isinstance(columns, Grid)
    assert ("Target, predicted or left out", "nothing") in facts.lines
    assert [name for name, *_ in columns.rows] == ["size", "age", "sex"]


def test_a_card_says_that_an_empty_row_has_no_value_and_not_that_it_has_no_class(tmp_path: Path) -> None:
    chosen, folder = ALONE[0], tmp_path / "model"
    total = Plan.from_plain({**PLAN.to_plain(), "invalid": "replace"})
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        release_fit(FitTask(chosen, chosen.parameters(epsilon=1.0), total, None, rows_of(50), folder), ledger)
    statement = read_card(folder)["guarantee"]["statement"]
    assert "; an empty row, all its values missing, contributes nothing." in statement
    assert "class" not in statement
    assert verify_release(folder) == []


@pytest.mark.parametrize("chosen", ALONE, ids=lambda entry: entry.name)
def test_it_learns_what_it_learns_beside_a_column_that_is_left_out(chosen: learners.Learner) -> None:
    generator = np.random.default_rng(5)
    X = np.column_stack([generator.uniform(0, 10, 90), generator.integers(0, 100, 90), generator.integers(0, 2, 90)])
    given = {"epsilon": 1.0, **({"groups": 2} if "groups" in chosen.parameters.declared() else {})}
    parameters = chosen.parameters.from_plain(given)
    X[7] = [np.nan, np.nan, 2]  # an empty row
    fits = []
    for target, y in ((LABEL, np.where(np.arange(90) == 7, EMPTY, 0)), (NO_TARGET, np.zeros(90))):
        noise = Study(np.random.default_rng(3))
        fits.append(chosen.private(ATTRIBUTES, target, parameters, noise).fit(X, y).to_plain()["answers"])
    assert fits[0] == fits[1]


@pytest.mark.parametrize("chosen", ALONE, ids=lambda entry: entry.name)
def test_a_row_without_any_value_adds_nothing_to_what_is_asked(chosen: learners.Learner) -> None:
    X = np.array([[1.0, 20.0, 0.0], [9.0, 60.0, 1.0], [np.nan, np.nan, 2.0], [np.nan, 30.0, 2.0]])

    def answers(rows: list[int]) -> object:
        made = chosen.private(ATTRIBUTES, NO_TARGET, chosen.parameters(), Exact())
        return made.learned(Exact().ask(None), 4, X[rows], np.zeros(len(rows)), NEVER).to_plain()["answers"]

    assert answers([0, 1, 2, 3]) == answers([0, 1, 3])
    assert answers([0, 1, 2, 3]) != answers([0, 1, 2]), "a row with one value is no empty one"


def test_a_model_that_predicts_is_refused_without_a_target() -> None:
    bayes = learners.learner("naive-bayes")
    with pytest.raises(ParameterError, match="no target column is set"):
        preflight(bayes, bayes.parameters(epsilon=1.0), PLAN, None, 200)
    fits = can_learn(PLAN, None)
    assert [entry.name for entry in learners.LEARNERS if fits(entry)] == [entry.name for entry in ALONE]


def test_groups_are_as_many_as_the_target_has_classes_and_three_without_one() -> None:
    kmeans = learners.learner("kmeans")
    groups = []
    for target in (LABEL, NO_TARGET):
        made = kmeans.private(ATTRIBUTES, target, kmeans.parameters(epsilon=5.0), Study(np.random.default_rng(1)))
        made.fit(np.tile([[1.0, 20.0, 0.0], [9.0, 60.0, 1.0]], (200, 1)), np.zeros(400))
        groups.append(len(made.model_.places_))
    assert groups == [2, 3]
