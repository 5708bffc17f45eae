"""``workbench memory``: phases, the largest batch, and the study as CSV."""

import csv

import pytest

from workbench.deep.networks import NETWORKS


def test_phases_peak_and_largest_batch(run):
    answer = run("memory", "--network", "mlp", "--batch", "256", "--fit", "100000000", "--json")
    assert answer.code == 0
    told = answer.json
    assert list(told["phases"]) == ["model", "batch", "backward", "step"]
    assert told["peak_bytes"] == max(told["phases"].values())
    assert told["largest_batch"] > 256
    more = run("memory", "--network", "mlp", "--batch", str(told["largest_batch"] + 1), "--json").json
    assert more["peak_bytes"] > 100_000_000
    text = run("memory", "--network", "mlp", "--batch", "256", "--device", "cuda", "--fit", "100000000").out
    assert "most rows at once that fit: " in text
    assert "the curve jumps where a tensor outgrows a segment" in text


@pytest.mark.parametrize("name", [entry.name for entry in NETWORKS])
def test_every_network_has_a_usual_width(run, name):
    assert run("memory", "--network", name, "--batch", "8", "--json").done["peak_bytes"] > 0


def test_privacy_is_an_option_of_the_prediction(run):
    words = ("memory", "--network", "mnist-cnn", "--batch", "64", "--json")
    private, plain = (run(*words, "--private", way).json["peak_bytes"] for way in ("yes", "no"))
    assert private > plain
    assert run("memory", "--network", "mnist-cnn", "--batch", "64", "--json").json["largest_batch"] is None


def test_a_study_is_every_combination_with_and_without_privacy(run, tmp_path):
    path = tmp_path / "study.csv"
    words = ["memory", "--network", "mlp", "--batch", "64", "--columns", "784", "--device", "cuda", "-o", str(path)]
    answer = run(*words, "--hidden", "64,512", "--batches", "32,64,128", "--reductions", "1,2", "--json")
    assert (answer.code, answer.json["rows"]) == (0, 24)
    rows = list(csv.DictReader(path.read_text().splitlines()))
    assert len(rows) == 24
    assert {r["private"] for r in rows} == {"yes", "no"}
    assert {r["hidden"] for r in rows} == {"64-64", "512-512"}
    first = rows[0]
    assert int(first["peak_bytes"]) == max(int(first[f"{p}_bytes"]) for p in ("model", "batch", "backward", "step"))


def test_an_image_is_given_by_its_shape_and_reduced_by_its_sides(run, tmp_path):
    path = tmp_path / "heads.csv"
    words = ["memory", "--network", "vgg16-head", "--batch", "8", "--shape", "3,128,128", "-o", str(path)]
    assert run(*words, "--reductions", "1,2,4").code == 0
    rows = list(csv.DictReader(path.read_text().splitlines()))
    assert [r["reduction"] for r in rows] == ["1", "1", "2", "2", "4", "4"]
    assert int(rows[0]["model_bytes"]) > int(rows[2]["model_bytes"]) > int(rows[4]["model_bytes"])


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--network", "cifar-cnn", "--shape", "3,32"], "is not the shape of an image"),
        (["--network", "nothing"], "nothing"),
        (["--network", "mlp", "--batches", "1,2"], "a study needs an output"),
        (["--network", "logistic", "--hidden", "8", "-o", "x.csv"], "has no hidden units"),
        (["--network", "mlp", "--batches", "1,x", "-o", "x.csv"], "--batches"),
        (["--network", "mnist-cnn", "--columns", "10"], "784"),
    ],
)
def test_what_cannot_be_predicted_is_one_sentence(run, words, sentence):
    assert sentence in run("memory", "--batch", "64", *words).error()
