"""The SHA-256 of a file's bytes, computed beside the reading of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np

from workbench.data.csv.encoding import CHUNK, AnyBytes
from workbench.signals.cancel import CancelToken


@contextmanager
def digesting(view: AnyBytes, cancel: CancelToken) -> Iterator[Future[bytes]]:
    """Hash ``view`` in a thread of its own for the block; the digest is there when the block ends.

    Hashing leaves the interpreter to others, so on two cores it takes no time from the reading.
    """
    with ThreadPoolExecutor(1, "digest") as pool:
        yield pool.submit(_digest, view, cancel)


def _digest(view: AnyBytes, cancel: CancelToken) -> bytes:
    digest = hashlib.sha256()
    for start in range(0, len(view), CHUNK):
        cancel.check()
        digest.update(np.ascontiguousarray(view[start : start + CHUNK]).data)
    return digest.digest()
