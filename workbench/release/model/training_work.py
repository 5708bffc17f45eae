"""What a network is trained on, prepared before the charge: rows, their map to inputs, test rows and the cost."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from workbench.data.images.image_set import ImageSet
from workbench.data.table import Table
from workbench.deep.features import Features, ImageFeatures
from workbench.deep.plan import DpSgdPlan
from workbench.release.model.network_task import Checkpoints, NetworkTask, TestSet
from workbench.release.model.preflight import Preflight, network_features, network_preflight, preflight
from workbench.sanitize.plan import Plan


@dataclass(frozen=True)
class TrainingWork:
    """What is to be trained on.

    Attributes:
        features: the public map from rows to inputs.
        test: rows to measure the network on.
        found: what the training will cost.
        replace_invalid: whether the plan replaces invalid values.
        account: the public name of the account that pays.
        unit: the column that identifies a person, where the plan names one.
    """

    features: Features
    table: Table
    test: TestSet | None
    found: Preflight
    replace_invalid: bool = False
    account: str | None = None
    unit: str | None = None

    def task(
        self, asked: DpSgdPlan, output: Path, checkpoints: Checkpoints, *, quiet: bool, replace: bool
    ) -> NetworkTask:
        """Return its training and release into the folder ``output``."""
        return NetworkTask(
            asked,
            self.features,
            self.table,
            output,
            rows_per_person=self.found.rows_per_person,
            outside=self.found.warnings,
            replace_invalid=self.replace_invalid,
            account=self.account,
            quiet=quiet,
            test=self.test,
            checkpoints=checkpoints,
            replace=replace,
            unit=self.unit,
        )


def table_work(
    asked: DpSgdPlan, facts: Plan, target: str, table: Table, test: Table | None = None, *, test_public: bool = False
) -> TrainingWork:
    """Return a table to train on.

    Raises:
        InputError: a column is missing, or a guess about the file of the test rows is in doubt.
        ParameterError: the plan and the training do not fit.
    """
    features = network_features(facts, target)
    columns = [a.name for a in (*features.attributes, features.target)]
    for rows in (test, table):
        if rows is not None:
            rows.require(columns)
    if test is not None:
        test.require_certain()
    found = preflight(None, asked, facts, target, facts.rows_of(table).rows)
    measured = None if test is None else TestSet(test, test_public)
    return TrainingWork(features, table, measured, found, facts.replaces_invalid, facts.account, facts.unit)


def image_work(
    asked: DpSgdPlan,
    images: ImageSet,
    people: int,
    account: str | None,
    test: ImageSet | None = None,
    *,
    test_public: bool = False,
) -> TrainingWork:
    """Return images to train on; the warnings name what was taken from the files.

    Raises:
        InputError: the test images are of another kind.
    """
    features = ImageFeatures.of(images)
    if test is not None:
        features.inputs(test)
    taken = f"the {images.taken} were taken from the image files and not declared (--classes, --image-size)"
    found = network_preflight(asked, features, images.rows, people, (taken,) if images.taken else ())
    return TrainingWork(features, images, None if test is None else TestSet(test, test_public), found, account=account)
