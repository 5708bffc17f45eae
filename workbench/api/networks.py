"""Networks trained with DP-SGD from Python: the request of ``workbench dpsgd`` on DataFrames."""

from __future__ import annotations

import warnings
from typing import Any

import pandas as pd

from workbench.api.datasets import opened
from workbench.api.frames import Place, path_of, table_of
from workbench.api.release_input import ReleaseInput
from workbench.api.released_models import Released
from workbench.deep.plan import DpSgdPlan
from workbench.params import ParameterError
from workbench.release.model.network_task import Checkpoints
from workbench.release.model.open_model import open_model
from workbench.release.model.release_network import release_training
from workbench.release.model.training_work import table_work
from workbench.sanitize.plan import Plan


def train(
    frame: pd.DataFrame,
    plan: Plan,
    target: str,
    *,
    network: str,
    delta: float,
    batch: int,
    epochs: int,
    lr: float,
    clip: float,
    epsilon: float | None = None,
    noise: float | None = None,
    test: pd.DataFrame | None = None,
    test_public: bool = False,
    checkpoint: Place | None = None,
    resume: Place | None = None,
    account: str | None = None,
    ledger: Place | bool | None = None,
    output: Place | None = None,
    replace: bool = False,
    **settings: Any,
) -> Released:
    """Train a network on ``frame`` with DP-SGD, and release it: charged, with its card. No private figure is shown.

    Args:
        frame: the rows.
        plan: declares the columns, the target among them; what it drops is not used. Its ε is not used.
        target: the column of classes to predict.
        network: a network's name, as in ``workbench dpsgd``: ``logistic``, ``mlp`` and others.
        delta: chance that the guarantee fails, below 1/rows.
        batch: how many rows a step uses, on average.
        epochs: how often each row is used, on average.
        lr: learning rate.
        clip: the most that one row can change a step.
        epsilon: the most that the training may cost; the noise follows from it unless ``noise`` is given.
        noise: noise of a step divided by ``clip``.
        test: rows to measure the network on; the card gives the accuracy only if they are public.
        test_public: whether they are.
        checkpoint: a new folder for the checkpoint, else among the program's files.
        resume: the folder of the checkpoint of an interrupted run that goes on.
        account: as for :func:`release`.
        ledger: as for :func:`release`; a training is always charged, so there must be one.
        output: a new folder for the network and its card.
        replace: whether an ``output`` that exists is replaced, which is charged again; it is refused otherwise.
        settings: other parameters of ``workbench dpsgd``, such as ``optimizer="adam"``, ``device="cpu"`` or
            ``processes=2``; with more than one, a script needs ``if __name__ == "__main__":``.

    Returns:
        The network, ready to predict.

    Raises:
        InputError: a value does not fit its column, or the folder exists.
        ParameterError: an argument is refused, or who pays is not said.
        BudgetRefusedError: the cap does not allow it; nothing was read.
    """
    handed = ReleaseInput.of(frame, plan, account=account, ledger=ledger, output=output)
    pays, facts, table = handed.pays, handed.plan, handed.table
    if pays is None:
        raise ParameterError("training is charged and the network is released", "train", "pass output= and a ledger")
    given = {"network": network, "delta": delta, "batch": batch, "epochs": epochs, "lr": lr, "clip": clip}
    given |= {key: value for key, value in (("epsilon", epsilon), ("noise", noise)) if value is not None}
    asked = DpSgdPlan.from_plain({**given, **settings}, "train")
    held_out = None if test is None else table_of(test)
    work = table_work(asked, facts, target, table, held_out, test_public=test_public)
    for sentence in work.found.warnings:
        warnings.warn(f"not covered by epsilon: {sentence}", UserWarning, stacklevel=2)
    kept = Checkpoints(*(None if place is None else path_of(place) for place in (checkpoint, resume)))
    task = work.into(pays.output, kept, quiet=True, replace=replace)
    with opened(pays) as book:
        release_training(task, book)
    return Released(open_model(pays.output))
