"""The kinds of release. A kind adds one line here, a Work, and a module that recomputes it for ``verify``."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.params import InputError, ParameterError
from workbench.sanitize.plan import Plan
from workbench.signals.cancel import CancelToken

Recompute = Callable[[dict[str, Any], Plan, Path, CancelToken], Iterator[str]]
"""(certificate, its plan, released file, cancel) → a sentence for every fault that only this kind can see.

It is called when bytes, checksum, guarantee and plan agree already. It may raise any ``WorkbenchError``.
"""


@dataclass(frozen=True)
class Kind:
    """A kind of release whose certificate names its queries.

    Attributes:
        name: its name in certificates, and of the work in the ledger.
        released: what is released, as the guarantee says it: ``statistics``.
        module: the module whose function ``recomputed`` is the kind's :data:`Recompute`.
        gives: what its file holds, for the message where another kind of release was expected.
        randomness: where its random bits come from and how they are used, for certificates.
        any_text: whether it reads its columns as text, whatever they hold, so that they need no declared domain.
        local: whether each row is randomised by itself, so that replacing one costs no more than emptying it.
        note: a sentence on what the guarantee takes for granted, beside what it always does.
    """

    name: str
    released: str
    module: str
    gives: str
    randomness: str = "operating-system entropy; exact discrete noise on whole numbers"
    any_text: bool = False
    local: bool = False
    note: str = ""

    def recompute(self) -> Recompute:
        """Return the function that recomputes what only this kind can."""
        found: Recompute = importlib.import_module(self.module).recomputed
        return found

    def require(self, plan: Plan, name: str) -> None:
        """Raise :class:`ParameterError` unless the plan lets this kind read the column ``name``.

        A column that is published as it is can be read by no kind; one that is dropped only where any text will do.
        """
        action = plan.column(name).action
        if action == "keep" or (action == "drop" and not self.any_text):
            what = {"drop": "drops", "keep": "publishes as it is"}[action]
            raise ParameterError(f"the plan {what} the column {name!r}", hint='write action = "protect" for it')


ROWS = "sanitize"
"""The kind of noisy rows: its Work is in ``rows_work``, and its certificate describes every column."""

KINDS: tuple[Kind, ...] = (
    Kind(
        ROWS,
        "tables",
        "workbench.release.verify",
        "noisy rows",
        randomness="operating-system entropy; every value drawn exactly from its integer table",
        local=True,
    ),
    Kind("synthetic", "synthetic tables", "workbench.release.synthetic.verify_synthesis", "synthetic rows"),
    Kind("statistics", "statistics", "workbench.release.statistics.recompute", "figures with intervals"),
    Kind(
        "rappor",
        "RAPPOR reports",
        "workbench.release.rappor.verify_rappor",
        "reports of clients",
        randomness="operating-system entropy; every bit drawn exactly from its integer of 2^64",
        any_text=True,
        local=True,
        note=(
            "A row stands for a client with all its reports, all of one value: a client with two values, here or in "
            "the kept answers, is refused. How often a client reports, and a cohort that the table names, are public. "
            "Each release is charged by itself."
        ),
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
