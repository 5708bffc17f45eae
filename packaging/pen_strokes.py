"""Make the public directions of ``scatter-upright`` from generated pen strokes: ``python packaging/pen_strokes.py``.

Which combinations of wavelet features vary in drawings made with a pen is no secret of anyone's data. Drawings of one
to three random smooth strokes are generated (no digits, no letters, nothing from a data set), straightened and
transformed as the network does; the features' strongest principal directions are written to
``resources/scattering/pen_strokes.safetensors``, in whole numbers of 8 bits with a factor for each direction. The file
is kept, because directions of nearly the same strength turn with the rounding of another machine.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import save_file
from torch import Tensor

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from workbench.deep.networks import network
from workbench.deep.networks.scattered import DIRECTIONS, STROKES, ScatterLinear
from workbench.deep.scattering import straightened

DRAWINGS = 8000
WHITENING = 0.25
"""A direction is divided by the variance of its features to this power: halfway to equal variances."""

_AT_ONCE = 250
_POINTS = 40
_MOST_STROKES = 3
_SIDE = 28
_TURN = 6.283


def drawings(count: int, seed: int = 0) -> Tensor:
    """Return ``count`` generated drawings (count, 28, 28) of ink in [0, 1], in a box of 17 to 19 pixels."""
    generator = torch.Generator().manual_seed(seed)
    parts = [_some(min(_AT_ONCE, count - begun), generator) for begun in range(0, count, _AT_ONCE)]
    return torch.cat(parts)


def _some(count: int, generator: torch.Generator) -> Tensor:
    def chance(*shape: int) -> Tensor:
        return torch.rand(*shape, generator=generator)

    time = torch.linspace(0, 1, _POINTS)
    strokes = 1 + (chance(count) > 0.45).long() + (chance(count) > 0.8).long()
    paths: list[Tensor] = []
    for number in range(_MOST_STROKES):
        begin, bend, turn, wave = chance(count) * _TURN, chance(count) - 0.5, chance(count) - 0.5, chance(count) - 0.5
        angle = begin[:, None] + 12 * bend[:, None] * time + 32 * turn[:, None] * (time - 0.5) ** 2
        angle += 3 * wave[:, None] * torch.sin(_TURN * time * (0.5 + chance(count)[:, None]))
        steps = torch.stack([torch.sin(angle) * 1.4, torch.cos(angle)], -1)
        path = steps.cumsum(1) / _POINTS * (0.5 + chance(count))[:, None, None] * 2.2
        path = path - path.mean(1, keepdim=True) + (chance(count, 1, 2) - 0.5) * torch.tensor([1.6, 0.8])
        if number:
            path[number >= strokes] = paths[0][number >= strokes]
        paths.append(path)
    points = torch.cat(paths, 1)
    low, high = points.amin(1, keepdim=True), points.amax(1, keepdim=True)
    box = 17 + 2 * chance(count)[:, None, None]
    points = (points - (low + high) / 2) / (high - low).amax(2, keepdim=True) * box
    line = torch.arange(float(_SIDE)) - (_SIDE - 1) / 2
    pixels = torch.stack(torch.meshgrid(line, line, indexing="ij"), -1).view(1, -1, 2)
    away = torch.cdist(pixels.expand(count, -1, -1), points).amin(2)
    width = 0.7 + 1.3 * chance(count)
    return (1 + width[:, None] - away).clamp(0, 1).view(count, _SIDE, _SIDE)


def main() -> int:
    """Write the file."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    plain = network("scatter-linear")
    assert isinstance(plain, ScatterLinear)
    upright = straightened(drawings(DRAWINGS)).flatten(1)
    features = plain.prepared(upright * 2 - 1)
    centre = features.mean(0)
    features -= centre
    _, strengths, directions = torch.svd_lowrank(features, q=2 * DIRECTIONS, niter=2)
    variance = strengths[:DIRECTIONS].square() / DRAWINGS
    scaled = directions[:, :DIRECTIONS] * variance.pow(-WHITENING)
    factor = scaled.abs().amax(0) / 127
    STROKES.parent.mkdir(exist_ok=True)
    save_file(
        {
            "centre": centre.numpy(),
            "factor": factor.numpy(),
            "directions": np.ascontiguousarray((scaled / factor).round().to(torch.int8).numpy()),
        },
        STROKES,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
