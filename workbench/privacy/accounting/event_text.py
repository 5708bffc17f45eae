"""Events as plain values, for the entries of a ledger and for lists in files (TOML, JSON)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from workbench.params import ParameterError
from workbench.params.field import did_you_mean
from workbench.privacy.accounting.accountant import event_of
from workbench.privacy.accounting.event import (
    ApproximateDp,
    Composed,
    CostEvent,
    GaussianNoise,
    Parallel,
    PoissonGaussian,
    PureDp,
    Repeated,
    RowsPerPerson,
    ZeroConcentrated,
    exact,
)

KINDS = {
    "pure": ("epsilon",),
    "approximate": ("epsilon", "delta"),
    "gaussian": ("sigma", "sensitivity"),
    "discrete-gaussian": ("sigma", "sensitivity"),
    "zcdp": ("rho",),
    "poisson-gaussian": ("sigma", "sample_rate", "steps", "rows", "batch", "epochs", "bands"),
    "all": ("event",),
    "parallel": ("part",),
}
"""The kinds of events and the keys that each may have, beside ``label``, ``times`` and ``rows_per_person``."""

_COMMON = ("kind", "label", "times", "rows_per_person")
MOST_EVENTS = 10_000
_DEEPEST = 20


def to_plain(event: CostEvent) -> dict[str, Any]:
    """Return an event as JSON holds it; decimals are text."""
    match event:
        case PureDp():
            plain: dict[str, Any] = {"kind": "pure", "epsilon": str(event.epsilon)}
        case ApproximateDp():
            plain = {"kind": "approximate", "epsilon": str(event.epsilon), "delta": str(event.delta)}
        case GaussianNoise():
            plain = {"kind": "gaussian", "sigma": event.noise_multiplier}
        case ZeroConcentrated():
            plain = {"kind": "zcdp", "rho": float(event.rho)}
        case PoissonGaussian():
            plain = {
                "kind": "poisson-gaussian",
                "sigma": event.noise_multiplier,
                "sample_rate": event.sample_rate,
                "steps": event.steps,
                **({"bands": event.bands} if event.bands != 1 else {}),
            }
        case Composed():
            plain = {"kind": "all", "event": [to_plain(part) for part in event.events]}
        case Parallel():
            plain = {"kind": "parallel", "part": [to_plain(part) for part in event.parts]}
        case Repeated():
            plain = {"kind": "all", "event": [to_plain(event.event)], "times": event.times}
        case RowsPerPerson():
            plain = {"kind": "all", "event": [to_plain(event.event)], "rows_per_person": event.rows}
    return {**plain, **({"label": event.label} if event.label else {})}


def from_plain(plain: object, where: str = "event", deep: int = 0) -> CostEvent:
    """Return the event that ``plain`` describes.

    Raises:
        ParameterError: a key is unknown or missing, or a value is of the wrong kind; the message names it.
    """
    if not isinstance(plain, Mapping):
        raise ParameterError(f"{where} is not a table of keys", hint='write kind = "pure" and epsilon = 0.5')
    if deep > _DEEPEST:
        raise ParameterError(f"{where} is nested more than {_DEEPEST} levels deep")
    kind = plain.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        near = did_you_mean(kind, KINDS) if isinstance(kind, str) else ""
        what = "the event has no kind" if kind is None else f"kind = {kind!r} is not known{near}"
        raise ParameterError(what, where, f"choose one of {', '.join(KINDS)}")
    for key in plain:
        if key not in (*_COMMON, *KINDS[kind]):
            near = did_you_mean(str(key), [*_COMMON, *KINDS[kind]])
            raise ParameterError(f"{key!r} is not a key of {kind}{near}", where, "remove it")
    label = plain.get("label", "")
    if not isinstance(label, str) or len(label) > 200:
        raise ParameterError("the label is not a short text", where, "give up to 200 characters")
    event = _simple(kind, plain, label, where, deep)
    rows, times = (_whole(plain, key, where, 1) for key in ("rows_per_person", "times"))
    if rows != 1:
        event = RowsPerPerson(event, rows, label)
    return event if times == 1 else Repeated(event, times, label)


def events_of(plain: object, where: str = "the list") -> CostEvent:
    """Return all events of a list as one.

    Raises:
        ParameterError: it is no list of events, or it has too many.
    """
    if not isinstance(plain, list) or not plain:
        raise ParameterError("there are no events", where, "write at least one [[event]]")
    if len(plain) > MOST_EVENTS:
        raise ParameterError(f"{len(plain)} events are more than {MOST_EVENTS}", where, "use times = N for equal ones")
    return Composed(tuple(from_plain(one, f"{where}, event {n}") for n, one in enumerate(plain, 1)))


def _simple(kind: str, plain: Mapping[str, Any], label: str, where: str, deep: int) -> CostEvent:
    match kind:
        case "pure":
            return PureDp(_decimal(plain, "epsilon", where), label)
        case "approximate":
            return ApproximateDp(_decimal(plain, "epsilon", where), _decimal(plain, "delta", where), label)
        case "gaussian":
            return GaussianNoise(_ratio(plain, where), label)
        case "discrete-gaussian":
            return ZeroConcentrated(exact(0.5 / _ratio(plain, where) ** 2), label)
        case "zcdp":
            return ZeroConcentrated(exact(_real(plain, "rho", where)), label)
        case "poisson-gaussian":
            return _poisson(plain, label, where)
        case _:
            parts = plain.get("event" if kind == "all" else "part")
            if not isinstance(parts, list) or not parts or len(parts) > MOST_EVENTS:
                raise ParameterError(f"{kind} has no list of events", where, "list the events that it consists of")
            made = tuple(from_plain(one, f"{where}, part {n}", deep + 1) for n, one in enumerate(parts, 1))
            return Composed(made, label) if kind == "all" else Parallel(made, label)


def _poisson(plain: Mapping[str, Any], label: str, where: str) -> CostEvent:
    sigma, bands = _real(plain, "sigma", where), _whole(plain, "bands", where, 1)
    if "sample_rate" in plain or "steps" in plain:
        given = [key for key in ("rows", "batch", "epochs") if key in plain]
        if given:
            raise ParameterError(
                f"{given[0]} is given together with sample_rate and steps",
                where,
                "give rows, batch, epochs, or the other two",
            )
        return PoissonGaussian(_real(plain, "sample_rate", where), sigma, _whole(plain, "steps", where), label, bands)
    rows, batch, epochs = (_whole(plain, key, where) for key in ("rows", "batch", "epochs"))
    return event_of(rows, batch, epochs, sigma, label, bands)


def _ratio(plain: Mapping[str, Any], where: str) -> float:
    sensitivity = _real(plain, "sensitivity", where) if "sensitivity" in plain else 1.0
    return _real(plain, "sigma", where) / sensitivity


def _present(plain: Mapping[str, Any], key: str, where: str) -> object:
    if key not in plain:
        raise ParameterError(f"{key} is missing", where, f"write {key} = …")
    return plain[key]


def _real(plain: Mapping[str, Any], key: str, where: str) -> float:
    value = _present(plain, key, where)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1e9 or math.isnan(value):
        raise ParameterError(f"{key} = {value!r} is not a number above 0 and up to 1e9", where, f"correct {key}")
    return float(value)


def _decimal(plain: Mapping[str, Any], key: str, where: str) -> Decimal:
    value = _present(plain, key, where)
    try:
        if isinstance(value, bool) or not isinstance(value, int | float | str) or len(str(value)) > 60:
            raise InvalidOperation
        number = Decimal(str(value))
        if not (number.is_finite() and 0 < number <= 10**6 and number.adjusted() > -400):
            raise InvalidOperation
    except InvalidOperation:
        raise ParameterError(
            f"{key} = {value!r} is not a number above 0 and up to 1e6", where, f"correct {key}"
        ) from None
    return number


def _whole(plain: Mapping[str, Any], key: str, where: str, default: int | None = None) -> int:
    value = plain.get(key, default) if default is not None else _present(plain, key, where)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 10**12:
        raise ParameterError(f"{key} = {value!r} is not a whole number of at least 1", where, f"correct {key}")
    return value
