"""A learner in one short file, as anybody could add one: the mean of the target in each part of the third column."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from workbench.learners.base import Model, PrivateEstimator
from workbench.learners.setting import FitSetting, privacy_budget
from workbench.learners.sums import on_grid, scaled
from workbench.learners.tasks import REGRESSION
from workbench.params import Parameters, integer

STEPS = 1000


@dataclass(frozen=True, kw_only=True)
class BinParameters(Parameters):
    epsilon: float | None = privacy_budget()
    bins: int = integer(default=5, at_least=1, upto=50, title="parts", help="parts of the third column's range")


class BinSetting(FitSetting[BinParameters]):
    weights = {"sizes": 1.0, "sums": 1.0}  # noqa: RUF012

    def lengths(self):
        return dict.fromkeys(self.weights, self.parameters.bins)

    def bins(self, X):
        place = (scaled(np.asarray(X)[:, 2], *self.attributes[2].bounds()) + 1) / 2
        return np.minimum((place * self.parameters.bins).astype(np.int64), self.parameters.bins - 1)


class BinModel(Model[BinSetting]):
    name, task, parameters_type, setting_type = "bin-means", REGRESSION, BinParameters, BinSetting

    def predict(self, X):
        lower, upper = self.setting.target.bounds()
        heights = np.array(self.answers["sums"]) / STEPS / np.maximum(self.answers["sizes"], 1)
        return (lower + upper + np.clip(heights, -1, 1) * (upper - lower))[self.setting.bins(X)] / 2


class BinMeans(PrivateEstimator[BinModel]):
    model_type = BinModel

    def _learn(self, ask, setting, X, y):
        bins, count = setting.bins(X), setting.parameters.bins
        sizes, sums = np.bincount(bins, minlength=count), np.zeros(count, dtype=np.int64)
        np.add.at(sums, bins, on_grid(y, *setting.target.bounds(), STEPS))
        answers = {"sizes": ask("sizes", sizes.tolist(), 1), "sums": ask("sums", sums.tolist(), STEPS)}
        return BinModel(setting, self.noise.name, answers)


TOY = BinMeans.described("Means of parts", "It says the mean of the part that a row falls into.")
