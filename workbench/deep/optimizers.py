"""Optimizers: steps of the parameters from noisy sums, which are post-processing and cost nothing.

All parameters are one vector, so that a step is a handful of operations. The rules are those of ``torch.optim``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from workbench.deep.compiled import loops

BETAS, SMALL = (0.9, 0.999), 1e-8  # Adam's rates of forgetting, and what keeps its division finite


_FEW = 4


@loops
def _descend(parameters: NDArray[np.float32], gradient: NDArray[np.float32], lr: float) -> None:
    """Take lr times the gradient from the parameters.

    Raises:
        ValueError: there are not as many of both.
    """
    if len(gradient) != len(parameters):
        raise ValueError("a gradient of another length than the parameters")
    rate = np.float32(lr)
    for i in range(len(parameters)):
        parameters[i] -= rate * gradient[i]


@dataclass(eq=False)
class Sgd:
    """θ ← θ − ηv, v ← μv + g."""

    lr: float
    momentum: float = 0.0
    _velocity: Tensor | None = None
    _arrays: dict[int, tuple[Tensor, NDArray[np.float32]]] = field(default_factory=dict)
    """Vectors of the processor that were seen, as arrays, by where they lie."""

    def __call__(self, parameters: Tensor, gradient: Tensor) -> None:
        """Change ``parameters`` (P,) in place; ``gradient`` (P,) may be overwritten."""
        if self.momentum:
            if self._velocity is None:
                self._velocity = torch.zeros_like(parameters)
            gradient = self._velocity.mul_(self.momentum).add_(gradient)
        if parameters.device.type == "cpu" and parameters.dtype == gradient.dtype == torch.float32:
            _descend(self._array(parameters), self._array(gradient), self.lr)
        else:
            parameters.sub_(gradient, alpha=self.lr)

    def _array(self, vector: Tensor) -> NDArray[np.float32]:
        """Return a vector as an array: the same few come at every step."""
        kept = self._arrays.get(id(vector))
        if kept is None or kept[0] is not vector:
            if len(self._arrays) >= _FEW:
                self._arrays.clear()  # a new one at every step
            kept = self._arrays[id(vector)] = (vector, vector.detach().numpy())
        return kept[1]

    def state(self) -> dict[str, Tensor]:
        """Return the velocity."""
        return {} if self._velocity is None else {"velocity": self._velocity}

    def restore(self, state: dict[str, Tensor]) -> None:
        """Take the velocity."""
        self._velocity = state.get("velocity")


@dataclass(eq=False)
class Adam:
    """Adam (Kingma & Ba 2015); with ``decay`` AdamW (Loshchilov & Hutter 2019), whose decay is separate."""

    lr: float
    decay: float = 0.0
    _steps: int = 0
    _moments: dict[str, Tensor] = field(default_factory=dict)

    def __call__(self, parameters: Tensor, gradient: Tensor) -> None:
        """Change ``parameters`` (P,) in place."""
        if not self._moments:
            self._moments = {"first": torch.zeros_like(parameters), "second": torch.zeros_like(parameters)}
        self._steps += 1
        first, second = self._moments["first"], self._moments["second"]
        first.lerp_(gradient, 1 - BETAS[0])
        second.mul_(BETAS[1]).addcmul_(gradient, gradient, value=1 - BETAS[1])
        whole = (1 - BETAS[0] ** self._steps, (1 - BETAS[1] ** self._steps) ** 0.5)
        if self.decay:
            parameters.mul_(1 - self.lr * self.decay)
        parameters.addcdiv_(first, (second.sqrt() / whole[1]).add_(SMALL), value=-self.lr / whole[0])

    def state(self) -> dict[str, Tensor]:
        """Return the moments and the number of steps."""
        return {**self._moments, "steps": torch.tensor(self._steps)}

    def restore(self, state: dict[str, Tensor]) -> None:
        """Take the moments and the number of steps."""
        self._moments = {name: state[name] for name in ("first", "second") if name in state}
        self._steps = int(state["steps"])


Update = Sgd | Adam  # a rule that changes the parameters by one noisy gradient; it has a state that a checkpoint keeps

UPDATES: dict[str, Callable[[float, float], Update]] = {
    "sgd": Sgd,
    "adam": lambda lr, _momentum: Adam(lr),
    "adamw": lambda lr, _momentum: Adam(lr, decay=0.01),
}
"""The rules by the name of the optimiser, from learning rate and momentum."""
