"""Clipped sums of any network of known layers in one forward and one backward pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from workbench.deep.clipping import StepSums, nothing
from workbench.deep.factors import SinglePrecision
from workbench.deep.layer_rules import outer_squares, rule_of, single_position
from workbench.deep.row_chunks import chunks

_NUMBERS_AT_ONCE = 2**24
"""Numbers of rows' gradients of one layer that are in memory at once (64 MB)."""


@dataclass(eq=False)
class _Layer:
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
            logits, losses = self._passes(x, y, present)
            self._watch()
            total += self._sum(present)
            if measure:
                rows += int(present.sum())
                loss += float(losses.sum(dtype=torch.float64))
                correct += int(((logits.argmax(1) == y) & present).sum())
        self._forget()
        return StepSums(total, rows, loss, correct, measured=measure)

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
        def keep(layer: _Layer) -> Callable[..., Tensor]:
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
                squares.append(torch.cat([square for square, _ in parts]))
                kept.append(parts[0][1] if len(parts) == 1 else None)
        factors = self.clipping.of(len(present)).factors(torch.stack(squares, 1))
        factors = torch.nan_to_num(factors, nan=0.0) * present.unsqueeze(1)
        total = torch.empty(self._size, device=present.device)
        for i, (layer, gradients) in enumerate(zip(self._layers, kept, strict=True)):
            self._add(layer, gradients, factors[:, min(i, factors.shape[1] - 1)], total)
        return total

    def _portions(self, layer: _Layer, rows: int) -> list[slice]:
        size = sum(s.stop - s.start for s in layer.parameters.values())
        return chunks(rows, max(1, _NUMBERS_AT_ONCE // size))

    def _of_rows(self, layer: _Layer, x: Tensor, g: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        rule = rule_of(layer.module)
        assert rule is not None
        gradients = {name: w.flatten(1) for name, w in rule(layer.module, x, g).items()}
        squares = [torch.linalg.vector_norm(w, dim=1, dtype=torch.float64).square_() for w in gradients.values()]
        return (squares[0] if len(squares) == 1 else torch.stack(squares).sum(0)).float(), gradients

    def _add(self, layer: _Layer, gradients: dict[str, Tensor] | None, factor: Tensor, total: Tensor) -> None:
        x, g = layer.inputs, layer.outputs
        assert x is not None
        assert g is not None
        places = layer.parameters
        finite = factor > 0
        if single_position(layer.module, x):
            scaled = torch.where(finite[:, None], g * factor[:, None], 0.0)
            total[places["weight"]] = (scaled.T @ torch.where(finite[:, None], x, 0.0)).flatten()
            if "bias" in places:
                total[places["bias"]] = scaled.sum(0)
            return
        for name in places:
            total[places[name]] = 0
        for part in self._portions(layer, len(x)):
            found = gradients if gradients is not None else self._of_rows(layer, x[part], g[part])[1]
            for name, w in found.items():
                # 0·∞ is not a number: rows that are left out are set to zero where there is one.
                clean = w if bool(w.isfinite().all()) else torch.where(finite[part][:, None], w, 0.0)
                total[places[name]] += factor[part] @ clean

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


def _layers(network: nn.Module) -> list[_Layer]:
    """Return the layers with parameters, and the place of each parameter in the flat sum."""
    places, start = {}, 0
    for parameter in network.parameters():
        places[parameter] = slice(start, start + parameter.numel())
        start += parameter.numel()
    found = []
    for module in network.modules():
        own = dict(module.named_parameters(recurse=False))
        if own:
            found.append(_Layer(module, {name: places[p] for name, p in own.items()}))
    return found


def _terms(layer: _Layer) -> int:
    """Return the squares in a row's norm that are summed in single precision: none but at a single position."""
    if type(layer.module) is nn.Linear:
        return layer.module.in_features + layer.module.out_features
    return 1


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
