"""A model trained on a released table: the corrected one, verified first, free, and never half-written."""

import json
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from release_cases import certificate_of, die_at, names_in, plan_of, release, run_to_exit, table_of
from released import release_table

from workbench.data.columns.grid import matrix
from workbench.data.table import Table
from workbench.data.table_reader import read_table
from workbench.learners import Learner
from workbench.learners.dbscan import DBSCAN
from workbench.learners.linear_regression.estimator import LINEAR_REGRESSION
from workbench.learners.naive_bayes.estimator import NAIVE_BAYES
from workbench.params import CancelledError, InputError, ParameterError
from workbench.release.certificate import checksum, ledger_facts, read_card
from workbench.release.ledger.ledger import Ledger
from workbench.release.model.on_release import ModelOnRelease, fit_on_release, train_on_release
from workbench.release.model.open_model import open_model
from workbench.release.verify import VerifiedRelease, verified_release, verify_in_ledger, verify_release
from workbench.sanitize.plan import Column, Plan
from workbench.signals import Progress
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Event
from workbench.studies.regimes import Fit, Regime, StudyData, predictions

DIABETES = {"Pregnancies": 20, "Glucose": 250, "BloodPressure": 150, "BMI": 70, "Age": 100}
CARD, MODEL = "card.json", "model.json"


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """A folder with a release of the little table, and what charged it."""
    folder = tmp_path_factory.mktemp("original")
    release(folder / "ledger.sqlite", folder / "people.csv", rows=400, epsilon=9.0)
    return folder


@pytest.fixture
def folder(original, tmp_path):
    shutil.copytree(original, tmp_path / "here")
    return tmp_path / "here"


def train(folder: Path, chosen: Learner = NAIVE_BAYES, target: str = "city", **more: Any) -> ModelOnRelease:
    return train_on_release(chosen, folder / "people.csv", None, target, folder / "model", **more)


def released_by(plan: Plan, table: Table, folder: Path) -> VerifiedRelease:
    with Ledger.open(folder / "l.sqlite") as ledger:
        release_table(plan, table, folder / "t.csv", ledger)
    return verified_release(folder / "t.csv")


@pytest.mark.parametrize(
    ("chosen", "target", "epsilon"), [(NAIVE_BAYES, "Outcome", 12.0), (LINEAR_REGRESSION, "Age", 90.0)]
)
def test_it_predicts_what_the_corrected_regime_does_on_the_same_cells(
    shared_data, tmp_path, monkeypatch, chosen, target, epsilon
):
    """Six columns share ε in equal parts without a remainder, so that study and release have the very same tables."""
    columns = [Column(name=name, kind="real", lower=0.0, upper=float(top), cells=30) for name, top in DIABETES.items()]
    plan = Plan(epsilon=epsilon, columns=(*columns, Column(name="Outcome", kind="category", domain=("0", "1"))))
    whole = read_table(shared_data / "diabetes.csv")
    table = Table(whole.frame.select([*DIABETES, "Outcome"]), "diabetes")
    released = released_by(plan, table, tmp_path)
    made = train_on_release(chosen, tmp_path / "t.csv", None, target, tmp_path / "model")

    data = StudyData.read(table, plan, target, chosen.task)
    order = (*data.columns, data.target)
    cells = np.column_stack([c.grid().encode(released.table).astype(np.int64) for c in order])
    monkeypatch.setattr(StudyData, "sanitised_cells", lambda *_: cells)
    every = np.arange(len(cells))
    fit = Fit(Regime.parse("corrected:plan"), epsilon, 0)
    wanted = predictions(fit, data, chosen, None, every, every, seed=1, sanitised_truth=False)

    opened = open_model(tmp_path / "model")
    X = matrix(table, opened.attributes)
    assert [a.name for a in opened.attributes] == [c.name for c in data.columns]
    assert np.array_equal(opened.model.predict(X), wanted.predicted)
    assert np.array_equal(made.model.predict(X), wanted.predicted)
    if wanted.scores is not None:
        assert np.array_equal(opened.model.predict_proba(X), wanted.scores)  # type: ignore[attr-defined]


def test_the_card_names_the_release_and_costs_nothing_beyond_it(folder):
    made = train(folder)
    assert names_in(folder / "model") == {MODEL, CARD}
    assert verify_release(folder / "model") == []
    card, certificate = read_card(folder / "model"), certificate_of(folder / "people.csv")
    assert card == made.card
    assert "release_id" not in card
    assert card["made_from"] == {
        "release_id": certificate["release_id"],
        "time": certificate["time"],
        "file": "people.csv",
        "sha256": certificate["output"]["sha256"],
        "certificate": certificate["checksum"],
    }
    assert card["guarantee"]["statement"].startswith("Trained on a release: costs nothing beyond it.")
    assert (card["guarantee"]["epsilon"], card["guarantee"]["replace_one"]["epsilon"]) == ("9", 9.0)
    assert (made.epsilon, made.rows, made.release_id) == (9.0, 400, certificate["release_id"])
    with Ledger.read(folder / "ledger.sqlite") as ledger:
        assert len(ledger.releases()) == 1
        assert verify_in_ledger(ledger_facts(card), ledger) == []
        forged = {**card, "made_from": {**card["made_from"], "certificate": "0" * 64}}
        assert verify_in_ledger(ledger_facts(forged), ledger) == ["the certificate is not the one that was released"]
    again = fit_on_release(NAIVE_BAYES, verified_release(folder / "people.csv"), "city")
    assert again.files[MODEL] == made.files[MODEL], "whoever has the release can make the same model"


def test_no_ledger_is_opened_and_no_raw_row_is_there_to_be_read(folder, monkeypatch):
    (folder / "ledger.sqlite").unlink()

    def never(*given: object) -> None:
        raise AssertionError("a ledger was opened")

    monkeypatch.setattr(Ledger, "open", never)
    monkeypatch.setattr(Ledger, "read", never)
    train(folder)
    assert "ledger.sqlite" not in names_in(folder)


def test_every_change_of_the_model_or_its_card_is_found(folder):
    card = train(folder).card

    def damaged(change: Callable[[Path], object]) -> list[str]:
        shutil.rmtree(folder / "copy", ignore_errors=True)
        shutil.copytree(folder / "model", folder / "copy")
        change(folder / "copy")
        return verify_release(folder / "copy")

    def rewrite(*, forged: bool = True, **keys: Any) -> Callable[[Path], object]:
        document = {**card, **keys}
        if forged:
            document["checksum"] = checksum(document)
        return lambda at: (at / CARD).write_text(json.dumps(document))

    assert damaged(lambda at: None) == []
    assert any("SHA-256 differs" in p for p in damaged(lambda at: (at / MODEL).write_text("{}")))
    for key in card:
        assert damaged(rewrite(forged=False, **{key: {"rows": 7, "version": 3}.get(key, "x")})), key
    assert damaged(rewrite(release_id="0" * 16)), "charged and free at once"
    twice = {**card["guarantee"], "replace_one": {"epsilon": 18.0, "delta": 0.0}}
    assert any("replace-one" in p for p in damaged(rewrite(guarantee=twice)))
    asked = {**card["training"], "queries": [{"label": "sizes", "epsilon": "9"}]}
    assert any("has no queries to the rows" in p for p in damaged(rewrite(training=asked)))
    for key in ("release_id", "certificate", "sha256"):
        assert damaged(rewrite(made_from={**card["made_from"], key: "x"})), key


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"model": "dbscan"}, "dbscan cannot learn from a release"),
        ({"model": "linear-regression"}, "the target is declared as category, not as numeric"),
        ({"model": "mlp"}, "a network cannot be trained on a release"),
        (
            {"inputs": [{"name": "age", "kind": "boolean"}, {"name": "city", "kind": "boolean"}]},
            "uses columns that it does not have",
        ),
    ],
)
def test_a_card_that_vouches_for_another_model_is_refused(folder, keys, said):
    document = {**train(folder).card, **keys}
    document["checksum"] = checksum(document)
    (folder / "model" / CARD).write_text(json.dumps(document))
    assert said in verify_release(folder / "model")[0]
    with pytest.raises(InputError, match=said):
        open_model(folder / "model")


@pytest.mark.parametrize("what", ["file", "certificate", "forged"])
def test_a_tampered_release_is_refused_and_leaves_nothing(folder, what):
    path = folder / "people.csv.certificate.json"
    if what == "file":
        text = (folder / "people.csv").read_text("utf-8")
        (folder / "people.csv").write_text(text.replace("Graz", "Linz", 1), "utf-8")
    else:
        document = json.loads(path.read_text("utf-8"))
        document["columns"][0]["epsilon"] = "0.5"
        if what == "forged":
            document["checksum"] = checksum(document)
        path.write_text(json.dumps(document), "utf-8")
    before = names_in(folder)
    with pytest.raises(InputError, match="the release does not match its certificate"):
        train(folder)
    assert names_in(folder) == before


def test_a_certificate_elsewhere_is_taken_where_it_is_named(folder):
    (folder / "people.csv.certificate.json").rename(folder / "paper.json")
    with pytest.raises(InputError, match="no certificate next to the file"):
        train(folder)
    train_on_release(NAIVE_BAYES, folder / "people.csv", folder / "paper.json", "city", folder / "model")
    assert verify_release(folder / "model") == []


def test_what_cannot_be_predicted_or_learned_from_is_one_sentence(tmp_path):
    columns = (
        Column(name="age", kind="integer", lower=0.0, upper=120.0),
        Column(name="city", kind="category", domain=("Graz", "Linz", "Wien")),
        Column(name="pay", action="keep"),
        Column(name="name", action="drop"),
    )
    table = Table(table_of(60).frame.with_columns(pl.lit("somebody").alias("name")), "people.csv")
    released = released_by(Plan(epsilon=4.0, columns=columns), table, tmp_path)

    def said(target: str, chosen: Learner = NAIVE_BAYES) -> str:
        with pytest.raises(ParameterError) as raised:
            fit_on_release(chosen, released, target)
        return str(raised.value)

    assert said("name") == (
        "the release contains no column 'name': its plan dropped it; choose the target from age, city"
    )
    assert "publishes the column 'pay' as it is, without declaring" in said("pay")
    assert "no column 'ctiy', did you mean 'city'?" in said("ctiy")
    assert said("age").startswith("the target is declared as integer, not category or boolean (column age)")
    assert "write kind" not in said("age"), "what a release declares cannot be declared otherwise"
    assert said("city", DBSCAN).startswith(
        "the model “DBSCAN on a grid” cannot learn from a release; choose one of naive-bayes, "
    )
    made = fit_on_release(NAIVE_BAYES, released, "city")
    assert made.card["outside_guarantee"] == ["Published as it is, covered by no epsilon: pay."]
    assert [a.name for a in made.model.facts.attributes] == ["age"]


def test_one_protected_column_is_nothing_to_learn_from(tmp_path):
    columns = (Column(name="city", kind="category", domain=("Graz", "Linz", "Wien")), Column(name="age", action="keep"))
    table = Table(table_of(30).frame.select(["city", "age"]), "people.csv")
    released = released_by(Plan(epsilon=2.0, columns=columns), table, tmp_path)
    with pytest.raises(ParameterError, match="protects no column besides 'city': there is nothing to learn from"):
        fit_on_release(NAIVE_BAYES, released, "city")


def test_values_that_a_certificate_only_counts_are_those_of_the_released_file(tmp_path):
    columns = (
        Column(name="city", kind="category", domain=("Graz", "Linz", "Wien"), bounds_origin="data"),
        Column(name="age", kind="integer", lower=0.0, upper=120.0, bounds_origin="data"),
    )
    table = Table(table_of(200).frame.select(["city", "age"]), "people.csv")
    released = released_by(Plan(epsilon=6.0, columns=columns), table, tmp_path)
    made = fit_on_release(NAIVE_BAYES, released, "city")
    assert made.model.facts.target.values() == ("Graz", "Linz", "Wien")
    (outside,) = made.card["outside_guarantee"]
    assert "read off the data, and no epsilon covers that: city (3 values), age (bounds of 121 cells)" in outside
    assert made.opened().attributes[0].bounds() == (0.0, 120.0)


@pytest.mark.parametrize(("chosen", "target"), [(NAIVE_BAYES, "city"), (LINEAR_REGRESSION, "pay")])
def test_a_total_release_is_learned_from_without_a_class_of_nothing(folder, tmp_path, chosen, target):
    frame = table_of(300).frame.with_columns(
        pl.when(pl.int_range(300) % 10 == 0).then(None).otherwise(pl.col(name)).alias(name) for name in ("city", "pay")
    )
    released = released_by(plan_of(9.0, invalid="replace"), Table(frame, "people.csv"), tmp_path)
    opened = fit_on_release(chosen, released, target).opened()
    assert opened.target.missing == "refuse"
    assert all(a.missing == "own-value" for a in opened.attributes)
    rows = list(opened.predict(Table(frame, "people.csv").with_invalid_replaced()))
    assert len(rows) == 300
    if chosen is NAIVE_BAYES:
        assert {row[0] for row in rows} <= {"Graz", "Linz", "Wien"}


@pytest.mark.parametrize(("chosen", "target"), [(NAIVE_BAYES, "kind"), (LINEAR_REGRESSION, "pay")])
def test_a_column_of_too_many_names_is_left_out_and_said_so(tmp_path, chosen, target):
    generator = np.random.default_rng(1)
    names = tuple(f"town {i}" for i in range(6000))
    frame = pl.DataFrame(
        {
            "town": generator.choice(names, 80),
            "kind": generator.choice(["a", "b"], 80),
            "pay": generator.integers(0, 9, 80).astype(str),
        }
    )
    columns = (
        Column(name="town", kind="category", domain=names),
        Column(name="kind", kind="category", domain=("a", "b")),
        Column(name="pay", kind="integer", lower=0.0, upper=9.0),
    )
    made = fit_on_release(chosen, released_by(Plan(epsilon=9.0, columns=columns), Table(frame, "t"), tmp_path), target)
    assert "town" not in made.model.attributes_used
    assert made.uses.startswith(("It looks at 1 of 2 columns", "It looks at none"))
    alone = Plan(epsilon=9.0, columns=tuple(c for c in columns if c.name in ("town", target)))
    (tmp_path / "alone").mkdir()
    lonely = released_by(alone, Table(frame.select(["town", target]), "t"), tmp_path / "alone")
    assert "always says the same" in fit_on_release(chosen, lonely, target).uses


def test_progress_is_told_by_column_and_a_cancel_leaves_nothing(folder):
    seen: list[Event] = []
    train(folder, emit=seen.append)
    labels = [event.label for event in seen if isinstance(event, Progress)]
    assert labels[0] == "verifying"
    assert {"column age", "column pay", "column city"} <= set(labels)
    shutil.rmtree(folder / "model")
    before = names_in(folder)
    for stop_at in ("verifying", "column age", "column city"):
        cancel = CancelToken()

        def stop(event: Event, cancel: CancelToken = cancel, stop_at: str = stop_at) -> None:
            if isinstance(event, Progress) and event.label == stop_at:
                cancel.cancel()

        with pytest.raises(CancelledError):
            train(folder, emit=stop, cancel=cancel)
        assert names_in(folder) == before


def test_an_existing_folder_is_refused_before_the_release_is_read(folder):
    (folder / "model").mkdir()
    (folder / "model" / "mine.txt").write_text("keep me")
    (folder / "people.csv").unlink()
    with pytest.raises(InputError, match="exists already"):
        train(folder)
    assert names_in(folder / "model") == {"mine.txt"}
    with pytest.raises(InputError, match="folder of the output does not exist"):
        train_on_release(NAIVE_BAYES, folder / "people.csv", None, "city", folder / "no" / "model")


def test_a_name_for_which_a_certificate_waits_is_refused_before_the_release_is_read(folder):
    shutil.copy(folder / "people.csv.certificate.json", folder / "model.certificate.json")
    before = names_in(folder)
    with pytest.raises(InputError) as raised:
        train(folder)
    assert raised.value.code == "output-taken"
    assert names_in(folder) == before


def test_others_may_read_it_as_far_as_any_released_model(folder):
    train(folder)
    mode = stat.S_IMODE((folder / "people.csv").stat().st_mode)
    for name in (MODEL, CARD):
        assert stat.S_IMODE((folder / "model" / name).stat().st_mode) == mode


def train_and_die(folder: Path, owner: str, attribute: str, after: bool) -> None:
    die_at(owner, attribute, 1, after)
    train(folder)


@pytest.mark.parametrize(
    ("owner", "attribute", "after"),
    [
        ("workbench.release.model.on_release", "fit_on_release", False),
        ("workbench.release.part_files:DrawFolder", "write", True),
        ("os", "replace", False),
        ("os", "replace", True),
    ],
)
def test_a_killed_run_leaves_no_half_model_and_the_next_one_clears_up(folder, owner, attribute, after):
    before = names_in(folder)
    waits = folder / "model.0123abcd.part"  # a draw that somebody has paid for is none of ours
    waits.mkdir()
    assert run_to_exit(train_and_die, folder, owner, attribute, after) == -9
    left = names_in(folder) - before - {waits.name}
    assert len(left) == 1
    if (folder / "model").exists():
        assert verify_release(folder / "model") == []
        return
    assert left.pop().endswith(".tmp.part")
    train(folder)
    assert names_in(folder) == before | {"model", waits.name}
    assert verify_release(folder / "model") == []
