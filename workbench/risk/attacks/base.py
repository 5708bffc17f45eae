"""The base of attacks: inputs, options, and the function that runs an attack."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, Protocol

from workbench.data.schema import Attribute
from workbench.data.table import Table
from workbench.params import ParameterError, Parameters
from workbench.params.field import IntegerField, RealField
from workbench.risk.attacks.bound import NOTHING, Guarantee
from workbench.risk.attacks.outcome import Outcome
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit

RELEASE, MODEL = "release", "model"

SEED = IntegerField(at_least=0, upto=2**63 - 1, title="seed", help="seed of the attacker's choices", advanced=True)
PEOPLE = IntegerField(at_least=10, upto=100_000, title="attacks", help="number of people to attack")
CHANCE = RealField(
    above=0,
    below=1,
    title="known probability",
    empty="not known",
    help="probability of a right guess without the person's row, if it is known, such as 0.5 for a planted coin flip",
    advanced=True,
)
"""Parameters that several attacks have."""


@dataclass(frozen=True)
class Given:
    """One thing that an attack reads: the release, a model, or a table of people."""

    name: str  # `release` (the command's argument), `model` (`--model DIR`), else a table (`--NAME DATA`)
    help: str  # one line, without a final full stop
    title: str
    required: bool = True


class OpenedModel(Protocol):
    """A released model that is ready to predict, as ``release/model/open_model.py`` opens it."""

    @property
    def card(self) -> dict[str, Any]:
        """Its card."""

    @property
    def task(self) -> str:
        """The name of what it makes (``learners/tasks.py``)."""

    @property
    def attributes(self) -> Sequence[Attribute]:
        """The columns that it reads."""

    @property
    def target(self) -> Attribute:
        """The column that it predicts."""

    @property
    def model(self) -> Any:
        """The fitted model: ``predict(X)``, of classifiers ``predict_proba(X)``."""


@dataclass(frozen=True, eq=False)
class Subject:
    """What is attacked and what it is judged by; the caller has read it and noted in the ledger that it is shown."""

    guarantee: Guarantee = NOTHING
    release: Table | None = None
    model: OpenedModel | None = None
    tables: Mapping[str, Table] = field(default_factory=dict)  # the tables of people, by the names of their `Given`

    def attacked(self, people: str = "original") -> tuple[Table, ...]:
        """Return the released table, that of the people, and the control set where there is one."""
        if self.release is None:
            raise ParameterError("the released table is missing", hint="name the released table")
        control = self.tables.get("control")
        return self.release, self.tables[people], *([] if control is None else [control])


Run = Callable[[Subject, Any, Emit, CancelToken], Outcome]
"""(subject, request, emit, cancel) → outcome. It looks at ``cancel`` at least four times a second."""


@dataclass(frozen=True)
class Attack:
    """One attack."""

    name: str
    title: str
    help: str  # what it tries, one line without a final full stop
    given: tuple[Given, ...] = ()
    # Where `run` is, and the `Parameters` that a person may choose, a class of the attack's name; by default the file
    # of the attack's name here.
    module: str = ""

    @property
    def _code(self) -> ModuleType:
        return importlib.import_module(self.module or f"{__package__}.{self.name.replace('-', '_')}")

    def asked(self) -> type[Parameters]:
        """Return the class of what may be chosen."""
        found: type[Parameters] = getattr(self._code, self.name.title().replace("-", ""))
        return found

    def run(self, subject: Subject, request: Parameters, emit: Emit, cancel: CancelToken) -> Outcome:
        """Run it.

        Raises:
            InputError: the tables do not fit together.
            ParameterError: a chosen column does not exist.
        """
        run: Run = self._code.run
        return run(subject, request, emit, cancel)
