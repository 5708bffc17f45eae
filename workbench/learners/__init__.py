"""Private models with the scikit-learn API: single models, and the choice of the best of several."""

from __future__ import annotations

from workbench.learners.base import Learner
from workbench.learners.best_of import BEST_CLASSIFIER, BEST_REGRESSION
from workbench.learners.corrected_model import CorrectedEstimator
from workbench.learners.single_learners import SINGLE
from workbench.params import ParameterError
from workbench.params.field import named

LEARNERS: tuple[Learner, ...] = (*SINGLE, BEST_CLASSIFIER, BEST_REGRESSION)


def learner(name: str) -> Learner:
    """Return the learner called ``name``.

    Raises:
        ParameterError: there is none; the message suggests a similar name.
    """
    return named(LEARNERS, name, "model")


def corrected(chosen: Learner) -> type[CorrectedEstimator]:
    """Return what learns from a release in the way of ``chosen``, knowing the public tables its cells went through.

    Raises:
        ParameterError: this learner has none; the message names those that have.
    """
    if chosen.corrected is None:
        able = [entry.name for entry in LEARNERS if entry.corrected is not None]
        raise ParameterError(
            f"the model “{chosen.title}” cannot learn from a release", hint=f"choose one of {', '.join(able)}"
        )
    found: type[CorrectedEstimator] = chosen.corrected
    return found


__all__ = ["LEARNERS", "SINGLE", "Learner", "corrected", "learner"]
