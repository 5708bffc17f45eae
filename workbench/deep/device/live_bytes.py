"""The bytes of the tensors that live while operations run: on tensors without numbers, before anything is allocated."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

_BLOCK = 512
"""PyTorch's allocator on a GPU gives whole multiples of it."""


class LiveBytes(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts the memory of tensors from when an operation gives them until nobody holds them.

    It sees what operations return and not what they take inside: working memory of libraries is not counted.

    Attributes:
        now: bytes that live.
        peak: the most that lived at once.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.now = self.peak = 0
        self._held: dict[int, weakref.ref[Any]] = {}

    def __torch_dispatch__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Run an operation and count what it gave."""
        found = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(found):
            if isinstance(leaf, torch.Tensor):
                self._count(leaf)
        return found

    def _count(self, tensor: torch.Tensor) -> None:
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key in self._held:
            return
        size = -(-storage.nbytes() // _BLOCK) * _BLOCK

        def forget(_ref: Any) -> None:
            self._held.pop(key, None)
            self.now -= size

        self._held[key] = weakref.ref(storage, forget)
        self.now += size
        self.peak = max(self.peak, self.now)
