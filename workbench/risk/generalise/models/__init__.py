"""Privacy models of generalised tables: one is its file and a line in this list."""

from __future__ import annotations

from workbench.risk.generalise.models.average_risk import AVERAGE_RISK
from workbench.risk.generalise.models.base import Model, PrivacyModel
from workbench.risk.generalise.models.closeness import CLOSENESS
from workbench.risk.generalise.models.distinct_diversity import DISTINCT_DIVERSITY
from workbench.risk.generalise.models.entropy_diversity import ENTROPY_DIVERSITY
from workbench.risk.generalise.models.k_anonymity import K_ANONYMITY
from workbench.risk.generalise.models.k_map import K_MAP
from workbench.risk.generalise.models.likeness import LIKENESS
from workbench.risk.generalise.models.presence import PRESENCE
from workbench.risk.generalise.models.recursive_diversity import RECURSIVE_DIVERSITY

MODELS: tuple[Model, ...] = (
    K_ANONYMITY,
    DISTINCT_DIVERSITY,
    ENTROPY_DIVERSITY,
    RECURSIVE_DIVERSITY,
    CLOSENESS,
    LIKENESS,
    PRESENCE,
    K_MAP,
    AVERAGE_RISK,
)

__all__ = ["MODELS", "Model", "PrivacyModel"]
