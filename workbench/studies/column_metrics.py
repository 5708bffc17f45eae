"""How good the columns are that a model makes of held-out rows: components, and scaled columns."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def reduction_metrics(rows: NDArray[np.float64], rebuilt: NDArray[np.float64]) -> dict[str, float]:
    """Return the share of variance explained, and the root of the mean squared distance of rebuilt rows.

    The share is 1 − Σ‖r − r̄‖²/Σ‖x − x̄‖², r = x − x̂ being what a row x (n, D) differs from the rebuilt one x̂ by: it
    tells how good the directions are, wherever the model takes the mean to be. It is 0 where the rows do not vary. The
    error has the mean's in it; the declared range is 1.
    """
    left = rows - rebuilt
    whole = float(((rows - rows.mean(axis=0)) ** 2).sum())
    missed = float(((left - left.mean(axis=0)) ** 2).sum())
    explained = 1 - missed / whole if np.ptp(rows, axis=0).any() else 0.0
    return {"variance_explained": explained, "reconstruction_error": float((left**2).mean()) ** 0.5 / 2}


def scaling_metrics(columns: NDArray[np.float64]) -> dict[str, float]:
    """Return how far the means of scaled columns (n, m) are from 0, and their deviations from 1, on average.

    Missing values are left out, and so is a column that has no others.
    """
    known = columns[:, ~np.isnan(columns).all(axis=0)]
    if not known.size:
        return {"mean_error": 0.0, "scale_error": 0.0}
    means, deviations = np.nanmean(known, axis=0), np.nanstd(known, axis=0)
    return {"mean_error": float(np.abs(means).mean()), "scale_error": float(np.abs(deviations - 1).mean())}
