"""The SHA-256 of a file's bytes, computed beside the reading of them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np

from workbench.data.csv.encoding import CHUNK, AnyBytes
from workbench.signals.cancel import CancelToken


@contextmanager
def digesting(views: Sequence[AnyBytes], cancel: CancelToken) -> Iterator[Future[bytes]]:
    """Hash the bytes of a file, or of the files of a folder, in a thread; the digest is there when the block ends.

    Hashing leaves the interpreter to others, so on two cores it takes no time from the reading.
    """
    with ThreadPoolExecutor(1, "digest") as pool:
        yield pool.submit(_digest, views, cancel)


def _digest(views: Sequence[AnyBytes], cancel: CancelToken) -> bytes:
    each = []
    for view in views:
        digest = hashlib.sha256()
        for start in range(0, len(view), CHUNK):
            cancel.check()
            digest.update(np.ascontiguousarray(view[start : start + CHUNK]).data)
        each.append(digest.digest())
    return each[0] if len(each) == 1 else hashlib.sha256(b"".join(each)).digest()
