"""The release of a model: one folder, one charge, and a card that says what they are."""

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from release_cases import (
    certificate_of,
    contents,
    die_at,
    loss_of,
    names_in,
    raise_cap,
    run_to_exit,
    statuses,
    table_of,
)
from release_cases import release as release_rows
from release_cases import release_and_die as release_rows_and_die

from workbench.data.schema import Attribute
from workbench.learners.standardize import STANDARDIZE
from workbench.params import BudgetRefusedError, CancelledError, CheckFailedError, InputError
from workbench.privacy.accounting.event import Charge
from workbench.release import part_files
from workbench.release import release_path as release_path
from workbench.release.card import card_facts, model_bytes, model_output
from workbench.release.certificate import checksum, read_card
from workbench.release.ledger.ledger import Ledger
from workbench.release.model.released_models import predicted_column
from workbench.release.recover import recover, request_of
from workbench.release.release_path import Destination, Released, ReleaseRequest
from workbench.release.statements import Persons, model_statement
from workbench.release.verify import verify_in_ledger, verify_release
from workbench.work.noise import Charged
from workbench.work.work import WorkOutput

INPUTS = (
    Attribute(name="age", kind="integer", lower=0, upper=120),
    Attribute(name="city", kind="category", domain=("Graz", "Linz", "Wien")),
)


def trained(charge: Charge, *, delta: str = "0", releasable: bool = True) -> WorkOutput:
    charge(loss_of("1.5", delta))
    parameters = STANDARDIZE.parameters.from_plain({"epsilon": 1.5})
    estimator = STANDARDIZE.private(INPUTS[:1], INPUTS[1], parameters, Charged(lambda cost: None))
    estimator.fit([[30.0], [40.0]] * 10, [0, 1] * 10)
    statement = model_statement(Persons(), replaces_invalid=False)
    stated = {
        "rows": 20,
        "model": STANDARDIZE.name,
        "guarantee": {"statement": statement, "randomness": estimator.randomness(20)},
        "parameters": parameters.to_plain(),
        "inputs": [attribute.to_plain() for attribute in INPUTS],
        "outside_guarantee": [],
        "training": {
            "rows_per_person": 1,
            "attributes_used": ["age"],
            "queries": [{"label": e.label, "epsilon": str(e.epsilon)} for e in estimator.events(20)],
        },
    }
    return model_output({"model.json": model_bytes(estimator)}, stated, releasable=releasable)


def release(
    ledger: Path,
    target: Path,
    train: Callable[..., WorkOutput] = trained,
    of: str = "age",
    *,
    replace: bool = False,
    **named: Any,
) -> Released:
    work, digest = "fit mean", request_of("fit mean", of=of)
    to = Destination.of_model(target, replace=replace)
    wanted = ReleaseRequest(
        table_of(20), to, work, digest, 10_000, lambda charge, emit, cancel: train(charge), card_facts, **named
    )
    with Ledger.open(ledger) as opened:
        return release_path.release(wanted, opened)


@pytest.fixture
def ledger(tmp_path):
    return tmp_path / "ledger.sqlite"


def test_a_model_is_charged_carded_and_alone_in_its_folder(folder, ledger):
    done = release(ledger, folder / "model")
    assert names_in(folder) == {"model"}
    assert names_in(folder / "model") == {"model.json", "card.json"}
    assert verify_release(folder / "model") == []
    card = read_card(folder / "model")
    assert (card["release_id"], card["guarantee"]["epsilon"], card["rows"]) == (done.release_id, "1.5", 20)
    with Ledger.open(ledger) as opened:
        assert verify_in_ledger(card, opened) == []
    assert statuses(ledger) == ["charged"]
    with pytest.raises(BudgetRefusedError):
        release(ledger, folder / "second")
    assert names_in(folder) == {"model"}


def test_a_run_that_settles_for_less_is_charged_less_and_says_so(folder, ledger):
    done = release(
        ledger, folder / "model", lambda c: replace(trained(c, delta="1e-5"), settled=(Decimal("0.5"), Decimal("1e-6")))
    )
    assert (done.epsilon_charged, done.delta_charged, done.epsilon_remaining) == (Decimal("0.5"), Decimal("1e-6"), 1)
    card = read_card(folder / "model")
    assert (card["guarantee"]["epsilon"], card["guarantee"]["delta"]) == ("0.5", "0.000001")
    (told, *_) = verify_release(folder / "model")  # no learner settles, and a training's card has steps
    assert told == "the queries on the card cost epsilon = 1.5, and it states 0.5"
    with Ledger.open(ledger) as opened:
        assert verify_in_ledger(card, opened) == []
    assert statuses(ledger) == ["settled"]


def test_work_that_did_not_charge_charged_twice_or_was_seeded_is_never_released(folder, ledger):
    def free(charge: Charge) -> WorkOutput:
        return trained(lambda cost: None)

    def twice(charge: Charge) -> WorkOutput:
        charge(loss_of("0.1"))
        return trained(charge)

    def seeded(charge: Charge) -> WorkOutput:
        return trained(charge, releasable=False)

    for train, sentence in ((free, "never charged"), (twice, "charged once"), (seeded, "seeded noise")):
        with pytest.raises(AssertionError, match=sentence):
            release(ledger, folder / "model", train)
    assert names_in(folder) == set()
    assert statuses(ledger) == ["void", "void"]


@pytest.mark.parametrize(
    ("watched", "status"),
    [(None, "void"), (lambda: False, "void"), (lambda: True, "charged")],
    ids=["nobody looks", "not watched", "watched"],
)
@pytest.mark.parametrize(
    "error", [CancelledError(), KeyboardInterrupt(), RuntimeError("bug")], ids=lambda e: type(e).__name__
)
def test_a_run_that_fails_is_void_unless_its_figures_were_watched(folder, ledger, watched, status, error):
    def fail(charge: Charge) -> WorkOutput:
        trained(charge)
        raise error

    with pytest.raises(type(error)):
        release(ledger, folder / "model", fail, watched=watched)
    assert names_in(folder) == set()
    assert statuses(ledger) == [status]


@pytest.mark.parametrize("step", ["write", "rename", "sync"])
def test_a_disk_that_fails_once_the_model_is_written_leaves_the_charge(folder, ledger, monkeypatch, step):
    target = folder / "model"

    def fail(*given: Any) -> Any:
        if step == "sync" and given[0] != folder:
            return real(*given)
        raise OSError(28, "No space left on device")

    owner, name = {"write": (part_files, "write_new"), "rename": (os, "replace"), "sync": (part_files, "sync_folder")}[
        step
    ]
    real = getattr(owner, name)
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, fail)
        with pytest.raises(InputError) as raised:
            release(ledger, target)
    assert statuses(ledger) == ["charged"]
    if step == "write":
        assert "epsilon = 1.5 stays charged" in str(raised.value)
        assert names_in(folder) == set()
    elif step == "rename":
        assert "the finished draw is kept and costs nothing more" in str(raised.value)
        (part,) = folder.iterdir()
        assert part.stat().st_mode & 0o777 == 0o700
    else:
        assert names_in(folder) == {"model"}
        assert verify_release(target) == []


def test_a_finished_model_that_could_not_be_named_is_published_by_the_next_run_of_the_same_request(folder, ledger):
    """The attack: fill the folder while the training runs, copy the finished model, get the charge back."""
    target = folder / "model"

    def filled(charge: Charge) -> WorkOutput:
        done = trained(charge)
        target.mkdir()
        (target / "theirs").write_text("x")
        return done

    with pytest.raises(InputError, match="could not be renamed"):
        release(ledger, target, filled)
    assert statuses(ledger) == ["charged"]
    (target / "theirs").unlink()
    with pytest.raises(InputError, match="is not yet published under this name"):
        release(ledger, target, of="pay")

    def never(charge: Charge) -> WorkOutput:
        raise AssertionError("trained again")

    done = release(ledger, target, never)
    assert done.published_earlier
    assert (done.epsilon_charged, done.epsilon_remaining) == (Decimal("1.5"), 0)
    assert statuses(ledger) == ["charged"]
    assert verify_release(target) == []
    assert names_in(folder) == {"model"}


def release_and_die(ledger: Path, target: Path, owner: str, attribute: str, after: bool, watched: bool) -> None:
    die_at(owner, attribute, 1, after)
    release(ledger, target, watched=(lambda: True) if watched else None)


@pytest.mark.parametrize(
    ("owner", "attribute", "after", "watched", "expected"),
    [
        ("workbench.release.ledger.ledger:Ledger", "reserve", True, False, "void"),
        ("workbench.release.release_path:_Drawing", "_draft", False, False, "void"),
        ("workbench.release.release_path:_Drawing", "_draft", False, True, "lost"),
        ("workbench.release.ledger.ledger:Ledger", "charge", False, False, "void"),
        ("workbench.release.ledger.ledger:Ledger", "charge", True, False, "lost"),
        ("workbench.release.part_files:DrawFolder", "write", True, False, "lost"),
        ("workbench.release.ledger.ledger:Ledger", "certify", True, False, "waits"),
        ("os", "replace", False, False, "waits"),
        ("os", "replace", True, False, "charged"),
    ],
)
def test_a_run_killed_at_any_moment_is_settled_truly(folder, ledger, owner, attribute, after, watched, expected):
    target = folder / "model"
    assert run_to_exit(release_and_die, ledger, target, owner, attribute, after, watched) == -9
    with Ledger.open(ledger) as opened:
        recover(opened)
    # Lost: the charge was final or figures were watched, so it stands though nothing is released.
    assert statuses(ledger) == ["void" if expected == "void" else "charged"]
    assert target.exists() is (expected == "charged")
    assert len(names_in(folder)) <= 1
    if expected == "charged":
        assert verify_release(target) == []
        return
    if expected == "lost":
        raise_cap(ledger, "3")
    release(ledger, target)
    assert names_in(folder) == {"model"}
    assert verify_release(target) == []
    assert (
        statuses(ledger)
        == {"void": ["void", "charged"], "lost": ["charged", "charged"], "waits": ["charged"]}[expected]
    )


FILE = "workbench.release.part_files:DrawFile"
PAIR = {"people.csv", "people.csv.certificate.json"}


@pytest.mark.parametrize("replace", [False, True], ids=["new", "replace"])
@pytest.mark.parametrize("after", [False, True], ids=["certificate alone", "both files"])
def test_a_table_whose_run_was_killed_half_named_is_completed_before_a_model_is_refused_its_place(
    folder, ledger, after, replace
):
    target = folder / "people.csv"
    assert run_to_exit(release_rows_and_die, ledger, target, FILE, "publish", 1, after) == -9
    assert target.exists() is after
    raise_cap(ledger, "60")
    with pytest.raises(InputError, match="exists already") as raised:
        release(ledger, target, replace=replace)
    assert raised.value.code == "output-exists"
    assert statuses(ledger) == ["charged"]
    assert names_in(folder) == PAIR
    assert verify_release(target) == []
    with Ledger.open(ledger) as opened:
        assert verify_in_ledger(certificate_of(target), opened) == []
        assert opened.finished() == {}


def test_a_half_named_table_that_replaces_another_is_completed_only_by_a_run_that_may_replace(folder, ledger):
    target = folder / "people.csv"
    release_rows(ledger, target)
    raise_cap(ledger, "60")
    assert run_to_exit(release_rows_and_die, ledger, target, FILE, "publish") == -9
    before = contents(folder)
    with pytest.raises(InputError, match="exists already"):
        release(ledger, target)
    assert contents(folder) == before
    with pytest.raises(InputError, match="exists already"):
        release(ledger, target, replace=True)
    assert statuses(ledger) == ["charged", "charged"]
    assert names_in(folder) == PAIR
    assert verify_release(target) == []


@pytest.mark.parametrize("replace", [False, True], ids=["new", "replace"])
def test_a_model_never_takes_the_place_of_a_table_whose_certificate_has_its_name(folder, ledger, tmp_path, replace):
    """Where the ledger that paid for the table is not the one in use, nothing but the certificate tells of it."""
    target = folder / "people.csv"
    assert run_to_exit(release_rows_and_die, ledger, target, FILE, "publish") == -9
    before = contents(folder)
    other = tmp_path / "other.sqlite"
    with pytest.raises(InputError, match="certificate") as raised:
        release(other, target, replace=replace)
    assert raised.value.code == "output-taken"
    assert statuses(other) == []
    assert contents(folder) == before
    assert release_rows(ledger, target).published_earlier
    assert names_in(folder) == PAIR
    assert verify_release(target) == []


def test_every_change_of_a_model_is_found(folder, ledger):
    original = folder / "model"
    release(ledger, original)
    card = read_card(original)
    copy = folder / "copy"

    def damaged(change: Callable[[Path], object]) -> list[str]:
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(original, copy)
        change(copy)
        return verify_release(copy)

    def rewrite(forged: bool = False, **keys: Any) -> Callable[[Path], object]:
        document = {**card, **keys}
        if forged:
            document["checksum"] = checksum(document)
        return lambda at: (at / "card.json").write_text(json.dumps(document))

    def guarantee(**keys: Any) -> dict[str, Any]:
        return {**card["guarantee"], **keys}

    assert damaged(lambda at: None) == []
    assert any("SHA-256 differs" in p for p in damaged(lambda at: (at / "model.json").write_text("[1, 2, 4]")))
    assert any("is missing" in p for p in damaged(lambda at: (at / "model.json").unlink()))
    assert any("not on the card" in p for p in damaged(lambda at: (at / "extra").write_text("x")))
    assert damaged(lambda at: (at / "private").mkdir()) == []
    for key in card:
        changed = {"rows": 21, "version": 3}.get(key, "x")
        assert damaged(rewrite(**{key: changed})), key
    assert damaged(rewrite(forged=True, guarantee=guarantee(epsilon="0.5")))
    assert damaged(rewrite(forged=True, guarantee=guarantee(replace_one={"epsilon": 3.0, "delta": 0.5})))
    for name in ("../model.json", "/etc/passwd", "..", ""):
        assert damaged(rewrite(forged=True, files={**card["files"], name: "0" * 64})), name
    for text in ("", "{}", "[" * 100_000, '{"format": NaN}'):
        assert damaged(lambda at, text=text: (at / "card.json").write_text(text))
    forged = {**card, "rows": 999}
    forged["checksum"] = checksum(forged)
    with Ledger.open(ledger) as opened:
        assert verify_in_ledger(forged, opened) == ["the certificate is not the one that was released"]


def test_a_card_that_does_not_fit_its_schema_is_void(folder, ledger):
    def unfit(charge: Charge) -> WorkOutput:
        done = trained(charge)
        return replace(done, method={**done.method, "inputs": [{"name": 90817263}]})

    with pytest.raises(CheckFailedError, match="does not match its schema") as told:
        release(ledger, folder / "model", unfit)
    assert "inputs" in str(told.value)
    assert "90817263" not in str(told.value)  # nothing was charged, and what stands there may have been drawn
    assert names_in(folder) == set()
    assert statuses(ledger) == ["void"]


def test_a_model_that_predicts_nothing_names_no_column_in_the_list_of_models():
    cards = (
        {"model": name, "inputs": [{"name": "age"}, {"name": "label"}]} for name in ("kmeans", "naive-bayes", "mlp")
    )
    assert [predicted_column(card) for card in cards] == ["", "label", "label"]
