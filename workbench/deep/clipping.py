"""The sum of clipped per-row gradients: the only quantity of a step that is computed from rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.func import functional_call, grad_and_value, vmap

from workbench.deep.clipping_factors import Clipping, DoublePrecision, SinglePrecision
from workbench.deep.plan import FLAT
from workbench.params import ParameterError

_AT_ONCE = 2**18
"""Numbers that are copied into double precision at once (2 MB): the copy stays in the cache and the peak low."""


@dataclass(frozen=True, eq=False)
class StepSums:
    """The sums of one batch."""

    # Σᵢ fᵢ·gᵢ, shape (P,), parameters in the module's order: L2 sensitivity C under zero-out. In single or double
    # precision, as the engine computes.
    total: Tensor
    rows: int = 0  # rows in the batch that are not empty (private)
    loss: float = 0.0  # sum of their losses (private)
    # How many of them the network classified right (private); the last three are 0 where nobody wants them.
    correct: int = 0


class ClippedSum(Protocol):
    """An engine for the sum; a faster one can take the place of :class:`PerRowClippedSum` if it gives the same."""

    def __call__(self, inputs: Tensor, targets: Tensor, *, measure: bool = True) -> StepSums:
        """Return the sums of a batch.

        Args:
            inputs: shape (b, …), b ≥ 0.
            targets: class codes, shape (b,); −1 is an empty row, which contributes nothing.
            measure: whether loss and accuracy are wanted, too.
        """
        ...

    def clip_at(self, clip: float) -> None:
        """Clip at another norm C from now on."""
        ...


def ignore_phase(phase: str) -> None:
    """Take no note of a phase."""


def sums_of(
    engine: ClippedSum,
    inputs: Tensor,
    targets: Tensor,
    rows: NDArray[np.int64],
    *,
    measure: bool = True,
    enter: Callable[[str], None] = ignore_phase,
) -> StepSums:
    """Return the sums of the batch of ``rows`` of a table; ``enter`` is called when the batch is there.

    An engine with a method ``drawn`` takes the rows out of the table itself, into memory that it keeps.
    """
    drawn: Callable[..., StepSums] | None = getattr(engine, "drawn", None)
    if drawn is not None:
        enter("backward")
        return drawn(inputs, targets, rows, measure=measure)
    there = torch.from_numpy(rows).to(inputs.device)
    batch = inputs.index_select(0, there), targets.index_select(0, there)
    enter("backward")
    return engine(*batch, measure=measure)


def chunks(rows: int, most: int) -> list[slice]:
    """Return as few parts of at most ``most`` rows as possible, all of nearly the same size."""
    count = -(-rows // most)
    edges = [rows * k // max(1, count) for k in range(count + 1)]
    return [slice(a, b) for a, b in pairwise(edges)]


def in_chunks(rows: int, most: int, size: int, chunk: Callable[[slice], StepSums], device: Any = "cpu") -> StepSums:
    """Return the sums of a batch, those of its chunks added up in double precision, (size,)."""
    total = torch.zeros(size, dtype=torch.float64, device=device)
    count, loss, correct = 0, 0.0, 0
    for part in chunks(rows, most):
        found = chunk(part)
        total += found.total
        count, loss, correct = count + found.rows, loss + found.loss, correct + found.correct
    return StepSums(total, count, loss, correct)


def nothing() -> None:
    """Watch nothing."""


class BoundEngine(ABC):
    """An engine that is bound to a network."""

    clipping: SinglePrecision | DoublePrecision  # how rows are clipped: at a norm a little below C

    def __init__(
        self,
        network: nn.Module,
        clip: float,
        physical_batch: int,
        watch: Callable[[], None] = nothing,
        rule: str = FLAT,
    ) -> None:
        """Bind it.

        Args:
            network: its parameters are read at every call.
            clip: the clipping norm C.
            physical_batch: most rows in memory at once; the result does not depend on it.
            watch: called at the peak of memory use.
            rule: how rows are clipped, one of :data:`workbench.deep.clipping_factors.CLIPPINGS`.

        Raises:
            ParameterError: the norm or the physical batch is not positive.
        """
        if not physical_batch >= 1:
            raise ParameterError(f"a physical batch of {physical_batch} rows is not possible", hint="give 1 or more")
        self._network, self._rows, self._watch = network, physical_batch, watch
        self._bind(network, clip, rule)

    @abstractmethod
    def __call__(self, inputs: Tensor, targets: Tensor, *, measure: bool = True) -> StepSums:
        """Return the sums of a batch, as :class:`ClippedSum` says."""

    def clip_at(self, clip: float) -> None:
        """Clip at another norm C from now on."""
        self.clipping = self.clipping.at(clip)

    @abstractmethod
    def _bind(self, network: Any, clip: float, rule: str) -> None:
        """Make what does not depend on the rows, and :attr:`clipping`."""


class PerRowClippedSum(BoundEngine):
    """The plain engine: gradients of single rows by ``vmap(grad)``, one physical batch at a time.

    Norms and sums are in double precision. A row whose gradient is not finite contributes nothing: it would turn the
    sum into NaN, which noise cannot hide.
    """

    def _bind(self, network: nn.Module, clip: float, rule: str) -> None:
        self.clipping = DoublePrecision(rule, clip)
        self._layers = _by_layer(network)
        of_row = grad_and_value(self._loss_of_row, has_aux=True)
        # Recurrent layers are fused by the library, in a form that knows no single rows.
        recurrent = any(isinstance(layer, nn.RNNBase) for layer in network.modules())
        self._gradients = _in_turn(of_row) if recurrent else vmap(of_row, in_dims=(None, 0, 0), randomness="different")

    def __call__(self, inputs: Tensor, targets: Tensor, *, measure: bool = True) -> StepSums:
        """Return the sums of a batch; loss and accuracy come at no extra cost."""
        parameters = {name: p.detach() for name, p in self._network.named_parameters()}

        def chunk(part: slice) -> StepSums:
            gradients, (losses, right) = self._gradients(parameters, inputs[part], targets[part])
            rule = self.clipping.of(len(losses))
            total = clipped_sum(list(gradients.values()), rule, self._watch, self._layers)
            present = int((targets[part] >= 0).sum())
            return StepSums(total, present, float(losses.sum(dtype=torch.float64)), int(right.sum()))

        size = sum(p.numel() for p in parameters.values())
        return in_chunks(len(targets), self._rows, size, chunk, inputs.device)

    def _loss_of_row(self, parameters: dict[str, Tensor], x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Return the cross-entropy of one row, 0 where it is empty, and whether it was classified right."""
        logits = functional_call(self._network, parameters, (x.unsqueeze(0),))
        present = y >= 0
        loss = nn.functional.cross_entropy(logits, y.clamp_min(0).unsqueeze(0)) * present
        return loss, (logits.argmax() == y) & present


def _in_turn(of_row: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``vmap(of_row)`` over x and y, computed one row after the other."""

    def all_rows(parameters: dict[str, Tensor], x: Tensor, y: Tensor) -> Any:
        found = [of_row(parameters, *row) for row in zip(x, y, strict=True)]
        gradients = {name: torch.stack([g[name] for g, _ in found]) for name in parameters}
        return gradients, tuple(torch.stack(values) for values in zip(*(v for _, v in found), strict=True))

    return all_rows


def clipped_sum(
    gradients: list[Tensor],
    clipping: Clipping,
    watch: Callable[[], None] = nothing,
    layers: Sequence[int] | None = None,
) -> Tensor:
    """Return Σᵢ fᵢgᵢ over the rows i, shape (P,), double precision.

    ``gradients`` are one tensor (b, …) for each parameter, whose layer's number is in ``layers``: all one if not given.
    ``watch`` is called while all of them are in memory.
    """
    watch()
    width = sum(g.shape[1:].numel() for g in gradients)
    rows = max(1, _AT_ONCE // width)
    total = torch.zeros(width, dtype=torch.float64, device=gradients[0].device)
    for start in range(0, len(gradients[0]), rows):
        part = [g[start : start + rows].flatten(1).double() for g in gradients]
        total += _sum_of(part, clipping, layers or [0] * len(part))
    return total


def _sum_of(gradients: list[Tensor], clipping: Clipping, layers: Sequence[int]) -> Tensor:
    """Return the sum of some rows: gradients (b, p) in double precision, one for each parameter."""
    squares = torch.zeros(len(gradients[0]), max(layers) + 1, dtype=torch.float64, device=gradients[0].device)
    for layer, g in zip(layers, gradients, strict=True):
        squares[:, layer] += torch.linalg.vector_norm(g, dim=1).square()
    finite = squares.isfinite().all(1)
    factors = clipping.factors(squares)
    if not finite.all():
        factors = torch.where(finite[:, None], factors, 0.0)
        gradients = [torch.where(finite[:, None], g, 0.0) for g in gradients]
    return torch.cat(
        [factors[:, min(layer, factors.shape[1] - 1)] @ g for layer, g in zip(layers, gradients, strict=True)]
    )


def _by_layer(network: nn.Module) -> list[int]:
    """Return for each parameter the number of the layer that holds it."""
    holders = [name.rpartition(".")[0] for name, _ in network.named_parameters()]
    numbers = {holder: number for number, holder in enumerate(dict.fromkeys(holders))}
    return [numbers[holder] for holder in holders]
