"""Characters set upright by their own moments: a slanted bar becomes the upright one, and no image sees another."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from workbench.deep.scattering import MOST_SLANT, straightened  # noqa: E402


def bar(slant: float, shift: tuple[int, int] = (0, 0)) -> torch.Tensor:
    """A bar 3 wide and 16 high whose column moves by ``slant`` for each line; soft edges, so that shearing is exact."""
    y, x = torch.meshgrid(torch.arange(28.0) - 13.5 - shift[0], torch.arange(28.0) - 13.5 - shift[1], indexing="ij")
    return (2 - (x - slant * y).abs()).clamp(0, 1) * (y.abs() < 8)


@pytest.mark.parametrize("slant", [-0.5, 0.2, 0.5])
@pytest.mark.parametrize("shift", [(0, 0), (3, -2)])
def test_a_slanted_bar_anywhere_becomes_the_upright_one_in_the_middle(slant: float, shift: tuple[int, int]) -> None:
    found = straightened(bar(slant, shift)[None])[0]
    assert float((found - bar(0.0)).abs().mean()) < 0.01
    assert float((bar(slant, shift) - bar(0.0)).abs().mean()) > 0.03


def test_an_upright_image_in_the_middle_stays_and_one_without_ink_is_blank() -> None:
    images = torch.stack([bar(0.0), torch.zeros(28, 28)])
    torch.testing.assert_close(straightened(images), images, rtol=0, atol=1e-5)


def test_slant_is_taken_out_up_to_a_limit() -> None:
    once = straightened(bar(MOST_SLANT + 0.3)[None])
    assert float((once[0] - bar(0.3)).abs().mean()) < 0.02


def test_no_image_sees_another() -> None:
    images = torch.rand(5, 28, 28, generator=torch.Generator().manual_seed(1))
    together = straightened(images)
    for i in range(5):
        torch.testing.assert_close(together[i : i + 1], straightened(images[i : i + 1]), rtol=1e-5, atol=1e-6)
