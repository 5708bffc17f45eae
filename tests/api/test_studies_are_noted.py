"""A study from Python is noted in the ledger as one of the command line is; a release is none."""

import json
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import cross_val_score

from workbench import api
from workbench.api.frames import table_of
from workbench.params import InputError
from workbench.release.ledger.ledger import Ledger
from workbench.release.statements import CHOSEN

pytestmark = pytest.mark.filterwarnings("ignore::workbench.api.PrivateStudyWarning")

PLAN = api.plan(epsilon=1, bounds={"a": (0, 400.5), "d": (0, 400.5)}, domains={"b": ["x", "y"], "c": ["n", "p"]})
ROWS = pd.DataFrame(
    {
        # Two columns that tell rows apart: a fold is recognised as a version of the table.
        "a": np.random.default_rng(1).uniform(0, 400, 400).round(3),
        "d": np.random.default_rng(2).uniform(0, 400, 400).round(3),
        "b": ["x", "y", "y", "x", "y"] * 80,
        "c": ["n", "n", "p", "p"] * 100,
    }
)


def bayes(**more):
    bounds = {"a": (0, 400.5), "d": (0, 400.5)}
    return api.NaiveBayes(epsilon=1, bounds=bounds, domains={"b": ["x", "y"]}, classes=["n", "p"], **more)


STUDIES = {
    "curve": lambda **more: api.curve(ROWS, PLAN, "c", epsilons=[1], repeats=2, regimes=["private"], **more),
    "why": lambda **more: api.why(ROWS, PLAN, "c", repeats=2, **more),
    "risk": lambda **more: api.risk(ROWS, ["a", "b"], "c", **more),
    "preview": lambda **more: api.release(ROWS, PLAN, **more),
    "synthesize": lambda **more: api.synthesize(ROWS, PLAN, **more),
    "statistics": lambda **more: api.statistics(ROWS, PLAN, **more),
    "quality": lambda **more: api.quality(ROWS[::-1], ROWS, target="c", **more),
    "model": lambda **more: bayes(**more).fit(ROWS[["a", "b", "d"]], ROWS["c"]),
}
KINDS = {"synthesize": "preview", "statistics": "preview"}


def noted(path: Path | None = None) -> list[str]:
    with Ledger.read(path) as book:
        assert book.verify() == []
        return [f.study for f in book.figures()]


@pytest.mark.parametrize("name", STUDIES)
@pytest.mark.parametrize("own", [True, False], ids=["the user's", "named"])
def test_a_study_is_noted_in_the_ledger(folder, name, own):
    given = {} if own else {"study_ledger": folder / "book.sqlite"}
    for _ in range(2):
        STUDIES[name](**given)
    assert noted(None if own else folder / "book.sqlite") == [KINDS.get(name, name)]
    if not own:
        assert noted() == []


@pytest.mark.parametrize("name", STUDIES)
def test_where_it_cannot_be_noted_there_is_no_study(folder, name):
    with Ledger.open(folder / "book.sqlite") as book:
        book.move(folder / "moved.sqlite")
    with pytest.raises(InputError, match="moved"):
        STUDIES[name](study_ledger=folder / "book.sqlite")


def test_generated_rows_are_not_noted(folder):
    api.why(None, PLAN, "c", rows=60, repeats=2, study_ledger=folder / "book.sqlite")
    assert not (folder / "book.sqlite").exists()


def test_a_release_is_not_noted_and_a_later_card_says_what_was(folder):
    X, y = ROWS[["a", "b", "d"]], ROWS["c"]
    with Ledger.open(folder / "book.sqlite") as book:
        table = book.identify(table_of(ROWS))
        book.set_cap(table, Decimal(10))
        book.set_name(table, "people")
    bayes(ledger=folder / "book.sqlite", account="people", output=folder / "before").fit(X, y)
    assert noted(folder / "book.sqlite") == []
    scores = cross_val_score(bayes(study_ledger=folder / "book.sqlite"), X, y, cv=4)
    assert len(scores) == 4
    assert noted(folder / "book.sqlite") == ["model"], "the folds are versions of one table"
    bayes(ledger=folder / "book.sqlite", account="people", output=folder / "after").fit(X, y)
    for output, outside in (("before", False), ("after", True)):
        card = json.loads((folder / output / "card.json").read_text("utf-8"))
        assert (CHOSEN in card["outside_guarantee"]) == outside
        assert api.verify(folder / output) == []
