"""The sum of clipped per-row gradients: the only quantity of a step that is computed from rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.func import functional_call, grad_and_value, vmap

from workbench.params import ParameterError

_ROUNDING = 1 - 2.0**-40
"""Keeps a clipped gradient at most C also after the rounding of its own scaling, in double precision."""

_AT_ONCE = 2**18
"""Numbers that are copied into double precision at once (2 MB): the copy stays in the cache and the peak low."""


@dataclass(frozen=True, eq=False)
class StepSums:
    """The sums of one batch.

    Attributes:
        total: Σᵢ gᵢ·min(1, C/‖gᵢ‖₂), shape (P,), double precision: L2 sensitivity C under zero-out.
        rows: rows in the batch that are not empty (private).
        loss: sum of their losses (private).
        correct: how many of them the network classified right (private).
    """

    total: Tensor
    rows: int
    loss: float
    correct: int


class ClippedSum(Protocol):
    """An engine for the sum; a faster one can take the place of :class:`PerRowClippedSum` if it gives the same."""

    def __call__(self, inputs: Tensor, targets: Tensor) -> StepSums:
        """Return the sums of a batch.

        Args:
            inputs: shape (b, width), b ≥ 0.
            targets: class codes, shape (b,); −1 is an empty row, which contributes nothing.
        """
        ...


def nothing() -> None:
    """Watch nothing."""


class PerRowClippedSum:
    """The plain engine: gradients of single rows by ``vmap(grad)``, one physical batch at a time.

    Norms and sums are in double precision. A row whose gradient is not finite contributes nothing: it would turn the
    sum into NaN, which noise cannot hide.
    """

    def __init__(
        self, network: nn.Module, clip: float, physical_batch: int, watch: Callable[[], None] = nothing
    ) -> None:
        """Bind the engine to a network.

        Args:
            network: its parameters are read at every call.
            clip: the clipping norm C.
            physical_batch: most rows whose gradients are in memory at once; the result does not depend on it.
            watch: called at the peak of memory use.

        Raises:
            ParameterError: the norm or the physical batch is not positive.
        """
        if not 0 < clip < float("inf"):
            raise ParameterError(f"clip = {clip} is not a number above 0", mend="give a norm such as 1")
        if not physical_batch >= 1:
            raise ParameterError(f"a physical batch of {physical_batch} rows is not possible", mend="give 1 or more")
        self._network = network
        self._clip = clip
        self._physical_batch = physical_batch
        self._watch = watch
        self._gradients = vmap(grad_and_value(self._loss_of_row, has_aux=True), in_dims=(None, 0, 0))

    def __call__(self, inputs: Tensor, targets: Tensor) -> StepSums:
        """Return the sums of a batch."""
        parameters = {name: p.detach() for name, p in self._network.named_parameters()}
        size = sum(p.numel() for p in parameters.values())
        total = torch.zeros(size, dtype=torch.float64, device=inputs.device)
        rows, loss, correct = 0, 0.0, 0
        for start in range(0, len(targets), self._physical_batch):
            part = slice(start, start + self._physical_batch)
            x, y = inputs[part], targets[part]
            gradients, (losses, right) = self._gradients(parameters, x, y)
            total += clipped_sum(list(gradients.values()), self._clip, self._watch)
            del gradients  # else they are held while those of the next part are made
            rows += int((y >= 0).sum())
            loss += float(losses.sum(dtype=torch.float64))
            correct += int(right.sum())
        return StepSums(total, rows, loss, correct)

    def _loss_of_row(self, parameters: dict[str, Tensor], x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Return the cross-entropy of one row, 0 where it is empty, and whether it was classified right."""
        logits = functional_call(self._network, parameters, (x.unsqueeze(0),))
        present = y >= 0
        loss = nn.functional.cross_entropy(logits, y.clamp_min(0).unsqueeze(0)) * present
        return loss, (logits.argmax() == y) & present


def clipped_sum(gradients: list[Tensor], clip: float, watch: Callable[[], None] = nothing) -> Tensor:
    """Return Σᵢ gᵢ·min(1, C/‖gᵢ‖₂) over the rows i, shape (P,), double precision.

    Args:
        gradients: one tensor (b, …) for each parameter.
        clip: C.
        watch: called while all gradients are in memory.
    """
    watch()
    width = sum(g.shape[1:].numel() for g in gradients)
    rows = max(1, _AT_ONCE // width)
    total = torch.zeros(width, dtype=torch.float64, device=gradients[0].device)
    for start in range(0, len(gradients[0]), rows):
        total += _sum_of([g[start : start + rows].flatten(1).double() for g in gradients], clip)
    return total


def _sum_of(gradients: list[Tensor], clip: float) -> Tensor:
    """Return the sum of some rows: gradients (b, p) in double precision, one for each parameter."""
    norms = torch.stack([torch.linalg.vector_norm(g, dim=1) for g in gradients]).norm(dim=0)
    # max(‖g‖, C) also serves rows without a gradient, where C/‖g‖ is a division by zero.
    factors = clip / norms.clamp_min(clip) * _ROUNDING
    finite = norms.isfinite()
    if not finite.all():
        factors = torch.where(finite, factors, 0.0)
        gradients = [torch.where(finite[:, None], g, 0.0) for g in gradients]
    return torch.cat([factors @ g for g in gradients])
