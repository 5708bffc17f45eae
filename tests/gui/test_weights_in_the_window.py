"""The public weights of a frozen part: chosen by a button, shown by their checksum, refused where they are others."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from mishaps import retype, text_of
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog

from workbench.deep.feature_cache import cache_state
from workbench.deep.networks import vgg16_head
from workbench.release.verify import verify_release

pytestmark = [
    pytest.mark.slow,  # the cost of a network is worked out several times
    pytest.mark.skipif(__import__("importlib.util").util.find_spec("torch") is None, reason="networks need PyTorch"),
]


@pytest.fixture
def photos(window, press, load, tmp_path):
    """A window in which images of 32 × 32 are open, on Train with the network that needs weights."""
    codes = np.arange(60) % 2
    noise = np.random.default_rng(3).integers(0, 50, (60, 32, 32, 3))
    np.savez(tmp_path / "photos.npz", x=(noise + 150 * codes[:, None, None, None]).astype(np.uint8), y=codes)
    load(window, tmp_path / "photos.npz")
    press(window, "tab_train")
    press(window, "train_model_vgg16-head")
    return window


@pytest.fixture
def weights(tmp_path, monkeypatch):
    """A file that the chooser gives; of a size that no test has to write whole."""
    file = tmp_path / "weights.safetensors"
    file.write_bytes(b"some bytes")
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *_: (str(file), ""))
    return file


def told(window, qtbot, words: str) -> str:
    qtbot.waitUntil(lambda: words in text_of(window, "train_problem"))
    return text_of(window, "train_problem")


def test_weights_are_chosen_checked_and_told_of(photos, press, idle, qtbot, weights):
    problem = told(photos, qtbot, "needs the public weights of VGG16")
    assert problem.endswith("choose their file under “weights”: safetensors or a state dict of torch.")
    assert "--" not in problem, "nobody has a command line here"
    press(photos, "train_vgg16_head_weights_choose")
    qtbot.waitUntil(lambda: photos.page.primary.isEnabled())
    checksum = hashlib.sha256(b"some bytes").hexdigest()
    assert text_of(photos, "fact_weights") == f"{checksum[:16]}…"
    retype(photos, qtbot, "train_vgg16_head_weights_sha256", "0" * 64)
    assert told(photos, qtbot, "do not match their checksum")
    assert not photos.page.primary.isEnabled()
    retype(photos, qtbot, "train_vgg16_head_weights_sha256", checksum.upper())
    qtbot.waitUntil(lambda: photos.page.primary.isEnabled())
    assert photos.session.network.plan.weights == str(weights)


def test_a_head_is_trained_and_predicts_with_its_weights_alone(
    photos, finish, press, idle, qtbot, answer, weights, tmp_path, monkeypatch
):
    press(photos, "train_vgg16_head_weights_choose")
    for name, text in (("epochs", "2"), ("batch", "20")):
        retype(photos, qtbot, f"train_vgg16_head_{name}", text)
    retype(photos, qtbot, "train_folder", str(tmp_path / "net"))
    qtbot.waitUntil(lambda: photos.page.primary.isEnabled())
    answer("yes")
    press(photos, "train_start")  # the file contains no weights: refused, and nothing is charged
    idle(photos)
    assert not (tmp_path / "net").exists()
    assert photos.session.account.spent == 0
    random_weights(weights)
    press(photos, "train_vgg16_head_weights_choose")
    qtbot.waitUntil(lambda: photos.page.primary.isEnabled())
    answer("yes")
    finish(photos, "train_start")
    idle(photos)
    assert verify_release(tmp_path / "net") == []
    card = json.loads((tmp_path / "net" / "card.json").read_text("utf-8"))
    checksum = hashlib.sha256(weights.read_bytes()).hexdigest()
    assert card["training"]["architecture"]["weights_sha256"] == checksum
    finish(photos, "tab_data")
    assert cache_state().sets == 1
    assert "of 1 set of images; private" in text_of(photos, "kept_features")
    answer("yes")
    finish(photos, "kept_features_clear")
    assert cache_state().sets == 0
    assert text_of(photos, "kept_features") == "None are kept."
    predict_with_weights(photos, press, idle, qtbot, weights, checksum, monkeypatch)


def predict_with_weights(window, press, idle, qtbot, weights: Path, checksum: str, monkeypatch) -> None:
    window.show_page("predict")
    idle(window)
    assert text_of(window, "predict_weights_told").endswith(checksum)
    other = weights.with_name("other.safetensors")
    other.write_bytes(b"other bytes")
    retype(window, qtbot, "predict_weights", other)
    qtbot.keyClick(window.page._weights._field, Qt.Key.Key_Return)
    idle(window)
    assert "do not match their checksum" in text_of(window, "predict_problem")
    assert not window.page.primary.isEnabled()
    press(window, "predict_weights_browse")
    idle(window)
    press(window, "predict_run")
    idle(window)
    assert " of 60. Nothing was charged." in text_of(window, "predict_images_outcome")


def random_weights(file: Path) -> None:
    import torch
    from safetensors.torch import save_file

    generator, state, before, position = torch.Generator().manual_seed(0), {}, 3, 0
    for stage in vgg16_head.STAGES:
        for channels in stage:
            state[f"features.{position}.weight"] = torch.randn(channels, before, 3, 3, generator=generator) * 0.05
            state[f"features.{position}.bias"] = torch.zeros(channels)
            before, position = channels, position + 2
        position += 1
    save_file(state, file)
