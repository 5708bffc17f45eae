"""A requested training, as it is sent to a process of its own; this module loads no deep-learning library."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.data.persons import read_by_plan
from workbench.data.reading_options import Reading
from workbench.data.table import Table

if TYPE_CHECKING:
    from workbench.deep.features import Features
    from workbench.deep.plan import DpSgdPlan


@dataclass(frozen=True)
class TestSet:
    """A table on which a trained network is evaluated."""

    __test__ = False  # not a test case, whatever its name says to a test runner

    table: Table
    public: bool = False  # whether a person declared it public; only then does the card give the accuracy


@dataclass(frozen=True)
class Checkpoints:
    """Where the checkpoint of a run goes."""

    folder: Path | None = None  # a new folder; `None` for one among the program's own files
    resume: Path | None = None  # the folder of the checkpoint of a run that goes on


@dataclass(frozen=True, eq=False)
class NetworkTask:
    """The training and release of a network."""

    plan: DpSgdPlan
    features: Features  # the public map from rows to inputs
    table: Table
    folder: Path  # a new folder; it appears whole or not at all
    rows_per_person: int = 1
    outside: tuple[str, ...] = ()  # sentences on what ε does not cover
    replace_invalid: bool = False  # whether the plan that declares the columns replaces invalid values
    account: str | None = None  # the public name of the account that pays, as the plan states it
    # Whether no private figure is computed or shown, so that stopping it is no choice by one. With a public test set
    # its accuracy is shown on the way, and stopping it after the first time costs the whole run.
    quiet: bool = False
    test: TestSet | None = None  # rows to measure the network on
    # Where its checkpoint goes, and the run that goes on; `None` for a run without.
    checkpoints: Checkpoints | None = None
    replace: bool = False  # whether the folder of a released model may be replaced
    unit: str | None = None  # the column that identifies a person, where the plan names one
    reading: Reading | None = None  # how the plan says that its file is read

    def rows(self) -> Table:
        """Return the rows as the plan reads them."""
        return read_by_plan(
            self.features.with_codes(self.table),
            replaces_invalid=self.replace_invalid,
            person=self.unit,
            most=self.rows_per_person,
        )

    @property
    def public_test(self) -> bool:
        """Whether it is measured on rows that were declared public."""
        return self.test is not None and self.test.public
