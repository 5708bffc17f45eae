"""Clipped sums of any network of known layers in one forward and one backward pass (book-keeping, Bu et al. 2022b).

One backward pass that stops at the outputs of the layers gives input and gradient of the output of each layer, for all
rows. From these each layer's rule makes the gradients that ordinary autograd would give row by row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from workbench.deep.clipping import BoundEngine, StepSums, chunks, in_chunks
from workbench.deep.clipping_factors import SinglePrecision, lost_squares
from workbench.deep.frozen_weights import frozen_names
from workbench.deep.memory import out_of_memory

RowGradients = dict[str, Tensor]
"""The gradients of single rows (b, …) by the name of the parameter inside its layer; dense, in any order of memory."""

_SHORT = 32  # runs of fewer numbers are slow to copy: patches with such lines are cut in two copies

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
        image = x.permute(0, 2, 3, 1).contiguous()
        patches, cuts = patch_cuts(image, kernel, stride, dilation, lambda *shape: image.new_empty((rows, *shape)))
        for to, cut in cuts:
            to.copy_(cut)
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


Sizes = Sequence[int]


def patch_cuts(
    image: Tensor, kernel: Sizes, stride: Sizes, dilation: Sizes, take: Callable[..., Tensor]
) -> tuple[Tensor, list[tuple[Tensor, Tensor]]]:
    """Return memory for the patches (b, places, kernel height · width · channels) of ``image`` (b, h, w, c).

    Beside it is what has to be copied to fill it, in this order: (to, from). ``take`` gives memory (b, …) for a shape.
    """
    rows, height, width, channels = image.shape
    (high, wide), (down, across), (distance_h, distance_w) = kernel, stride, dilation
    out = ((height - distance_h * (high - 1) - 1) // down + 1, (width - distance_w * (wide - 1) - 1) // across + 1)
    patches, copies, step = take(out[0] * out[1], high * wide * channels), [], image.stride()
    windows = (rows, *out, high, wide, channels)
    if wide * channels < _SHORT:
        # First across, then down: fewer short runs are copied.
        lines = take(out[1], height, wide, channels)
        cut = image.as_strided(lines.shape, (step[0], step[2] * across, step[1], step[2] * distance_w, 1))
        copies, step = [(lines, cut)], lines.stride()
        image, strides = lines, (step[0], step[2] * down, step[1], step[2] * distance_h, step[3], 1)
    else:
        strides = (step[0], step[1] * down, step[2] * across, step[1] * distance_h, step[2] * distance_w, 1)
    return patches, [*copies, (patches.view(windows), image.as_strided(windows, strides))]


def embedding(layer: nn.Module, inputs: Tensor, gradient: Tensor) -> RowGradients:
    """Each word's vector receives the sum of the gradients at its places: the words of a row, and these sums.

    Returns:
        ``weight`` (b, t, d) and ``words`` (b, t), of t places and vectors of d numbers: each word of a row has one sum,
        and the places that this leaves have sums of 0. So no row has a gradient of all words' vectors in memory, and a
        sum over b rows adds b numbers at most, as its bound on rounding assumes.
    """
    assert isinstance(layer, nn.Embedding)
    words, order = inputs.reshape(len(inputs), -1).long().sort(1)
    g = gradient.reshape(*words.shape, gradient.shape[-1]).take_along_dim(order.unsqueeze(-1), 1)
    if layer.padding_idx is not None:
        g = g * (words != layer.padding_idx).unsqueeze(-1)
    first = torch.zeros_like(words)
    first[:, 1:] = words[:, 1:] != words[:, :-1]
    place = first.cumsum(1)
    return {
        "weight": torch.zeros_like(g).scatter_add_(1, place.unsqueeze(-1).expand_as(g), g),
        "words": torch.zeros_like(words).scatter_(1, place, words),
    }


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


_MOST_TERMS = 2**16
"""Squares that a norm sums in single precision (rounding takes .4 % of C for so many); more are summed in double."""

_IMAGES = 4  # axes of a batch of images: (b, channels, height, width)

_NUMBERS_AT_ONCE = 2**24  # numbers of rows' gradients of one layer that are in memory at once (64 MB)


@dataclass(eq=False)
class KeptLayer:
    """A layer with its place in the flat sum, and what a pass leaves of it."""

    module: nn.Module
    parameters: dict[str, slice]
    inputs: Tensor | None = None
    outputs: Tensor | None = None


class BookKeepingClippedSum(BoundEngine):
    """Keeps the inputs of the layers and the gradients of their outputs; norms and sums follow from these.

    Rows' gradients exist for one layer and as many rows as fit into 64 MB; those of linear layers at one position
    and of embeddings never exist. Single precision, clipped at a bound that its rounding needs
    (:mod:`workbench.deep.clipping_factors`).
    """

    def _bind(self, network: nn.Module, clip: float, rule: str) -> None:
        self._layout = torch.channels_last  # pooling is several times as fast
        self._layers = _layers(network)
        for layer in network.modules():
            if hasattr(layer, "inplace"):
                layer.inplace = False  # type: ignore[assignment]  # what a layer returns must stay until its gradient is taken
        self._size = sum(p.numel() for p in network.parameters())
        self.clipping = SinglePrecision(rule, clip, max(map(_terms, self._layers)) + len(self._layers))

    def __call__(self, inputs: Tensor, targets: Tensor, *, measure: bool = True) -> StepSums:
        def chunk(part: slice) -> StepSums:
            y = targets[part]
            present = y >= 0
            logits, losses = self._tried(inputs[part], y, present)
            self._watch()
            total = self._sum(present)
            if not measure:
                return StepSums(total)
            right = int(((logits.argmax(1) == y) & present).sum())
            return StepSums(total, int(present.sum()), float(losses.sum(dtype=torch.float64)), right)

        found = in_chunks(len(targets), self._rows, self._size, chunk, inputs.device)
        self._forget()
        return found

    def _tried(self, x: Tensor, y: Tensor, present: Tensor) -> tuple[Tensor, Tensor]:
        """Pass images with channels last, unless the network turns out to need them first."""
        if x.dim() == _IMAGES and self._layout is torch.channels_last:
            try:
                # A copy: one channel is in either order already, and its strides would not say so.
                last = torch.empty_like(x, memory_format=torch.channels_last).copy_(x)
                return self._passes(last, y, present)
            except RuntimeError as error:
                if out_of_memory(error):
                    raise
                self._layout = torch.contiguous_format  # the network looks at its tensors as they lie in memory
        return self._passes(x, y, present)

    def _passes(self, x: Tensor, y: Tensor, present: Tensor) -> tuple[Tensor, Tensor]:
        """Run forward and backward; leave input and gradient of the output in every layer."""
        with _frozen(self._network), torch.enable_grad(), self._hooked():
            logits = self._network(x)
            losses = nn.functional.cross_entropy(logits, y.clamp_min(0), reduction="none") * present
            outputs = [layer.outputs for layer in self._layers]
            assert all(output is not None for output in outputs), "a layer was not used"
            gradients = torch.autograd.grad(losses.sum(), [o for o in outputs if o is not None])
        for layer, gradient in zip(self._layers, gradients, strict=True):
            layer.outputs = gradient
        return logits.detach(), losses.detach()

    @contextmanager
    def _hooked(self) -> Iterator[None]:
        def keep(layer: KeptLayer) -> Callable[..., Tensor]:
            def hook(_module: nn.Module, given: tuple[Tensor, ...], output: Tensor) -> Tensor:
                layer.inputs = given[0].detach()
                if not output.requires_grad:
                    output.requires_grad_(True)
                layer.outputs = output
                # An activation that writes in place must not change what the gradient is taken of.
                return output.view_as(output) if output.grad_fn is not None else output.clone()

            return hook

        handles = [layer.module.register_forward_hook(keep(layer)) for layer in self._layers]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def _sum(self, present: Tensor) -> Tensor:
        """Return Σ fᵢgᵢ (P,) of the rows that passed."""
        kept: list[dict[str, Tensor] | None] = []
        squares = []
        for layer in self._layers:
            x, g = layer.inputs, layer.outputs
            assert x is not None
            assert g is not None
            if single_position(layer.module, x):
                kept.append(None)
                squares.append(outer_squares(layer.module, x, g))
            else:
                parts = [self._of_rows(layer, x[p], g[p]) for p in self._portions(layer, len(x))]
                squares.append(torch.cat([square for square, _ in parts]) if len(parts) > 1 else parts[0][0])
                kept.append(parts[0][1] if len(parts) == 1 else None)
        factors = self.clipping.of(len(present)).factors(torch.stack(squares, 1))
        factors.mul_(present.unsqueeze(1))
        total = torch.empty(self._size, device=present.device)
        for clean in (False, True):
            for i, (layer, gradients) in enumerate(zip(self._layers, kept, strict=True)):
                self._write(layer, gradients, factors[:, min(i, factors.shape[1] - 1)], total, clean=clean)
            # 0·∞ is not a number: then rows that are left out are set to zero, which costs a pass over all numbers.
            if math.isfinite(float(total.sum())):
                break
        return total

    def _portions(self, layer: KeptLayer, rows: int) -> list[slice]:
        if type(layer.module) is nn.Embedding:
            return [slice(0, rows)]  # its sums are no larger than the gradient that they are made of
        return chunks(rows, max(1, _NUMBERS_AT_ONCE // numbers(layer)))

    def _of_rows(self, layer: KeptLayer, x: Tensor, g: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the squared norms of the rows' gradients and the gradients, each (b, p) in its order of memory."""
        rule = rule_of(layer.module)
        assert rule is not None
        gradients = rule(layer.module, x, g)
        precision = torch.float32 if numbers(layer) <= _MOST_TERMS else torch.float64
        squares = [
            torch.linalg.vector_norm(in_memory(w).flatten(1), dim=1, dtype=precision).square_()
            for name, w in gradients.items()
            if name in layer.parameters
        ]
        return (squares[0] if len(squares) == 1 else torch.stack(squares).sum(0)).float(), gradients

    def _write(
        self, layer: KeptLayer, gradients: dict[str, Tensor] | None, factor: Tensor, total: Tensor, *, clean: bool
    ) -> None:
        """Write a layer's part of the sum; ``clean``: rows with the factor 0 may hold what is no number."""
        x, g = layer.inputs, layer.outputs
        assert x is not None
        assert g is not None
        places = layer.parameters
        used = factor > 0 if clean else None
        if single_position(layer.module, x):
            if used is not None:
                x, g = (torch.where(used[:, None], t, 0.0) for t in (x, g))
            scaled = g * factor[:, None]
            torch.mm(scaled.T, x, out=total[places["weight"]].view(g.shape[1], x.shape[1]))
            if "bias" in places:
                torch.sum(scaled, 0, out=total[places["bias"]])
            return
        for name in places:
            total[places[name]] = 0
        for part in self._portions(layer, len(x)):
            found = gradients if gradients is not None else self._of_rows(layer, x[part], g[part])[1]
            if "words" in found:
                w = found["weight"]
                w = torch.where(used[:, None, None], w, 0.0) if used is not None else w
                there = total[places["weight"]].view(-1, w.shape[-1])
                there.index_add_(0, found["words"].flatten(), (w * factor[:, None, None]).flatten(0, 1))
                continue
            for name, w in found.items():
                dense = in_memory(w)
                flat = dense.flatten(1)
                if used is not None:
                    flat = torch.where(used[part][:, None], flat, 0.0)
                there = total[places[name]].view(w.shape[1:])
                there += as_named((factor[part] @ flat).view(dense.shape[1:]), w)

    def _forget(self) -> None:
        for layer in self._layers:
            layer.inputs = layer.outputs = None


def known_layers(network: nn.Module) -> bool:
    """Return whether each parameter of ``network`` belongs to one layer that has a rule and learns as a whole."""
    owners: dict[Tensor, int] = {}
    for layer in network.modules():
        own = list(layer.parameters(recurse=False))
        if own and (rule_of(layer) is None or frozen_names(layer)):
            return False
        for parameter in own:
            owners[parameter] = owners.get(parameter, 0) + 1
    return all(count == 1 for count in owners.values())


def _layers(network: nn.Module) -> list[KeptLayer]:
    """Return the layers with parameters, and the place of each parameter in the flat sum."""
    places, start = {}, 0
    for parameter in network.parameters():
        places[parameter] = slice(start, start + parameter.numel())
        start += parameter.numel()
    found = []
    for module in network.modules():
        own = dict(module.named_parameters(recurse=False))
        if own:
            found.append(KeptLayer(module, {name: places[p] for name, p in own.items()}))
    return found


def numbers(layer: KeptLayer) -> int:
    """Return the number of parameters of a layer."""
    return sum(s.stop - s.start for s in layer.parameters.values())


def _terms(layer: KeptLayer) -> int:
    """Return the squares in a row's norm that are summed in single precision."""
    if type(layer.module) is nn.Linear:
        # At several positions the rows' gradients are made, at one they are not: the larger of the two counts.
        several = numbers(layer) if numbers(layer) <= _MOST_TERMS else 1
        return max(layer.module.in_features + layer.module.out_features, several)
    return numbers(layer) if numbers(layer) <= _MOST_TERMS else 1


def _order(w: Tensor) -> list[int]:
    """Return the axes of a row's gradient as they lie in memory, the slowest first."""
    stride = w.stride()
    return sorted(range(1, w.dim()), key=lambda axis: (-stride[axis], axis))


def in_memory(w: Tensor) -> Tensor:
    """Return ``w`` (b, …) with the axes of a row in the order of its memory: it can be flattened without a copy."""
    return w.permute(0, *_order(w))


def as_named(total: Tensor, w: Tensor) -> Tensor:
    """Return a sum over the rows of :func:`in_memory` with the axes of ``w``."""
    order = _order(w)
    return total.permute(*(order.index(axis) for axis in range(1, w.dim())))


@contextmanager
def _frozen(network: nn.Module) -> Iterator[None]:
    """Take no gradients of parameters: the backward pass stops at the outputs of the layers."""
    before = [(p, p.requires_grad) for p in network.parameters()]
    for p, _ in before:
        p.requires_grad_(False)
    try:
        yield
    finally:
        for p, wanted in before:
            p.requires_grad_(wanted)
