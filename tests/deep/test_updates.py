"""Steps of the parameters are those of torch.optim, on one flat vector, and go on from a kept state."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from workbench.deep.private_step import flattened  # noqa: E402
from workbench.deep.updates import UPDATES, Adam, Sgd  # noqa: E402

REFERENCES = {
    "sgd": (lambda: Sgd(0.1), lambda p: torch.optim.SGD(p, lr=0.1)),
    "momentum": (lambda: Sgd(0.1, 0.9), lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9)),
    "adam": (lambda: Adam(0.1), lambda p: torch.optim.Adam(p, lr=0.1)),
    "adamw": (lambda: UPDATES["adamw"](0.1, 0.0), lambda p: torch.optim.AdamW(p, lr=0.1, weight_decay=0.01)),
}


def gradients(count: int) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(4)
    return [torch.randn(20, generator=generator) for _ in range(count)]


@pytest.mark.parametrize("name", REFERENCES)
def test_an_update_is_that_of_torch(name: str) -> None:
    made, reference = REFERENCES[name]
    ours, theirs = torch.linspace(-1, 1, 20), torch.nn.Parameter(torch.linspace(-1, 1, 20))
    update, optimizer = made(), reference([theirs])
    for gradient in gradients(8):
        update(ours, gradient.clone())
        theirs.grad = gradient
        optimizer.step()
    torch.testing.assert_close(ours, theirs.detach(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("length", [2, 11])
def test_a_gradient_of_another_length_is_refused(length: int) -> None:
    with pytest.raises(ValueError, match="another length"):
        Sgd(0.1)(torch.zeros(10), torch.zeros(length))


@pytest.mark.parametrize("name", REFERENCES)
def test_a_restored_update_goes_on_as_if_nothing_had_happened(name: str) -> None:
    made, _ = REFERENCES[name]
    whole, parts = torch.zeros(20), torch.zeros(20)
    one, first, second = made(), made(), made()
    steps = gradients(6)
    for gradient in steps:
        one(whole, gradient.clone())
    for gradient in steps[:3]:
        first(parts, gradient.clone())
    if first.state():
        second.restore({key: value.clone() for key, value in first.state().items()})
    for gradient in steps[3:]:
        second(parts, gradient.clone())
    assert torch.equal(whole, parts)


def test_flattened_parameters_move_with_their_vector() -> None:
    module = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2))
    before = torch.cat([p.detach().flatten() for p in module.parameters()])
    flat = flattened(module)
    assert torch.equal(flat, before)
    flat.add_(1)
    after = torch.cat([p.detach().flatten() for p in module.parameters()])
    assert torch.equal(after, before + 1)
