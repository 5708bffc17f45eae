"""Clipped sums of any network of known layers in one forward and one backward pass."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from workbench.deep.clipping import StepSums, nothing
from workbench.deep.factors import SinglePrecision
from workbench.deep.layer_rules import outer_squares, rule_of, single_position
from workbench.deep.memory import out_of_memory
from workbench.deep.row_chunks import chunks

_MOST_TERMS = 2**16
"""Squares that a norm sums in single precision (rounding takes .4 % of C for so many); more are summed in double."""

_IMAGES = 4
"""Axes of a batch of images: (b, channels, height, width)."""

_NUMBERS_AT_ONCE = 2**24
"""Numbers of rows' gradients of one layer that are in memory at once (64 MB)."""


@dataclass(eq=False)
class KeptLayer:
    """A layer with its place in the flat sum, and what a pass leaves of it."""

    module: nn.Module
    parameters: dict[str, slice]
    inputs: Tensor | None = None
    outputs: Tensor | None = None


class BookKeepingClippedSum:
    """Keeps the inputs of the layers and the gradients of their outputs; norms and sums follow from these.

    Rows' gradients exist for one layer and as many rows as fit into 64 MB; those of linear layers at one position
    never exist. Single precision, clipped at a bound that its rounding needs (:mod:`workbench.deep.factors`).

    Attributes:
        clipping: how rows are clipped: at a norm a little below C.
    """

    def __init__(
        self,
        network: nn.Module,
        clip: float,
        physical_batch: int,
        watch: Callable[[], None] = nothing,
        rule: str = "flat",
    ) -> None:
        """Bind the engine to a network, each of whose parameters belongs to one layer with a rule.

        Args:
            network: its parameters are read at every call.
            clip: the clipping norm C.
            physical_batch: most rows that pass the network at once.
            watch: called at the peak of memory use.
            rule: how rows are clipped, one of :data:`workbench.deep.factors.CLIPPINGS`.
        """
        self._network = network
        self._rows = physical_batch
        self._layout = torch.channels_last  # pooling is several times as fast
        self._watch = watch
        self._layers = _layers(network)
        for layer in network.modules():
            if hasattr(layer, "inplace"):
                layer.inplace = False  # type: ignore[assignment]  # what a layer returns must stay until its gradient is taken
        self._size = sum(p.numel() for p in network.parameters())
        self.clipping = SinglePrecision(rule, clip, max(map(_terms, self._layers)) + len(self._layers))

    def __call__(self, inputs: Tensor, targets: Tensor, *, measure: bool = True) -> StepSums:
        """Return the sums of a batch."""
        total = torch.zeros(self._size, dtype=torch.float64, device=inputs.device)
        rows, loss, correct = 0, 0.0, 0
        for part in chunks(len(targets), self._rows):
            x, y = inputs[part], targets[part]
            present = y >= 0
            logits, losses = self._tried(x, y, present)
            self._watch()
            total += self._sum(present)
            if measure:
                rows += int(present.sum())
                loss += float(losses.sum(dtype=torch.float64))
                correct += int(((logits.argmax(1) == y) & present).sum())
        self._forget()
        return StepSums(total, rows, loss, correct, measured=measure)

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
        return chunks(rows, max(1, _NUMBERS_AT_ONCE // numbers(layer)))

    def _of_rows(self, layer: KeptLayer, x: Tensor, g: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the squared norms of the rows' gradients and the gradients, each (b, p) in its order of memory."""
        rule = rule_of(layer.module)
        assert rule is not None
        gradients = rule(layer.module, x, g)
        precision = torch.float32 if numbers(layer) <= _MOST_TERMS else torch.float64
        squares = [
            torch.linalg.vector_norm(in_memory(w).flatten(1), dim=1, dtype=precision).square_()
            for w in gradients.values()
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
    """Return whether each parameter of ``network`` is trained and belongs to one layer that has a rule."""
    owners: dict[Tensor, int] = {}
    for layer in network.modules():
        own = list(layer.parameters(recurse=False))
        if own and rule_of(layer) is None:
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
