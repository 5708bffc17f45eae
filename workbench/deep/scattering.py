"""Wavelet scattering of images: fixed, public features that a private network learns from.

A two-layer cascade of Morlet wavelets, moduli and a low-pass filter (Bruna & Mallat 2013), with J = 2 scales and L = 8
angles. Filters, padding and order of the channels are those of Kymatio 0.3.0, whose values the tests hold. Nothing in
it is learned, and each image is transformed by itself: it costs no budget.
"""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

SCALES, ANGLES = 2, 8
CHANNELS = 1 + ANGLES * SCALES + ANGLES**2 * SCALES * (SCALES - 1) // 2
"""Channels of one plane: 1 of order 0, 16 of order 1, 64 of order 2."""

_STEP = 1 << SCALES
_PERIODS = range(-2, 3)


def size_after(side: int) -> int:
    """Return the side of a channel, of images whose side is ``side``."""
    return _padded(side) // _STEP - 2


def scatter(images: Tensor) -> Tensor:
    """Return the scattering coefficients of ``images`` (n, c, h, w): (n, 81·c, h/4, w/4), single precision."""
    height, width = images.shape[2:]
    planes = _reflected(images.float(), _padded(height), _padded(width))
    wavelets, averages = _filters(*planes.shape[2:])
    spectrum = torch.fft.fft2(planes)
    order0 = [_average(spectrum, averages, 0)]
    order1, order2 = [], []
    for j1, angle1 in itertools.product(range(SCALES), range(ANGLES)):
        first = _modulus(spectrum * wavelets[j1, angle1][0], j1)
        order1.append(_average(first, averages, j1))
        for j2, angle2 in itertools.product(range(j1 + 1, SCALES), range(ANGLES)):
            second = _modulus(first * wavelets[j2, angle2][j1], j2 - j1)
            order2.append(_average(second, averages, j2))
    channels = torch.stack([*order0, *order1, *order2], dim=2)
    return channels.flatten(1, 2)


def _padded(side: int) -> int:
    return ((side + _STEP) // _STEP + 1) * _STEP


def _reflected(images: Tensor, height: int, width: int) -> Tensor:
    down, across = height - images.shape[2], width - images.shape[3]
    sides = (across // 2, (across + 1) // 2, down // 2, (down + 1) // 2)
    return torch.nn.functional.pad(images, sides, mode="reflect")


def _modulus(spectrum: Tensor, halvings: int) -> Tensor:
    """Return the spectrum of |x|, x at a resolution that is ``halvings`` times halved."""
    found: Tensor = torch.fft.fft2(torch.fft.ifft2(_periodized(spectrum, halvings)).abs())
    return found


def _average(spectrum: Tensor, averages: list[Tensor], level: int) -> Tensor:
    """Return the low-passed image at the coarsest resolution, without its border."""
    low = _periodized(spectrum * averages[level], SCALES - level)
    found: Tensor = torch.fft.ifft2(low).real[..., 1:-1, 1:-1]
    return found


def _periodized(spectrum: Tensor, halvings: int) -> Tensor:
    """Return the spectrum of every 2ʰ-th sample: the mean of its periods."""
    k = 1 << halvings
    if k == 1:
        return spectrum
    height, width = spectrum.shape[-2:]
    return spectrum.reshape(*spectrum.shape[:-2], k, height // k, k, width // k).mean(dim=(-4, -2))


@cache
def _filters(height: int, width: int) -> tuple[dict[tuple[int, int], list[Tensor]], list[Tensor]]:
    """Return the Morlet wavelets by (scale, angle) and the low-pass filter, each at every resolution it is used at."""
    wavelets = {}
    for j, angle in itertools.product(range(SCALES), range(ANGLES)):
        theta = (ANGLES - ANGLES // 2 - 1 - angle) * np.pi / ANGLES
        wave = _morlet(height, width, 0.8 * 2**j, theta, 3 / 4 * np.pi / 2**j, 4 / ANGLES)
        wavelets[j, angle] = _levels(wave, j + 1)
    low = _gabor(height, width, 0.8 * 2 ** (SCALES - 1), 0.0, 0.0, 1.0)
    return wavelets, _levels(low, SCALES + 1)


def _levels(signal: NDArray[np.complex128], levels: int) -> list[Tensor]:
    spectrum = np.fft.fft2(signal).real
    return [torch.from_numpy(_folded(spectrum, level).astype(np.float32)) for level in range(levels)]


def _folded(spectrum: NDArray[np.float64], level: int) -> NDArray[np.float64]:
    """Return the filter at a resolution halved ``level`` times: frequencies beyond it are cut, then folded."""
    if level == 0:
        return spectrum
    height, width = spectrum.shape
    kept = spectrum.copy()
    # As in Kymatio: the band that would be folded onto the others is cut first.
    kept[(height >> (level + 1)) : height - (height >> (level + 1)), :] = 0
    kept[:, (width >> (level + 1)) : width - (width >> (level + 1))] = 0
    k = 1 << level
    folded: NDArray[np.float64] = kept.reshape(k, height // k, k, width // k).sum(axis=(0, 2))
    return folded


def _morlet(height: int, width: int, sigma: float, theta: float, xi: float, slant: float) -> NDArray[np.complex128]:
    """Return a Gabor wave from which so much of its envelope is taken that its mean is 0."""
    wave = _gabor(height, width, sigma, theta, xi, slant)
    envelope = _gabor(height, width, sigma, theta, 0.0, slant)
    admissible: NDArray[np.complex128] = wave - wave.sum() / envelope.sum() * envelope
    return admissible


def _gabor(height: int, width: int, sigma: float, theta: float, xi: float, slant: float) -> NDArray[np.complex128]:
    """Return exp(−xᵀRDRᵀx/2σ² + iξ·x) on a torus, D = diag(1, slant²), R the rotation by θ."""
    turn = np.array([[np.cos(theta), -np.sin(theta)], [np.sin(theta), np.cos(theta)]])
    curve = turn @ np.diag([1.0, slant**2]) @ turn.T / (2 * sigma**2)
    total = np.zeros((height, width), dtype=np.complex128)
    for down, across in itertools.product(_PERIODS, _PERIODS):
        x, y = np.mgrid[down * height : (down + 1) * height, across * width : (across + 1) * width]
        decay = curve[0, 0] * x * x + (curve[0, 1] + curve[1, 0]) * x * y + curve[1, 1] * y * y
        total += np.exp(-decay + 1j * xi * (x * np.cos(theta) + y * np.sin(theta)))
    scaled: NDArray[np.complex128] = total * slant / (2 * np.pi * sigma**2)
    return scaled
