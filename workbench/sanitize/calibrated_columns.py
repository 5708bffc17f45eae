"""The calibrated mechanism of each protected column of a plan: what the engine samples and the forecast reports."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import math
import os
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

import workbench
from workbench.data.columns.grid import Grid
from workbench.params import ParameterError, WorkbenchError
from workbench.params.codec import parse_json
from workbench.params.remedies import PROTECT, Remedy
from workbench.paths import user_cache
from workbench.privacy import local
from workbench.privacy.accounting.event import floor_double
from workbench.privacy.local import mechanisms
from workbench.privacy.local.cells import WHOLE, Cells
from workbench.privacy.local.error_profile import ErrorFacts, error_profile
from workbench.privacy.local.limits import MOST_CELLS
from workbench.privacy.local.mechanism_table import EPSILON_CAP
from workbench.privacy.local.mechanisms import Mechanism, Randomiser, mechanism
from workbench.sanitize.plan import AUTO, STATISTICS, VALUES, Column, Plan
from workbench.signals.cancel import check_here

LIMIT = 20_000  # most files, of some 400 bytes; half of them, the oldest, are removed where there are more

_LONGEST = 4096
_NAMES = tuple(field.name for field in dataclasses.fields(ErrorFacts))
_MAY_BE_NONE = "statistic_variance"


def cached_facts(mechanism: Mechanism, key: str, *, most: float) -> ErrorFacts | None:
    """Return what is kept of ``mechanism``, under a key of its cells and share; ``None`` if its ε is above ``most``."""
    path = _path(mechanism, key)
    if path is None:
        return None
    try:
        with path.open("rb") as stream:
            data = stream.read(_LONGEST)
        stated, _, body = data.partition(b"\n")
        plain = parse_json(body.decode("utf-8"), "kept facts")
    except (OSError, ValueError, WorkbenchError):
        return None
    if stated != _digest(body) or not isinstance(plain, dict) or set(plain) != set(_NAMES):
        return None
    figures = [value for name, value in plain.items() if value is not None or name != _MAY_BE_NONE]
    if not all(type(value) is float and math.isfinite(value) and value >= 0 for value in figures):
        return None
    facts = ErrorFacts(**plain)
    return facts if facts.exact_epsilon <= min(most, EPSILON_CAP) and facts.relations_kept <= 1 else None


def cache_facts(mechanism: Mechanism, key: str, facts: ErrorFacts) -> None:
    """Keep ``facts``, whole or not at all; a disk that cannot be written is no error: they are computed each time."""
    path = _path(mechanism, key)
    if path is None:
        return
    plain = {name: None if value is None else float(value) for name, value in dataclasses.asdict(facts).items()}
    body = json.dumps(plain).encode()
    with contextlib.suppress(OSError):
        _make_room(path.parent)
        handle, temporary = tempfile.mkstemp(dir=path.parent)  # the owner's alone
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(_digest(body) + b"\n" + body)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise


def cache_folder() -> Path:
    """Return where the facts are kept."""
    return user_cache("mechanisms")


def _path(mechanism: Mechanism, key: str) -> Path | None:
    """Return the file of a key; ``None`` for a mechanism of somebody else, whose code may change unseen."""
    if not mechanism.recipe.__module__.startswith(f"{workbench.__name__}."):
        return None
    return cache_folder() / hashlib.sha256(f"{_version()} {mechanism.name} {key}".encode()).hexdigest()


@cache
def _version() -> str:
    """Return a digest that changes with the code that computes the facts."""
    seen = hashlib.sha256(f"{workbench.__version__} {np.__version__}".encode())
    for path in sorted(Path(local.__file__).parent.rglob("*.py")):
        seen.update(path.read_bytes())
    return seen.hexdigest()


def _digest(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest().encode()


@cache
def _make_room(place: Path) -> None:
    """Make the folder; where it holds too many files, remove the older half. Once a process is enough."""
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    files = list(place.iterdir())
    if len(files) > LIMIT:
        for path in sorted(files, key=lambda file: file.stat().st_mtime)[: len(files) // 2]:
            path.unlink(missing_ok=True)


MEANS_ARE_OF_CLAMPED = "means are of values clamped to the public bounds and rounded to the public grid"


USELESS = "one constant in every row would be as accurate, at no privacy cost: give it a larger share of ε, or drop it"

NEARLY = 1.02  # variances up to so many times the least count as equal: an interval is longer by at most 1 %


@dataclass(frozen=True, eq=False)
class ProtectedColumn:
    """One column ready to be sampled."""

    column: Column
    grid: Grid
    share: Decimal  # its share of ε
    mechanism: Mechanism  # the mechanism used (the advisor's choice if the plan says auto)

    @cached_property
    def randomiser(self) -> Randomiser:
        """The calibrated table, built in this process when it is first needed: its ε is checked there."""
        return _randomiser(self.mechanism.name, self.grid.cells, floor_double(self.share))

    @property
    def facts(self) -> ErrorFacts:
        """The error of the mechanism."""
        return _facts(self.mechanism, self.grid.cells, floor_double(self.share))

    @property
    def note(self) -> str:
        """What a person must know about this column, or an empty string."""
        notes = []
        if self.share > Decimal(EPSILON_CAP):
            notes.append(f"a share of {self.share.normalize():f} uses the table for ε = {EPSILON_CAP:g}")
        if self.facts.useless and self.column.purpose == VALUES:
            notes.append(USELESS)
        return "; ".join(notes)


def protected_columns(plan: Plan) -> tuple[ProtectedColumn, ...]:
    """Return the protected columns of ``plan``, calibrated; reads no data.

    Raises:
        ParameterError: the plan protects no column, or a mechanism does not fit.
    """
    if not plan.protected:
        raise nothing_protected()
    return tuple(each_protected_column(plan))


def nothing_protected() -> ParameterError:
    """Return the refusal of a plan without a protected column."""
    return ParameterError(
        "the plan protects no column: it would publish the table unchanged",
        hint=Remedy(PROTECT, 'write action = "protect" for a column'),
        code="nothing-protected",
    )


def each_protected_column(plan: Plan) -> Iterator[ProtectedColumn]:
    """Yield what :func:`protected_columns` returns, one at a time, so that only one table has to be in memory."""
    split = plan.shares()
    for column in plan.protected:
        yield _protected(column, split[column.name])


def fits_in_memory(plan: Plan, most: int) -> bool:
    """Return whether the tables of ``plan`` have at most ``most`` probabilities together."""
    total = 0
    for column in plan.protected:
        total += _entries(column.grid().cells)
        if total > most:
            return False
    return True


def protected_column(plan: Plan, name: str) -> ProtectedColumn:
    """Return one protected column of ``plan`` as :func:`protected_columns` does, without calibrating the others."""
    return _protected(plan.column(name), plan.shares()[name])


def candidates(cells: Cells, share: Decimal, purpose: str = STATISTICS) -> tuple[tuple[Mechanism, ErrorFacts], ...]:
    """Return every mechanism that fits ``cells`` at this share of ε, the best for ``purpose`` first.

    For ``values`` that is the least expected error of one value; for ``statistics`` the least variance of the unbiased
    mean or frequency, of nearly equal ones the least error of one value; mechanisms without one come last.
    """
    epsilon = floor_double(share)
    fitting = [(m, _facts(m, cells, epsilon)) for m in mechanisms.MECHANISMS if not m.refusal(cells)]

    variances = [f.statistic_variance for _, f in fitting if f.statistic_variance is not None]
    nearly = NEARLY * min(variances, default=0.0)

    def rank(option: tuple[Mechanism, ErrorFacts]) -> tuple[float, float]:
        error, variance = option[1].expected_absolute_error, option[1].statistic_variance
        if purpose == VALUES:
            return error, 0.0
        if variance is None:
            return math.inf, error
        return (0.0, error) if variance <= nearly else (variance, error)

    return tuple(sorted(fitting, key=rank))


def choosable_mechanisms(
    options: tuple[tuple[Mechanism, ErrorFacts], ...], purpose: str, chosen: str = AUTO
) -> tuple[tuple[Mechanism, ErrorFacts], ...]:
    """Return the candidates that a person can choose from: for statistics none without an unbiased estimator.

    The one that the plan has ``chosen`` stays in the list whatever it is.
    """
    if purpose == VALUES:
        return options
    return tuple(o for o in options if o[1].statistic_variance is not None or o[0].name == chosen)


@dataclass(frozen=True, eq=False)
class TableOnDemand:
    """The public table of a column, rebuilt when it is asked for: of many large ones few are in memory at a time."""

    mechanism: str
    cells: Cells  # the public grid
    share: Decimal  # of ε
    outputs: int

    @classmethod
    def of(cls, column: ProtectedColumn) -> Self:
        """Return the table of ``column`` without keeping it in memory."""
        return cls(column.mechanism.name, column.grid.cells, column.share, column.randomiser.outputs)

    def probabilities(self, rows: slice = WHOLE) -> NDArray[np.float64]:
        """Return the (inputs, outputs) transition probabilities, or those of some inputs."""
        return _randomiser(self.mechanism, self.cells, floor_double(self.share)).probabilities(rows)


def answer_chances(name: str, cells: Cells, share: Decimal, cell: int) -> NDArray[np.float64]:
    """Return the chance, (k,), of each answer of the mechanism ``name`` if the true value lies in ``cell``."""
    made = _randomiser(name, cells, floor_double(share))
    chances: NDArray[np.float64] = made.channel().rows(np.array([cell]))[0]
    return chances


def _protected(column: Column, share: Decimal) -> ProtectedColumn:
    made = column.grid()
    wanted = (
        candidates(made.cells, share, column.purpose)[0][0] if column.mechanism == AUTO else mechanism(column.mechanism)
    )
    protected = ProtectedColumn(column, made, share, wanted)
    try:
        _ = protected.facts  # a share or cells that the mechanism does not fit are refused here
    except ParameterError as error:
        raise error.at(f"column {column.name}") from None
    return protected


class _Key:
    """Cells as a cache key: equal if the mechanisms built on them are.

    Attributes:
        cells: what a mechanism is built on, a ``solved`` one or another: cells that are equally spaced count 0, 1, 2, …
        unit: the distance of two cells of the column in that of those.
    """

    def __init__(self, cells: Cells, solved: bool) -> None:
        self.cells, self.unit = cells.counted(), 1.0
        if self.cells is not cells:
            if solved and not np.array_equal(cells.distances(), self.cells.distances()):
                self.cells = cells  # of a solver's table the last bit of a distance can change every entry
            else:
                assert cells.values is not None
                self.unit = float(cells.values[-1] - cells.values[0]) / (cells.size - 1)
        cells = self.cells
        values = b"" if cells.values is None else np.ascontiguousarray(cells.values).tobytes()
        self._key = (cells.size, cells.missing, cells.numeric, values)

    def plain(self) -> str:
        """Return what distinguishes the key from all others, as text."""
        return repr(self._key)

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self._key == other._key


@lru_cache(maxsize=256)  # by the object: grids of equal columns share their cells
def _key(cells: Cells, solved: bool) -> _Key:
    return _Key(cells, solved)


class _Kept:
    """A cache of randomisers; the oldest are dropped before a new one is built."""

    def __init__(self, most_entries: int, most: int) -> None:
        self._most_entries, self._most = most_entries, most
        self._made: dict[tuple[str, _Key, float], Randomiser] = {}
        self._lock = threading.Lock()

    def get(self, name: str, key: _Key, epsilon: float) -> Randomiser:
        wanted = (name, key, epsilon)
        with self._lock:
            found = self._made.pop(wanted, None)
            if found is not None:
                self._made[wanted] = found  # newest last
                return found
            room = self._most_entries - _entries(key.cells)
            while self._made and (len(self._made) >= self._most or self._entries() > room):
                del self._made[next(iter(self._made))]
        made = mechanism(name).build(key.cells, epsilon)
        with self._lock:
            self._made[wanted] = made
        return made

    def _entries(self) -> int:
        return sum(_entries(key.cells) for _, key, _ in self._made)


def _entries(cells: Cells) -> int:
    return cells.total**2 if cells.size <= MOST_CELLS else 0


# A table of 4,096 cells takes 134 MB, and its sampler, once something is drawn, as much again.
_KEPT = _Kept(most_entries=2 * MOST_CELLS**2, most=64)


def _randomiser(name: str, cells: Cells, epsilon: float) -> Randomiser:
    return _KEPT.get(name, _key(cells, mechanism(name).solved), epsilon)


def _facts(chosen: Mechanism, cells: Cells, epsilon: float) -> ErrorFacts:
    key = _key(cells, chosen.solved)
    return _counted_facts(chosen, key, epsilon).scaled(key.unit)


@lru_cache(maxsize=4096)
def _counted_facts(chosen: Mechanism, key: _Key, epsilon: float) -> ErrorFacts:
    """Return the facts of ``chosen`` on the key's cells: those on disk, or new ones, which are kept there."""
    stated = f"{key.plain()} {epsilon!r}"
    found = cached_facts(chosen, stated, most=epsilon)
    if found is None:
        check_here()
        found = error_profile(_KEPT.get(chosen.name, key, epsilon), key.cells).facts
        cache_facts(chosen, stated, found)
    return found
