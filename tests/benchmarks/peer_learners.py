"""Run by a peer environment's Python: diffprivlib's models on splits from standard input, what they say to output."""

import json
import sys
import warnings

import numpy as np
from diffprivlib import models


def fitted(kind, epsilon, task, X, y, repeat):
    bounds = (np.array(task["lower"], float), np.array(task["upper"], float))
    if kind == "linear-regression":
        model = models.LinearRegression(
            epsilon=epsilon, bounds_X=bounds, bounds_y=tuple(task["target"]), random_state=repeat
        )
    elif kind == "kmeans":
        model = models.KMeans(task["classes"], epsilon=epsilon, bounds=bounds, random_state=repeat)
    elif kind == "logistic-regression":
        norm = float(np.linalg.norm(np.maximum(np.abs(bounds[0]), np.abs(bounds[1]))))
        model = models.LogisticRegression(epsilon=epsilon, data_norm=norm, random_state=repeat)
    elif kind == "random-forest":
        model = models.RandomForestClassifier(
            epsilon=epsilon, bounds=bounds, classes=list(range(task["classes"])), random_state=repeat
        )
    else:
        raise ValueError(kind)
    return model.fit(X, y)


def main() -> None:
    warnings.simplefilter("ignore")
    task = json.load(sys.stdin)
    X, y = np.array(task["X"]), np.array(task["y"])
    if task["scaled"]:  # to [-1, 1] by the public bounds, which helps this peer
        lower, upper = np.array(task["lower"], float), np.array(task["upper"], float)
        X = np.clip((X - lower) / (upper - lower) * 2 - 1, -1, 1)
        task["lower"], task["upper"] = [-1.0] * X.shape[1], [1.0] * X.shape[1]
    out = []
    for epsilon in task["epsilons"]:
        told = []
        for repeat, (train, test) in enumerate(task["splits"]):
            model = fitted(task["kind"], epsilon, task, X[train], y[train], repeat)
            said = np.asarray(model.predict(X[test]), float).tolist()
            centres = model.cluster_centers_.tolist() if task["kind"] == "kmeans" else None
            told.append({"said": said, "centres": centres})
        out.append(told)
    json.dump(out, sys.stdout)


if __name__ == "__main__":
    main()
