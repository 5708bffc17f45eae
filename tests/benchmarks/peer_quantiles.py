"""Run by a peer environment's Python: diffprivlib's quantiles of the columns on standard input, to standard output."""

import json
import sys
import warnings

import numpy as np
from diffprivlib.tools import quantile


def drawn(x, at, epsilon, bounds, repeats):
    try:
        return [np.ravel(quantile(x, at, epsilon=epsilon, bounds=bounds)).tolist() for _ in range(repeats)]
    except RuntimeError:  # its weights are no numbers where many values are alike
        return None


def main() -> None:
    warnings.simplefilter("ignore")
    task = json.load(sys.stdin)
    told = {}
    for name, column in task["columns"].items():
        x, bounds = np.array(column["x"], float), tuple(column["bounds"])
        told[name] = [
            [drawn(x, at if len(at) > 1 else at[0], epsilon, bounds, repeats) for epsilon in task["epsilons"]]
            for at, repeats in task["asked"]
        ]
    json.dump(told, sys.stdout)


if __name__ == "__main__":
    main()
