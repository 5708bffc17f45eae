"""Place labels beside the ends of lines, one above the other, without overlap."""

from __future__ import annotations

from collections.abc import Sequence


def spread(wanted: Sequence[float], heights: Sequence[float], low: float, high: float) -> list[float]:
    """Return the centres of labels, as close as possible to where they should be, without overlap.

    Minimises the sum of squared displacements subject to order and distances: with the distances taken out this is
    isotonic regression, solved by pooling adjacent violators (Barlow et al. 1972).

    Args:
        wanted: the ideal centre of each label, along the axis.
        heights: the room each label needs.
        low: where the first may begin.
        high: where the last must end. Labels that do not fit at all run over it evenly.

    Returns:
        the centres, in the order of ``wanted``.
    """
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    offsets, reach = [], 0.0
    for i in order:
        offsets.append(reach + heights[i] / 2)
        reach += heights[i]
    # Without its offset each label must only not stand before its predecessor.
    free = max(high - reach, low)
    blocks: list[tuple[float, int]] = []
    for i, offset in zip(order, offsets, strict=True):
        mean, size = min(max(wanted[i] - offset, low), free), 1
        while blocks and blocks[-1][0] > mean:
            other, count = blocks.pop()
            mean, size = (mean * size + other * count) / (size + count), size + count
        blocks.append((mean, size))
    starts = [mean for mean, size in blocks for _ in range(size)]
    centres = [0.0] * len(wanted)
    for i, offset, start in zip(order, offsets, starts, strict=True):
        centres[i] = start + offset
    return centres
