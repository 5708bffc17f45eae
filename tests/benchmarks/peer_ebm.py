"""Run by a peer environment's Python: interpret's DP-EBM on splits from standard input, what it says to output."""

import json
import sys
import warnings

import numpy as np
from interpret.privacy import DPExplainableBoostingClassifier, DPExplainableBoostingRegressor

DELTA = 1e-6


def main() -> None:
    warnings.simplefilter("ignore")
    task = json.load(sys.stdin)
    X, y, bounds, target = np.array(task["X"]).astype(object), np.array(task["y"]), task["bounds"], task["target"]
    for j, known in enumerate(bounds):
        if known is None:
            X[:, j] = [f"value {int(code)}" for code in X[:, j]]
    keys = {
        "delta": DELTA,
        "feature_types": ["nominal" if known is None else "continuous" for known in bounds],
        "privacy_bounds": {j: tuple(known) for j, known in enumerate(bounds) if known is not None},
        "random_state": None,
        "n_jobs": 1,
    }
    kind = DPExplainableBoostingClassifier
    if target is not None:
        kind = DPExplainableBoostingRegressor
        keys |= {"privacy_target_min": target[0], "privacy_target_max": target[1]}
    out = []
    for epsilon in task["epsilons"]:
        fitted = [(kind(epsilon=epsilon, **keys).fit(X[train], y[train]), test) for train, test in task["splits"]]
        out.append([model.predict(X[test]).tolist() for model, test in fitted])
    json.dump(out, sys.stdout)


if __name__ == "__main__":
    main()
