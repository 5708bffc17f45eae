"""What a network is trained on, prepared before the charge: rows, their map to inputs, test rows and the cost."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path

from workbench.data.images.image_set import ImageSet
from workbench.data.table import Table
from workbench.deep.features import ImageFeatures
from workbench.deep.plan import DpSgdPlan
from workbench.release.model.network_task import Checkpoints, NetworkTask, TestSet
from workbench.release.model.preflight import Preflight, network_features, network_preflight, preflight
from workbench.sanitize.plan import Plan


@dataclass(frozen=True)
class TrainingWork:
    """What is to be trained on."""

    task: NetworkTask  # its training, which has no folder yet
    found: Preflight  # what the training will cost

    def into(self, output: Path, checkpoints: Checkpoints, *, quiet: bool, replace: bool) -> NetworkTask:
        """Return its training and release into the folder ``output``."""
        return dataclasses.replace(self.task, folder=output, checkpoints=checkpoints, quiet=quiet, replace=replace)


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
    task = NetworkTask(
        asked,
        features,
        table,
        Path(),
        rows_per_person=facts.rows_per_person,
        outside=found.warnings,
        replace_invalid=facts.replaces_invalid,
        account=facts.account,
        test=measured,
        unit=facts.unit,
        reading=facts.reading,
    )
    return TrainingWork(task, found)


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
    measured = None if test is None else TestSet(test, test_public)
    task = NetworkTask(asked, features, images, Path(), people, outside=found.warnings, account=account, test=measured)
    return TrainingWork(task, found)
