"""The fast engine for small convolutional networks on the processor: channels last, no autograd.

A convolution is a product with patches, which are cut once and serve the forward pass and the rows' gradients alike:
one product of (channels × places) and (places × patch) for each row costs what the ordinary gradient of the weights
costs. Pooling takes maxima of slices.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from workbench.deep.clipping import StepSums, nothing
from workbench.deep.factors import SinglePrecision, lost_squares
from workbench.deep.flat_parameters import Places
from workbench.deep.image_stage import PAIR, Memory, Pass, Stage, activation_backward
from workbench.deep.row_chunks import IMAGE_ROWS, chunks
from workbench.deep.table_engine import measured
from workbench.deep.table_kernel import ACTIVATIONS


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
        self._minus = torch.full((self._rows, 1), -1.0)
        self._held: list[Tensor] = []
        self._rooms: dict[int, _Room] = {}
        self._shape: tuple[int, ...] = ()
        largest = max(stage.convolution.weight.numel() + stage.convolution.out_channels for stage in self._stages)
        widest = max(layer.in_features + layer.out_features for layer in self._linear)
        self.clipping = SinglePrecision(rule, clip, max(largest, widest) + len(self._stages) + len(self._linear))

    def __call__(self, inputs: Tensor, targets: Tensor, *, measure: bool = True) -> StepSums:
        """Return the sums of a batch; ``total`` is overwritten by the next call."""
        total = self._places.total
        with torch.inference_mode():
            if 0 < len(targets) <= self._rows:
                return StepSums(total, *self._chunk(inputs, targets, measure=measure), measured=measure)
            whole = total.new_zeros(len(total), dtype=torch.float64)
            rows, loss, correct = 0, 0.0, 0
            for part in chunks(len(targets), self._rows):
                told = self._chunk(inputs[part], targets[part], measure=measure)
                rows, loss, correct = rows + told[0], loss + told[1], correct + told[2]
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
        room, last = self._room(len(y), image.shape[1:]), len(self._linear) - 1
        passes, h, slopes = room.passes, room.entering, room.slopes
        image = image.permute(0, 2, 3, 1)
        for one in passes:
            one.forward(image)
            image = one.output
        room.features.copy_(image.permute(0, 3, 1, 2))
        for i, layer in enumerate(self._linear):
            torch.addmm(layer.bias, h[i], layer.weight.t(), out=h[i + 1])
            if i < last:
                h[i + 1].relu_() if self._relu[i] else h[i + 1].tanh_()
        present = y >= 0
        classes = y.clamp_min(0).unsqueeze(1)
        told = measured(h[-1], classes, present) if measure else (0, 0.0, 0)
        torch.softmax(h[-1], 1, out=slopes[-1])
        slopes[-1].scatter_add_(1, classes, self._minus[: len(y)])
        for i in range(last, -1, -1):
            torch.mm(slopes[i + 1], self._linear[i].weight, out=slopes[i])
            if i > 0:
                activation_backward(slopes[i], h[i], relu=self._relu[i - 1], out=slopes[i])
        below = room.below.permute(0, 2, 3, 1)
        for one in reversed(passes):
            one.backward(below)
            below = one.below
        self._watch()
        squares = [one.squares() for one in passes]
        for entering, leaving in zip(h, slopes[1:], strict=False):
            square = torch.linalg.vector_norm(entering, dim=1).square_().add_(1)
            slope = torch.linalg.vector_norm(leaving, dim=1).square_().add_(lost_squares(leaving.shape[1] + 1))
            squares.append(square.mul_(slope))
        factors = self.clipping.of(len(y)).factors(torch.stack(squares, 1)).mul_(present.unsqueeze(1))
        each = factors.expand(-1, len(squares)).unbind(1)
        for slope, factor in zip(slopes[1:], each[len(passes) :], strict=True):
            slope.mul_(factor.unsqueeze(1))
        self._sum(room, each)
        if not math.isfinite(float(self._places.total.sum())):
            # 0·∞ is not a number: rows with the factor 0, which they have in every layer, are set to zero.
            left = factors[:, 0] == 0
            for tensor in [*h, *slopes, *(t for one in passes for t in (one.of_weight, one.of_bias))]:
                tensor[left] = 0
            self._sum(room, each)
        return told

    def _sum(self, room: _Room, each: Sequence[Tensor]) -> None:
        """Write the sums of the rows' gradients times ``each`` layer's factors; linear layers' slopes have theirs."""
        for one, factor in zip(room.passes, each, strict=False):
            convolution = one.stage.convolution
            assert convolution.bias is not None
            weight = (factor @ one.of_weight.flatten(1)).view(
                convolution.out_channels, *convolution.kernel_size, convolution.in_channels
            )
            self._places.of(convolution.weight).copy_(weight.permute(0, 3, 1, 2))
            torch.mv(one.of_bias.t(), factor, out=self._places.of(convolution.bias))
        for layer, entering, slope in zip(self._linear, room.entering, room.slopes[1:], strict=False):
            torch.mm(slope.t(), entering, out=self._places.of(layer.weight))
            torch.sum(slope, 0, out=self._places.of(layer.bias))


class _Room:
    """The memory of a chunk.

    Attributes:
        passes: the stages.
        entering: what enters the linear layers (b, d), and last the logits.
        slopes: their gradients.
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
