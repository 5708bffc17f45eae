"""Run by a peer environment's Python: the two pictures as they are drawn in class, with diffprivlib and scikit-learn.

For naive Bayes and for logistic regression, accuracy on held-out rows against ε: without privacy, trained on a table
whose every value went through the staircase mechanism, and with diffprivlib's own model. As in class, each value is
drawn by itself, and again until it lies within its bounds. What is favourable to this script is done here, too: one
mechanism for a column rather than one for each value, and one model without privacy for all ε. ``redraw`` as false
clips instead, which is faster and not what is done in class.
"""

import json
import sys
import time
import warnings

import numpy as np
from diffprivlib import models
from diffprivlib.mechanisms import Staircase
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB


def sanitised(X, lower, upper, epsilon, redraw):
    """Return the table with staircase noise on every value."""
    out = np.empty_like(X)
    for j in range(X.shape[1]):
        mechanism = Staircase(epsilon=epsilon, sensitivity=upper[j] - lower[j])
        for i in range(X.shape[0]):
            value = mechanism.randomise(X[i, j])
            while redraw and not lower[j] <= value <= upper[j]:
                value = mechanism.randomise(X[i, j])
            out[i, j] = value
    return np.clip(out, lower, upper)


def ordinary(kind):
    return GaussianNB() if kind == "naive-bayes" else LogisticRegression(max_iter=1000)


def private(kind, epsilon, lower, upper):
    if kind == "naive-bayes":
        return models.GaussianNB(epsilon=epsilon, bounds=(lower, upper))
    return models.LogisticRegression(epsilon=epsilon, data_norm=float(np.linalg.norm([1.0] * len(lower))))


def picture(kind, X, y, lower, upper, task):
    scaled = kind == "logistic-regression"  # to [0, 1], so that the norm is known and the optimiser converges
    if scaled:
        X, lower, upper = (X - lower) / (upper - lower), np.zeros(len(lower)), np.ones(len(upper))
    figures = {"none": [], "sanitized": [], "private": []}
    for repeat in range(task["repeats"]):
        train_X, test_X, train_y, test_y = train_test_split(X, y, test_size=0.2, stratify=y, random_state=repeat)
        figures["none"].append(float(ordinary(kind).fit(train_X, train_y).score(test_X, test_y)))
        for epsilon in task["epsilons"]:
            noisy = sanitised(train_X, lower, upper, epsilon, task["redraw"])
            figures["sanitized"].append(float(ordinary(kind).fit(noisy, train_y).score(test_X, test_y)))
            model = private(kind, epsilon, lower, upper)
            figures["private"].append(float(model.fit(train_X, train_y).score(test_X, test_y)))
    return {name: float(np.mean(values)) for name, values in figures.items()}


def main():
    warnings.simplefilter("ignore")
    task = json.load(sys.stdin)
    lower, upper = np.array(task["lower"], float), np.array(task["upper"], float)
    rows = np.loadtxt(task["table"], delimiter=",", skiprows=1)
    X, y = np.clip(rows[:, :-1], lower, upper), rows[:, -1].astype(int)
    out = {}
    for kind in task["models"]:
        begun = time.perf_counter()
        out[kind] = {"figures": picture(kind, X, y, lower, upper, task)}
        out[kind]["seconds"] = time.perf_counter() - begun
    json.dump(out, sys.stdout)


if __name__ == "__main__":
    main()
