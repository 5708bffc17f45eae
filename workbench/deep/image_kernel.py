"""The fast engine for small convolutional networks on the processor: channels last, no autograd.

A convolution is a product with patches, which are cut once and serve the forward pass and the rows' gradients alike:
one product of (channels × places) and (places × patch) for each row costs what the ordinary gradient of the weights
costs. Pooling takes maxima of slices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from workbench.deep.clipping import StepSums, nothing
from workbench.deep.factors import Clipping, SinglePrecision, lost_squares
from workbench.deep.flat_parameters import Places
from workbench.deep.image_stage import PAIR, Memory, Pass, Stage, in_parts
from workbench.deep.row_chunks import IMAGE_ROWS, chunks
from workbench.deep.row_loops import Floats, begin_squares
from workbench.deep.table_engine import measured
from workbench.deep.table_kernel import ACTIVATIONS
from workbench.deep.table_loops import activate, below, scale, slopes_of_many


def fits(network: nn.Module) -> bool:
    """Return whether ``network`` is convolutions (activation, pooling or not), then a chain of linear layers."""
    return type(network) is nn.Sequential and _parsed(network) is not None


class ImageClippedSum:
    """Clipped sums of a network for which :func:`fits` holds, in single precision.

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
        """Bind the engine to a network; the arguments are those of the other engines."""
        assert isinstance(network, nn.Sequential)
        parsed = _parsed(network)
        assert parsed is not None
        self._stages, self._linear, self._relu = parsed
        self._unflatten = network[0] if isinstance(network[0], nn.Unflatten) else None
        self._rows = min(physical_batch, IMAGE_ROWS)
        self._watch = watch
        self._places = Places(network)
        self._lost = [lost_squares(layer.out_features + 1) for layer in self._linear]
        self._held: list[Tensor] = []
        self._rooms: dict[int, _Room] = {}
        self._shape: tuple[int, ...] = ()
        largest = max(stage.convolution.weight.numel() + stage.convolution.out_channels for stage in self._stages)
        widest = max(layer.in_features + layer.out_features for layer in self._linear)
        self.clipping = SinglePrecision(rule, clip, max(largest, widest) + len(self._stages) + len(self._linear))

    def __call__(self, inputs: Tensor, targets: Tensor, *, measure: bool = True) -> StepSums:
        """Return the sums of a batch; ``total`` is overwritten by the next call.

        Raises:
            IndexError: a class is not one that the network has.
            RuntimeError: images or classes are missing, or images have a shape that the network cannot take.
        """
        if len(inputs) != len(targets):  # one image would stand for all
            raise RuntimeError(f"{len(inputs)} images have {len(targets)} classes")
        total = self._places.total
        with torch.inference_mode():
            if 0 < len(targets) <= self._rows:
                return StepSums(total, *self._chunk(inputs, targets, measure=measure), measured=measure)
            whole = total.new_zeros(len(total), dtype=torch.float64)
            rows, loss, correct = 0, 0.0, 0
            for part in chunks(len(targets), self._rows):
                stated = self._chunk(inputs[part], targets[part], measure=measure)
                rows, loss, correct = rows + stated[0], loss + stated[1], correct + stated[2]
                whole += total
        return StepSums(whole, rows, loss, correct, measured=measure)

    def _room(self, rows: int, shape: Sequence[int]) -> _Room:
        """Return the memory for ``rows`` images of ``shape``; it is one for all numbers of rows."""
        if tuple(shape) != self._shape:
            self._shape, self._held, self._rooms = tuple(shape), [], {}
        room = self._rooms.get(rows)
        if room is None:
            memory = Memory(rows, self._rows, self._held)
            room = self._rooms[rows] = _Room(self._stages, self._linear, shape, memory)
        return room

    def _chunk(self, x: Tensor, y: Tensor, *, measure: bool) -> tuple[int, float, int]:
        """Write Σ fᵢgᵢ of one chunk into the flat total; return rows, loss and rows classified right."""
        image = x if self._unflatten is None else self._unflatten(x)
        room = self._room(len(y), image.shape[1:])
        self._forward(room, image.permute(0, 2, 3, 1))
        stated = (0, 0.0, 0)
        if measure:
            stated = measured(room.entering[-1], y.clamp_min(0).unsqueeze(1), y >= 0)
        self._backward(room, y)
        self._watch()
        factors = self._convolutions(room, self.clipping.of(len(y)))
        self._layers(room, factors)
        return stated

    def _forward(self, room: _Room, image: Tensor) -> None:
        """Make what enters each layer, of images (b, h, w, c), and begin the squares of the linear ones."""
        for one in room.passes:
            one.forward(image)
            image = one.output
        room.features.copy_(image.permute(0, 3, 1, 2))
        begin_squares(room.numbers[0], room.squares[0])
        for i, layer in enumerate(self._linear):
            torch.addmm(layer.bias, room.entering[i], layer.weight.t(), out=room.entering[i + 1])
            if i + 1 < len(self._linear):
                activate(room.numbers[i + 1], self._relu[i], room.squares[i + 1])

    def _backward(self, room: _Room, y: Tensor) -> None:
        """Make the gradients of what leaves each layer, and finish the squares of the linear ones."""
        last = len(self._linear) - 1
        slopes_of_many(room.numbers[-1], y.numpy(), room.slope_numbers[-1], self._lost[last], room.squares[last])
        for i in range(last, -1, -1):
            torch.mm(room.slopes[i + 1], self._linear[i].weight, out=room.slopes[i])
            if i > 0:
                slopes, h = room.slope_numbers[i], room.numbers[i]
                below(slopes, h, self._relu[i - 1], self._lost[i - 1], room.squares[i - 1])
        slope = room.below.permute(0, 2, 3, 1)
        for one in reversed(room.passes):
            one.backward(slope)
            slope = one.below

    def _convolutions(self, room: _Room, clipping: Clipping) -> list[Floats]:
        """Write the sums of the convolutions; return the factors (b,) of the linear layers."""
        count = len(room.passes)
        found: list[Floats] = []
        for k, few in enumerate(room.parts):
            squares = np.empty((count + len(self._linear), few.stop - few.start), dtype=np.float32)
            squares[count:] = room.squares[:, few]
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
        return [whole[(count + i) % len(whole)] for i in range(len(self._linear))]

    def _layers(self, room: _Room, factors: list[Floats]) -> None:
        """Write the sums of the linear layers."""
        for i, (layer, factor) in enumerate(zip(self._linear, factors, strict=True)):
            h, slope = room.entering[i], room.slopes[i + 1]
            scale(room.numbers[i], room.slope_numbers[i + 1], factor, False, self._places.of(layer.bias).numpy())
            torch.mm(slope.t(), h, out=self._places.of(layer.weight))


class _Room:
    """The memory of a chunk.

    Attributes:
        passes: the stages.
        entering: what enters the linear layers (b, d), and last the logits.
        slopes: their gradients.
        numbers: ``entering`` for NumPy.
        slope_numbers: ``slopes`` for NumPy.
        squares: squared norms of the rows' gradients in each linear layer (L, b).
        parts: the few rows whose gradients are made at once.
        features: ``entering[0]`` as channels of an image (b, k, h, w).
        below: its gradient.
    """

    def __init__(
        self, stages: Sequence[Stage], linear: Sequence[nn.Linear], shape: Sequence[int], memory: Memory
    ) -> None:
        """Take the memory for images of ``shape`` (channels, height, width)."""
        self.passes: list[Pass] = []
        before, size = None, (shape[1], shape[2], shape[0])
        for stage in stages:
            self.passes.append(Pass(stage, memory, size, before))
            before = self.passes[-1].output
            size = (before.shape[1], before.shape[2], before.shape[3])
        widths = [layer.in_features for layer in linear] + [linear[-1].out_features]
        self.entering, self.slopes = ([memory.take(width) for width in widths] for _ in range(2))
        self.numbers, self.slope_numbers = ([part.numpy() for part in held] for held in (self.entering, self.slopes))
        self.squares = np.empty((len(linear), memory.rows), dtype=np.float32)
        self.parts = in_parts(memory.rows)
        image = (memory.rows, size[2], size[0], size[1])
        self.features, self.below = self.entering[0].view(image), self.slopes[0].view(image)


def _parsed(network: nn.Sequential) -> tuple[list[Stage], list[nn.Linear], list[bool]] | None:
    """Return stages, linear layers and which activations between these are ReLU; ``None`` for any other network."""
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
    tail = layers[flatten + 1 :]
    linear, between = tail[::2], tail[1::2]
    if (
        not stages
        or len(tail) % 2 == 0
        or not all(type(layer) is nn.Linear and layer.bias is not None for layer in linear)
    ):
        return None
    if not all(type(layer) in ACTIVATIONS for layer in between):
        return None
    return (
        stages,
        [layer for layer in linear if isinstance(layer, nn.Linear)],
        [isinstance(a, nn.ReLU) for a in between],
    )


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
