"""``predict`` for images: a labelled set is judged, single files and folders without classes are brought to size."""

from importlib.util import find_spec

import numpy as np
import pytest
from command_cases import lines_of
from PIL import Image

from workbench.release.ledger.ledger import Ledger

pytestmark = [
    pytest.mark.slow,  # a network is trained first
    pytest.mark.skipif(find_spec("torch") is None, reason="networks need PyTorch"),
]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with labelled images, and a network that was released of them."""
    from workbench.cli import main

    folder = tmp_path_factory.mktemp("images")
    noise = np.random.default_rng(1)
    labels = np.arange(200) % 2
    x = (noise.integers(0, 60, (200, 8, 8)) + 150 * labels[:, None, None]).astype(np.uint8)
    np.savez(folder / "set.npz", x=x, y=labels.astype(np.uint8))
    words = ["--network", "logistic", "--epsilon", "50", "--delta", "1e-3", "--batch", "50", "--epochs", "4"]
    more = ["--classes", "dark,bright", "--lr", "2", "--clip", "1", "--ledger", str(folder / "ledger.sqlite")]
    assert main(["dpsgd", str(folder / "set.npz"), *words, *more, "-o", str(folder / "net")]) == 0
    for at, grey in enumerate((10, 240)):
        (folder / "loose").mkdir(exist_ok=True)
        Image.fromarray(np.full((16, 20), grey, np.uint8)).save(folder / "loose" / f"{at}.png")
    return folder


def test_a_labelled_set_is_judged(made, run, tmp_path):
    told = run("predict", str(made / "set.npz"), "--model", str(made / "net"), "-o", str(tmp_path / "out.csv"))
    header, *lines = lines_of(tmp_path / "out.csv")
    assert header == ["row", "predicted class", "probability of dark", "probability of bright"]
    right = sum(line[1] == ("dark", "bright")[at % 2] for at, line in enumerate(lines))
    assert f"{right / 2:.4g} % of them are right" in told.out
    answer = run(
        "predict", str(made / "set.npz"), "--model", str(made / "net"), "-o", str(tmp_path / "b.csv"), "--json"
    )
    assert answer.json["accuracy"] == right / 200
    assert answer.json["private"] is True


@pytest.mark.parametrize(("name", "files"), [("loose", ["0.png", "1.png"]), ("loose/1.png", ["1.png"])])
def test_files_without_classes_are_predicted_by_name(made, run, tmp_path, name, files):
    told = run("predict", str(made / name), "--model", str(made / "net"), "-o", str(tmp_path / "out.csv"), "--json")
    assert told.code == 0
    assert "accuracy" not in told.json
    header, *lines = lines_of(tmp_path / "out.csv")
    assert header[:3] == ["row", "file", "predicted class"]
    assert [line[1] for line in lines] == files


def test_what_is_no_image_is_one_sentence(made, run, tmp_path):
    (tmp_path / "bad.png").write_bytes(b"not a picture")
    words = ("--model", str(made / "net"), "-o", str(tmp_path / "out.csv"))
    assert "is not a PNG or JPEG image" in run("predict", str(tmp_path / "bad.png"), *words).error()
    assert "no such file" in run("predict", str(tmp_path / "none.png"), *words).error()
    assert not (tmp_path / "out.csv").exists()


def test_how_many_are_right_is_noted_in_the_ledger_and_predictions_without_classes_are_not(made, run, tmp_path):
    book = tmp_path / "book.sqlite"
    words = ("--model", str(made / "net"), "--ledger", str(book))
    assert run("predict", str(made / "loose"), *words, "-o", str(tmp_path / "loose.csv")).code == 0
    assert not book.exists()
    told = run("predict", str(made / "set.npz"), *words, "-o", str(tmp_path / "set.csv"))
    assert told.code == 0
    assert "the ledger notes, at no cost" in told.err
    with Ledger.read(book) as opened:
        assert [figures.study for figures in opened.figures()] == ["predict"]
    assert run("predict", str(made / "set.npz"), *words, "-o", str(book)).code == 2, "the ledger is not replaced"
