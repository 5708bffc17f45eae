"""What is trained on: the table that is open, read by its plan, or the images that are open."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.gui.session.open_images import OpenImages
from workbench.gui.session.session import OpenTable, Session
from workbench.jobs.loading import load
from workbench.params import Parameters

if TYPE_CHECKING:  # these load numpy and polars, which the first paint does not wait for
    from workbench.data.images.image_set import ImageSet
    from workbench.data.table import Table
    from workbench.deep.plan import DpSgdPlan
    from workbench.jobs.network import ExpectationTask
    from workbench.release.model.network_task import NetworkTask
    from workbench.release.model.preflight import Preflight
    from workbench.sanitize.plan import Plan

ACCOUNTING = "workbench.privacy.accounting.dp_library"


@dataclass(frozen=True, eq=False)
class NetworkRun:
    """What a person chose of a network's run.

    Attributes:
        plan: what to do.
        folder: where the network goes.
        quiet: whether no private figure is shown.
        test: images that were declared public, to measure the accuracy on.
    """

    plan: DpSgdPlan
    folder: Path
    quiet: bool = False
    test: ImageSet | None = None


@dataclass(frozen=True, eq=False)
class TableRows:
    """The rows of the table that is open, and the column to predict."""

    opened: OpenTable
    plan: Plan
    target: str
    rows: int

    @property
    def table(self) -> Table:
        """The rows."""
        return self.opened.table

    @property
    def account(self) -> str | None:
        """The public name of the account that pays."""
        return self.plan.account

    def preflight(self, model: str, parameters: Parameters) -> Preflight:
        """Return the figures of the learner or network ``model``."""
        from workbench.deep.plan import DpSgdPlan
        from workbench.learners import learner
        from workbench.release.model.preflight import preflight

        network = isinstance(parameters, DpSgdPlan)
        if network:
            load(ACCOUNTING)
        return preflight(None if network else learner(model), parameters, self.plan, self.target, self.rows)

    def task(self, run: NetworkRun) -> NetworkTask:
        """Return the training of a network."""
        from workbench.release.model.network_task import Checkpoints
        from workbench.release.model.training_work import table_work
        from workbench.sanitize.origin import require_confirmed

        require_confirmed(self.plan)
        work = table_work(run.plan, self.plan, self.target, self.table)
        return work.into(run.folder, Checkpoints(), quiet=run.quiet, replace=False)

    def expectation(self, plan: DpSgdPlan, public: ImageSet | None) -> ExpectationTask:
        """Return the simulation of a training on made-up rows: of the table their number alone is in it."""
        from workbench.jobs.network import ExpectationTask
        from workbench.release.model.preflight import network_features
        from workbench.release.model.release_learner import columns_of, outside
        from workbench.sanitize.origin import require_confirmed

        require_confirmed(self.plan)
        features, people = network_features(self.plan, self.target), self.plan.rows_per_person
        from_rows = bool(outside(*columns_of(self.plan, self.target)))
        return ExpectationTask(plan, features, self.rows, people, from_rows=from_rows)


@dataclass(frozen=True, eq=False)
class ImageRows:
    """The images that are open; networks alone learn from them."""

    opened: OpenImages
    account: str | None

    @property
    def table(self) -> Table:
        """The images as rows."""
        return self.opened.table

    def preflight(self, model: str, parameters: Parameters) -> Preflight:
        """Return the figures of the network ``model``."""
        from workbench.deep.features import ImageFeatures
        from workbench.release.model.preflight import network_preflight

        load(ACCOUNTING)
        opened = self.opened
        features, people = ImageFeatures.of(opened.table), opened.options.rows_per_person
        return network_preflight(parameters, features, opened.table.rows, people, opened.outside)

    def task(self, run: NetworkRun) -> NetworkTask:
        """Return the training of a network."""
        from workbench.deep.features import ImageFeatures
        from workbench.release.model.network_task import Checkpoints, NetworkTask, TestSet

        opened = self.opened
        return NetworkTask(
            run.plan,
            ImageFeatures.of(opened.table),
            opened.table,
            run.folder,
            opened.options.rows_per_person,
            outside=opened.outside,
            account=self.account,
            quiet=run.quiet,
            test=None if run.test is None else TestSet(run.test, public=True),
            checkpoints=Checkpoints(),
        )

    def expectation(self, plan: DpSgdPlan, public: ImageSet | None) -> ExpectationTask:
        """Return the simulation of a training: of these images their number, shape and classes alone are in it."""
        from workbench.deep.features import ImageFeatures
        from workbench.jobs.network import ExpectationTask

        opened = self.opened
        features, people = ImageFeatures.of(opened.table), opened.options.rows_per_person
        return ExpectationTask(plan, features, opened.table.rows, people, public, bool(opened.outside))


TrainingRows = TableRows | ImageRows
"""What something can be trained on; its functions run in workers."""


def training_rows(session: Session) -> TrainingRows:
    """Return what is trained on; something must be open, and of a table a column to predict chosen."""
    if session.images is not None:
        return ImageRows(session.images, session.plan.account or None)
    opened, target = session.opened, session.target
    assert opened is not None
    assert target is not None
    return TableRows(opened, session.plan.plan(), target, opened.rows_under(session.plan))
