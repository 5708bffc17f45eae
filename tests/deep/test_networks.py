"""Networks by name: documented sizes, public first weights."""

import csv
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from array_data import ArrayData  # noqa: E402
from network_conformance import NetworkConformance  # noqa: E402
from safetensors.numpy import save_file  # noqa: E402

from workbench.data.schema import Attribute  # noqa: E402
from workbench.deep import networks  # noqa: E402
from workbench.deep.features import Features  # noqa: E402
from workbench.deep.image_kernel import ImageClippedSum  # noqa: E402
from workbench.deep.model import METRIC_COLUMNS, WEIGHTS, TrainedModel, facts, metrics_bytes  # noqa: E402
from workbench.deep.networks import NETWORKS, network  # noqa: E402
from workbench.deep.networks.images import PIXELS  # noqa: E402
from workbench.deep.plan import DpSgdPlan  # noqa: E402
from workbench.deep.preparation import engine_for  # noqa: E402
from workbench.deep.trainer import Record, train  # noqa: E402
from workbench.params import InputError, ParameterError  # noqa: E402
from workbench.work.noise import Charged  # noqa: E402

HERE = [known for known in NETWORKS if known.name != "vgg16-head"]  # the other needs a file: test_image_networks.py


def test_sizes_are_the_documented_ones():
    assert network("logistic").widths(8, 2) == (8, 2)
    assert network("mlp").widths(8, 2) == (8, 64, 64, 2)
    assert network("mnist-cnn").parameters(PIXELS, 10) == 26_010
    assert network("scatter-linear").parameters(PIXELS, 10) == 39_700
    assert network("scatter-upright").parameters(PIXELS, 10) == 5_010
    assert network("scatter-cnn").parameters(PIXELS, 10) == 15_450


@pytest.mark.parametrize("known", HERE, ids=lambda known: known.name)
class TestEveryNetwork(NetworkConformance):
    """Each of the house."""


@pytest.mark.parametrize(
    "name", ["mnist-cnn", "scatter-cnn", "scatter-linear", "scatter-upright", "cifar-cnn", "vgg16-head"]
)
def test_a_table_that_is_no_image_is_refused(name):
    with pytest.raises(ParameterError, match=r"reads images.*, not 8 inputs"):
        network(name).parameters(8, 2)


@pytest.mark.parametrize(("name", "width"), [("mnist-cnn", PIXELS), ("scatter-cnn", 81 * 49)])
def test_the_convolutional_networks_have_the_fast_engine(name, width):
    module = network(name).build(PIXELS, 10)
    assert isinstance(engine_for(module, 1.0, 64, example=torch.rand(3, width)), ImageClippedSum)


def test_a_line_in_the_list_registers_a_network(monkeypatch):
    toy = replace(network("mlp"), name="toy", hidden=(4,))
    monkeypatch.setattr(networks, "NETWORKS", (*networks.NETWORKS, toy))
    assert network("toy") is toy
    assert toy.parameters(8, 2) == 9 * 4 + 5 * 2


def test_unknown_networks_name_a_near_one():
    with pytest.raises(ParameterError, match="did you mean 'logistic'"):
        network("logistik")


# -- A released network is data: it loads back as it was, and nothing that could run code is read ---------------------


FEATURES = Features(
    (Attribute(name="x", kind="real", lower=-1, upper=1), Attribute(name="c", kind="category", domain=("p", "q"))),
    Attribute(name="y", kind="category", domain=("no", "yes")),
)
DATA = ArrayData(FEATURES, np.column_stack([np.linspace(-1, 1, 60), np.arange(60) % 2]), np.arange(60) // 30)


@pytest.fixture(scope="module")
def run():
    plan = DpSgdPlan(
        network="mlp", noise=1.0, delta=1e-5, batch=10, epochs=1, lr=0.5, clip=1.0, accountant="rdp", device="cpu"
    )
    return train(plan, DATA, Charged(lambda cost: None))


def inputs() -> list[dict[str, object]]:
    return [a.to_plain() for a in FEATURES.attributes]


def test_the_facts_of_the_card_are_those_of_the_run(run):
    told = facts(run)
    assert told["noise_multiplier"] == 1.0
    assert told["clip"] == 1.0
    assert told["steps"] == run.steps == 6
    assert told["sample_rate"] == 10 / 60
    assert told["accountant"] == "rdp"
    assert told["order"] is not None
    assert told["epsilon_row"] <= float(run.cost.epsilon)
    assert "accuracy" not in told


@pytest.mark.parametrize("content", [b"", b"\x80\x04.", b"not weights", b"\xff" * 64])
def test_anything_but_safetensors_is_refused(run, tmp_path, content):
    (tmp_path / WEIGHTS).write_bytes(content)
    with pytest.raises(InputError, match="not a safetensors file"):
        TrainedModel.load(tmp_path, facts(run), inputs())


def test_a_pickled_checkpoint_is_refused_and_never_run(run, tmp_path):
    marker = tmp_path / "ran"

    class Bomb:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return Path.touch, (str(marker),)

    for write in (lambda p: p.write_bytes(pickle.dumps(Bomb())), lambda p: torch.save({"w": torch.ones(2)}, p)):
        write(tmp_path / WEIGHTS)
        with pytest.raises(InputError, match="can run code"):
            TrainedModel.load(tmp_path, facts(run), inputs())
    assert not marker.exists()


def test_weights_of_another_network_or_not_finite_are_refused(run, tmp_path):
    wrong_type = {k: w.astype(np.float64) for k, w in run.weights.items()}
    missing = dict(list(run.weights.items())[1:])
    reshaped = {k: w.reshape(-1) for k, w in run.weights.items()}
    for weights in (wrong_type, missing, reshaped):
        save_file(weights, tmp_path / WEIGHTS)
        with pytest.raises(InputError, match="not those of the network"):
            TrainedModel.load(tmp_path, facts(run), inputs())
    save_file({k: w * np.float32(np.nan) for k, w in run.weights.items()}, tmp_path / WEIGHTS)
    with pytest.raises(InputError, match="not finite"):
        TrainedModel.load(tmp_path, facts(run), inputs())


def test_missing_weights_and_a_broken_card_are_one_sentence(run, tmp_path):
    with pytest.raises(InputError, match="weights are missing"):
        TrainedModel.load(tmp_path, facts(run), inputs())
    with pytest.raises(ParameterError, match="does not name the network"):
        TrainedModel.load(tmp_path, {}, inputs())


def test_metrics_are_a_table_with_empty_cells_for_empty_batches(tmp_path):
    path = tmp_path / "metrics.csv"
    path.write_bytes(metrics_bytes([Record(1, 0.1, 0.7, 0.5, 0.2, 1000), Record(2, 0.2, None, None, 0.3, 1000)]))
    with path.open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert tuple(rows[0]) == METRIC_COLUMNS
    assert rows[1]["loss"] == rows[1]["accuracy"] == ""
