"""``chances``: a target of names, drawn by the chances that a private model gives each row.

1. Most of the budget trains private logistic regression (:mod:`workbench.learners.logistic_regression`) on the rows,
   each value read as the middle of its cell. With a δ and many rows it sees products of two columns: what two of them
   say of the target only together, for every pair, which tables of three columns have for a few.
2. The rest is spent as ``mst`` spends it: every column alone, the target too, and a tree of pairs of the others. What
   the target is beside them is the model's part, so that these need only lie about where the rows do.
3. A drawn row's target is drawn by the model's chances, to a power, times a factor for each name: names are about as
   frequent as counted, and the likeliest one is drawn as often as the model names rows right, which is counted too
   (the limits of a training's gradients make it too sure of itself). From nine rows in ten that it names right the
   target is taken for what the other columns decide: each row has the likeliest name.

It pays beside columns of names, of rows so many that the model sees products
(``tests/benchmarks/results/ten_tables.md``). Where it sees none (no δ, few rows, little ε), or the target is of
numbers, may be missing or is named by a statement of what is impossible, it is ``marginals``.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from workbench.learners.logistic_regression.estimator import LogisticRegression, LogisticRegressionModel
from workbench.privacy.entropy import Entropy
from workbench.synth.base import MODEL, Query, Questions, Setting, Synthesiser, Tables, split
from workbench.synth.cliques import Doubles
from workbench.synth.columns import CodedRows, Codes
from workbench.synth.line import LEAST, asked_by, beside, learner_of, parts
from workbench.synth.marginals import MARGINALS
from workbench.synth.mst import tree_asked, tree_queries
from workbench.synth.row_sampler import uniforms
from workbench.work.ask import Ask

PART = 0.9  # of the budget, for the model

RIGHT, _RIGHT_PART = "rows that the model names right", 0.1
"""What is counted of the model, with a part of what it leaves."""

DECIDED = 0.9  # share of rows that the model names right, from which the other columns decide the target

BY_CHANCES, LIKELIEST, AS_MARGINALS = (
    "the target is drawn by the chances that the private model gives each row",
    "the target is each row's likeliest name by the private model, which is right for at least 90 % of rows as counted",
    "no model was trained, and the target is drawn as by marginals",
)
"""How the target is drawn, for certificates."""

_FLATTEST, _SHARPEST = 0.05, 8.0
_TRIED, _HALVINGS, _ROUNDS, _TURNS = 20_000, 12, 30, 200
_LEAST = 1e-4
_NEVER = 1e-12


def has_chances(setting: Setting) -> bool:
    """Return whether a model is trained."""
    target, budget = setting.target, setting.budget
    if target is None or len(setting.columns) < 3 or not budget.gaussian or parts(budget, PART)[0].epsilon < LEAST:
        return False
    column = setting.columns[target]
    if column.ordered or column.size > column.cuts or any(target in columns for columns, _ in setting.impossible):
        return False
    descent = _learner(setting).descent(setting.rows) if column.cuts > 1 else None
    return descent is not None and descent.bends


def numbers_of(setting: Setting) -> int:
    """Return how many numbers each round of the training makes of the rows."""
    descent = _learner(setting).descent(setting.rows) if has_chances(setting) else None
    return setting.rows * descent.classes * descent.seen if descent else 0


def inner_of(setting: Setting) -> Setting:
    """Return the setting in which the rest of the budget is spent."""
    return replace(setting, epsilon=parts(setting.budget, PART)[1].epsilon) if has_chances(setting) else setting


def _learner(setting: Setting) -> LogisticRegression:
    made: LogisticRegression = learner_of(LogisticRegression, setting, parts(setting.budget, PART)[0])
    return made


def _others(setting: Setting) -> list[int]:
    return [place for place in range(len(setting.columns)) if place != setting.target]


def _queries(setting: Setting) -> tuple[Query, ...]:
    if not has_chances(setting):
        return MARGINALS.queries(setting)
    right, rest = parts(parts(setting.budget, PART)[1], _RIGHT_PART)
    asked = *asked_by(_learner(setting), setting), *split(right, [(RIGHT, MODEL, 1.0)])
    return (*asked, *tree_queries(setting, rest, _others(setting)))


def _ask(questions: Questions) -> Tables:
    setting, target = questions.setting, questions.setting.target
    if not has_chances(setting):
        return replace(MARGINALS.ask(questions), stated=AS_MARGINALS)
    learner = _learner(setting)

    def trained(ask: Ask, rows: CodedRows) -> tuple[LogisticRegressionModel, float]:
        codes = rows.codes[rows.present]
        X, y = beside(setting, codes), codes[:, target].astype(np.int64)
        model = learner.learned(ask, setting.rows, X, y, questions.cancel)
        (right,) = ask(RIGHT, [int((model.predict(X) == y).sum())], 1)  # the model is released: each row by itself
        return model, right / setting.rows

    model, right = questions.model(trained)
    tables = tree_asked(questions, _others(setting), _queries(setting)[-1].paid.strength)
    stated = LIKELIEST if right >= DECIDED else BY_CHANCES
    return replace(tables, finish=lambda codes, coins: _drawn(setting, model, right, codes, coins), stated=stated)


def _says(setting: Setting) -> tuple[str, ...]:
    return (BY_CHANCES, LIKELIEST) if has_chances(setting) else (AS_MARGINALS,)


def _drawn(setting: Setting, model: LogisticRegressionModel, right: float, codes: Codes, coins: Entropy) -> Codes:
    """Return drawn rows with a target drawn by the model; its names are about as frequent as in ``codes``."""
    assert setting.target is not None
    out, own = codes.copy(), codes[:, setting.target]
    found = model.predict_proba(beside(setting, codes))
    wanted = np.bincount(own, minlength=found.shape[1]) / len(own)
    if right >= DECIDED:
        out[:, setting.target] = likeliest(found, wanted)
        return out
    low, high = _FLATTEST, _SHARPEST
    for _ in range(_HALVINGS):
        power = math.sqrt(low * high)
        sure = shifted(found[:_TRIED], wanted, power).max(axis=1).mean() > right
        low, high = (low, power) if sure else (power, high)
    ends = np.cumsum(shifted(found, wanted, low), axis=1)
    out[:, setting.target] = (ends <= uniforms(len(own), coins)[:, None] * ends[:, -1:]).sum(axis=1)
    return out


def likeliest(chances: Doubles, wanted: Doubles) -> Codes:
    """Return the largest of each row's chances (n, k), times a factor for each name: as frequent as ``wanted``."""
    heights, factors = np.log(chances + _NEVER), np.zeros(len(wanted))
    for turn in range(_TURNS):
        some = (heights[:_TRIED] + factors).argmax(axis=1)
        shares = np.bincount(some, minlength=len(wanted)) / len(some)
        factors += 0.3 / (1 + turn / 20) * np.log((wanted + _LEAST) / (shares + _LEAST))
    return np.asarray((heights + factors).argmax(axis=1))


def shifted(chances: Doubles, wanted: Doubles, power: float) -> Doubles:
    """Return chances (n, k), to a power, times a factor for each name with which their means are those ``wanted``."""
    out = chances**power + _NEVER
    for _ in range(_ROUNDS):
        out *= wanted / np.maximum(out.mean(axis=0), _NEVER)
        out /= np.maximum(out.sum(axis=1, keepdims=True), _NEVER)
    return out


CHANCES = Synthesiser(
    name="chances",
    title="A target by the chances of a private model",
    help="trains private logistic regression of a target of names, by whose chances it is drawn; the rest as mst does",
    needs_target=True,
    queries=_queries,
    ask=_ask,
    inner=inner_of,
    numbers=numbers_of,
    says=_says,
)
