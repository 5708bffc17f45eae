"""Networks that are code of the user: where the code lies, and a training of five columns on it."""

import sys
from pathlib import Path

import pytest
import torch
from array_data import ArrayData

from workbench.data.schema import Attribute
from workbench.deep import networks
from workbench.deep.features import Features
from workbench.deep.plan import DpSgdPlan

COLUMNS = tuple(Attribute(name=f"x{i}", kind="real", lower=-1, upper=1) for i in range(5))
FEATURES = Features(COLUMNS, Attribute(name="y", kind="category", domain=("no", "yes")))


def written(name: str, code: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Write a module of this name into the current folder, which nobody has trusted yet; return its name."""
    (folder / f"{name}.py").write_text(code, "utf-8")
    monkeypatch.chdir(folder)
    monkeypatch.setattr(networks, "TRUSTED", {})
    monkeypatch.setattr("sys.path", [*sys.path])
    return name


def asked(name: str, **more: object) -> DpSgdPlan:
    told = {"noise": 0.5, "delta": 1e-3, "batch": 40, "epochs": 10, "lr": 0.5, "clip": 1.0, "accountant": "rdp"}
    return DpSgdPlan.from_plain({"network": name, "device": "cpu", **told, **more})


def data(rows: int = 120) -> ArrayData:
    X = torch.rand(rows, 5, generator=torch.Generator().manual_seed(0)).numpy() * 2 - 1
    return ArrayData(FEATURES, X, (X[:, 0] > 0).astype(int))
