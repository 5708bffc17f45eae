"""How good predicted classes are, all figures in [0, 1]."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

ACCURACY = "accuracy"


def classification_metrics(truth: NDArray[np.int64], predicted: NDArray[np.int64], classes: int) -> dict[str, float]:
    """Return accuracy, balanced accuracy and, of two classes, F1 of the second.

    Balanced accuracy is the mean recall of the classes that occur. F1 = 2·TP/(2·TP + FP + FN), 0 where no row is or
    is said to be of the second class.

    Args:
        truth: class code of each row (n,), n ≥ 1.
        predicted: the code that was said (n,).
        classes: number of declared classes.
    """
    right = truth == predicted
    sizes = np.bincount(truth, minlength=classes)
    hits = np.bincount(truth[right], minlength=classes)
    occur = sizes > 0
    out = {ACCURACY: float(right.mean()), "balanced_accuracy": float((hits[occur] / sizes[occur]).mean())}
    if classes == 2:
        said = int((predicted == 1).sum())
        # 2·TP + FP + FN is the number of rows of the class and of rows said to be of it.
        either = int(sizes[1]) + said
        out["f1"] = 2 * int(hits[1]) / either if either else 0.0
    return out
