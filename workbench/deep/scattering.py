"""Fixed, public features of images: characters set upright, and wavelet scattering. Each image is seen by itself.

Nothing in it is learned, so it costs no budget.

**Straightening.** The slant of a handwritten character is its writer's; taking it out makes the classes easier to
distinguish (LeCun et al. 1998 do so before several of their classifiers).

**Scattering.** A two-layer cascade of Morlet wavelets, moduli and a low-pass filter (Bruna & Mallat 2013), with J = 2
scales and L = 8 angles. Filters, padding and order of the channels are those of Kymatio 0.3.0, whose values the tests
hold.
"""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

MOST_SLANT = 0.7  # most columns that a line is shifted for each line of distance from the centre

_LEAST_INK, _LEAST_HEIGHT = 1e-3, 1.0
"""An image without ink has no centre, and a flat one no slant: both stay as they are, nearly."""


def straightened(images: Tensor) -> Tensor:
    """Return ``images`` (n, h, w) of ink in [0, 1], each sheared until it is upright, its centre of mass in the middle.

    What is moved beyond the border is lost; what comes in is blank. Values between pixels are interpolated linearly.
    """
    count, height, width = images.shape
    y, x = (torch.arange(side, device=images.device) - (side - 1) / 2 for side in (height, width))
    ink = images.sum((1, 2)).clamp_min(_LEAST_INK)
    centre_y, centre_x = (images.sum(2) @ y) / ink, (images.sum(1) @ x) / ink
    dy, dx = y - centre_y[:, None], x - centre_x[:, None]
    across = torch.einsum("nyx,ny,nx->n", images, dy, dx) / ink
    down = torch.einsum("nyx,ny->n", images, dy.square()) / ink
    slant = (across / down.clamp_min(_LEAST_HEIGHT)).clamp(-MOST_SLANT, MOST_SLANT)
    # A point (y, x) of the result is taken from (y + cy, x + cx + slant·y), in units of half a side.
    places = torch.zeros(count, 2, 3, device=images.device)
    places[:, 0, 0] = places[:, 1, 1] = 1
    places[:, 0, 1], places[:, 0, 2] = slant * height / width, centre_x / (width / 2)
    places[:, 1, 2] = centre_y / (height / 2)
    grid = torch.nn.functional.affine_grid(places, [count, 1, height, width], align_corners=False)
    return torch.nn.functional.grid_sample(images[:, None], grid, mode="bilinear", align_corners=False)[:, 0]


SCALES, ANGLES = 2, 8  # a plane has 81 channels: 1 of order 0, 16 of order 1, 64 of order 2

_STEP = 1 << SCALES
_PERIODS = range(-2, 3)


def scatter(images: Tensor) -> Tensor:
    """Return the scattering coefficients of ``images`` (n, c, h, w): (n, 81·c, h/4, w/4), single precision."""
    height, width = images.shape[2:]
    planes = _reflected(images.float(), _padded(height), _padded(width)).flatten(0, 1)
    wavelets = _wavelets(*planes.shape[1:], str(planes.device))
    spectrum = torch.fft.fft2(planes).unsqueeze(1)
    fine = _modulus(spectrum, wavelets[0], 0)
    coarse = _modulus(spectrum, wavelets[1], 1)
    second = _modulus(torch.fft.fft2(fine).unsqueeze(2), wavelets[1], 1).flatten(1, 2)
    found = [_average(planes.unsqueeze(1), 0), _average(fine, 0), _average(coarse, 1), _average(second, 1)]
    channels = torch.cat(found, dim=1)
    return channels.view(*images.shape[:2], *channels.shape[1:]).flatten(1, 2)


def _padded(side: int) -> int:
    return ((side + _STEP) // _STEP + 1) * _STEP


def _reflected(images: Tensor, height: int, width: int) -> Tensor:
    down, across = height - images.shape[2], width - images.shape[3]
    sides = (across // 2, (across + 1) // 2, down // 2, (down + 1) // 2)
    return torch.nn.functional.pad(images, sides, mode="reflect")


def _modulus(spectrum: Tensor, wavelets: Tensor, halvings: int) -> Tensor:
    """Return |x ∗ ψ| (…, angles, h, w) at a resolution that is ``halvings`` times halved.

    Args:
        spectrum: of x, (…, 1, h, w), complex.
        wavelets: spectra of the wavelets, which are real numbers, each twice: (angles, h, w, 2).
        halvings: 0 or 1.
    """
    pairs = torch.view_as_real(spectrum)
    down, across = (side >> halvings for side in wavelets.shape[1:3])
    total: Tensor | None = None
    for top, left in itertools.product(range(0, wavelets.shape[1], down), range(0, wavelets.shape[2], across)):
        # Every 2ʰ-th sample has the mean of the spectrum's periods.
        period = (..., slice(top, top + down), slice(left, left + across), slice(None))
        if total is None:
            total = pairs[period] * wavelets[period]
        else:
            total.addcmul_(pairs[period], wavelets[period])
    assert total is not None
    found: Tensor = torch.fft.ifft2(torch.view_as_complex(total)).abs()
    return found


def _average(signal: Tensor, level: int) -> Tensor:
    """Return the low-passed image at the coarsest resolution, without its border.

    The filter is a Gaussian, a product of one for the lines and one for the columns: a matrix on either side.
    """
    rows, columns = (_low_pass(side << level, level, str(signal.device)) for side in signal.shape[-2:])
    return rows @ signal @ columns.t()


@cache
def _low_pass(side: int, level: int, device: str) -> Tensor:
    """Return the matrix (side/4 − 2, side/2ˡ) that averages a line of a plane ``side`` wide, ``level`` times halved."""
    wave = _gabor(side, side, 0.8 * 2 ** (SCALES - 1), 0.0, 0.0, 1.0)
    spectrum = _folded(np.fft.fft2(wave).real, level)
    line = spectrum[:, 0] / np.sqrt(spectrum[0, 0])
    periods = (np.fft.fft(np.eye(len(line)), axis=0) * line[:, None]).reshape(-1, side // _STEP, len(line))
    matrix = np.fft.ifft(periods.mean(axis=0), axis=0).real[1:-1]
    return torch.from_numpy(matrix.astype(np.float32)).to(device)


@cache
def _wavelets(height: int, width: int, device: str) -> tuple[Tensor, Tensor]:
    """Return the spectra (angles, height, width, 2) of the Morlet wavelets of both scales, the second's over 4.

    What the second scale makes is halved once: its spectrum is the mean of 4 periods. Each number is there twice, for
    the two parts of a complex number: torch would multiply by complex numbers otherwise.
    """
    found = []
    for j in range(SCALES):
        turns = [(ANGLES - ANGLES // 2 - 1 - angle) * np.pi / ANGLES for angle in range(ANGLES)]
        waves = [_morlet(height, width, 0.8 * 2**j, turn, 3 / 4 * np.pi / 2**j, 4 / ANGLES) for turn in turns]
        spectra = np.stack([np.fft.fft2(wave).real for wave in waves]) / 4**j
        found.append(torch.from_numpy(np.repeat(spectra[..., None], 2, axis=-1).astype(np.float32)).to(device))
    return found[0], found[1]


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
