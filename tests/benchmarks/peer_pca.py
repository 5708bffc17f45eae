"""Run by a peer environment's Python: diffprivlib's PCA on splits from standard input, components to output."""

import json
import signal
import sys
import warnings

import numpy as np
from diffprivlib.models import PCA

SECONDS = 3  # its sampler can hang; a fit that ends takes a few milliseconds
MOST_HUNG = 4  # hung fits of one setting, after which the others of it are not tried


class TooLongError(Exception):
    pass


def stop(*_args):
    raise TooLongError


def fits(X, epsilon, norm, task):
    told = []
    for repeat, rows in enumerate(task["splits"]):
        largest = norm * X.shape[1] ** 0.5
        model = PCA(task["components"], epsilon=epsilon, bounds=(-1, 1), data_norm=largest, random_state=repeat)
        if told.count(None) >= MOST_HUNG:
            told.append(None)
            continue
        signal.alarm(SECONDS)
        try:
            told.append(model.fit(X[rows]).components_.tolist())
        except TooLongError:
            told.append(None)
        finally:
            signal.alarm(0)
    return told


def main() -> None:
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, stop)
    task = json.load(sys.stdin)
    lower, upper = np.array(task["lower"], float), np.array(task["upper"], float)
    X = np.clip((np.array(task["X"]) - lower) / (upper - lower) * 2 - 1, -1, 1)  # as ours are encoded
    json.dump([[fits(X, epsilon, norm, task) for epsilon in task["epsilons"]] for norm in task["norms"]], sys.stdout)


if __name__ == "__main__":
    main()
