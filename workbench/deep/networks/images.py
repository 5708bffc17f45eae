"""Images as rows of numbers, line by line and channel by channel, each in [−1, 1]."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from workbench.params import ParameterError

if TYPE_CHECKING:
    from torch import Tensor

SIDE = 28
PIXELS = SIDE * SIDE


class Pixels(int):
    """The number of inputs of an image, which knows their shape."""

    shape: tuple[int, int, int]

    def __new__(cls, channels: int, height: int, width: int) -> Self:
        """Return channels × height × width."""
        made = super().__new__(cls, channels * height * width)
        made.shape = (channels, height, width)
        return made

    def __reduce__(self) -> tuple[type[Self], tuple[int, int, int]]:
        """Return what a copy is made from."""
        return type(self), self.shape


def image_shape(title: str, inputs: int) -> tuple[int, int, int]:
    """Return channels, height and width of an image; a table of 784 columns holds grey ones of 28 × 28.

    Raises:
        ParameterError: the rows are no images.
    """
    if isinstance(inputs, Pixels):
        return inputs.shape
    if inputs == PIXELS:
        return 1, SIDE, SIDE
    raise ParameterError(
        f"the network “{title}” reads images, not {inputs} inputs",
        hint=f"give a set of images, a table of {PIXELS} numeric columns beside the target, or choose another network",
    )


def as_image(name: str, inputs: Tensor) -> tuple[int, int, int]:
    """Return channels, height and width of rows that are images (n, c, h, w), or lines of a table (n, 784)."""
    if inputs.dim() == 4:
        return inputs.shape[1], inputs.shape[2], inputs.shape[3]
    return image_shape(name, inputs.shape[1])


def require_image(title: str, inputs: int) -> None:
    """Raise :class:`ParameterError` unless a row is a grey image of 28 × 28 pixels."""
    shape = inputs.shape if isinstance(inputs, Pixels) else None
    if inputs != PIXELS or shape not in (None, (1, SIDE, SIDE)):
        stated = f"{inputs} inputs" if shape is None else "{} × {} × {} numbers".format(*shape)
        raise ParameterError(
            f"the network “{title}” reads images of {SIDE} by {SIDE} pixels, not {stated}",
            hint=f"give such images, a table of {PIXELS} numeric columns beside the target, or choose another network",
        )
