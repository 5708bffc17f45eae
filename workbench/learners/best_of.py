"""Private selection of learner and settings: the best of a random number of fits, at a cost known in advance.

Each try draws one of the candidates, fits it to four rows in five, and counts with noise how well it does on the fifth,
which the place of a row decides. The best try is released with its noisy score; the others are lost, and so is how many
there were. One event, whose ε is the whole cost
(:meth:`workbench.work.ask.Ask.best_of`; Papernot & Steinke 2022, "Hyperparameter Tuning with Rényi Differential
Privacy", Corollary 3; for pure ε Liu & Talwar 2019, "Private selection from private candidates"): a try has half of
it, a fifth of that for the score. A fit with the best candidate alone, had one known it, would have twice the ε.

*The score* of classes: the rows that are predicted correctly, sensitivity 1. Of numbers: for each row 1 less its
squared error in quarters of the target's bounds, at least 0, in whole numbers rounded down: between 0 and UNIT.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.learners.base import Answers, Classifier, Learner, Model, PrivateEstimator, blocks_of
from workbench.learners.checks import plain_part
from workbench.learners.setting import FitSetting, privacy_budget
from workbench.learners.single_learners import SINGLE
from workbench.learners.tasks import CLASSIFICATION, REGRESSION, has_target
from workbench.params import ParameterError, Parameters, real, text
from workbench.params.field import named
from workbench.privacy.accounting.event import Cost, PureDp, exact, floor_double
from workbench.privacy.accounting.private_selection import epsilon_of_try
from workbench.privacy.central.number_of_tries import MOST_TRIES
from workbench.work.ask import TRY, Ask, declared
from workbench.work.noise import Noise

BEST = "best of a random number of fits"
FIT, SCORE = "fit", "score"

_SCORE_SHARE = Decimal("0.2")
_DIGITS = Decimal("1e-12")
_UNIT = 1 << 10
_QUARTERS = 4.0
_HELD_OUT = 5  # one row in so many is for the score: on its own rows the model that follows them closest would win


def _candidates(default: str) -> Any:
    return text(
        default=default,
        title="candidates",
        help="models separated by semicolons, with settings written like additive trees: cycles=2",
    )


@dataclass(frozen=True, kw_only=True)
class BestParameters(Parameters):
    """Budget, and what is chosen from."""

    epsilon: float | None = privacy_budget("the choice and the chosen model")
    candidates: str = _candidates("naive Bayes; logistic regression; additive trees; random forest")
    tries: float = real(
        default=20.0,
        at_least=1,
        upto=MOST_TRIES,
        title="average number of tries",
        help="average number of fits to compare; more take longer and cost no extra ε",
        advanced=True,
    )


@dataclass(frozen=True, kw_only=True)
class BestNumberParameters(BestParameters):
    """The same for numbers."""

    candidates: str = _candidates("linear regression; additive regression; boosted trees; forest regression")


@dataclass(frozen=True)
class Candidate:
    """A learner with settings: what was written, and its parameters without ε."""

    written: str
    learner: Learner
    given: Mapping[str, Any]


def candidates(written: str, task: str) -> tuple[Candidate, ...]:
    """Return the candidates of a list such as ``naive-bayes; additive trees: cycles=2``, by name or title.

    Raises:
        ParameterError: there is none, one is given twice, a learner is unknown or of another task, or a setting is
            none of its own.
    """
    found = []
    for one in (part.strip() for part in written.split(";")):
        name, _, settings = one.partition(":")
        chosen = named(SINGLE, name.strip().lower().replace(" ", "-"), "candidate")
        where = f"candidate {name.strip()}"
        if chosen.task != task or chosen.each_prediction:
            raise ParameterError(f"it cannot be a candidate for {task}", where, "leave it out")
        known, given = chosen.parameters.declared(), {}
        for setting in filter(None, (s.strip() for s in settings.split(","))):
            key, _, value = (s.strip() for s in setting.partition("="))
            if key not in known or key in ("epsilon", "delta"):
                able = ", ".join(k for k in known if k not in ("epsilon", "delta"))
                raise ParameterError(f"{key!r} is not one of its settings", where, f"choose one of {able}")
            given[key] = known[key].parse(value, where)
        found.append(Candidate(one, chosen, given))
    if len({c.written for c in found}) < len(found):
        raise ParameterError("a candidate is listed twice", "candidates", "remove one of them")
    return tuple(found)


class Setting(FitSetting[BestParameters]):
    """The public facts: candidates, and the share of ε of one try."""

    @cached_property
    def candidates(self) -> tuple[Candidate, ...]:
        """What is chosen from."""
        return candidates(self.parameters.candidates, REGRESSION if self.target.numeric else CLASSIFICATION)

    def check(self) -> None:
        for candidate in self.candidates:
            candidate.learner.require(self.attributes, self.target)
            self.parameters_of(candidate)

    def lengths(self) -> dict[str, int]:
        """Return the one query, which releases a score beside the model."""
        return {BEST: 1}

    @cached_property
    def of_fit(self) -> Decimal:
        """ε of the fit of a try."""
        return (epsilon_of_try(self.shares[BEST]) * (1 - _SCORE_SHARE)).quantize(_DIGITS, rounding=ROUND_FLOOR)

    @property
    def of_score(self) -> Decimal:
        """ε of the score of a try: all that the fit leaves."""
        return epsilon_of_try(self.shares[BEST]) - exact(floor_double(self.of_fit))

    def parameters_of(self, candidate: Candidate) -> Parameters:
        """Return the parameters of a candidate in a try."""
        paid = {"epsilon": floor_double(self.of_fit)} if self.private else {}
        return candidate.learner.parameters.from_plain({**candidate.given, **paid}, f"candidate {candidate.written}")

    def score(self, said: NDArray[Any], y: NDArray[Any]) -> int:
        """Return how well what is said of the rows that are not empty fits y (m,)."""
        if not self.target.numeric:
            return int((said == y).sum())
        lower, upper = self.target.bounds()
        wrong = (said - np.clip(y, lower, upper)) / (upper - lower) * _QUARTERS
        return int(np.floor(np.clip(1 - wrong**2, 0.0, 1.0) * _UNIT).astype(np.int64).sum())

    def held_out(self) -> NDArray[np.bool_]:
        """Return which rows are for the score (n,), by their places."""
        return np.asarray(np.arange(self.rows) % _HELD_OUT == _HELD_OUT - 1)

    @property
    def held(self) -> int:
        """How many rows are for the score."""
        return self.rows // _HELD_OUT

    @property
    def unit(self) -> int:
        """The sensitivity of the score: the most that a row adds."""
        return _UNIT if self.target.numeric else 1


class _Share:
    """The noise of the fit of a try: it serves one cost, out of the share that the try has for it."""

    def __init__(self, ask: Ask, noise: Noise) -> None:
        self._ask, self.name, self.releasable = ask, noise.name, noise.releasable

    def ask(self, cost: Cost | None) -> Ask:
        assert cost is not None  # the fit of a try has noise
        events = [event for event in declared(cost.event) if isinstance(event, PureDp)]
        return self._ask.into(FIT, events)


class BestModel(Model[Setting]):
    """The model of the best try.

    Attributes:
        chosen: the number of its candidate.
        best_: the model.
    """

    def __init__(self, setting: Setting, noise: str, answers: Answers, chosen: int, best: Model[Any]) -> None:
        super().__init__(setting, noise, answers)
        self.chosen, self.best_ = chosen, best

    @property
    def best_params_(self) -> str:
        """The candidate that was chosen, as it was written."""
        return self.setting.candidates[self.chosen].written

    @property
    def best_score_(self) -> float:
        """The noisy score of the best try for each row: the share predicted correctly. The best of many flatters."""
        return self.answers[BEST][0] / self.setting.unit / max(self.setting.held, 1)

    @property
    def attributes_used(self) -> tuple[str, ...]:
        return self.best_.attributes_used

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        return self.best_.predict(X)

    def more(self) -> dict[str, Any]:
        return {"chosen": self.best_params_, "model": self.best_.to_plain()}

    @classmethod
    def read(cls, values: Mapping[str, Any], setting: Setting) -> dict[str, Any]:
        """Return the candidate and its model, checked against what a try of it would be."""
        written = [candidate.written for candidate in setting.candidates]
        name, plain = plain_part(values, "chosen", str), plain_part(values, "model", dict)
        if name not in written:
            raise ParameterError(f"{name!r} is not one of the candidates", "the model")
        chosen = written.index(name)
        candidate = setting.candidates[chosen]
        best = candidate.learner.estimator.from_plain(plain)
        facts = best.setting
        known = facts.declared or (*facts.attributes, facts.target)
        if (known, facts.rows, facts.parameters, best.noise) != (
            (*setting.attributes, setting.target),
            setting.rows - setting.held,
            setting.parameters_of(candidate),
            values["noise"],
        ):
            raise ParameterError("the chosen model does not match its candidate", "the model")
        return {"chosen": chosen, "best": best}


class BestClassModel(BestModel, Classifier[Setting]):
    """The best of several models of classes."""

    name, task = "best-classifier", CLASSIFICATION
    parameters_type, setting_type = BestParameters, Setting

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        return np.asarray(self.best_.predict(X), dtype=np.int64)

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        chances: NDArray[np.float64] = self.best_.predict_proba(X)  # type: ignore[attr-defined]
        return chances


class BestNumberModel(BestModel):
    """The best of several models of numbers."""

    name, task = "best-regression", REGRESSION
    parameters_type, setting_type = BestNumberParameters, Setting


AnyBest = TypeVar("AnyBest", bound=BestModel)


class BestOf(PrivateEstimator[AnyBest]):
    """What the choice of classes and that of numbers share."""

    empty_rows = True  # each candidate is fitted on the public number of rows

    def numbers(self, rows: int) -> int:
        """Return how many numbers the largest of the candidates' files holds."""
        setting = self._setting(rows)
        noise, facts = self.noise, (self.attributes, self.target)
        each = ((c.learner, setting.parameters_of(c)) for c in setting.candidates)
        most: int = max(chosen.private(*facts, given, noise).numbers(rows - setting.held) for chosen, given in each)
        return most

    def _learn(self, ask: Ask, setting: Setting, X: NDArray[np.float64], y: NDArray[Any]) -> AnyBest:
        filled, held = has_target(y), setting.held_out()

        def attempt(of_try: Ask, number: int) -> tuple[int, tuple[int, Model[Any], int]]:
            parts, noise = of_try, self.noise
            if of_try.private:
                fit = PureDp(exact(floor_double(setting.of_fit)), FIT)
                parts = of_try.into(TRY, (fit, PureDp(setting.of_score, SCORE)))
                noise = _Share(parts, self.noise)
            candidate = setting.candidates[number]
            facts = setting.attributes, setting.target, setting.parameters_of(candidate)
            model = candidate.learner.private(*facts, noise).fit(X[~held], y[~held]).model_
            # Asked about the empty rows, too: with as many rows as ever, no double hangs on how many are empty.
            tried, right = X[held], 0
            if setting.held:
                said = np.concatenate([model.predict(tried[here]) for here in blocks_of(setting.held)])
                right = setting.score(said[filled[held]], y[held & filled])
            (noisy,) = parts(SCORE, [right], setting.unit)
            if of_try.private:
                parts.finish()
            return noisy, (number, model, noisy)

        number, model, score = ask.best_of(BEST, setting.parameters.tries, len(setting.candidates), attempt)
        return self.model_type(setting, self.noise.name, {BEST: [score]}, number, model)  # type: ignore[call-arg, return-value]


class BestClassifier(BestOf[BestClassModel]):
    """The best of several classifiers."""

    model_type = BestClassModel


class BestRegression(BestOf[BestNumberModel]):
    """The best of several models of numbers."""

    model_type = BestNumberModel


_ABOUT = "Fits a random number of candidates, each drawn at random, and releases the one with the best noisy score."

BEST_CLASSIFIER = BestClassifier.described("Best of several classifiers", _ABOUT, short="Best classifier")

BEST_REGRESSION = BestRegression.described("Best of several regressions", _ABOUT, short="Best regression")
