"""Plain SGD with the private engines' own kernels: what privacy alone costs is the private step beside it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from workbench.deep.flat_parameters import flattened
from workbench.deep.image_kernel import ImageClippedSum
from workbench.deep.image_stage import activation_backward
from workbench.deep.logistic_kernel import LogisticClippedSum, fits
from workbench.deep.table_engine import SIGNS
from workbench.deep.table_kernel import TableClippedSum


def plain_step(module: nn.Module, batch: int, x: Tensor, y: Tensor) -> Callable[[], None]:
    """Return a step: shuffled rows of preloaded tensors, no norms, no clipping, no noise."""
    parameters = flattened(module)
    if type(module[0]) is nn.Linear:  # type: ignore[index]
        table = _Logistic(module, x, y) if fits(module) else _Table(module, x, y)

        def step_of_table() -> None:
            rows = torch.randint(0, len(x), (batch,))
            parameters.sub_(table(rows.numpy()), alpha=0.1 / batch)

        return step_of_table
    gradient = _Image(module)

    def step() -> None:
        rows = torch.randint(0, len(x), (batch,))
        parameters.sub_(gradient(x.index_select(0, rows), y.index_select(0, rows)), alpha=0.1 / batch)

    return step


class _Logistic:
    """The kernel of one linear layer without norms and clipping."""

    def __init__(self, module: nn.Module, x: Tensor, y: Tensor) -> None:
        self._engine = LogisticClippedSum(module, 1.0, 384)
        self._x, self._y = x.numpy(), y.numpy()
        self._engine._find()

    @np.errstate(all="ignore")
    def __call__(self, rows: NDArray[np.int64]) -> Tensor:
        engine = self._engine
        room, layer = engine._room(len(rows)), engine._layer
        block, signs, odds = room.entering, room.signs, room.odds
        self._x.take(rows, 0, out=block.array, mode="clip")
        SIGNS.take(self._y.take(rows), out=signs, mode="wrap")
        layer.look()
        block.times(layer.across, odds)
        odds += layer.shift
        odds *= signs
        np.exp(odds, out=odds)
        odds += 1
        np.divide(signs, odds, out=signs)
        layer.sum_up(block, signs, room.ones)
        return engine._places.total


class _Table:
    """The table kernel without norms and clipping."""

    def __init__(self, module: nn.Module, x: Tensor, y: Tensor) -> None:
        self._engine = TableClippedSum(module, 1.0, 384)
        self._x, self._y = x.numpy(), y.numpy()
        self._engine._find()

    @np.errstate(all="ignore")
    def __call__(self, rows: NDArray[np.int64]) -> Tensor:
        engine = self._engine
        room = engine._room(len(rows))
        self._x.take(rows, 0, out=room.entering[0].array, mode="clip")
        self._y.take(rows, out=room.classes, mode="clip")
        engine._forward(room)
        engine._backward(room, measure=False)
        layers = engine._layers if engine._two is None else engine._layers[:-1]
        for layer, h, g in zip(layers, room.entering, room.leaving, strict=False):
            g.by(h, layer.of_weight, layer.sum_of_weight)
            g.weighted(room.ones, layer.of_bias)
        if engine._two is not None:
            engine._two.sum_up(room.entering[-2], room.slope, room.ones)
        return engine._places.total


class _Image:
    """The kernel of small convolutional networks: one product for the gradient of a weight, not one for each row."""

    def __init__(self, module: nn.Module) -> None:
        self._engine = ImageClippedSum(module, 1.0, 96)

    def __call__(self, x: Tensor, y: Tensor) -> Tensor:
        engine = self._engine
        parts = torch.arange(len(y)).tensor_split(-(-len(y) // engine._rows))
        if len(parts) == 1:
            return self._chunk(x, y)
        return torch.stack([self._chunk(x[part], y[part]).clone() for part in parts]).sum(0)

    def _chunk(self, x: Tensor, y: Tensor) -> Tensor:
        engine = self._engine
        with torch.inference_mode():
            room, last = engine._room(len(y), x.shape[1:]), len(engine._linear) - 1
            image, h, slopes = x.permute(0, 2, 3, 1), room.entering, room.slopes
            for one in room.passes:
                one.forward(image)
                image = one.output
            room.features.copy_(image.permute(0, 3, 1, 2))
            for i, layer in enumerate(engine._linear):
                torch.addmm(layer.bias, h[i], layer.weight.t(), out=h[i + 1])
                if i < last:
                    h[i + 1].relu_()
            torch.softmax(h[-1], 1, out=slopes[-1])
            slopes[-1].scatter_add_(1, y.unsqueeze(1), engine._minus[: len(y)])
            for i in range(last, -1, -1):
                torch.mm(slopes[i + 1], engine._linear[i].weight, out=slopes[i])
                if i > 0:
                    activation_backward(slopes[i], h[i], relu=True, out=slopes[i])
            below = room.below.permute(0, 2, 3, 1)
            for one in reversed(room.passes):
                one.slope_of(below)
                layer = one.stage.convolution
                flat = one.flat.view(-1, layer.out_channels)
                patches = one.patches.view(len(flat), -1)
                weight = (flat.t() @ patches).view(-1, *layer.kernel_size, layer.in_channels)
                engine._places.of(layer.weight).copy_(weight.permute(0, 3, 1, 2))
                torch.sum(flat, 0, out=engine._places.of(layer.bias))
                one.slope_below()
                below = one.below
            for layer, entering, slope in zip(engine._linear, h, slopes[1:], strict=False):
                torch.mm(slope.t(), entering, out=engine._places.of(layer.weight))
                torch.sum(slope, 0, out=engine._places.of(layer.bias))
        return engine._places.total
