"""The gradients of single rows, from a layer's input and the gradient of its output (book-keeping, Bu et al. 2022b).

One backward pass that stops at the outputs of the layers gives both, for all rows. From them each rule makes the
gradients that ordinary autograd would give row by row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from workbench.deep.factors import lost_squares

RowGradients = dict[str, Tensor]
"""The gradients of single rows (b, …) by the name of the parameter inside its layer; dense, in any order of memory."""

SHORT = 32
"""Runs of fewer numbers are slow to copy: patches with such lines are cut in two copies."""

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
    across = list(layer._reversed_padding_repeated_twice)  # what the layer itself pads with, "same" worked out
    mode = "constant" if layer.padding_mode == "zeros" else layer.padding_mode
    x = functional.pad(inputs, across, mode=mode) if any(across) else inputs
    x, g = (x.unsqueeze(2), gradient.unsqueeze(2)) if flat else (x, gradient)
    kernel, stride, dilation = (
        (1, *size) if flat else size for size in (layer.kernel_size, layer.stride, layer.dilation)
    )
    rows, groups = len(x), layer.groups
    if groups == 1:
        # Channels last: patches are cut in long runs, and the gradients stay in their order until they are summed.
        patches = cut_patches(x.permute(0, 2, 3, 1).contiguous(), kernel, stride, dilation)
        places = g.permute(0, 2, 3, 1).reshape(rows, -1, g.shape[1])
        lines = (places.transpose(1, 2) @ patches).view(rows, g.shape[1], *kernel, x.shape[1])
        weight = lines.permute(0, 1, 4, 2, 3)
        weight = weight.squeeze(3) if flat else weight
        return _with_bias(layer.bias, weight, lambda: places.sum(1))
    patches = functional.unfold(x, kernel, dilation=dilation, stride=stride)
    patches = patches.view(rows * groups, -1, patches.shape[-1])
    g = g.reshape(rows * groups, -1, patches.shape[-1])
    weight = (g @ patches.transpose(1, 2)).view(rows, *layer.weight.shape)
    return _with_bias(layer.bias, weight, lambda: gradient.flatten(2).sum(2))


def cut_patches(image: Tensor, kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int]) -> Tensor:
    """Return the patches (b, places, kernel height · width · channels) of ``image`` (b, h, w, c), contiguous."""
    rows, height, width, channels = image.shape
    (high, wide), (down, across), (distance_h, distance_w) = kernel, stride, dilation
    out = ((height - distance_h * (high - 1) - 1) // down + 1, (width - distance_w * (wide - 1) - 1) // across + 1)
    step = image.stride()
    if wide * channels < SHORT:
        # First across, then down: fewer short runs are copied.
        lines = image.as_strided(
            (rows, out[1], height, wide, channels), (step[0], step[2] * across, step[1], step[2] * distance_w, 1)
        ).contiguous()
        step = lines.stride()
        windows = lines.as_strided(
            (rows, *out, high, wide * channels), (step[0], step[2] * down, step[1], step[2] * distance_h, 1)
        )
    else:
        windows = image.as_strided(
            (rows, *out, high, wide, channels),
            (step[0], step[1] * down, step[2] * across, step[1] * distance_h, step[2] * distance_w, 1),
        )
    return windows.reshape(rows, out[0] * out[1], -1)


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
    """Return the squared norms (b,) of g·xᵀ and g, of a linear layer at one position; nothing is lost to underflow."""
    x = torch.linalg.vector_norm(inputs, dim=1).square_()
    x = x.add_(lost_squares(inputs.shape[1]) if layer.bias is None else 1)
    g = torch.linalg.vector_norm(gradient, dim=1).square_()
    squares: Tensor = x.mul_(g.add_(lost_squares(gradient.shape[1] + 1)))
    return squares
