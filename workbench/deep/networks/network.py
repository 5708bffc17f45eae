"""A network by its description. Light: torch is imported only when one is built."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from workbench.learners.tasks import CLASSIFICATION, task

if TYPE_CHECKING:
    from pathlib import Path

    from torch import Tensor, nn

INITIAL_SEED = 20_240_501  # seed of the first weights: they are public, so any fixed seed will do

TABLE_ROWS = 384
"""Most rows that the engine for tables holds: what rounding takes from C grows with their square (1.8 % here)."""

IMAGE_ROWS = 96
"""Most rows that the engine for images holds: more leave the processor's cache, and rounding takes .11 % of C here."""

UNBOUNDED = 1 << 62  # rows at once of an engine that holds whatever physical batch it is given


@dataclass(frozen=True, slots=True)
class Network:
    """A fully connected classifier; the last layer gives one logit for each declared class.

    It is trained with :class:`workbench.deep.plan.DpSgdPlan`, which has the parameters and works out the cost.
    """

    # Numbers of a row where nobody says how many: a few columns, or the pixels of an image that it can read.
    usual_inputs: ClassVar[int] = 8

    name: str  # the word of the command line
    title: str  # its name for a person
    about: str  # what it is, in one sentence
    # Widths of the hidden layers, each followed by tanh: a bounded activation keeps per-row gradients small, so that
    # clipping bends them less (Papernot et al. 2021).
    hidden: tuple[int, ...] = ()
    short: str = ""  # the title where there is little room
    task: str = CLASSIFICATION  # what it predicts: the name of a `workbench.learners.tasks.Task`
    options: tuple[str, ...] = ()  # fields of the plan that only networks which name them read
    # Values of the plan to begin with on a set of images; they did well on MNIST, which is public.
    on_images: tuple[tuple[str, Any], ...] = ()

    @property
    def needs(self) -> str:
        """What it needs of the table, in a sentence."""
        return task(self.task).needs

    def configured(self, options: Mapping[str, Any]) -> Network:
        """Return the network as a plan configures it, whose values of :attr:`options` are given by name."""
        return self

    def facts(self) -> dict[str, Any]:
        """Return what a card must say to make the network again, beside its name; all public."""
        return {}

    def from_facts(self, stated: Any, weights: Path | None) -> Network:
        """Return the network that a card describes, whose frozen part has its weights in the file ``weights``."""
        return self

    def widths(self, inputs: int, classes: int) -> tuple[int, ...]:
        """Return the width of every layer, the input first."""
        return (inputs, *self.hidden, classes)

    def parameters(self, inputs: int, classes: int) -> int:
        """Return the number of weights and biases."""
        return sum((a + 1) * b for a, b in itertools.pairwise(self.widths(inputs, classes)))

    def frozen_weights(self, inputs: int, classes: int) -> int:
        """Return the number of weights that do not learn and are held in the file of a model."""
        return 0

    def prepared_width(self, inputs: int) -> int:
        """Return how many numbers of a row the trained layers read."""
        return inputs

    def prepared(self, inputs: Tensor) -> Tensor:
        """Return what the trained layers read: what a public, frozen part makes of each row.

        Rows of tables are (n, inputs), images are (n, c, h, w).
        """
        return inputs.flatten(1)

    @property
    def frozen(self) -> str:
        """A name of the frozen part, another one where its numbers would differ; empty where there is none."""
        return ""

    @property
    def beyond(self) -> str:
        """What the guarantee assumes of the network, in a sentence; empty where it assumes nothing."""
        return ""

    def remarks(self, inputs: int, classes: int) -> tuple[str, ...]:
        """Return sentences on how the network that trains differs from what was given; they are on its card."""
        return ()

    def example(self, inputs: int) -> Tensor | None:
        """Return generated rows on which engines are compared before they are used; ``None`` of a tested network."""
        return None

    def preparing(self) -> int:
        """Return the bytes that :meth:`prepared` holds beside what it is given and returns."""
        return 0

    def held_by_row(self, inputs: int, classes: int) -> int:
        """Return the numbers that a step holds for each row of a chunk."""
        # What enters each layer, the gradient of what leaves it, and the squares of both; the logits once more.
        widths = self.widths(inputs, classes)
        return 2 * (sum(widths[:-1]) + sum(widths[1:])) + widths[-1]

    def rows_at_once(self) -> int:
        """Return the most rows that its engine holds at once, whatever the physical batch."""
        return TABLE_ROWS

    def build(self, inputs: int, classes: int) -> nn.Sequential:
        """Return the module with its public first weights.

        A network without hidden layers starts at zero, its loss being convex.
        """
        import torch
        from torch import nn

        # Made without storage: the module's own first weights would come from (and move) the global generator.
        with torch.device("meta"):
            pairs = itertools.pairwise(self.widths(inputs, classes))
            layers = [layer for width, out in pairs for layer in (nn.Linear(width, out), nn.Tanh())]
        return begun(nn.Sequential(*layers[:-1]), zero=not self.hidden)


def begun(module: nn.Sequential, *, zero: bool = False) -> nn.Sequential:
    """Return a module that was made on the device ``meta`` with its public first weights.

    Weights are uniform in ±√(6/(fan in + fan out)) (Glorot & Bengio 2010), biases are 0, norms start as the identity;
    with ``zero`` all weights are 0.
    """
    import torch
    from torch import nn

    module = module.to_empty(device="cpu")
    generator = torch.Generator().manual_seed(INITIAL_SEED)
    with torch.no_grad():
        for layer in module:
            norm = isinstance(layer, nn.GroupNorm)
            for name, parameter in layer.named_parameters():
                if name == "bias" or zero:
                    parameter.zero_()
                elif norm:
                    parameter.fill_(1.0)
                else:
                    area = parameter[0, 0].numel()
                    bound = (6 / ((parameter.shape[0] + parameter.shape[1]) * area)) ** 0.5
                    parameter.uniform_(-bound, bound, generator=generator)
    return module


LOGISTIC = Network(
    "logistic",
    "Logistic regression, DP-SGD",
    "It has one weight for each column and class.",
    hidden=(),
    short="Logistic, DP-SGD",
)

MLP = Network(
    "mlp",
    "Two hidden layers of 64",
    "It learns combinations of columns, in two layers of 64 units.",
    hidden=(64, 64),
    short="Network, DP-SGD",
)
