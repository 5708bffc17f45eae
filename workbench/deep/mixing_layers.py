"""Refuse layers that mix rows, because one row would change the gradients of others, which clipping does not bound."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from workbench.params import ParameterError

MIXING = (nn.modules.batchnorm._BatchNorm,)
_GROUPS, _IN_A_GROUP = 32, 4
_TOLERANCE = 1e-4
_TOLERANCE_ON_A_GPU = 1e-6
"""Sums of a GPU are not added up in the same order each time; on a processor the same rows give the same bits."""

_SEED = 7
_HINT = "use one whose output for a row depends only on that row and the weights"


def require_separate_rows(network: nn.Module) -> None:
    """Raise :class:`ParameterError` if a layer of ``network`` computes with several rows at once."""
    for name, layer in mixing(network):
        raise ParameterError(
            f"the layer {name or type(layer).__name__} ({type(layer).__name__}) mixes the rows of a batch",
            hint="add --convert-batchnorm, which replaces it with GroupNorm, or change the network",
        )


def mixing(network: nn.Module) -> list[tuple[str, nn.Module]]:
    """Return the layers of ``network`` that compute with several rows at once, each with its name."""
    return [(name, layer) for name, layer in network.named_modules() if _mixes(layer)]


def dropouts(network: nn.Module) -> list[tuple[str, nn.Module]]:
    """Return the layers of ``network`` that would drop something in training, each with its name."""
    found: list[tuple[str, nn.Module]] = []
    for name, layer in network.named_modules():
        share = layer.p if isinstance(layer, nn.modules.dropout._DropoutNd) else getattr(layer, "dropout", 0.0)
        if isinstance(layer, (nn.modules.dropout._DropoutNd, nn.RNNBase)) and share > 0:
            found.append((name, layer))
    return found


def _mixes(layer: nn.Module) -> bool:
    tracks = isinstance(layer, nn.modules.instancenorm._InstanceNorm) and layer.track_running_stats
    return isinstance(layer, MIXING) or tracks


def converted(network: nn.Module) -> nn.Module:
    """Return ``network`` with a GroupNorm for every layer that :func:`mixing` finds, in place where it can.

    It has the same channels, scale and shift. A group has four channels or more where there are as many: of a table's
    row each channel is one number, and a group of one number is always 0.

    Raises:
        ParameterError: the channels of a layer are not known yet.
    """
    if _mixes(network):
        channels, scale, shift = (getattr(network, name) for name in ("num_features", "weight", "bias"))
        if not channels:
            raise ParameterError(
                f"a {type(network).__name__} has no number of channels until it has read rows",
                hint="give it the number of channels",
            )
        most = min(_GROUPS, max(1, channels // _IN_A_GROUP))
        groups = next(g for g in range(most, 0, -1) if channels % g == 0)
        made = nn.GroupNorm(groups, channels, eps=float(network.eps), affine=bool(network.affine))  # type: ignore[arg-type]
        if made.affine:
            with torch.no_grad():
                made.weight.copy_(scale)
                made.bias.copy_(shift)
            made.weight.requires_grad_(scale.requires_grad)
            made.bias.requires_grad_(shift.requires_grad)
        return made
    for name, child in list(network.named_children()):
        setattr(network, name, converted(child))
    return network


def require_rows_for_themselves(network: nn.Module, inputs: Tensor) -> None:
    """Check on generated rows that ``network`` treats each row alone; set it to its training mode first.

    Raises:
        ParameterError: the output of a row changes with the other rows, or with what passed the network before.
    """
    held = [(t, t.clone()) for t in _tensors(network)]
    alone = _passed(network, inputs)
    others = [_with_others(inputs, row, other) for row in range(len(inputs)) for other in _others(inputs)]
    rows = [row for row in range(len(inputs)) for _ in _others(inputs)]
    found = [_passed(network, batch)[row] for row, batch in zip(rows, others, strict=True)]
    again = _passed(network, inputs)
    now = _tensors(network)
    if len(now) != len(held) or not _same(again, alone) or not all(map(_unchanged, now, held)):
        raise ParameterError("the network stores something about the rows besides its gradients", hint=_HINT)
    if not all(_same(out, alone[row]) for row, out in zip(rows, found, strict=True)) or _by_number(network, inputs):
        raise ParameterError("the network mixes the rows of a batch", hint=_HINT)


@contextmanager
def without_chance(network: nn.Module, kind: type[nn.Module] = nn.modules.dropout._DropoutNd) -> Iterator[None]:
    """Let the layers of ``kind`` compute as in a prediction; afterwards each one is as it was."""
    modes = [(layer, layer.training) for layer in network.modules() if isinstance(layer, kind)]
    for layer, _ in modes:
        layer.training = False
    try:
        yield
    finally:
        for layer, mode in modes:
            layer.training = mode


@contextmanager
def without_zeros(network: nn.Module) -> Iterator[None]:
    """Give weights that are zero generated numbers for a while: zeros hide what the layers before them do."""
    zeros = [(p, p.detach().clone()) for p in network.parameters() if not p.all()]
    generator = torch.Generator().manual_seed(_SEED)
    with torch.no_grad():
        for p, _ in zeros:
            made = torch.randn(p.shape, generator=generator) / max(1, p[:1].numel()) ** 0.5
            p.copy_(torch.where(p == 0, made.to(p), p))
    try:
        yield
    finally:
        with torch.no_grad():
            for p, held in zeros:
                p.copy_(held)


def _by_number(network: nn.Module, inputs: Tensor) -> bool:
    """Return whether the output of a row changes with the number of rows."""
    with without_chance(network, nn.Module):
        together, alone = _passed(network, inputs), _passed(network, inputs[:1])
    return not torch.allclose(together[:1], alone, rtol=_TOLERANCE, atol=_TOLERANCE)


def _passed(network: nn.Module, inputs: Tensor) -> Tensor:
    """Return the outputs; whatever is drawn, such as dropout, is the same for each call."""
    devices = [inputs.device] if inputs.device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices), torch.no_grad():
        torch.manual_seed(_SEED)
        found: Tensor = network(inputs.clone()).clone()
    return found


def _others(inputs: Tensor) -> tuple[Tensor, Tensor]:
    """Return rows that take the place of others: the same ones elsewhere, and empty ones."""
    return inputs.roll(1, 0), torch.zeros_like(inputs)


def _with_others(inputs: Tensor, row: int, others: Tensor) -> Tensor:
    batch = others.clone()
    batch[row] = inputs[row]
    return batch


def _same(one: Tensor, other: Tensor) -> bool:
    if one.device.type == "cpu":
        return torch.equal(one, other)
    return torch.allclose(one, other, rtol=_TOLERANCE_ON_A_GPU, atol=_TOLERANCE_ON_A_GPU)


def _unchanged(now: Tensor, held: tuple[Tensor, Tensor]) -> bool:
    """Return whether a tensor is the one that was held, with the numbers that it had."""
    return now is held[0] and torch.equal(now, held[1])


def _tensors(network: nn.Module) -> list[Tensor]:
    return [*network.parameters(), *network.buffers()]
