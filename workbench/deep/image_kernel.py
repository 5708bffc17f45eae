"""The fast engine for small convolutional networks on the processor: channels last, no autograd.

A convolution is a product with patches, which are cut once and serve the forward pass and the rows' gradients alike:
one product of (channels × places) and (places × patch) for each row costs what the ordinary gradient of the weights
costs. Pooling takes maxima of slices.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from workbench.deep.clipping import StepSums, nothing
from workbench.deep.factors import SinglePrecision
from workbench.deep.flat_parameters import Places
from workbench.deep.row_chunks import chunks
from workbench.deep.table_kernel import ACTIVATIONS, measured

_MOST_ROWS = 96
"""Rows of a chunk: more leave the processor's cache, and rounding takes more from C (.11 % here)."""

_PAIR = 2
"""Side of the windows that pooling takes the maximum of."""


@dataclass(frozen=True, eq=False)
class _Stage:
    """A convolution, its activation, and the stride of the pooling behind it (0: none)."""

    convolution: nn.Conv2d
    relu: bool
    pool: int


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
        self._rows = min(physical_batch, _MOST_ROWS)
        self._watch = watch
        self._places = Places(network)
        largest = max(stage.convolution.weight.numel() + stage.convolution.out_channels for stage in self._stages)
        widest = max(layer.in_features + layer.out_features for layer in self._linear)
        self.clipping = SinglePrecision(rule, clip, max(largest, widest) + len(self._stages) + len(self._linear))

    def __call__(self, inputs: Tensor, targets: Tensor, *, measure: bool = True) -> StepSums:
        """Return the sums of a batch; ``total`` is overwritten by the next call."""
        parts = chunks(len(targets), self._rows)
        total = self._places.total
        whole = total.zero_() if not parts else total if len(parts) == 1 else total.new_zeros(len(total)).double()
        rows, loss, correct = 0, 0.0, 0
        with torch.inference_mode():
            for part in parts:
                told = self._chunk(inputs[part], targets[part], measure=measure)
                rows, loss, correct = rows + told[0], loss + told[1], correct + told[2]
                if whole is not total:
                    whole += total
        return StepSums(whole, rows, loss, correct, measured=measure)

    def _chunk(self, x: Tensor, y: Tensor, *, measure: bool) -> tuple[int, float, int]:
        """Write Σ fᵢgᵢ of one chunk into the flat total; return rows, loss and rows classified right."""
        passes = [_Pass(stage) for stage in self._stages]
        image = (x if self._unflatten is None else self._unflatten(x)).permute(0, 2, 3, 1)
        for one in passes:
            image = one.forward(image)
        shape = image.shape
        h = [image.permute(0, 3, 1, 2).flatten(1)]
        for i, layer in enumerate(self._linear):
            out = torch.addmm(layer.bias, h[-1], layer.weight.t())
            if i < len(self._relu):
                out = out.relu_() if self._relu[i] else out.tanh_()
            h.append(out)
        present = y >= 0
        classes = y.clamp_min(0).unsqueeze(1)
        told = measured(h[-1], classes, present) if measure else (0, 0.0, 0)
        slope = torch.softmax(h[-1], 1)
        slope.scatter_add_(1, classes, slope.new_full((len(y), 1), -1.0))
        slopes = [slope]
        for i in range(len(self._linear) - 1, -1, -1):
            slope = slopes[0] @ self._linear[i].weight
            if i > 0:
                slope = _activation_backward(slope, h[i], relu=self._relu[i - 1])
            slopes.insert(0, slope)
        below = slopes[0].view(len(y), shape[3], shape[1], shape[2]).permute(0, 2, 3, 1)
        for i in range(len(passes) - 1, -1, -1):
            below = passes[i].backward(below, first=i == 0)
        self._watch()
        squares = [one.squares() for one in passes]
        for entering, leaving in zip(h, slopes[1:], strict=False):
            square = torch.linalg.vector_norm(entering, dim=1).square_().add_(1)
            squares.append(square.mul_(torch.linalg.vector_norm(leaving, dim=1).square_()))
        norms = torch.stack(squares, 1)
        factors = self.clipping.of(len(y)).factors(norms) * present.unsqueeze(1)
        self._sum(passes, h, slopes[1:], factors)
        if not math.isfinite(float(self._places.total.sum())):
            # 0·∞ is not a number: rows without a finite gradient are set to zero where there is one.
            left = ~norms.isfinite().all(1)
            for tensor in [*h, *slopes, *(t for one in passes for t in one.of_rows)]:
                tensor[left] = 0
            factors[left] = 0
            self._sum(passes, h, slopes[1:], factors)
        return told

    def _sum(self, passes: list[_Pass], h: list[Tensor], slopes: list[Tensor], factors: Tensor) -> None:
        each = factors.expand(-1, len(passes) + len(slopes)).unbind(1)
        for one, factor in zip(passes, each, strict=False):
            convolution = one.stage.convolution
            assert convolution.bias is not None
            of_weight, of_bias = one.of_rows
            weight = (factor @ of_weight.flatten(1)).view(
                convolution.out_channels, *convolution.kernel_size, convolution.in_channels
            )
            self._places.of(convolution.weight).copy_(weight.permute(0, 3, 1, 2))
            torch.mv(of_bias.t(), factor, out=self._places.of(convolution.bias))
        for layer, entering, leaving, factor in zip(self._linear, h, slopes, each[len(passes) :], strict=False):
            scaled = leaving * factor.unsqueeze(1)
            torch.mm(scaled.t(), entering, out=self._places.of(layer.weight))
            torch.sum(scaled, 0, out=self._places.of(layer.bias))


class _Pass:
    """One stage on one chunk, forward and backward.

    Attributes:
        stage: its layers.
        of_rows: after ``backward``: the rows' gradients of the weight (b, k, patch) and of the bias (b, k).
    """

    def __init__(self, stage: _Stage) -> None:
        self.stage = stage
        self.of_rows: tuple[Tensor, Tensor]
        self._given: Tensor
        self._patches: Tensor
        self._active: Tensor
        self._gaps: list[Tensor] = []

    def forward(self, image: Tensor) -> Tensor:
        """Return the output (b, h, w, k) of ``image`` (b, h, w, c)."""
        layer = self.stage.convolution
        (down, across), (high, wide), (pad_h, pad_w) = layer.stride, layer.kernel_size, _padding(layer)
        if pad_h or pad_w:
            image = nn.functional.pad(image, (0, 0, pad_w, pad_w, pad_h, pad_h))
        self._given = image = image.contiguous()
        rows, height, width, channels = image.shape
        out = ((height - high) // down + 1, (width - wide) // across + 1)
        step = image.stride()
        windows = image.as_strided(
            (rows, *out, high, wide * channels), (step[0], step[1] * down, step[2] * across, step[1], 1)
        )
        self._patches = windows.reshape(rows * out[0] * out[1], high * wide * channels)
        assert layer.bias is not None
        active = torch.addmm(layer.bias, self._patches, self._matrix().t())
        active = active.relu_() if self.stage.relu else active.tanh_()
        self._active = active = active.view(rows, *out, layer.out_channels)
        if self.stage.pool:
            for axis in (1, 2):
                first, second = self._pairs(active, axis)
                self._gaps.append(first - second)
                active = torch.maximum(first, second)
        return active

    def backward(self, slope: Tensor, *, first: bool) -> Tensor:
        """Make the rows' gradients; return the gradient of the input (nothing useful at the first stage)."""
        slope = slope.contiguous()
        if self.stage.pool:
            for axis in (2, 1):
                slope = self._unpooled(slope, axis)
        slope = _activation_backward(slope, self._active, relu=self.stage.relu)
        rows, channels = len(slope), slope.shape[3]
        flat = slope.view(rows, -1, channels)
        patches = self._patches.view(rows, flat.shape[1], -1)
        self.of_rows = (torch.bmm(flat.transpose(1, 2), patches), flat.sum(1))
        return slope if first else self._to_input(flat)

    def _unpooled(self, slope: Tensor, axis: int) -> Tensor:
        """Return the gradient before pooling along an axis: each goes to the larger of its two."""
        gap = self._gaps[axis - 1]
        shape = list(gap.shape)
        shape[axis] = self._active.shape[axis]
        to_first = torch.ops.aten.threshold_backward(slope, gap, 0)
        spread = slope.new_zeros(shape)
        one, other = self._pairs(spread, axis)
        other += slope.sub_(to_first)
        one += to_first
        return spread

    def _to_input(self, slope: Tensor) -> Tensor:
        """Return the gradient of the input: that of the patches, added where they were cut."""
        layer = self.stage.convolution
        rows, height, width, channels = self._given.shape
        (down, across), (high, wide), (pad_h, pad_w) = layer.stride, layer.kernel_size, _padding(layer)
        out = self._active.shape[1:3]
        of_patches = (slope.reshape(-1, slope.shape[2]) @ self._matrix()).view(rows, *out, high, wide * channels)
        back = torch.zeros_like(self._given)
        step = back.stride()
        apart = -(-wide // across)  # so many windows on are the next that do not overlap
        for begin in range(min(apart, out[1])):
            here = of_patches[:, :, begin::apart]
            strides = (step[0], step[1] * down, step[2] * across * apart, 1)
            for line in range(high):
                offset = line * step[1] + begin * across * step[2]
                back.as_strided((rows, *here.shape[1:3], wide * channels), strides, offset).add_(here[:, :, :, line])
        return back[:, pad_h : height - pad_h, pad_w : width - pad_w]

    def squares(self) -> Tensor:
        """Return the squared norms (b,) of the rows' gradients."""
        of_weight, of_bias = self.of_rows
        square = torch.linalg.vector_norm(of_weight.flatten(1), dim=1).square_()
        squares: Tensor = square.add_(torch.linalg.vector_norm(of_bias, dim=1).square_())
        return squares

    def _matrix(self) -> Tensor:
        layer = self.stage.convolution
        return layer.weight.permute(0, 2, 3, 1).reshape(layer.out_channels, -1)

    def _pairs(self, image: Tensor, axis: int) -> tuple[Tensor, Tensor]:
        """Return the first and the second of each window's neighbours along an axis."""
        stride = self.stage.pool
        count = (image.shape[axis] - _PAIR) // stride + 1
        cut = [slice(None)] * axis
        first, second = slice(0, (count - 1) * stride + 1, stride), slice(1, (count - 1) * stride + 2, stride)
        return image[(*cut, first)], image[(*cut, second)]


def _activation_backward(slope: Tensor, active: Tensor, *, relu: bool) -> Tensor:
    aten = torch.ops.aten
    found: Tensor = aten.threshold_backward(slope, active, 0) if relu else aten.tanh_backward(slope, active)
    return found


def _padding(layer: nn.Conv2d) -> tuple[int, int]:
    padding = layer.padding
    assert not isinstance(padding, str)
    return (int(padding[0]), int(padding[1]))


def _parsed(network: nn.Sequential) -> tuple[list[_Stage], list[nn.Linear], list[bool]] | None:
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
        stages.append(_Stage(convolution, isinstance(activation, nn.ReLU), stride))
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
    sizes = {(_PAIR, _PAIR), _PAIR}
    if pool.kernel_size not in sizes or pool.padding != 0 or pool.dilation != 1 or pool.ceil_mode:
        return None
    stride = pool.stride[0] if isinstance(pool.stride, tuple) and len(set(pool.stride)) == 1 else pool.stride
    return stride if isinstance(stride, int) else None
