"""The kinds of release. A kind adds one line here and a Work; ``verify`` makes its file again."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.params import InputError, ParameterError, Parameters
from workbench.signals.cancel import CancelToken

if TYPE_CHECKING:  # both load numpy and polars, which the list of commands does not wait for
    from workbench.sanitize.plan import Plan
    from workbench.work.work import Work

Recompute = Callable[[dict[str, Any], "Plan", Path, CancelToken], Iterator[str]]
"""(certificate, its plan, released file, cancel) → a sentence for every fault that only this kind can see.

It is called when bytes, checksum, guarantee and plan agree already. It may raise any ``WorkbenchError``. What is the
same for all kinds is :func:`workbench.release.verify.rerun`, which it is given the Work for.
"""

Repeated = tuple[dict[str, Any], dict[str, str]]
"""Values of options, and the text of each file of a bundle that they name as ``@NAME``."""


@dataclass(frozen=True)
class Kind:
    """A kind of release whose certificate names its queries."""

    name: str  # its name in certificates, and of the work in the ledger
    released: str  # what is released, as the guarantee says it: `statistics`
    # The module whose function `recomputed` is the kind's `Recompute`; empty of one with `request` and `work` whose
    # Work reads its answers again from the certificate: nothing else is there to check.
    module: str
    gives: str  # what its file holds, for the message where another kind of release was expected
    # Where its random bits come from and how they are used, for certificates.
    randomness: str = "operating-system entropy; exact discrete noise on whole numbers"
    # Whether it reads its columns as text, whatever they hold, so that they need no declared domain.
    any_text: bool = False
    # Whether each row is randomised by itself, so that replacing one costs no more than emptying it.
    local: bool = False
    note: str = ""  # a sentence on what the guarantee takes for granted, beside what it always does
    # `module:Class` of the `Parameters` that a person may choose. With it and `work` the kind is a command and
    # `workbench.api.publish(kind=NAME)`, without another line. None has the name of an option of every release (`plan`,
    # `epsilon`, `output` and so on).
    request: str = ""
    work: str = ""  # `module:function`: (plan, request, ε and δ of one row, number of rows, format) → its Work
    plans: str = ""  # `module:function`: (plan, request) → the plan that it releases by, where that is another one
    # `module:function`: what was asked for, as a certificate says it, and its plan → the `Repeated` request; where
    # there is none, the certificate holds the chosen values by their names.
    again: str = ""
    # The words of its command, where they are not its name; of two words the first is a command with other actions,
    # which has this one among them.
    command: str = ""
    own_cost: bool = False  # whether its cost follows from the request, so that no ε is asked for
    forecasts: bool = True  # whether its command has `--forecast --rows`, for which the plan and the request are enough
    formats: tuple[str, ...] = ("csv",)  # of its file; `TABLES` where it is rows
    # Whether what it finds goes into a plan, so that it is none of the ways to release by one.
    before_plan: bool = False
    delta: str = ""  # what a δ is for, where it is not for discrete Gaussian noise
    help: str = ""  # one line on what the command does
    example: str = ""  # the options without a default, as the command's example gives them

    def recompute(self) -> Recompute | None:
        """Return the function that recomputes what only this kind can, if it has one."""
        return importlib.import_module(self.module).recomputed if self.module else None

    @property
    def derived(self) -> bool:
        """Whether command and function follow from what it declares."""
        return bool(self.request and self.work)

    @property
    def words(self) -> tuple[str, ...]:
        """The words of its command."""
        return tuple((self.command or self.name).split())

    def asked(self) -> type[Parameters]:
        """Return the class of what a person may choose of it."""
        found: type[Parameters] = _named(self.request)
        return found

    def repeated(self, asked: Mapping[str, Any], plan: Plan) -> Repeated:
        """Return the values of the options that ask once more for what a certificate with this plan says."""
        if not self.again:
            return dict(asked), {}
        found: Repeated = _named(self.again)(asked, plan)
        return found

    def planned(self, plan: Plan, request: Parameters) -> Plan:
        """Return the plan by which it releases what is asked for.

        Raises:
            ParameterError: the request does not fit the plan.
        """
        found: Plan = _named(self.plans)(plan, request) if self.plans else plan
        return found

    def suffixes(self) -> dict[str, str]:
        """Return the format of each suffix that its file may have."""
        return {f".{name}": name for name in self.formats}

    def work_of(
        self, plan: Plan, request: Parameters, epsilon: Decimal, delta: Decimal, rows: int, file_format: str
    ) -> Work:
        """Return its Work for ε and δ of one row; it reads no row.

        Raises:
            ParameterError: the request does not fit the plan.
        """
        made: Work = _named(self.work)(plan, request, epsilon, delta, rows, file_format)
        return made

    def require(self, plan: Plan, name: str) -> None:
        """Raise :class:`ParameterError` unless the plan lets this kind read the column ``name``.

        A column that is published as it is can be read by no kind; one that is dropped only where any text will do.
        """
        action = plan.column(name).action
        if action == "keep" or (action == "drop" and not self.any_text):
            what = {"drop": "drops", "keep": "publishes as it is"}[action]
            raise ParameterError(f"the plan {what} the column {name!r}", hint='write action = "protect" for it')


TABLES = ("csv", "csv.gz", "tsv", "parquet", "feather", "xlsx", "jsonl")
"""The formats of rows: the names in :data:`~workbench.release.table_formats.TABLE_FORMATS`, which loads polars."""

ROWS = "sanitize"  # the kind of noisy rows: its Work is in `rows_work`, and its certificate describes every column

KINDS: tuple[Kind, ...] = (
    Kind(
        ROWS,
        "tables",
        "",  # its certificate describes columns, not queries, and is verified by itself
        "noisy rows",
        randomness="operating-system entropy; every value drawn exactly from its integer table",
        local=True,
    ),
    Kind(
        "synthetic",
        "synthetic tables",
        "workbench.release.synthetic.synthesis_work",
        "synthetic rows",
        request="workbench.synth.parameters:SynthesisParameters",
        work="workbench.release.synthetic.synthesis_work:synthesis_work",
        again="workbench.release.synthetic.synthesis_work:repeated",
        command="synthesize",
        forecasts=False,
        formats=TABLES,
        help="release a synthetic table: rows drawn from a private model of the table",
        example="--target label",
    ),
    Kind(
        "statistics",
        "statistics",
        "workbench.release.statistics.statistics_work",
        "figures with intervals",
        request="workbench.statistics.request:StatisticsOptions",
        work="workbench.release.statistics.statistics_work:asked_work",
        again="workbench.release.statistics.statistics_work:repeated",
        formats=("csv", "json"),
        help="release private counts, means, spreads, quantiles, correlations, ranges and tables with their intervals",
    ),
    Kind(
        "values",
        "values and bounds",
        "",
        "undeclared values, bounds, and rows per person",
        any_text=True,
        request="workbench.release.values_work:ValuesOptions",
        work="workbench.release.values_work:values_work",
        plans="workbench.release.values_work:planned",
        before_plan=True,
        delta="chance that a value that only one row has is published, below 1/rows; needed for --category",
        help="find values of names, bounds of numbers and rows per person to keep, at their own epsilon",
        example="--number age",
    ),
    Kind(
        "rappor",
        "RAPPOR reports",
        "workbench.release.rappor.rappor_work",
        "reports of clients",
        randomness="operating-system entropy; every bit drawn exactly from its integer of 2^64",
        any_text=True,
        local=True,
        note=(
            "A row stands for a client with all its reports, all of one value: a client with two values, here or in "
            "the kept answers, is refused. How often a client reports, and a cohort that the table names, are public. "
            "Each release is charged by itself."
        ),
        request="workbench.rappor.collection:CollectionOptions",
        work="workbench.release.rappor.rappor_work:asked_work",
        again="workbench.release.rappor.rappor_work:repeated",
        command="rappor encode",
        own_cost=True,
        forecasts=False,
        help="release the reports of a column: charged first",
    ),
)


def kind(name: str) -> Kind:
    """Return the kind called ``name``.

    Raises:
        InputError: this workbench does not know it.
    """
    for known in KINDS:
        if known.name == name:
            return known
    raise InputError(f"this workbench does not know the kind of release {name[:40]!r}")


def _named(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)
