"""A training that is asked for, as a process of its own is given it; nothing here loads the libraries of networks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.data.persons import as_planned
from workbench.data.reading import Reading
from workbench.data.table import Table

if TYPE_CHECKING:
    from workbench.deep.features import Features
    from workbench.deep.plan import DpSgdPlan


@dataclass(frozen=True)
class TestSet:
    """A table on which a trained network is evaluated.

    Attributes:
        public: whether a person declared it public; only then does the card give the accuracy.
    """

    __test__ = False  # not a test case, whatever its name says to a test runner

    table: Table
    public: bool = False


@dataclass(frozen=True)
class Checkpoints:
    """Where the checkpoint of a run goes.

    Attributes:
        folder: a new folder; ``None`` for one among the program's own files.
        resume: the folder of the checkpoint of a run that goes on.
    """

    folder: Path | None = None
    resume: Path | None = None


@dataclass(frozen=True, eq=False)
class NetworkTask:
    """The training and release of a network.

    Attributes:
        features: the public map from rows to inputs.
        folder: a new folder; it appears whole or not at all.
        outside: sentences on what ε does not cover.
        replace_invalid: whether the plan that declares the columns replaces invalid values.
        unit: the column that identifies a person, where the plan names one.
        reading: how the plan says that its file is read.
        account: the public name of the account that pays, as the plan states it.
        quiet: whether no private figure is computed or shown, so that stopping it is no choice by one. With a public
            test set its accuracy is shown on the way, and stopping it after the first time costs the whole run.
        test: rows to measure the network on.
        checkpoints: where its checkpoint goes, and the run that goes on; ``None`` for a run without.
        replace: whether the folder of a released model may be replaced.
    """

    plan: DpSgdPlan
    features: Features
    table: Table
    folder: Path
    rows_per_person: int = 1
    outside: tuple[str, ...] = ()
    replace_invalid: bool = False
    account: str | None = None
    quiet: bool = False
    test: TestSet | None = None
    checkpoints: Checkpoints | None = None
    replace: bool = False
    unit: str | None = None
    reading: Reading | None = None

    def rows(self) -> Table:
        """Return the rows as the plan reads them."""
        return as_planned(
            self.features.with_codes(self.table),
            replaces_invalid=self.replace_invalid,
            person=self.unit,
            most=self.rows_per_person,
        )

    @property
    def public_test(self) -> bool:
        """Whether it is measured on rows that were declared public."""
        return self.test is not None and self.test.public
