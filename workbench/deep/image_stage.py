"""A convolution with its activation and pooling on chunks of rows, forward and backward, without autograd."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from workbench.deep.layer_rules import SHORT
from workbench.deep.row_loops import FEW, Floats, add_weighted, squares_of

PAIR = 2
"""Side of the windows that pooling takes the maximum of."""


@dataclass(frozen=True, eq=False)
class Stage:
    """A convolution, its activation, and the stride of the pooling behind it (0: none)."""

    convolution: nn.Conv2d
    relu: bool
    pool: int


class Memory:
    """Hands out the same blocks in the same order, for any number of rows: what is asked for first lies in the first.

    Memory that is given back and asked for at each step would have to be cleared by the system at each step.

    Attributes:
        rows: rows of what is handed out.
    """

    def __init__(self, rows: int, most: int, held: list[Tensor]) -> None:
        """Hand out ``held``, blocks of ``most`` rows, and put new blocks into it."""
        self.rows, self._most, self._held, self._next = rows, most, held, 0

    def take(self, *shape: int) -> Tensor:
        """Return a block (rows, *shape); zero when it is handed out for the first time."""
        return self._block(self._most, shape)[: self.rows]

    def few(self, *shape: int) -> Tensor:
        """Return a block (FEW, *shape); its size does not depend on the number of rows."""
        return self._block(FEW, shape)

    def _block(self, rows: int, shape: Sequence[int]) -> Tensor:
        if self._next == len(self._held):
            self._held.append(torch.zeros(rows, *shape))
        self._next += 1
        return self._held[self._next - 1]


class Pass:
    """One stage on chunks of one number of rows, forward and backward, in memory that every chunk reuses.

    Pooling comes before the activation: both rise with their argument, so the order does not matter, and the
    activation has less to do.

    Attributes:
        stage: its layers.
        output: what leaves it (b, h, w, k).
        patches: what the convolution multiplies (b, places, patch).
        flat: the gradient of what it gives (b, places, k).
        below: the gradient of the input, but for the first stage.
        of_bias: the rows' gradients of the bias (b, k).
        sums: the sums of weight (k·patch,) and bias (k,), each row times its factor.
    """

    def __init__(self, stage: Stage, memory: Memory, shape: tuple[int, int, int], before: Tensor | None) -> None:
        """Take the memory for inputs of ``shape`` (height, width, channels); ``before``: what the last stage gives."""
        self.stage, layer = stage, stage.convolution
        (down, across), (high, wide), (pad_h, pad_w) = layer.stride, layer.kernel_size, _padding(layer)
        height, width, channels = shape[0] + 2 * pad_h, shape[1] + 2 * pad_w, shape[2]
        out = ((height - high) // down + 1, (width - wide) // across + 1)
        rows = memory.rows
        there = before is not None and not pad_h and not pad_w
        given = before if there and before is not None else memory.take(height, width, channels)
        # Its border stays zero.
        self._inside = None if there else given[:, pad_h : height - pad_h, pad_w : width - pad_w]
        self.patches = memory.take(out[0] * out[1], high * wide * channels)
        step = given.stride()
        windows = (rows, *out, high, wide * channels)
        cut = given.as_strided(windows, (step[0], step[1] * down, step[2] * across, step[1], 1))
        self._cuts = [(self.patches.view(windows), cut)]
        if wide * channels < SHORT:
            # First across, then down: the second copy has runs of whole patches, and the first has few.
            lines = memory.take(out[1], height, wide * channels)
            line = lines.stride()
            cut = given.as_strided(lines.shape, (step[0], step[2] * across, step[1], 1))
            whole = lines.as_strided((rows, *out, high * line[2]), (line[0], line[2] * down, line[1], 1))
            self._cuts = [(lines, cut), (self.patches.view(whole.shape), whole)]
        channels = layer.out_channels
        self._made = memory.take(*out, channels)
        self._pools: list[_Pool] = []
        self.output = self._made
        for axis in (1, 2) if stage.pool else ():
            self._pools.append(_Pool(self.output, axis, stage.pool, memory))
            self.output = self._pools[-1].output
        if self._pools:
            self._pools[0].slope = self._pools[1].spread
        made = memory.few(channels, self.patches.shape[2])
        self.of_bias = memory.take(channels)
        places = channels * self.patches.shape[2]
        self.sums = (np.zeros(places, dtype=np.float32), np.zeros(channels, dtype=np.float32))
        self._slope = self._pools[0].spread if self._pools else memory.take(*out, channels)
        self.flat = self._slope.flatten(1, 2)
        self._parts = [self._cut(made, part) for part in in_parts(rows)]
        self._of_patches: Tensor | None = None
        self.below = self._slope  # of the first stage nothing is below
        if before is not None:
            self._of_patches = memory.take(*self.patches.shape[1:])
            self._back = memory.take(height, width, shape[2])
            self._folds = list(self._folded(self._of_patches.view(windows), self._back))
            self.below = self._back[:, pad_h : height - pad_h, pad_w : width - pad_w]

    def forward(self, image: Tensor) -> None:
        """Compute ``output`` of ``image`` (b, h, w, c)."""
        if self._inside is not None:
            self._inside.copy_(image)
        for to, cut in self._cuts:
            to.copy_(cut)
        layer = self.stage.convolution
        channels = layer.out_channels
        assert layer.bias is not None
        patches = self.patches.view(-1, self.patches.shape[2])
        torch.addmm(layer.bias, patches, self._matrix().t(), out=self._made.view(-1, channels))
        for pool in self._pools:
            pool.forward()
        self.output.relu_() if self.stage.relu else self.output.tanh_()

    def backward(self, slope: Tensor) -> None:
        """Make the gradient of what the convolution gives, and, but for the first stage, that of the input."""
        self.slope_of(slope)
        torch.sum(self.flat, 1, out=self.of_bias)
        self.slope_below()
        for part in self.sums:
            part.fill(0)

    def slope_of(self, slope: Tensor) -> None:
        """Write the gradient of what the convolution gives into ``flat``."""
        last = self._pools[-1].slope if self._pools else self._slope
        activation_backward(slope, self.output, relu=self.stage.relu, out=last)
        for pool in reversed(self._pools):
            pool.backward()

    def slope_below(self) -> None:
        """Write the gradient of the input into ``below``."""
        if self._of_patches is None:
            return
        torch.mm(self.flat.view(-1, self.flat.shape[2]), self._matrix(), out=self._of_patches.flatten(0, 1))
        self._back.zero_()
        for to, part in self._folds:
            to.add_(part)

    def _folded(self, of_patches: Tensor, back: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield places of the input beside what has to be added there: windows that do not overlap, line by line."""
        layer = self.stage.convolution
        (down, across), wide = layer.stride, layer.kernel_size[1]
        step = back.stride()
        separate = -(-wide // across)  # so many windows on are the next that do not overlap
        for begin in range(min(separate, of_patches.shape[2])):
            here = of_patches[:, :, begin::separate]
            strides = (step[0], step[1] * down, step[2] * across * separate, 1)
            for line in range(here.shape[3]):
                offset = line * step[1] + begin * across * step[2]
                part = here[:, :, :, line]
                yield back.as_strided(part.shape, strides, offset), part

    def rows_gradients(self, part: int, squares: Floats) -> None:
        """Make the weight's gradients of the few rows of a part, and write their squared norms (r,), bias included."""
        slopes, patches, made, of_weight, of_bias = self._parts[part]
        torch.bmm(slopes, patches, out=made)
        squares_of(of_weight, of_bias, squares)

    def add(self, part: int, factors: Floats) -> None:
        """Add the gradients of the same rows, each times its factor (r,), to the sums."""
        _, _, _, of_weight, of_bias = self._parts[part]
        add_weighted(of_weight, of_bias, factors, *self.sums)

    def _cut(self, made: Tensor, rows: slice) -> tuple[Tensor, Tensor, Tensor, Floats, Floats]:
        """Return what a part of the rows needs: slopes, patches, and where its gradients go."""
        made = made[: rows.stop - rows.start]
        of_weight, of_bias = made.flatten(1).numpy(), self.of_bias[rows].numpy()
        return self.flat.transpose(1, 2)[rows], self.patches[rows], made, of_weight, of_bias

    def _matrix(self) -> Tensor:
        layer = self.stage.convolution
        return layer.weight.permute(0, 2, 3, 1).reshape(layer.out_channels, -1)


class _Pool:
    """The larger of every two neighbours along one axis.

    Attributes:
        output: the larger ones.
        slope: their gradient, to be written before ``backward`` and overwritten by it.
        spread: after ``backward``, the gradient of what was pooled.
    """

    def __init__(self, given: Tensor, axis: int, stride: int, memory: Memory) -> None:
        """Pool ``given`` (b, h, w, k), whose memory stays, along ``axis``."""
        count = (given.shape[axis] - PAIR) // stride + 1
        self._first, self._second = _pairs(given, axis, count, stride)
        self.output, self._gap = (memory.take(*self._first.shape[1:]) for _ in range(2))
        self.slope = memory.take(*self._first.shape[1:])
        self.spread = memory.take(*given.shape[1:])
        self._to_first, self._to_second = _pairs(self.spread, axis, count, stride)
        # With stride 1 the last one is the first of no pair; with a larger one some are in no pair, and stay zero.
        self._end = self.spread.narrow(axis, count, 1) if stride == 1 else None
        self._distance = stride > 1

    def forward(self) -> None:
        """Compute ``output`` and which of the two it is."""
        torch.sub(self._first, self._second, out=self._gap)
        torch.maximum(self._first, self._second, out=self.output)

    def backward(self) -> None:
        """Hand each gradient to the larger of the two."""
        torch.ops.aten.threshold_backward.grad_input(self.slope, self._gap, 0, grad_input=self._to_first)
        if self._distance:
            torch.sub(self.slope, self._to_first, out=self._to_second)
            return
        assert self._end is not None
        self._end.zero_()
        # The places of the second overlap with those of the first, which must not be read after it was added.
        self._to_second.add_(self.slope.sub_(self._to_first))


def _pairs(image: Tensor, axis: int, count: int, stride: int) -> tuple[Tensor, Tensor]:
    """Return the first and the second of each two neighbours along an axis."""
    cut = [slice(None)] * axis
    first, second = slice(0, (count - 1) * stride + 1, stride), slice(1, (count - 1) * stride + 2, stride)
    return image[(*cut, first)], image[(*cut, second)]


def activation_backward(slope: Tensor, active: Tensor, *, relu: bool, out: Tensor) -> Tensor:
    """Write the gradient of what entered an activation into ``out``, from that of what left it (``active``)."""
    if relu:
        torch.ops.aten.threshold_backward.grad_input(slope, active, 0, grad_input=out)
    else:
        torch.ops.aten.tanh_backward.grad_input(slope, active, grad_input=out)
    return out


def in_parts(rows: int) -> list[slice]:
    """Return the few rows whose gradients are made at once, part by part."""
    return [slice(start, min(rows, start + FEW)) for start in range(0, rows, FEW)]


def _padding(layer: nn.Conv2d) -> tuple[int, int]:
    padding = layer.padding
    assert not isinstance(padding, str)
    return (int(padding[0]), int(padding[1]))
