"""MNIST as arrays, and the recipe that the tests and the benchmark train with."""

import gzip
from pathlib import Path

import numpy as np
from array_data import ArrayData
from numpy.typing import NDArray

from workbench.data.schema import Attribute
from workbench.deep.features import Features

DELTA = 1e-5
FEATURES = Features(
    tuple(Attribute(name=f"p{i}", kind="integer", lower=0, upper=255) for i in range(784)),
    Attribute(name="digit", kind="category", domain=tuple("0123456789")),
)
UPRIGHT = {"network": "scatter-upright", "batch": 4096, "epochs": 15, "lr": 5.0, "clip": 0.1, "momentum": 0.9}


def images(folder: Path, name: str, count: int | None = None) -> ArrayData:
    """Read the first ``count`` images of ``train`` or ``t10k``, all by default."""

    def content(kind: str, head: int) -> NDArray[np.uint8]:
        with gzip.open(folder / f"{name}-{kind}-ubyte.gz") as file:
            return np.frombuffer(file.read(), np.uint8, offset=head)

    pixels = content("images-idx3", 16).reshape(-1, 784)[:count].astype(np.float64)
    return ArrayData(FEATURES, pixels, content("labels-idx1", 8)[:count].astype(np.int64))
