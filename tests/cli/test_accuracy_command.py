"""``workbench accuracy``: with --rows nobody's rows are trained on, with DATA a private study says what it reads."""

import os
import signal
import time

import numpy as np
import pytest
from command_cases import CITIES

pytest.importorskip("torch")

from workbench.deep.expected_accuracy import ExpectedAccuracy
from workbench.paths import user_data

NETWORK = (
    "--network", "logistic", "--noise", "2", "--delta", "1e-4", "--batch", "30", "--epochs", "2", "--lr", "1",
    "--clip", "1", "--accountant", "rdp",
)  # fmt: skip
OF_TABLE = ("--target", "city", "--bounds", "plan.toml")


def test_what_to_expect_is_told_without_the_table_and_nothing_is_written(of_cities, run):
    (of_cities / "t.csv").unlink()
    before = sorted(of_cities.iterdir())
    done = run("accuracy", "--rows", "300", *OF_TABLE, *NETWORK, "--json")
    assert done.code == 0, done
    told = done.json
    assert (told["private"], told["made_up"], told["rows"], told["simulated_rows"]) == (False, True, 300, 300)
    assert told["chance"] == 0.5
    assert told["lowest"] <= told["accuracy"] <= told["highest"]
    assert told["noise_multiplier"] == 2
    assert "No private row was read" in told["sentences"][-1]
    assert sorted(of_cities.iterdir()) == before
    assert not user_data().exists(), "no ledger was made"
    text = run("accuracy", "--rows", "300", *OF_TABLE, *NETWORK)
    assert text.out.startswith("Accuracy on simulated rows of this shape is about")
    assert text.err == ""
    other = run("accuracy", "--rows", "300", *OF_TABLE, *NETWORK, "--seed", "5", "--json").json
    assert other["accuracy"] != told["accuracy"]


def test_other_rows_in_the_file_change_nothing(of_cities, run):
    first = run("accuracy", "--rows", "300", *OF_TABLE, *NETWORK, "--json").json
    (of_cities / "t.csv").write_text("age,city\n" + "1,Linz\n" * 300, "utf-8")
    assert run("accuracy", "--rows", "300", *OF_TABLE, *NETWORK, "--json").json == first


def test_a_public_table_or_public_images_are_trained_on(of_cities, run):
    told = run("accuracy", "--rows", "1000", "--public", "t.csv", *OF_TABLE, *NETWORK, "--json").json
    assert not told["made_up"]
    assert told["accuracy"] > 0.8
    codes = np.arange(300) % 2
    pixels = np.random.default_rng(0).integers(0, 60, (300, 8, 8)) + 150 * codes[:, None, None]
    np.savez_compressed(of_cities / "open.npz", images=pixels.astype(np.uint8), labels=codes)
    told = run("accuracy", "--rows", "1000", "--public", "open.npz", *NETWORK, "--json").json
    assert not told["made_up"]
    assert told["accuracy"] > 0.9
    declared = ("--classes", "a,b", "--image-size", "8", "--grey")
    assert run("accuracy", "--rows", "1000", *declared, *NETWORK, "--json").json["made_up"]


def test_where_the_accuracy_goes_is_a_private_study_of_three_trainings(of_cities, run):
    done = run("accuracy", "t.csv", *OF_TABLE, *NETWORK, "--json")
    assert done.code == 0, done
    told = done.json
    assert told["private"] is True
    assert [stage["stage"] for stage in told["stages"]] == ["no privacy", "clipped", "clipped and noisy"]
    plain, clipped, noisy = (stage["accuracy"] for stage in told["stages"])
    assert told["clipping_costs"] == plain - clipped
    assert told["noise_costs"] == clipped - noisy
    assert told["held_out"] == 60
    text = run("accuracy", "t.csv", *OF_TABLE, *NETWORK)
    assert "private – not for release" in text.out
    assert "clipping costs" in text.out
    assert "this study reads private rows" in text.err
    assert "its results must not be published" in text.err


def test_the_figures_are_those_of_the_window(of_cities, run):
    from workbench.data.table_reader import read_table
    from workbench.deep.plan import DpSgdPlan
    from workbench.jobs.network import study_here
    from workbench.release.model.network_task import NetworkTask
    from workbench.release.model.preflight import network_features
    from workbench.sanitize.plan import load_plan
    from workbench.signals.cancel import CancelToken

    told = run("accuracy", "t.csv", *OF_TABLE, *NETWORK, "--json").json
    features = network_features(load_plan(of_cities / "plan.toml"), "city")
    words = {NETWORK[i].removeprefix("--"): NETWORK[i + 1] for i in range(0, len(NETWORK), 2)}
    plan = DpSgdPlan.from_plain(
        {name: value if name in ("network", "accountant") else float(value) for name, value in words.items()}
        | {"batch": 30, "epochs": 2}
    )
    task = NetworkTask(plan, features, read_table("t.csv"), of_cities)
    stages = study_here(task, lambda event: None, CancelToken())
    assert [accuracy for _, accuracy, _ in stages] == [stage["accuracy"] for stage in told["stages"]]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "no rows are given"),
        (("t.csv", "--rows", "300"), "no rows are given"),
        (("--rows", "3"), "--rows"),
        (("--rows", "300", "--decimal", ","), "not read from a file"),
        (("--rows", "300", "--grey"), "work only for images"),
        (("--rows", "300", "--public", "open.npz"), "open.npz"),
        (("--rows", "300", "--patience", "0"), "--patience"),
        (("--rows", "300", "--seed", "-1"), "--seed"),
        (("t.csv", "--public", "t.csv"), "--public works only in a simulation"),
        (("t.csv", "--patience", "3"), "--patience works only in a simulation"),
        (("none.csv",), "none.csv"),
    ],
)
def test_a_bad_request_is_one_sentence(of_cities, run, words, told):
    answer = run("accuracy", *words, *OF_TABLE, *NETWORK)
    assert answer.code == 2
    lines = answer.err.splitlines()
    assert told in lines[-1]
    assert all(line.startswith("warning: ") for line in lines[:-1])


def test_what_is_not_declared_of_the_rows_is_asked_for(of_cities, run):
    assert "not declared" in run("accuracy", "--rows", "300", *NETWORK).error()
    assert "--bounds is missing" in run("accuracy", "--rows", "300", "--target", "city", *NETWORK).error()
    assert "public table needs a plan" in run("accuracy", "--rows", "9", "--public", "t.csv", *NETWORK).error()


def test_a_plan_that_was_guessed_from_the_rows_is_refused(of_cities, run):
    guessed = CITIES.replace('name = "age"\n', 'name = "age"\norigin = "guess"\n')
    (of_cities / "plan.toml").write_text(guessed, "utf-8")
    answer = run("accuracy", "--rows", "300", *OF_TABLE, *NETWORK)
    assert (answer.code, answer.out) == (2, "")
    assert "age" in answer.err
    assert run("accuracy", "t.csv", *OF_TABLE, *NETWORK).code == 2


def test_facts_that_were_read_off_the_rows_are_told(of_cities, run):
    read_off = CITIES.replace('name = "age"\n', 'name = "age"\nbounds_origin = "data"\n')
    (of_cities / "plan.toml").write_text(read_off, "utf-8")
    told = run("accuracy", "--rows", "300", *OF_TABLE, *NETWORK, "--json").json["sentences"]
    assert "were taken from the private rows" in told[-1]
    assert not any("No private row was read" in sentence for sentence in told)


def test_ctrl_c_ends_it(of_cities, run, monkeypatch):
    from workbench.deep import expected_accuracy

    def interrupted(*given: object, cancel: object = None, **more: object) -> ExpectedAccuracy:
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(1000):
            cancel.check()  # type: ignore[attr-defined]
            time.sleep(0.01)
        raise AssertionError("it went on")

    monkeypatch.setattr(expected_accuracy, "expected_accuracy", interrupted)
    assert run("accuracy", "--rows", "300", *OF_TABLE, *NETWORK).code == 4
