"""Run by a peer environment's Python: anonymeter's risks of the releases in a folder, to standard output."""

import json
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from anonymeter.evaluators import InferenceEvaluator, LinkabilityEvaluator, SinglingOutEvaluator
from anonymeter.stats.confidence import residual_success


def told(evaluator, **how):
    begun = time.process_time()
    evaluator.evaluate(**how)
    seconds = time.process_time() - begun
    found = evaluator.risk(confidence_level=0.95)
    rates = evaluator.results(confidence_level=0.95)
    value, error = residual_success(rates.attack_rate, rates.control_rate)
    shown, uncut = (found.ci[0], found.value, found.ci[1]), (value - error, value, value + error)
    return {"shown": shown, "uncut": uncut, "seconds": seconds}


def main() -> None:
    warnings.simplefilter("ignore")
    task = json.load(sys.stdin)
    folder, attacks = Path(task["folder"]), task["attacks"]
    original, control = pd.read_csv(folder / "original.csv"), pd.read_csv(folder / "control.csv")
    every = {}
    for name in task["releases"]:
        given = {"ori": original, "syn": pd.read_csv(folder / f"{name}.csv"), "control": control}
        known = {"aux_cols": task["known"], "secret": task["secret"]}
        found = {mode: [] for mode in ("univariate", "multivariate", "linkability", "inference")}
        for seed in range(task["draws"]):
            np.random.seed(seed)  # the people whom it draws
            for mode in ("univariate", "multivariate"):
                one = SinglingOutEvaluator(
                    **given, n_attacks=task[mode][name][seed], max_attempts=50 * attacks, seed=seed
                )
                found[mode].append(told(one, mode=mode))
            link = LinkabilityEvaluator(**given, aux_cols=task["files"], n_attacks=attacks)
            found["linkability"].append(told(link, n_jobs=1))
            found["inference"].append(told(InferenceEvaluator(**given, **known, n_attacks=attacks), n_jobs=1))
        every[name] = found
    json.dump(every, sys.stdout)


if __name__ == "__main__":
    main()
