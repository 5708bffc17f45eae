"""A learner in one short file, as anybody could add one: the mean of the target in each part of the third column."""

from dataclasses import dataclass

import numpy as np

from workbench.learners.base import Model, PrivateEstimator
from workbench.learners.setting import FitSetting, privacy_budget
from workbench.learners.tasks import REGRESSION
from workbench.params import Parameters, integer
from workbench.privacy.central.sums import on_grid, parts_of, unscaled

STEPS = 1000


@dataclass(frozen=True, kw_only=True)
class BinParameters(Parameters):
    epsilon: float | None = privacy_budget()
    bins: int = integer(default=5, at_least=1, upto=50, title="parts", help="parts of the third column's range")


class BinSetting(FitSetting[BinParameters]):
    def lengths(self):
        return dict.fromkeys(("sizes", "sums"), self.parameters.bins)

    def bins(self, X):
        return parts_of(np.asarray(X)[:, 2], *self.attributes[2].bounds(), self.parameters.bins)


class BinModel(Model[BinSetting]):
    name, task, parameters_type, setting_type = "bin-means", REGRESSION, BinParameters, BinSetting

    def predict(self, X):
        heights = np.array(self.answers["sums"]) / STEPS / np.maximum(self.answers["sizes"], 1)
        return unscaled(np.clip(heights, -1, 1), *self.setting.target.bounds())[self.setting.bins(X)]


class BinMeans(PrivateEstimator[BinModel]):
    model_type = BinModel

    def _answers(self, ask, setting, X, y):
        bins, count = setting.bins(X), setting.parameters.bins
        cells = on_grid(y, *setting.target.bounds(), STEPS)
        exact = {"sizes": np.bincount(bins, minlength=count), "sums": np.bincount(bins, cells, count)}
        return {"sizes": ask("sizes", exact["sizes"], 1), "sums": ask("sums", exact["sums"], STEPS)}


TOY = BinMeans.described("Means of parts", "It says the mean of the part that a row falls into.")
