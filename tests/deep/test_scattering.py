"""Scattering coefficients against Kymatio 0.3.0 (NumPy 1, SciPy 1.11), computed once in an environment of its own.

Kymatio divides by 3.1415 where the formula has π: its coefficients are 3·10⁻⁵ larger for each filter they passed.
"""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from workbench.deep.scattering import CHANNELS, scatter  # noqa: E402

GOLDEN = {
    (0, 0, 0): 0.4886148,
    (0, 3, 4): 1.3929063,
    (1, 2, 2): 0.1151846,
    (5, 3, 3): 0.0989294,
    (8, 6, 0): 0.0514962,
    (9, 0, 6): 0.0191715,
    (16, 4, 1): 0.014661,
    (17, 3, 3): 0.0054226,
    (40, 2, 5): 0.0069965,
    (80, 6, 6): 0.002043,
}
NORMS = {(0, 1): 4.9059448, (1, 17): 1.6866895, (17, 81): 0.3610341}


def image() -> torch.Tensor:
    y, x = np.mgrid[0:28, 0:28]
    stripes = ((x * 7 + y * 13) % 29) / 29 + ((x - 14) ** 2 + (y - 9) ** 2 < 40)
    return torch.from_numpy(stripes.astype(np.float32))[None, None]


def test_coefficients_are_those_of_kymatio() -> None:
    found = scatter(image())[0]
    assert found.shape == (CHANNELS, 7, 7) == (81, 7, 7)
    for place, value in GOLDEN.items():
        assert float(found[place]) == pytest.approx(value, rel=2e-4)
    for (low, high), norm in NORMS.items():
        assert float(found[low:high].norm()) == pytest.approx(norm, rel=1e-4)


def test_planes_are_transformed_one_by_one() -> None:
    both = torch.cat([image(), image().flip(3)], dim=1)
    together = scatter(both)[0]
    for plane in range(2):
        alone = scatter(both[:, plane : plane + 1])[0]
        torch.testing.assert_close(together[81 * plane : 81 * (plane + 1)], alone, rtol=1e-5, atol=1e-6)
