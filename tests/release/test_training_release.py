"""What the ledger says of a training that does not come to its end."""

from pathlib import Path

import polars as pl
import pytest

pytest.importorskip("torch")

from workbench.data.schema import Attribute
from workbench.data.table import Table
from workbench.deep.features import Features
from workbench.deep.plan import DpSgdPlan
from workbench.params import CancelledError
from workbench.release.ledger.ledger import Ledger
from workbench.release.model.network_task import NetworkTask
from workbench.release.model.release_network import release_training
from workbench.signals import Event, Metric, Progress
from workbench.signals.cancel import CancelToken

FEATURES = Features(
    (Attribute(name="x", kind="real", lower=0, upper=1),), Attribute(name="y", kind="category", domain=("0", "1"))
)
TABLE = Table(pl.DataFrame({"x": [str(i / 50) for i in range(50)], "y": [str(i // 25) for i in range(50)]}), "made")
PLAN = DpSgdPlan(
    network="logistic", noise=1.0, delta=1e-5, batch=10, epochs=4, lr=1.0, clip=1.0, accountant="rdp", device="cpu"
)


def task_of(folder: Path) -> NetworkTask:
    return NetworkTask(PLAN, FEATURES, TABLE, folder / "net")


def statuses(ledger: Ledger) -> list[str]:
    return [release.status for release in ledger.releases()]


def test_cancelled_after_a_private_figure_was_shown_it_stays_charged_in_full(tmp_path):
    token = CancelToken()

    def stop_when_watched(event: Event) -> None:
        if isinstance(event, Metric):
            token.cancel()

    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        with pytest.raises(CancelledError):
            release_training(task_of(tmp_path), ledger, emit=stop_when_watched, cancel=token)
        assert statuses(ledger) == ["charged"]
        assert ledger.releases()[0].epsilon == PLAN.schedule(50).cost().epsilon
    assert {p.name for p in tmp_path.iterdir()} == {"ledger.sqlite", "ledger.sqlite.key"}


def test_cancelled_before_its_first_step_it_costs_nothing(tmp_path):
    token = CancelToken()
    token.cancel()
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        with pytest.raises(CancelledError):
            release_training(task_of(tmp_path), ledger, cancel=token)
        assert statuses(ledger) == ["void"]
    assert not (tmp_path / "net").exists()


def test_the_charge_is_in_the_ledger_before_the_first_step(tmp_path):
    seen: list[list[str]] = []
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:

        def look(event: Event) -> None:
            if isinstance(event, Progress) and event.label == "training steps" and event.done == 1:
                seen.append(statuses(ledger))

        done = release_training(task_of(tmp_path), ledger, emit=look)
        assert seen == [["reserved"]]
        assert statuses(ledger) == ["charged"]
        assert done.accuracy is not None
