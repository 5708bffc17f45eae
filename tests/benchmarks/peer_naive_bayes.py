"""Run by a peer environment's Python: diffprivlib's GaussianNB on splits from standard input, accuracies to output."""

import json
import sys
import warnings

import numpy as np
from diffprivlib.models import GaussianNB


def main() -> None:
    warnings.simplefilter("ignore")
    task = json.load(sys.stdin)
    X, y = np.array(task["X"]), np.array(task["y"])
    out = []
    for epsilon in task["epsilons"]:
        accuracies = []
        for repeat, (train, test) in enumerate(task["splits"]):
            model = GaussianNB(epsilon=epsilon, bounds=(task["lower"], task["upper"]), random_state=repeat)
            accuracies.append(float(model.fit(X[train], y[train]).score(X[test], y[test])))
        out.append(accuracies)
    json.dump(out, sys.stdout)


if __name__ == "__main__":
    main()
