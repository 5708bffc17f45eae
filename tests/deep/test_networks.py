"""Networks by name: documented sizes, public first weights."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from workbench.deep.networks import LATER, NETWORKS, network  # noqa: E402
from workbench.params import ParameterError  # noqa: E402


def test_sizes_are_the_documented_ones() -> None:
    assert network("logistic").widths(8, 2) == (8, 2)
    assert network("mlp").widths(8, 2) == (8, 64, 64, 2)
    for known in NETWORKS:
        module = known.build(8, 2)
        assert sum(p.numel() for p in module.parameters()) == known.parameters(8, 2)
        assert module(torch.zeros(3, 8)).shape == (3, 2)


@pytest.mark.parametrize("name", [known.name for known in NETWORKS])
def test_first_weights_are_public_and_leave_the_global_generator_alone(name: str) -> None:
    torch.manual_seed(3)
    expected = torch.rand(4)
    torch.manual_seed(3)
    first, second = network(name).build(6, 3).state_dict(), network(name).build(6, 3).state_dict()
    assert torch.equal(torch.rand(4), expected)
    assert all(torch.equal(first[k], second[k]) for k in first)
    assert all(torch.isfinite(w).all() for w in first.values())


def test_unknown_networks_name_a_near_one_and_later_ones_say_so() -> None:
    with pytest.raises(ParameterError, match="did you mean 'logistic'"):
        network("logistik")
    for name in (*LATER, "package.module:factory"):
        with pytest.raises(ParameterError, match="not in this version"):
            network(name)
