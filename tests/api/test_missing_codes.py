"""Codes that a plan declares missing are missing in everything that is made of the rows by that plan."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from workbench import api
from workbench.cli import main

pytestmark = pytest.mark.filterwarnings("ignore::workbench.api.PrivateStudyWarning")

ROWS = 200
CODES = {"age": [-9, 99], "town": ["9"], "ill": ["none"]}
PLAN = api.plan(
    epsilon=30,
    bounds={"age": (0, 90)},
    kinds={"age": "integer"},
    domains={"town": ["Graz", "Linz", "Wien"], "ill": ["no", "yes"]},
    missing=["age", "town"],
    missing_codes=CODES,
    invalid="replace",
)


def rows(seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return rows whose missing values are written as codes, and the same with empty cells."""
    rng = np.random.default_rng(seed)
    age, town = rng.integers(0, 90, ROWS), rng.choice(["Graz", "Linz", "Wien"], ROWS)
    ill = np.where(rng.random(ROWS) < age / 90, "yes", "no")
    coded = pd.DataFrame({"age": age, "town": town, "ill": ill}, dtype=object)
    empty = coded.copy()
    for name, codes in CODES.items():
        lost = np.flatnonzero(rng.random(ROWS) < 0.2)
        coded.loc[lost, name] = [codes[at % len(codes)] for at in lost]
        empty.loc[lost, name] = None
    return coded, empty


USED, OTHER = rows(1), rows(2)


def trained(frame: pd.DataFrame, folder: Path, batch: int = ROWS) -> list[float]:
    """Train a network; steps that use all rows, nearly without noise, leave no difference but that of the rows.

    Returned are the chances of public rows, and the accuracy on them.
    """
    pytest.importorskip("torch")
    how = {"network": "logistic", "delta": 1e-3, "batch": batch, "epochs": 10, "lr": 0.5, "clip": 1.0}
    test = USED[0] if frame is USED[0] else USED[1]
    pays = {"account": "people", "ledger": folder / "l.db", "output": folder / "n"}
    made = api.train(frame, PLAN, "ill", **how, noise=0.01, test=test, test_public=True, **pays)
    return [*made.predict_proba(USED[1])[:, 1], made.card["training"]["accuracy"]["value"]]


def reported(frame: pd.DataFrame, folder: Path) -> dict[str, object]:
    return api.report(frame, folder / "r.html", plan=PLAN, quasi=["age", "town"], sensitive="ill")["risk"]


WAYS = {
    "release": lambda frame, folder: api.release(frame, PLAN, seed=1).astype(str).to_numpy().tolist(),
    "synthesize": lambda frame, folder: api.synthesize(frame, PLAN, seed=1).astype(str).to_numpy().tolist(),
    "statistics": lambda frame, folder: api.statistics(frame, PLAN, seed=1)["estimate"].tolist(),
    "curve": lambda frame, folder: api.curve(frame, PLAN, "ill", epsilons=[1], repeats=2)["value"].tolist(),
    "why": lambda frame, folder: api.why(frame, PLAN, "ill", repeats=2)["mean"].tolist(),
    "risk": lambda frame, folder: api.risk(frame, ["age", "town"], "ill", plan=PLAN, population=frame),
    "anonymity": lambda frame, folder: api.anonymity(frame, ["age", "town"], "ill", plan=PLAN),
    "hierarchies": lambda frame, folder: api.anonymity(
        frame, "town", "age", plan=PLAN, hierarchies={"age": "intervals"}, distance="hierarchical"
    ),
    "report": reported,
    "network": trained,
}


@pytest.mark.parametrize("way", WAYS)
def test_codes_are_read_as_empty_cells_are(way, folder):
    coded, empty = (
        WAYS[way](frame, folder / str(at)) for at, frame in enumerate(USED) if not (folder / str(at)).mkdir()
    )
    assert coded == pytest.approx(empty, abs=0.003) if way == "network" else coded == empty


@pytest.fixture(scope="module", params=["naive-bayes", "logistic"])
def model(request, tmp_path_factory):
    """A model of rows with codes: a learner's, and a network."""
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "logistic":
        trained(USED[0], folder, ROWS // 2)
        return folder / "n"
    (folder / "p.toml").write_text(PLAN.to_toml(), "utf-8")
    USED[0].to_csv(folder / "t.csv", index=False)
    words = ("--target", "ill", "--epsilon", "30", "--bounds", str(folder / "p.toml"), "--ledger", str(folder / "l.db"))
    assert main(["fit", str(folder / "t.csv"), "--model", request.param, *words, "-o", str(folder / "m")]) == 0
    return folder / "m"


def test_a_model_reads_codes_where_it_predicts(model, folder):
    said = []
    for at, frame in enumerate(OTHER):
        frame.to_csv(f"{at}.csv", index=False)
        assert main(["predict", f"{at}.csv", "--model", str(model), "-o", f"said{at}.csv"]) == 0
        said.append((Path(f"said{at}.csv").read_bytes(), api.load_model(model).predictions(frame).to_numpy().tolist()))
    assert said[0] == said[1]


@pytest.mark.parametrize("attack", [{"name": "membership", "shadows": 2}, {"name": "inversion"}], ids=str)
def test_a_model_is_attacked_by_rows_with_codes(model, attack, folder):
    filled = [frames[1]["ill"].notna() for frames in (USED, OTHER)]  # who has nothing to predict is not attacked
    coded, empty = (
        api.attack(**attack, model=model, members=USED[k][filled[0]], nonmembers=OTHER[k][filled[1]]) for k in (0, 1)
    )
    assert coded == empty
