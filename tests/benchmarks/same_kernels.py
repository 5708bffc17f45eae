"""Plain SGD with the private engines' own kernels: what privacy alone costs is the private step beside it."""

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from workbench.deep.compiled import exp, loops
from workbench.deep.image_kernel import ImageClippedSum, activation_backward
from workbench.deep.optimizers import Sgd
from workbench.deep.private_step import flattened
from workbench.deep.table_kernel import LogisticClippedSum, TableClippedSum, is_logistic


def plain_step(module: nn.Module, batch: int, x: Tensor, y: Tensor) -> Callable[[], None]:
    """Return a step: shuffled rows of preloaded tensors, no norms, no clipping, no noise."""
    parameters = flattened(module)
    if type(module[0]) is nn.Linear:  # type: ignore[index]
        table = _Logistic(module, x, y) if is_logistic(module) else _Table(module, x, y)

        update = Sgd(0.1 / batch)

        def step_of_table() -> None:
            rows = torch.randint(0, len(x), (batch,))
            update(parameters, table(rows.numpy()))

        return step_of_table
    gradient = _Image(module)

    def step() -> None:
        rows = torch.randint(0, len(x), (batch,))
        parameters.sub_(gradient(x.index_select(0, rows), y.index_select(0, rows)), alpha=0.1 / batch)

    return step


class _Logistic:
    """The loop of one linear layer without norms and clipping."""

    def __init__(self, module: nn.Module, x: Tensor, y: Tensor) -> None:
        self._engine = LogisticClippedSum(module, 1.0, 384)
        self._x, self._y = x.numpy(), y.numpy()
        self._engine._chain.find()

    def __call__(self, rows: NDArray[np.int64]) -> Tensor:
        engine, layer = self._engine, self._engine._chain.layers[0]
        _logistic(self._x, self._y, rows, *layer.numbers, *layer.sums)
        return engine._places.total


class _Table:
    """The table kernel without norms and clipping."""

    def __init__(self, module: nn.Module, x: Tensor, y: Tensor) -> None:
        self._engine = TableClippedSum(module, 1.0, 384)
        self._x, self._y = x.numpy(), y.numpy()
        self._engine._chain.find()

    def __call__(self, rows: NDArray[np.int64]) -> Tensor:
        engine = self._engine
        room, layers = engine._room(len(rows)), engine._chain.layers
        last = len(layers) - 1
        assert engine._chain.two
        _take(self._x, self._y, rows, room.entering[0], room.classes)
        for i, layer in enumerate(layers[:-1]):
            torch.addmm(layer.bias, room.h[i], layer.turned, out=room.h[i + 1])
            _tanh(room.entering[i + 1])
        end = layers[last]
        below = (room.entering[last], room.classes, *end.numbers, room.leaving[last - 1])
        _last_of_two(*below, *end.sums)
        for i in range(last - 1, -1, -1):
            layer = layers[i]
            torch.mm(room.turned[i], room.h[i], out=layer.of_weight)
            _sum_rows(room.leaving[i], layer.sums[1])
            if i:
                torch.mm(room.g[i], layer.weight, out=room.g[i - 1])
                _through(room.leaving[i - 1], room.entering[i])
        return engine._places.total


_ONE, _TWO, _ZERO = np.float32(1), np.float32(2), np.float32(0)


@loops
def _logistic(x, y, rows, weight, bias, of_weight, of_bias):  # type: ignore[no-untyped-def]
    zero, one, low, high = of_weight[0], of_weight[1], weight[0], weight[1]
    shift, whole = bias[1] - bias[0], _ZERO
    zero[:] = _ZERO
    for i in range(len(rows)):
        given, gap = x[rows[i]], shift
        for j in range(len(given)):
            gap += given[j] * (high[j] - low[j])
        sign = np.float32(2 * y[rows[i]] - 1)
        slope = sign / (exp(gap * sign) + _ONE)
        whole += slope
        for j in range(len(given)):
            zero[j] += slope * given[j]
    for j in range(len(zero)):
        one[j] = -zero[j]
    of_bias[0], of_bias[1] = whole, -whole


@loops
def _take(x, y, rows, entering, classes):  # type: ignore[no-untyped-def]
    for i in range(len(rows)):
        given, to = x[rows[i]], entering[i]
        for j in range(len(given)):
            to[j] = given[j]
        classes[i] = y[rows[i]]


@loops
def _tanh(h):  # type: ignore[no-untyped-def]
    for i in range(len(h)):
        row = h[i]
        for j in range(len(row)):
            row[j] = _ONE - _TWO / (exp(_TWO * row[j]) + _ONE)


@loops
def _last_of_two(h, classes, weight, bias, below, of_weight, of_bias):  # type: ignore[no-untyped-def]
    zero, one, low, high = of_weight[0], of_weight[1], weight[0], weight[1]
    shift, whole = bias[1] - bias[0], _ZERO
    zero[:] = _ZERO
    for i in range(len(h)):
        row, to, gap = h[i], below[i], shift
        for j in range(len(row)):
            gap += row[j] * (high[j] - low[j])
        sign = np.float32(2 * classes[i] - 1)
        slope = sign / (exp(gap * sign) + _ONE)
        whole += slope
        for j in range(len(row)):
            zero[j] += slope * row[j]
            to[j] = slope * (low[j] - high[j]) * (_ONE - row[j] * row[j])
    for j in range(len(zero)):
        one[j] = -zero[j]
    of_bias[0], of_bias[1] = whole, -whole


@loops
def _through(g, h):  # type: ignore[no-untyped-def]
    for i in range(len(h)):
        row, to = h[i], g[i]
        for j in range(len(row)):
            to[j] *= _ONE - row[j] * row[j]


@loops
def _sum_rows(g, out):  # type: ignore[no-untyped-def]
    out[:] = _ZERO
    for i in range(len(g)):
        row = g[i]
        for j in range(len(row)):
            out[j] += row[j]


class _Image:
    """The kernel of small convolutional networks: one product for the gradient of a weight, not one for each row."""

    def __init__(self, module: nn.Module) -> None:
        self._engine = ImageClippedSum(module, 1.0, 96)
        self._minus = torch.full((96, 1), -1.0)

    def __call__(self, x: Tensor, y: Tensor) -> Tensor:
        engine = self._engine
        parts = torch.arange(len(y)).tensor_split(-(-len(y) // engine._rows))
        if len(parts) == 1:
            return self._chunk(x, y)
        return torch.stack([self._chunk(x[part], y[part]).clone() for part in parts]).sum(0)

    def _chunk(self, x: Tensor, y: Tensor) -> Tensor:
        engine = self._engine
        with torch.inference_mode():
            room, linear = engine._room(len(y), x.shape[1:]), engine._chain.layers
            image, h, slopes, last = x.permute(0, 2, 3, 1), room.chain.h, room.chain.g, len(linear) - 1
            engine._chain.find()
            for one in room.passes:
                one.forward(image)
                image = one.output
            room.features.copy_(image.permute(0, 3, 1, 2))
            for i, layer in enumerate(linear):
                torch.addmm(layer.bias, h[i], layer.turned, out=h[i + 1])
                if i < last:
                    h[i + 1].relu_()
            torch.softmax(h[-1], 1, out=slopes[-1])
            slopes[-1].scatter_add_(1, y.unsqueeze(1), self._minus[: len(y)])
            for i in range(last, 0, -1):
                torch.mm(slopes[i], linear[i].weight, out=slopes[i - 1])
                activation_backward(slopes[i - 1], h[i], relu=True, out=slopes[i - 1])
            torch.mm(slopes[0], linear[0].weight, out=room.below)
            below = room.slope
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
            for i, layer in enumerate(linear):
                torch.mm(room.chain.turned[i], h[i], out=layer.of_weight)
                torch.sum(slopes[i], 0, out=torch.from_numpy(layer.sums[1]))
        return engine._places.total
