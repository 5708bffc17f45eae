"""Models trained on a release from Python: free, the same as the command's, and applied to DataFrames."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pandas as pd
import pytest

from workbench import api
from workbench.cli import main
from workbench.params import InputError, ParameterError


@pytest.fixture
def released(people, folder: Path):
    """The forty people, released with their certificate; the ledger is gone."""
    plan = api.plan(
        epsilon=9, bounds={"age": (0, 99), "income": (0.0, 9000.0)}, domains={"sex": ["female", "male"]}, drop=["name"]
    )
    api.release(people, plan, ledger="ledger.sqlite", account="people", output="out.csv")
    (folder / "ledger.sqlite").unlink()
    return people


def test_it_learns_from_the_release_alone_and_predicts_a_frame(released, folder: Path) -> None:
    before = sorted(folder.iterdir())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = api.fit_on_release("out.csv", target="sex")
    assert sorted(folder.iterdir()) == before
    assert (model.epsilon, model.charged) == (9.0, 0.0)
    predicted = model.predictions(released)
    assert list(predicted.columns) == ["predicted sex", "probability of female", "probability of male"]
    assert list(predicted["predicted sex"]) == list(model.predict(released))
    assert set(predicted["predicted sex"]) <= {"female", "male"}
    assert list(predicted.index) == list(released.index)
    line = api.fit_on_release("out.csv", target="income", model="linear-regression")
    assert ((line.predict(released) >= 0) & (line.predict(released) <= 9000)).all()


def test_what_is_written_is_what_the_command_writes(released, folder: Path) -> None:
    model = api.fit_on_release("out.csv", "out.csv.certificate.json", target="sex", output="model")
    assert api.verify("model") == []
    words = ["--on-release", "out.csv", "--model", "naive-bayes", "--target", "sex", "-o", "other"]
    assert main(["fit", *words]) == 0
    assert (folder / "model" / "model.json").read_bytes() == (folder / "other" / "model.json").read_bytes()
    loaded = api.load_model("model")
    assert loaded.charged == 0.0
    assert loaded.card == model.card
    pd.testing.assert_frame_equal(loaded.predictions(released), model.predictions(released))


def test_what_cannot_be_is_one_sentence(released, folder: Path) -> None:
    with pytest.raises(ParameterError, match="“DBSCAN on a grid” cannot learn from a release"):
        api.fit_on_release("nowhere.csv", target="sex", model="dbscan")
    with pytest.raises(ParameterError, match="its plan dropped it"):
        api.fit_on_release("out.csv", target="name")
    path = folder / "out.csv.certificate.json"
    document = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps({**document, "rows": 41}), "utf-8")
    with pytest.raises(InputError, match="its checksum differs"):
        api.fit_on_release("out.csv", target="sex")
