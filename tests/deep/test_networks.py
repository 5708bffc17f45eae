"""Networks by name: documented sizes, public first weights."""

from __future__ import annotations

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from network_conformance import NetworkConformance  # noqa: E402

from workbench.deep import networks  # noqa: E402
from workbench.deep.image_kernel import ImageClippedSum  # noqa: E402
from workbench.deep.networks import NETWORKS, network  # noqa: E402
from workbench.deep.networks.images import PIXELS  # noqa: E402
from workbench.deep.preparation import engine_for  # noqa: E402
from workbench.params import ParameterError  # noqa: E402

HERE = [known for known in NETWORKS if known.name != "vgg16-head"]  # the other needs a file: test_image_networks.py


def test_sizes_are_the_documented_ones() -> None:
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
def test_a_table_that_is_no_image_is_refused(name: str) -> None:
    with pytest.raises(ParameterError, match=r"reads images.*, not 8 inputs"):
        network(name).parameters(8, 2)


@pytest.mark.parametrize(("name", "width"), [("mnist-cnn", PIXELS), ("scatter-cnn", 81 * 49)])
def test_the_convolutional_networks_have_the_fast_engine(name: str, width: int) -> None:
    module = network(name).build(PIXELS, 10)
    assert isinstance(engine_for(module, 1.0, 64, example=torch.rand(3, width)), ImageClippedSum)


def test_a_line_in_the_list_registers_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    toy = replace(network("mlp"), name="toy", hidden=(4,))
    monkeypatch.setattr(networks, "NETWORKS", (*networks.NETWORKS, toy))
    assert network("toy") is toy
    assert toy.parameters(8, 2) == 9 * 4 + 5 * 2


def test_unknown_networks_name_a_near_one() -> None:
    with pytest.raises(ParameterError, match="did you mean 'logistic'"):
        network("logistik")
