"""The fast engine for small convolutional networks on the processor: channels last, no autograd.

A convolution is a product with patches, which are cut once and serve the forward pass and the rows' gradients alike:
one product of (channels × places) and (places × patch) for each row costs what the ordinary gradient of the weights
costs. Pooling takes maxima of slices. Rows' own gradients are made a few at a time, so that they are still in the cache
when their factors are known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from workbench.deep.book_keeping import patch_cuts
from workbench.deep.clipping import StepSums, in_chunks
from workbench.deep.clipping_factors import Clipping
from workbench.deep.compiled import loops
from workbench.deep.linear_chain import (
    ACTIVATIONS,
    Chain,
    ChainRoom,
    Floats,
    Memory,
    WrittenOutEngine,
    begin_squares,
    chain_of,
)
from workbench.deep.networks.network import IMAGE_ROWS

FEW = 16  # rows whose gradients are made at once

_ZERO = np.float32(0)


@loops
def squares_of(of_weight: Floats, of_bias: Floats, squares: Floats) -> None:
    """Write the squared norms (r,) of rows' gradients of a weight (r, n) and a bias (r, k)."""
    for i in range(len(squares)):
        square = _ZERO
        weight, bias = of_weight[i], of_bias[i]
        for j in range(len(weight)):
            square += weight[j] * weight[j]
        for j in range(len(bias)):
            square += bias[j] * bias[j]
        squares[i] = square


@loops
def add_weighted(of_weight: Floats, of_bias: Floats, factors: Floats, weight: Floats, bias: Floats) -> None:
    """Add rows' gradients, each times its factor (r,), to the sums of a weight (n,) and a bias (k,).

    Rows with the factor 0 are left out: they may hold ∞, and 0·∞ is not a number.
    """
    for i in range(len(factors)):
        factor, more, ends = factors[i], of_weight[i], of_bias[i]
        if factor == _ZERO:
            continue
        for j in range(len(weight)):
            weight[j] += factor * more[j]
        for j in range(len(bias)):
            bias[j] += factor * ends[j]


PAIR = 2  # side of the windows that pooling takes the maximum of


@dataclass(frozen=True, eq=False)
class Stage:
    """A convolution, its activation, and the stride of the pooling behind it (0: none)."""

    convolution: nn.Conv2d
    relu: bool
    pool: int


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
        self.patches, self._cuts = patch_cuts(given, layer.kernel_size, layer.stride, (1, 1), memory.take)
        channels = layer.out_channels
        self._made = memory.take(*out, channels)
        self._pools: list[_Pool] = []
        self.output = self._made
        for axis in (1, 2) if stage.pool else ():
            self._pools.append(_Pool(self.output, axis, stage.pool, memory))
            self.output = self._pools[-1].output
        if self._pools:
            self._pools[0].slope = self._pools[1].spread
        made = memory.fixed(FEW, channels, self.patches.shape[2])
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
            windows = self._of_patches.view(rows, *out, high, wide * shape[2])
            self._folds = list(self._folded(windows, self._back))
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


def fits(network: nn.Module) -> bool:
    """Return whether ``network`` is convolutions (activation, pooling or not), then a chain of linear layers."""
    return type(network) is nn.Sequential and _parsed(network) is not None


class ImageClippedSum(WrittenOutEngine):
    """Clipped sums of a network for which :func:`fits` holds, in single precision."""

    most_rows = IMAGE_ROWS

    def _begin(self, network: nn.Sequential) -> tuple[Chain, int]:
        parsed = _parsed(network)
        assert parsed is not None
        self._stages, linear = parsed
        self._unflatten = network[0] if isinstance(network[0], nn.Unflatten) else None
        self._rooms: dict[int, _Room] = {}
        self._shape: tuple[int, ...] = ()
        chain = Chain(*linear, self._places, two=False)
        largest = max(stage.convolution.weight.numel() + stage.convolution.out_channels for stage in self._stages)
        return chain, max(largest, chain.terms) + len(self._stages) + len(chain.layers)

    def __call__(self, inputs: Tensor, targets: Tensor, *, measure: bool = True) -> StepSums:
        """Return the sums of a batch; ``total`` is overwritten by the next call.

        Raises:
            IndexError: a class is not one that the network has.
            RuntimeError: images or classes are missing, or images have a shape that the network cannot take.
        """
        if len(inputs) != len(targets):  # one image would be used for all
            raise RuntimeError(f"{len(inputs)} images have {len(targets)} classes")

        def chunk(part: slice) -> StepSums:
            return self._chunk(inputs[part], targets[part], measure=measure)

        with torch.inference_mode():
            self._find()
            if 0 < len(targets) <= self._rows:
                return chunk(slice(None))
            return in_chunks(len(targets), self._rows, len(self._places.total), chunk)

    def _room(self, rows: int, shape: Sequence[int]) -> _Room:
        """Return the memory for ``rows`` images of ``shape``; it is one for all numbers of rows."""
        if tuple(shape) != self._shape:
            self._shape, self._held, self._rooms = tuple(shape), [], {}
        room = self._rooms.get(rows)
        if room is None:
            memory = Memory(rows, self._rows, self._held)
            room = self._rooms[rows] = _Room(self._stages, self._chain, shape, memory)
        return room

    def _chunk(self, x: Tensor, y: Tensor, *, measure: bool) -> StepSums:
        """Return the sums of one chunk."""
        image = x if self._unflatten is None else self._unflatten(x)
        room = self._room(len(y), image.shape[1:])
        image = image.permute(0, 2, 3, 1)
        for one in room.passes:
            one.forward(image)
            image = one.output
        room.features.copy_(image.permute(0, 3, 1, 2))
        begin_squares(room.chain.entering[0], room.chain.each[0])
        room.chain.classes = y.numpy()
        self._chain.forward(room.chain)
        stated = self._chain.measured(room.chain) if measure else None
        self._backward(room)
        self._watch()
        self._sum(room, self.clipping.of(len(y)))
        return self._stated(stated)

    def _backward(self, room: _Room) -> None:
        """Make the gradients of what leaves each layer, and finish the squares of the linear ones."""
        self._chain.backward(room.chain)
        torch.mm(room.chain.g[0], self._chain.layers[0].weight, out=room.below)
        slope = room.slope
        for one in reversed(room.passes):
            one.backward(slope)
            slope = one.below

    def _sum(self, room: _Room, clipping: Clipping) -> None:
        """Write the sums; a part of the rows has its factors before the next part has gradients of convolutions."""
        count = len(room.passes)
        found: list[Floats] = []
        for k, few in enumerate(room.parts):
            squares = np.empty((count + len(self._chain.layers), few.stop - few.start), dtype=np.float32)
            squares[count:] = room.chain.squares[:, few]
            for one, square in zip(room.passes, squares, strict=False):
                one.rows_gradients(k, square)
            factors = clipping.row_factors(squares)
            for i, one in enumerate(room.passes):
                one.add(k, factors[i % len(factors)])
            found.append(factors)
        for one in room.passes:
            layer = one.stage.convolution
            assert layer.bias is not None
            weight = torch.from_numpy(one.sums[0]).view(layer.out_channels, *layer.kernel_size, layer.in_channels)
            self._places.of(layer.weight).copy_(weight.permute(0, 3, 1, 2))
            self._places.of(layer.bias).copy_(torch.from_numpy(one.sums[1]))
        whole = np.concatenate(found, axis=1)
        self._chain.sum(room.chain, whole[count:] if len(whole) > 1 else whole)


class _Room:
    """The memory of a chunk.

    Attributes:
        passes: the stages.
        chain: that of the linear layers.
        parts: the few rows whose gradients are made at once.
        below: the gradient of what enters the linear layers (b, d).
        features: what enters the linear layers, as channels of an image (b, k, h, w).
        slope: its gradient, channels last.
    """

    def __init__(self, stages: Sequence[Stage], chain: Chain, shape: Sequence[int], memory: Memory) -> None:
        """Take the memory for images of ``shape`` (channels, height, width)."""
        self.passes: list[Pass] = []
        before, size = None, (shape[1], shape[2], shape[0])
        for stage in stages:
            self.passes.append(Pass(stage, memory, size, before))
            before = self.passes[-1].output
            size = (before.shape[1], before.shape[2], before.shape[3])
        self.chain, self.below = ChainRoom(chain, memory), memory.take(chain.widths[0])
        self.parts = in_parts(memory.rows)
        image = (memory.rows, size[2], size[0], size[1])
        self.features, self.slope = self.chain.h[0].view(image), self.below.view(image).permute(0, 2, 3, 1)


def _parsed(network: nn.Sequential) -> tuple[list[Stage], tuple[list[nn.Linear], list[bool]]] | None:
    """Return stages and the chain behind them; ``None`` for any other network."""
    layers = list(network)
    if layers and type(layers[0]) is nn.Unflatten:
        layers = layers[1:]
    flatten = next((i for i, layer in enumerate(layers) if type(layer) is nn.Flatten), 0)
    stages, at = [], 0
    while at < flatten:
        convolution, activation = layers[at], layers[at + 1]
        if type(convolution) is not nn.Conv2d or type(activation) not in ACTIVATIONS or not _plain(convolution):
            return None
        at += 2
        pool = layers[at]
        stride = _stride_of_pairs(pool) if type(pool) is nn.MaxPool2d else 0
        if stride is None:
            return None
        at += bool(stride)
        stages.append(Stage(convolution, isinstance(activation, nn.ReLU), stride))
    chain = chain_of(layers[flatten + 1 :])
    return (stages, chain) if stages and chain is not None else None


def _plain(layer: nn.Conv2d) -> bool:
    simple = layer.groups == 1 and layer.dilation == (1, 1) and layer.padding_mode == "zeros"
    return simple and layer.bias is not None and not isinstance(layer.padding, str)


def _stride_of_pairs(pool: nn.MaxPool2d) -> int | None:
    """Return the stride of a pooling over 2×2 windows; ``None`` for any other."""
    sizes = {(PAIR, PAIR), PAIR}
    if pool.kernel_size not in sizes or pool.padding != 0 or pool.dilation != 1 or pool.ceil_mode:
        return None
    stride = pool.stride[0] if isinstance(pool.stride, tuple) and len(set(pool.stride)) == 1 else pool.stride
    return stride if isinstance(stride, int) else None
