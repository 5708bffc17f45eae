"""The released answers: the asked rows, and the noisy cell of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.learners.base import plain_part
from workbench.learners.median_forest.asked_rows import AskedRows
from workbench.learners.median_forest.parameters import MedianParameters
from workbench.learners.median_forest.setting import Setting
from workbench.learners.plain import facts_from_plain, facts_to_plain
from workbench.learners.queries import checked_whole_numbers
from workbench.learners.tasks import REGRESSION
from workbench.params import InputError, ParameterError

_FORMAT = 2
_ANSWERS = "predictions"


class AnsweredRows:
    """A model that predicts the rows it was asked about when it was released, and no others.

    Attributes:
        setting: the public facts.
        learner: the learner's name.
        noise: one of ``released``, ``study`` and ``none``.
        asked: the rows.
        answers: the cell of each row's answer.
    """

    def __init__(self, setting: Setting, learner: str, noise: str, asked: AskedRows, answers: Sequence[int]) -> None:
        self.setting = setting
        self.learner = learner
        self.noise = noise
        self.asked = asked
        self.answers = tuple(answers)

    def require_answered(self, X: ArrayLike) -> NDArray[np.int64]:
        """Return the place of each row of X (n, d) among the asked ones.

        Raises:
            InputError: a row is none of them; its number is named.
        """
        places = self.asked.places(X, self.setting.facts.attributes)
        if (places < 0).any():
            row = int(np.argmax(places < 0)) + 1
            raise InputError(
                f"the model was not asked about this row when it was released: it answers {len(self.asked)} rows "
                "alone, as each prediction costs epsilon",
                f"row {row}",
                "predict the rows that it was asked about, or fit again and ask about others",
            )
        return places

    def predict(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the released answer for each row (n,), a value of the public grid."""
        return self.setting.to_numbers(np.array(self.answers, dtype=np.int64)[self.require_answered(X)])

    def to_plain(self) -> dict[str, Any]:
        """Return public facts, asked rows and answers as JSON holds them."""
        return {
            **facts_to_plain(self.learner, _FORMAT, self.noise, self.setting.facts),
            "asked": self.asked.to_plain(),
            "answers": {_ANSWERS: list(self.answers)},
        }

    @classmethod
    def from_plain(cls, values: Mapping[str, Any], learner: str, parameters: type[MedianParameters]) -> AnsweredRows:
        """Return the model that :meth:`to_plain` wrote.

        Raises:
            ParameterError: a key is missing, or a value is not what such a model can hold; the message names it.
        """
        setting = Setting(facts_from_plain(values, learner, _FORMAT, parameters, REGRESSION))
        asked = AskedRows.from_plain(plain_part(values, "asked", list), setting.facts.attributes)
        stated = checked_whole_numbers(plain_part(values, "answers", dict), {_ANSWERS: len(asked)})[_ANSWERS]
        if not all(0 <= cell < setting.cells for cell in stated):
            raise ParameterError(f"an answer is none of the {setting.cells} cells", "the model")
        return cls(setting, learner, values["noise"], asked, stated)
