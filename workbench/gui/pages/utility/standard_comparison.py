"""The comparison that is drawn in class: two models, three ways of training, ε over three decades."""

from __future__ import annotations

MODELS = ("naive-bayes", "logistic-regression")
REGIMES = ("none", "sanitized:staircase", "private")
EPSILONS = "0.1:100:13"
REPEATS = 20

TIP = (
    "The pictures that are drawn in class, one after the other: naive Bayes and logistic regression, without privacy, "
    f"on a table sanitised by the staircase, and private; 13 values of ε from 0.1 to 100, {REPEATS} repeats"
)
DRAWN = "Both pictures are drawn; Compare shows them together."
