"""Networks by name: documented sizes, public first weights."""

from __future__ import annotations

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from workbench.deep import networks  # noqa: E402
from workbench.deep.engines import engine_for  # noqa: E402
from workbench.deep.image_kernel import ImageClippedSum  # noqa: E402
from workbench.deep.networks import LATER, NETWORKS, network  # noqa: E402
from workbench.deep.networks.images import PIXELS, Pixels  # noqa: E402
from workbench.params import ParameterError  # noqa: E402

INPUTS = {known.name: 6 if known.name in ("logistic", "mlp") else PIXELS for known in NETWORKS}
INPUTS["cifar-cnn"] = Pixels(3, 16, 16)
HERE = [known for known in NETWORKS if known.name != "vgg16-head"]  # the other needs a file: test_image_networks.py


def test_sizes_are_the_documented_ones() -> None:
    assert network("logistic").widths(8, 2) == (8, 2)
    assert network("mlp").widths(8, 2) == (8, 64, 64, 2)
    assert network("mnist-cnn").parameters(PIXELS, 10) == 26_010
    assert network("scatter-linear").parameters(PIXELS, 10) == 39_700
    assert network("scatter-upright").parameters(PIXELS, 10) == 5_010
    assert network("scatter-cnn").parameters(PIXELS, 10) == 15_450


@pytest.mark.parametrize("known", HERE, ids=lambda known: known.name)
def test_a_network_has_the_parameters_it_says_and_a_logit_for_each_class(known: networks.Network) -> None:
    module = known.build(INPUTS[known.name], 3)
    assert sum(p.numel() for p in module.parameters()) == known.parameters(INPUTS[known.name], 3)
    prepared = known.prepared(torch.rand(4, INPUTS[known.name]) * 2 - 1)
    assert prepared.shape == (4, known.prepared_width(INPUTS[known.name]))
    assert module(prepared).shape == (4, 3)


@pytest.mark.parametrize("known", HERE, ids=lambda known: known.name)
def test_first_weights_are_public_and_leave_the_global_generator_alone(known: networks.Network) -> None:
    inputs = INPUTS[known.name]
    torch.manual_seed(3)
    expected = torch.rand(4)
    torch.manual_seed(3)
    first, second = known.build(inputs, 3).state_dict(), known.build(inputs, 3).state_dict()
    assert torch.equal(torch.rand(4), expected)
    assert all(torch.equal(first[k], second[k]) for k in first)
    assert all(torch.isfinite(w).all() for w in first.values())


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


@pytest.mark.parametrize("name", ["scatter-linear", "scatter-upright"])
def test_features_of_an_image_do_not_depend_on_the_others(name: str) -> None:
    images = torch.rand(3, PIXELS) * 2 - 1
    known = network(name)
    torch.testing.assert_close(known.prepared(images)[1:2], known.prepared(images[1:2]), rtol=1e-4, atol=1e-5)


def test_a_line_in_the_list_registers_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    toy = replace(network("mlp"), name="toy", hidden=(4,))
    monkeypatch.setattr(networks, "NETWORKS", (*networks.NETWORKS, toy))
    assert network("toy") is toy
    assert toy.parameters(8, 2) == 9 * 4 + 5 * 2


def test_unknown_networks_name_a_near_one_and_later_ones_say_so() -> None:
    with pytest.raises(ParameterError, match="did you mean 'logistic'"):
        network("logistik")
    for name in LATER:
        with pytest.raises(ParameterError, match="not in this version"):
            network(name)
