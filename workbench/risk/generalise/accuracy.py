"""How well a classifier predicts a column from the quasi-identifiers, as they are and as they would be published."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from workbench.risk.generalise.generalised import Generalised
from workbench.risk.generalise.problem import Whole

FOLDS = 5


@dataclass(frozen=True)
class Accuracy:
    """Shares of right predictions of rows that the classifier was not trained on; a guess says the commonest value."""

    before: float
    after: float
    guess: float


def accuracy(found: Generalised) -> Accuracy | None:
    """Return the accuracy of a naive Bayes classifier on the rows that are published, by cross-validation.

    ``None`` where no column is to be predicted, or one of its values has fewer rows than there are folds.
    """
    if found.asked.target is None:
        return None
    rows = found.published_rows
    target = found.table.column(found.asked.target).gather(rows).fill_null("").to_numpy()
    values, y, counts = np.unique(target.astype(str), return_inverse=True, return_counts=True)
    if len(values) < 2 or counts.min() < FOLDS:
        return None
    before, after = [], []
    for place in range(len(found.asked.quasi)):
        before.append(found.problem.columns[place][found.problem.entry_of][rows])
        labels, at = found.labels(place)
        text = {label: code for code, label in enumerate(dict.fromkeys(labels))}
        after.append(np.array([text[label] for label in labels], dtype=np.int64)[at[rows]])
    guess = float(counts.max() / len(y))
    return Accuracy(_scored(np.stack(before, axis=1), y), _scored(np.stack(after, axis=1), y), guess)


def _scored(x: Whole, y: Whole) -> float:
    from sklearn.model_selection import StratifiedKFold, cross_val_score
    from sklearn.naive_bayes import CategoricalNB

    model = CategoricalNB(min_categories=x.max(axis=0) + 1)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    return float(np.mean(cross_val_score(model, x, y, cv=folds)))
