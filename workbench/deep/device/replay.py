"""CUDA graphs: operations over fixed tensors, recorded once and started again as one."""

from __future__ import annotations

from collections.abc import Callable

import torch

_WARM_UPS = 3
"""Runs before the recording: libraries choose their algorithms and take their working memory in them."""

Recorder = Callable[[Callable[[], None]], Callable[[], None]]
"""Makes of a function over fixed tensors one that does the same again; raises RuntimeError where it cannot."""


def in_order(function: Callable[[], None]) -> Callable[[], None]:
    """Return ``function`` itself: its operations are started one by one."""
    return function


def recorded(function: Callable[[], None]) -> Callable[[], None]:
    """Return a function that replays on the present GPU what ``function`` did.

    Raises:
        RuntimeError: it reads something back from the device, or does something else that cannot be recorded.
    """
    beside: torch.cuda.Stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    beside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(beside):
        for _ in range(_WARM_UPS):
            function()
    torch.cuda.current_stream().wait_stream(beside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        function()
    replay: Callable[[], None] = graph.replay
    return replay


def recorder_for(device: torch.device) -> Recorder:
    """Return how operations are repeated on ``device``."""
    return recorded if device.type == "cuda" else in_order
