"""A local mechanism: a name, its parameters, and a recipe that turns cells into a calibrated table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from workbench.params import ParameterError, Parameters, real
from workbench.privacy.entropy import Entropy
from workbench.privacy.local.cells import WHOLE, Cells
from workbench.privacy.local.channel import Channel
from workbench.privacy.local.mechanism_table import EPSILON_LEAST, EPSILON_MOST


class Randomiser(Protocol):
    """Anything that draws an output cell for an input cell with a known exact ε."""

    exact_epsilon: float

    @property
    def inputs(self) -> int:
        """Number of input cells."""
        ...

    @property
    def outputs(self) -> int:
        """Number of output cells."""
        ...

    def probabilities(self, rows: slice = WHOLE) -> NDArray[np.float64]:
        """Return the (inputs, outputs) transition probabilities, or those of some inputs."""
        ...

    def channel(self) -> Channel:
        """Return the table as a linear map, which estimates and forecasts are made from."""
        ...

    def sample(self, cells: Any, entropy: Entropy) -> Any:
        """Draw an output cell for each of the (n,) input cells."""
        ...

    def digest(self) -> str:
        """Return a hash that recognises the same mechanism when it is rebuilt."""
        ...


@dataclass(frozen=True, kw_only=True)
class LocalParameters(Parameters):
    """The parameter that every local mechanism has."""

    epsilon: float = real(
        at_least=EPSILON_LEAST,
        upto=EPSILON_MOST,
        symbol="ε",
        help="privacy loss of one value, replace-one and zero-out",
    )


@dataclass(frozen=True, kw_only=True)
class Mechanism:
    """The descriptor of a local mechanism; light, so that lists of mechanisms cost nothing."""

    name: str  # the word used in plans and on the command line
    title: str  # the name in the literature
    summary: str  # one sentence for a person who chooses
    recipe: Callable[[Any, Cells], Randomiser]  # makes the calibrated randomiser for some cells
    parameters: type[LocalParameters] = LocalParameters  # its parameter class, where it has more than ε
    line_only: bool = False  # whether cells must represent numbers
    two_values: bool = False  # whether it takes exactly two cells
    most_cells: int | None = None  # most cells that it can be made for; `None` where there is no such limit
    # Whether a solver finds its table, of which another version of it may find another one as good.
    solved: bool = False

    def refusal(self, cells: Cells) -> str:
        """Return why this mechanism does not fit ``cells``, or an empty string."""
        if self.line_only and not cells.numeric:
            return f"{self.title} needs numbers with bounds, and these values are names"
        if self.two_values and cells.total != 2:
            return f"{self.title} is for two values, and there are {cells.total:,}"
        if self.most_cells is not None and cells.total > self.most_cells:
            return f"{self.title} is for at most {self.most_cells:,} cells, and there are {cells.total:,}"
        return ""

    def build(self, cells: Cells, epsilon: float, **others: Any) -> Randomiser:
        """Return the randomiser for ``cells`` at a share of ``epsilon``.

        Raises:
            ParameterError: a parameter is refused, or the mechanism is of the wrong kind for the cells.
        """
        reason = self.refusal(cells)
        if reason:
            raise ParameterError(reason, hint="choose another mechanism")
        return self.recipe(self.parameters(epsilon=epsilon, **others), cells)
