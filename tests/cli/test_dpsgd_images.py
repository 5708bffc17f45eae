"""``workbench dpsgd`` on images: charge, card, verify, predict, the account, code and frozen weights."""

import csv
import json
import shutil
import struct
import zipfile

import numpy as np
import pytest

pytest.importorskip("torch")

from workbench.release.certificate import read_card

ROWS = 60
LEDGER = ("--ledger", "l.sqlite")
PLAN = ("--delta", "1e-3", "--batch", "30", "--epochs", "6", "--lr", "1", "--clip", "1", "--accountant", "rdp")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with MNIST-like files of two digits, dark and bright, and the same as an archive of arrays."""
    codes = (np.arange(ROWS) % 2).astype(np.uint8)
    noise = np.random.default_rng(0).integers(0, 90, (ROWS, 8, 8))
    images = (noise + 150 * codes[:, None, None]).astype(np.uint8)
    for name in ("train", "t10k"):
        (tmp_path / f"{name}-images-idx3-ubyte").write_bytes(struct.pack(">4I", 0x803, ROWS, 8, 8) + images.tobytes())
        (tmp_path / f"{name}-labels-idx1-ubyte").write_bytes(struct.pack(">2I", 0x801, ROWS) + codes.tobytes())
    order = np.random.default_rng(1).permutation(ROWS)
    np.savez_compressed(tmp_path / "copy.npz", images=images[order], labels=codes[order])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("workbench.deep.feature_cache.user_cache", lambda part: tmp_path / "kept")
    return tmp_path


def test_images_are_released_verified_and_applied(folder, run):
    data = "train-images-idx3-ubyte"
    test = ("--test", "t10k-images-idx3-ubyte", "--test-public")
    done = run("dpsgd", data, "--network", "logistic", "--epsilon", "8", *PLAN, *test, "-o", "net", *LEDGER, "--json")
    assert done.code == 0, done
    assert done.json["accuracy"] > 0.9
    card = read_card(folder / "net")
    assert card["training"]["images"] == {"channels": 1, "height": 8, "width": 8}
    assert card["training"]["classes"] == list("0123456789")
    assert card["inputs"][0] | {"name": "image", "lower": 0.0, "upper": 255.0} == card["inputs"][0]
    assert card["rows"] == ROWS
    assert card["outside_guarantee"] == []
    assert run("verify", "net", *LEDGER).code == 0
    told = run("predict", "t10k-images-idx3-ubyte", "--model", "net", "-o", "told.csv", "--json")
    assert told.json["rows"] == ROWS
    with (folder / "told.csv").open(encoding="utf-8") as lines:
        found = [line["predicted class"] for line in csv.DictReader(lines)]
    assert np.mean(np.array(found) == np.array(["0", "1"] * (ROWS // 2))) > 0.9


def test_a_copy_in_another_format_and_order_has_the_same_account(folder, run):
    words = ("--network", "logistic", "--epsilon", "1", *PLAN, *LEDGER)
    assert run("dpsgd", "train-images-idx3-ubyte", *words, "-o", "net").code == 0
    refused = run("dpsgd", "copy.npz", *words, "-o", "again")
    assert refused.code == 3
    assert not (folder / "again").exists()
    raised = run("ledger", "cap", "copy.npz", "--epsilon", "3", "--delta", ".5", *LEDGER, "--json")
    assert raised.code == 0, raised
    assert run("dpsgd", "copy.npz", *words, "-o", "again").code == 0
    assert len(json.loads(run("ledger", "show", *LEDGER, "--json").out)["caps"]) == 1


@pytest.mark.slow
def test_folders_name_on_the_card_what_was_not_declared(folder, run):
    from PIL import Image

    for k in range(20):
        place = folder / "pets" / ("cat", "dog")[k % 2]
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.full((8, 8, 3), 200 * (k % 2) + k, np.uint8)).save(place / f"{k}.png")
    with zipfile.ZipFile("pets.zip", "w") as archive:
        for file in sorted((folder / "pets").rglob("*.png")):
            archive.write(file, file.relative_to(folder))
    told = ("--noise", "3", "--delta", "1e-3", "--batch", "10", "--epochs", "2", "--lr", "1", "--clip", "1")
    words = ("--network", "logistic", *told, "--accountant", "rdp", *LEDGER)
    assert run("dpsgd", "pets.zip", *words, "--quiet", "-o", "net").code == 0
    [said] = read_card(folder / "net")["outside_guarantee"]
    assert said.startswith("the names of the classes and size of the images were taken from the image files")
    shutil.rmtree("net")
    run("ledger", "cap", "pets", "--epsilon", "1000", "--delta", ".5", *LEDGER)
    declared = ("--classes", "cat,dog", "--image-size", "8", "--rows-per-person", "2")
    assert run("dpsgd", "pets", *words, *declared, "-o", "net").code == 0
    card = read_card(folder / "net")
    assert card["outside_guarantee"] == []
    assert card["training"]["rows_per_person"] == 2
    assert run("predict", "pets.zip", "--model", "net", "-o", "told.csv", "--json").json["rows"] == 20


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--target", "y"), "--target is for tables, but these are images"),
        (("--network", "mnist-cnn"), "28 by 28 pixels, not 1 × 8 × 8 numbers"),
        (("--image-size", "4"), "are for class folders"),
        (("--classes", "zero,seven", "--test", "copy.npz", "--network", "my_code:made"), "add --trust-code"),
        (("--network", "vgg16-head"), "--weights FILE"),
        (("--test", "train.csv"), "the test data are not images"),
    ],
)
def test_what_does_not_fit_is_refused_before_the_charge(folder, run, more, said):
    words = ("--network", "logistic", "--epsilon", "1", *PLAN, *LEDGER)
    assert said in run("dpsgd", "train-images-idx3-ubyte", *words, *more, "-o", "net").error()
    assert not (folder / "net").exists()
    assert not (folder / "l.sqlite").exists()


def test_code_runs_only_where_it_is_trusted_and_the_card_says_so(folder, run, monkeypatch):
    from workbench.deep import networks

    monkeypatch.setattr(networks, "TRUSTED", {})
    monkeypatch.setattr("sys.path", [*__import__("sys").path])
    (folder / "my_code.py").write_text(
        "from torch import nn\n"
        "def made(inputs, classes):\n    return nn.Sequential(nn.Flatten(), nn.Linear(inputs, classes))\n",
        "utf-8",
    )
    words = ("--network", "my_code:made", "--epsilon", "8", *PLAN, *LEDGER)
    data = "train-images-idx3-ubyte"
    assert "add --trust-code" in run("dpsgd", data, *words, "-o", "net").error()
    assert run("dpsgd", data, *words, "--trust-code", "-o", "net").code == 0
    card = read_card(folder / "net")
    assert card["model"] == "my_code:made"
    assert "assumes that its output for a row is a function of that row" in card["outside_guarantee"][0]
    networks.TRUSTED.clear()
    assert run("verify", "net", *LEDGER).code == 0  # runs no code
    assert "add --trust-code" in run("predict", data, "--model", "net", "-o", "told.csv").error()
    assert run("predict", data, "--model", "net", "--trust-code", "-o", "told.csv").code == 0


def test_a_network_with_frozen_weights_is_released_with_them_verified_and_applied(folder, run, monkeypatch):
    from safetensors.numpy import load_file

    from workbench.deep import networks

    monkeypatch.setattr(networks, "TRUSTED", {})
    monkeypatch.setattr("sys.path", [*__import__("sys").path])
    (folder / "held_code.py").write_text(
        "from torch import nn\n"
        "def made(inputs, classes):\n"
        "    base = nn.Linear(inputs, 9).requires_grad_(False)\n"
        "    return nn.Sequential(nn.Flatten(), base, nn.Tanh(), nn.Linear(9, classes))\n",
        "utf-8",
    )
    words = ("train-images-idx3-ubyte", "--network", "held_code:made", "--epsilon", "8", *PLAN, *LEDGER)
    done = run("dpsgd", *words, "--trust-code", "-o", "net")
    assert done.code == 0, done
    assert "frozen weights are taken as public, and the file holds them: the layer 1 (Linear)" in done.err
    card = read_card(folder / "net")
    assert "frozen weights are taken as public" in card["training"]["architecture"]["remarks"][0]
    assert "frozen weights are public: not learned from private rows" in card["outside_guarantee"][0]
    held = {name: w.shape for name, w in load_file(folder / "net" / "model.safetensors").items()}
    assert held["1.1.weight"] == (9, 8 * 8)
    networks.TRUSTED.clear()
    assert run("verify", "net", *LEDGER).code == 0
    assert run("predict", words[0], "--model", "net", "--trust-code", "-o", "told.csv").code == 0


def test_kept_features_are_shown_and_removed(folder, run):
    words = ("--network", "scatter-linear", "--epsilon", "1", *PLAN, *LEDGER)
    assert run("dpsgd", "train-images-idx3-ubyte", *words, "-o", "net").code == 0
    assert run("cache", "--json").json["sets"] == 1
    assert run("cache", "--clear", "--json").json["cleared"] is True
    assert run("cache", "--json").json["sets"] == 0
    assert sorted(p.name for p in (folder / "net").iterdir()) == ["card.json", "model.safetensors", "private"]


def test_batchnorm_is_refused_with_an_offer_and_screen_and_card_say_what_was_converted(folder, run, monkeypatch):
    from workbench.deep import networks

    monkeypatch.setattr(networks, "TRUSTED", {})
    monkeypatch.setattr("sys.path", [*__import__("sys").path])
    (folder / "normed_code.py").write_text(
        "from torch import nn\n"
        "def made(shape, classes):\n"
        "    return nn.Sequential(nn.Conv2d(shape[0], 4, 3), nn.BatchNorm2d(4), nn.Flatten(), nn.Dropout(0.2),\n"
        "                         nn.Linear(144, classes))\n",
        "utf-8",
    )
    words = ("train-images-idx3-ubyte", "--network", "normed_code:made", "--noise", "1", *PLAN, *LEDGER)
    words = (*words, "--trust-code", "-o", "net")
    refused = run("dpsgd", *words).err.splitlines()[-1]
    assert "mixes the rows of a batch" in refused
    assert "add --convert-batchnorm" in refused
    done = run("dpsgd", *words, "--convert-batchnorm")
    assert done.code == 0, done
    assert "GroupNorm of the same channels replaces the layer 1 (BatchNorm2d)" in done.err
    assert "dropout is off" in done.err
    card = read_card(folder / "net")
    assert card["parameters"]["convert_batchnorm"] is True
    assert len(card["training"]["architecture"]["remarks"]) == 2
    assert run("verify", "net", *LEDGER).code == 0
    assert run("predict", words[0], "--model", "net", "--trust-code", "-o", "told.csv").code == 0
