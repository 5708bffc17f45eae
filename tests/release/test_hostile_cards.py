"""A card of somebody else whose checksum was computed anew: it must not contradict itself, and nothing crashes."""

import copy
import hashlib
import json
import random
import re
import shutil
import tomllib
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from release_cases import release as release_rows
from released import release_table
from test_statistics_release import release as release_statistics
from test_synthetic_release import release as release_rows_of_nobody

from workbench.data.table import Table
from workbench.deep.features import Features
from workbench.deep.noise import FORMER_ON_GPU
from workbench.deep.plan import DpSgdPlan
from workbench.learners import LEARNERS, learner
from workbench.learners.naive_bayes.estimator import NAIVE_BAYES
from workbench.release.card import MODEL
from workbench.release.certificate import CARD, checksum
from workbench.release.ledger.ledger import Ledger
from workbench.release.model.network_task import NetworkTask
from workbench.release.model.on_release import train_on_release
from workbench.release.model.release_learner import FitTask, release_fit
from workbench.release.model.release_network import release_training
from workbench.release.verification import verify_any
from workbench.release.verify import verify_release
from workbench.sanitize.plan import Plan

ROWS = 200
COLUMNS = [
    {"name": "x", "kind": "real", "lower": 0, "upper": 10, "cells": 21},
    {"name": "z", "kind": "real", "lower": 0, "upper": 5, "cells": 11},
    {"name": "c", "kind": "category", "domain": ["a", "b"]},
    {"name": "v", "kind": "real", "lower": 0, "upper": 15, "cells": 31},
]
NETWORK, ON_RELEASE = "logistic", "on a release"
NAMES = [*(known.name for known in LEARNERS), NETWORK, ON_RELEASE]

FREE = {
    ("release_id",): "a random name, which the ledger knows",
    ("time",): "of a clock, which the ledger knows",
    ("program", "version"): "of the program that wrote the card; nothing is computed from it",
    ("rows",): "of learners whose queries do not depend on it; the ledger keeps the original card's checksum",
    ("outside_guarantee",): "what the plan says, which is not on a card; the ledger keeps the checksum",
    ("outside_guarantee", 0): "the same",
    ("inputs",): "public declarations of the plan: what is declared otherwise costs the same",
    ("training", "attributes_used"): "which of its columns a model looks at; the model is what is used",
    ("parameters", "lr"): "of a network: how its noisy sums are used, which costs nothing",
    ("made_from",): "names of a release that is not at hand: `verify` says that it cannot know the origin",
    ("guarantee",): "of a release that is not at hand; within itself it has to fit",
    ("training", "rows_per_person"): "of the same release",
}
"""What a valid card can say otherwise without contradicting itself, and why that is so."""

ONLY_NETWORK = (("parameters", "lr"),)
ONLY_ON_RELEASE = (("made_from",), ("guarantee",), ("training", "rows_per_person"))

VALUES: tuple[Any, ...] = (
    *(None, True, 0, 1, -1, 3, 10**30, 0.5, 1e308, 100, 3_000_000, [], {}, [[]], {"x": []}, "", "0", "1", "-1", "NaN"),
    *("1e9", "shuffled", "../../x", "\0", "x" * 100_000, "0" * 64, "pld", "epochs", "2.5"),
)
"""What is put in place of a value."""


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A folder with a released model of each learner, a network and a model that was made from a release."""
    folder = tmp_path_factory.mktemp("models")
    generator = np.random.default_rng(1)
    x, z = generator.uniform(0, 10, ROWS), generator.uniform(0, 5, ROWS)
    texts = {"x": x, "z": z, "v": np.minimum(x + z, 15)}
    frame = pl.DataFrame({name: [f"{value:.2f}" for value in values] for name, values in texts.items()})
    frame = frame.with_columns(pl.Series("c", ["ab"[int(value > 5)] for value in x])).select("x", "z", "c", "v")
    table, plan = Table(frame, "made.csv"), Plan.from_plain({"epsilon": 3.0, "column": COLUMNS})
    frame.head(3).drop("v").write_csv(folder / "ask.csv")
    with Ledger.open(folder / "ledger.sqlite") as ledger:
        ledger.set_cap(ledger.identify(table), Decimal(1000), Decimal("0.01"))
        for known in LEARNERS:
            given = {"epsilon": 2.0, **({"ask": str(folder / "ask.csv")} if known.each_prediction else {})}
            target = "v" if known.task == "regression" else "c"
            parameters = known.parameters.from_plain(given)
            release_fit(FitTask(known, parameters, plan, target, table, folder / known.name), ledger)
        attributes = {c.name: c.facts() for c in plan.columns}
        features = Features(tuple(attributes[name] for name in "xzv"), attributes["c"])
        asked = DpSgdPlan(
            network=NETWORK, noise=2.0, delta=1e-4, batch=20, epochs=2, lr=1.0, clip=1.0, accountant="rdp", device="cpu"
        )
        release_training(NetworkTask(asked, features, table, folder / NETWORK), ledger)
        whole = [{**column, "mechanism": "grr"} for column in COLUMNS]
        release_table(Plan.from_plain({"epsilon": 3.0, "column": whole}), table, folder / "out.csv", ledger)
    train_on_release(NAIVE_BAYES, folder / "out.csv", None, "c", folder / ON_RELEASE)
    return folder


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a card, the inner ones too."""
    if path:
        yield path
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(inner, (*path, key))


def changed(card: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    """The card with another value at a place, and the checksum that it then has."""
    document = copy.deepcopy(card)
    holder: Any = document
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    if path != ("checksum",):
        document["checksum"] = checksum(document)
    return document


def other(value: Any) -> list[Any]:
    """Values of the same kind beside the present one."""
    if isinstance(value, bool) or value is None:
        return [not value]
    if isinstance(value, int | float):
        return [value + 1, value * 2, value / 2, -value]
    if isinstance(value, str):
        try:
            return [str(Decimal(value) * 2), str(Decimal(value) + 1)]
        except ArithmeticError:
            return [value + "x", value[:-1], value.swapcase()]
    if isinstance(value, list):
        return [value[1:], value + value[:1], value[::-1]]
    return [{**value, "more": 1}, dict(list(value.items())[1:])]


def is_free(name: str, path: tuple[Any, ...]) -> bool:
    """Whether a card of this model may hold something else there."""
    known = [free for free in FREE if path[: len(free)] == free]
    if name != ON_RELEASE:
        known = [free for free in known if free not in ONLY_ON_RELEASE]
    if name == NETWORK:  # what its steps follow from
        known = [free for free in known if free != ("rows",)]
    else:
        known = [free for free in known if free not in ONLY_NETWORK]
    return bool(known)


def lies(folder: Path, name: str) -> list[tuple[tuple[Any, ...], Any]]:
    """Every place of a card with every hostile value."""
    card = json.loads((folder / name / CARD).read_text("utf-8"))
    found = []
    for path in leaves(card):
        present: Any = card
        for key in path:
            present = present[key]
        found += [(path, value) for value in (*VALUES, *other(present)) if not _equal(present, value)]
    return found


def _equal(one: Any, other: Any) -> bool:
    """Whether two values say the same: 1.000 of a query is 1, and 0 is 0.0 where a number is not a count."""
    if isinstance(one, str) and isinstance(other, str):
        try:
            return one == other or Decimal(one) == Decimal(other)
        except ArithmeticError:
            return False
    if isinstance(one, float) and not isinstance(other, bool):
        return bool(one == other)
    return type(one) is type(other) and bool(one == other)


def believed(folder: Path, name: str, chosen: list[tuple[tuple[Any, ...], Any]]) -> list[str]:
    """The lies that `verify` believes, beyond what a card may say freely; each is judged without a crash."""
    place = folder / name / CARD
    original = place.read_text("utf-8")
    card, wrong = json.loads(original), []
    try:
        for path, value in chosen:
            place.write_text(json.dumps(changed(card, path, value)), "utf-8")
            problems = verify_release(folder / name)
            assert all(len(problem) < 2000 for problem in problems)
            if not problems and not is_free(name, path):
                wrong.append(f"{name}: {path} = {str(value)[:40]!r}")
    finally:
        place.write_text(original, "utf-8")
    return wrong


@pytest.mark.parametrize("name", NAMES)
def test_a_card_that_contradicts_itself_is_not_believed(models, name):
    assert verify_release(models / name) == []
    chosen = lies(models, name)
    assert believed(models, name, random.Random(name).sample(chosen, 60)) == []


@pytest.mark.parametrize("sentence", ["", *FORMER_ON_GPU])
def test_a_network_s_card_of_a_former_version_is_believed(models, tmp_path, sentence):
    """It says how a GPU was to compute, and where noise was made there."""
    folder = tmp_path / "model"
    shutil.copytree(models / NETWORK, folder)
    card = json.loads((folder / CARD).read_text("utf-8"))
    stated = {**card["parameters"], "gpu_steps": "replayed" if sentence else "plain", "precision": "float32"}
    randomness = f"{card['guarantee']['randomness']} {sentence}".strip()
    card = changed(changed(card, ("parameters",), stated), ("guarantee", "randomness"), randomness)
    (folder / CARD).write_text(json.dumps(card), "utf-8")
    assert verify_release(folder) == []
    (folder / CARD).write_text(json.dumps(changed(card, ("parameters", "precision"), "half")), "utf-8")
    assert verify_release(folder)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_none_of_all_lies_is_believed(models, name):
    assert believed(models, name, lies(models, name)) == []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("training", "noise_multiplier"), 100),
        (("training", "steps"), 1),
        (("rows",), 3_000_000),
        (("training", "sampling"), "shuffled"),
        (("training", "sample_rate"), 1e-6),
        (("training", "batch"), 1),
        (("training", "delta_row"), 1e-9),
        (("training", "accountant"), "pld"),
        (("training", "rows_per_person"), 2),
        (("parameters", "noise"), 100.0),
        (("parameters", "epsilon"), []),
        (("parameters", "epochs"), 1),
    ],
)
def test_each_fact_that_a_training_costs_by_is_held_against_the_others(models, path, value):
    assert believed(models, NETWORK, [(path, value)]) == []


@pytest.mark.parametrize("name", [n for n in NAMES if n not in (NETWORK, ON_RELEASE)])
def test_the_epsilon_among_the_parameters_of_a_learner_is_what_its_queries_cost(models, name):
    wrong = [(("parameters", "epsilon"), value) for value in ([], None, "2", 1.0, 4.0, -2.0, 0, 1e9)]
    assert believed(models, name, wrong) == []
    assert learner(name).name == name


@pytest.mark.parametrize("name", [n for n in NAMES if n != NETWORK])
def test_a_model_whose_file_states_other_facts_than_its_card_is_not_believed(models, name):
    card, file = json.loads((models / name / CARD).read_text("utf-8")), models / name / MODEL
    original = file.read_bytes()
    held = json.loads(original)
    others = [{**held["target"], "name": "other"}, "target"], [held["rows"] + 1, "rows"]
    lies = [*others, *([["study", "noise"]] if name != ON_RELEASE else [])]
    try:
        for value, key in lies:
            file.write_bytes(json.dumps({**held, key: value}, indent=1, ensure_ascii=False).encode() + b"\n")
            files = {MODEL: hashlib.sha256(file.read_bytes()).hexdigest()}
            assert believed(models, name, [(("files",), files)]) == [], key
    finally:
        file.write_bytes(original)
    assert verify_release(models / name) == []
    assert card["files"] == {MODEL: hashlib.sha256(original).hexdigest()}


@pytest.mark.parametrize("content", ["null", "[]", "3", "{}", '{"format": "x"}'])
@pytest.mark.parametrize("name", [NAIVE_BAYES.name, ON_RELEASE])
def test_a_file_that_holds_no_model_is_named_in_a_sentence(models, tmp_path, name, content):
    folder = Path(shutil.copytree(models / name, tmp_path / "forged"))
    (folder / MODEL).write_text(content, "utf-8")
    card = json.loads((folder / CARD).read_text("utf-8"))
    files = {MODEL: hashlib.sha256(content.encode()).hexdigest()}
    (folder / CARD).write_text(json.dumps(changed(card, ("files",), files)), "utf-8")
    [problem] = verify_release(folder)
    assert re.search("not a model|the key '.*' (is missing|has a value of the wrong type)", problem), problem


def test_a_card_that_was_forged_throughout_is_not_believed_either(models):
    """Noise, parameters and ε agree; the standard deviation on the card and the ε of a row do not."""
    card = json.loads((models / NETWORK / CARD).read_text("utf-8"))
    card["training"]["noise_multiplier"] = card["parameters"]["noise"] = 20.0
    assert believed(models, NETWORK, [(("training",), card["training"])]) == []


# -- Certificates of somebody else whose checksum was computed anew: the same lies as on cards, and nothing crashes


KINDS = ("table", "statistics", "synthetic", "synthetic with delta")

FREE_IN_CERTIFICATES: dict[tuple[Any, ...], str] = {
    ("release_id",): "a random name, which the ledger knows",
    ("time",): "of a clock, which the ledger knows",
    ("program",): "of the program that wrote the certificate; nothing is computed from it",
    ("rows",): "of the original of synthetic rows and of figures, which do not tell how many it had",
    ("method", "answers"): "noisy sums whose figures, as the file writes them, are the same",
    ("output", "file"): "the name that the file had; its bytes are named by their digest",
}
"""What a valid certificate can say otherwise without contradicting itself, and why that is so.

The digest of a column's table is one of these where the table has a formula: doubles of another processor may differ in
their last bit. Of tables that are found by solving, whose digest alone identifies them, it is checked.
"""


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """A folder with one release of each kind."""
    folder = tmp_path_factory.mktemp("released")
    for kind in KINDS:
        (folder / kind).mkdir()
    release_rows(folder / "1.sqlite", folder / "table" / "out.csv")
    release_statistics(folder / "2.sqlite", folder / "statistics" / "out.csv")
    release_rows_of_nobody(folder / "3.sqlite", folder / "synthetic" / "out.csv")
    release_rows_of_nobody(folder / "4.sqlite", folder / "synthetic with delta" / "out.csv", delta="1e-5")
    return folder


def lies_of_certificate(path: Path) -> list[tuple[tuple[Any, ...], Any]]:
    """Every place of a certificate with every hostile value."""
    document, found = json.loads(path.read_text("utf-8")), []
    for place in leaves(document):
        present: Any = document
        for key in place:
            present = present[key]
        found += [(place, value) for value in (*VALUES, *other(present)) if not _same(place, present, value)]
    return found


def _same(place: tuple[Any, ...], present: Any, value: Any) -> bool:
    """Whether a value says nothing else: 1 for true, or a plan that is written otherwise."""
    if place[-1:] == ("plan",) and isinstance(value, str):
        try:
            return tomllib.loads(value) == tomllib.loads(present)
        except tomllib.TOMLDecodeError:
            return False
    return _equal(present, value) or (value is True and present == 1)


def believed_certificates(folder: Path, chosen: list[tuple[tuple[Any, ...], Any]]) -> list[str]:
    """The lies that `verify` believes, beyond what a certificate may say freely; each is judged without a crash."""
    path = folder / "out.csv.certificate.json"
    original, wrong = path.read_text("utf-8"), []
    try:
        for place, value in chosen:
            path.write_text(json.dumps(changed(json.loads(original), place, value)), "utf-8")
            free = any(place[: len(known)] == known for known in FREE_IN_CERTIFICATES) or place[-1:] == (
                "table_digest",
            )
            if not verify_any(folder / "out.csv") and not free:
                wrong.append(f"{folder.name}: {place} = {str(value)[:40]!r}")
    finally:
        path.write_text(original, "utf-8")
    return wrong


@pytest.mark.parametrize("kind", KINDS)
def test_a_certificate_that_contradicts_itself_is_not_believed(released, kind):
    assert verify_any(released / kind / "out.csv") == []
    chosen = lies_of_certificate(released / kind / "out.csv.certificate.json")
    chosen = [lie for lie in chosen if lie[0] == ("format",)] + random.Random(kind).sample(chosen, 40)
    assert believed_certificates(released / kind, chosen) == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_no_lie_of_a_certificate_is_believed(released, kind):
    wrong = believed_certificates(released / kind, lies_of_certificate(released / kind / "out.csv.certificate.json"))
    assert not wrong, "\n".join(wrong)
