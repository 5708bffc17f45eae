"""The gradients of single rows, from a layer's input and the gradient of its output (book-keeping, Bu et al. 2022b).

One backward pass that stops at the outputs of the layers gives both, for all rows. From them each rule makes the
gradients that ordinary autograd would give row by row.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

RowGradients = dict[str, Tensor]
"""The gradients of single rows (b, …) by the name of the parameter inside its layer."""

Rule = Callable[[nn.Module, Tensor, Tensor], RowGradients]
"""From a layer, its input (b, …) and the gradient of its output (b, …)."""


def linear(layer: nn.Module, inputs: Tensor, gradient: Tensor) -> RowGradients:
    """Y = Wx + b at every position of a row: Σₜ gₜxₜᵀ."""
    assert isinstance(layer, nn.Linear)
    x = inputs.reshape(len(inputs), -1, inputs.shape[-1])
    g = gradient.reshape(len(gradient), -1, gradient.shape[-1])
    return _with_bias(layer.bias, g.transpose(1, 2) @ x, lambda: g.sum(1))


def convolution(layer: nn.Module, inputs: Tensor, gradient: Tensor) -> RowGradients:
    """A convolution is a linear layer on patches: every group by itself, one product for each row."""
    assert isinstance(layer, nn.Conv1d | nn.Conv2d)
    flat = isinstance(layer, nn.Conv1d)
    x, g = (inputs.unsqueeze(2), gradient.unsqueeze(2)) if flat else (inputs, gradient)
    kernel, stride, dilation = (
        (1, *size) if flat else size for size in (layer.kernel_size, layer.stride, layer.dilation)
    )
    across = list(layer._reversed_padding_repeated_twice)  # what the layer itself pads with, "same" worked out
    mode = "constant" if layer.padding_mode == "zeros" else layer.padding_mode
    if any(across):
        if flat:
            x = functional.pad(x.squeeze(2), across, mode=mode).unsqueeze(2)
        else:
            x = functional.pad(x, across, mode=mode)
    patches = functional.unfold(x, kernel, dilation=dilation, stride=stride)
    rows, groups = len(x), layer.groups
    patches = patches.view(rows * groups, -1, patches.shape[-1])
    g = g.reshape(rows * groups, -1, patches.shape[-1])
    weight = (g @ patches.transpose(1, 2)).view(rows, *layer.weight.shape)
    return _with_bias(layer.bias, weight, lambda: gradient.flatten(2).sum(2))


def embedding(layer: nn.Module, inputs: Tensor, gradient: Tensor) -> RowGradients:
    """Each word's vector receives the sum of the gradients at its places."""
    assert isinstance(layer, nn.Embedding)
    words = inputs.reshape(len(inputs), -1)
    g = gradient.reshape(*words.shape, gradient.shape[-1])
    if layer.padding_idx is not None:
        g = g * (words != layer.padding_idx).unsqueeze(-1)
    weight = g.new_zeros(len(words), *layer.weight.shape)
    weight.scatter_add_(1, words.unsqueeze(-1).expand_as(g), g)
    return {"weight": weight}


def layer_norm(layer: nn.Module, inputs: Tensor, gradient: Tensor) -> RowGradients:
    """Y = w·x̂ + b, x̂ the normalised input, at every position of a row."""
    assert isinstance(layer, nn.LayerNorm)
    shape = layer.normalized_shape
    normal = functional.layer_norm(inputs, shape, eps=layer.eps)
    places = (len(inputs), -1, math.prod(shape))
    weight = (gradient * normal).reshape(places).sum(1).view(-1, *shape)
    return _with_bias(layer.bias, weight, lambda: gradient.reshape(places).sum(1).view(-1, *shape))


def group_norm(layer: nn.Module, inputs: Tensor, gradient: Tensor) -> RowGradients:
    """Y = w·x̂ + b, w and b one number for each channel."""
    assert isinstance(layer, nn.GroupNorm)
    normal = functional.group_norm(inputs, layer.num_groups, eps=layer.eps)
    places = (len(inputs), layer.num_channels, -1)
    weight = (gradient * normal).reshape(places).sum(2)
    bias: Tensor | None = layer.bias
    return _with_bias(bias, weight, lambda: gradient.reshape(places).sum(2))


def _with_bias(bias: Tensor | None, weight: Tensor, of_bias: Callable[[], Tensor]) -> RowGradients:
    return {"weight": weight} if bias is None else {"weight": weight, "bias": of_bias()}


RULES: dict[type[nn.Module], Rule] = {
    nn.Linear: linear,
    nn.Conv1d: convolution,
    nn.Conv2d: convolution,
    nn.Embedding: embedding,
    nn.LayerNorm: layer_norm,
    nn.GroupNorm: group_norm,
}
"""The layers whose rows' gradients are made from input and output; others are differentiated row by row."""


def rule_of(layer: nn.Module) -> Rule | None:
    """Return the rule of a layer; ``None`` where there is none, or where its options are outside it."""
    if isinstance(layer, nn.Embedding) and (layer.max_norm is not None or layer.scale_grad_by_freq or layer.sparse):
        return None
    return RULES.get(type(layer))  # a subclass may do something else


def single_position(layer: nn.Module, inputs: Tensor) -> bool:
    """Return whether the gradient of a row is one product g·xᵀ, whose norm needs no gradient: ‖g‖·‖x‖."""
    return type(layer) is nn.Linear and inputs.dim() == 2


def outer_squares(layer: nn.Module, inputs: Tensor, gradient: Tensor) -> Tensor:
    """Return the squared norms (b,) of g·xᵀ and g, of a linear layer at one position."""
    x = torch.linalg.vector_norm(inputs, dim=1).square_()
    if layer.bias is not None:
        x = x.add_(1)
    squares: Tensor = x.mul_(torch.linalg.vector_norm(gradient, dim=1).square_())
    return squares
