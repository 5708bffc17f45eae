"""Privacy models of generalised tables: one is its file and a line in this list."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.risk.generalise.models.average_risk import AverageRisk
from workbench.risk.generalise.models.base import PrivacyModel
from workbench.risk.generalise.models.closeness import Closeness
from workbench.risk.generalise.models.distinct_diversity import DistinctDiversity
from workbench.risk.generalise.models.entropy_diversity import EntropyDiversity
from workbench.risk.generalise.models.k_anonymity import KAnonymity
from workbench.risk.generalise.models.k_map import KMap
from workbench.risk.generalise.models.likeness import Likeness
from workbench.risk.generalise.models.presence import Presence
from workbench.risk.generalise.models.recursive_diversity import RecursiveDiversity

MODELS: tuple[type[PrivacyModel], ...] = (
    KAnonymity,
    DistinctDiversity,
    EntropyDiversity,
    RecursiveDiversity,
    Closeness,
    Likeness,
    Presence,
    KMap,
    AverageRisk,
)


def models_of(given: Mapping[str, Any]) -> tuple[PrivacyModel, ...]:
    """Return every model with those of its parameters that are given, by name."""
    return tuple(model(**{n: v for n, v in given.items() if n in model.declared()}) for model in MODELS)


__all__ = ["MODELS", "PrivacyModel", "models_of"]
