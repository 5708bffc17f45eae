"""Run by a peer environment's Python: anonymeter's risks of the releases in a folder, to standard output."""

import json
import sys
import time
import warnings
from pathlib import Path

import pandas as pd
from anonymeter.evaluators import InferenceEvaluator, LinkabilityEvaluator, SinglingOutEvaluator
from anonymeter.stats.confidence import residual_success


def told(evaluator, **how):
    begun = time.process_time()
    evaluator.evaluate(**how)
    seconds = time.process_time() - begun
    found = evaluator.risk(confidence_level=0.95)
    rates = evaluator.results(confidence_level=0.95)
    uncut = residual_success(rates.attack_rate, rates.control_rate)
    return {"risk": found.value, "low": found.ci[0], "high": found.ci[1], "uncut": uncut, "seconds": seconds}


def main() -> None:
    warnings.simplefilter("ignore")
    task = json.load(sys.stdin)
    folder, attacks = Path(task["folder"]), task["attacks"]
    original, control = pd.read_csv(folder / "original.csv"), pd.read_csv(folder / "control.csv")
    every = {}
    for name in task["releases"]:
        given = {"ori": original, "syn": pd.read_csv(folder / f"{name}.csv"), "control": control}
        every[name] = {}
        for mode, count in (("univariate", task["univariate"][name]), ("multivariate", task["multivariate"][name])):
            one = SinglingOutEvaluator(**given, n_attacks=count, max_attempts=50 * attacks, seed=0)
            every[name][mode] = told(one, mode=mode)
        link = LinkabilityEvaluator(**given, aux_cols=task["files"], n_attacks=attacks)
        every[name]["linkability"] = told(link, n_jobs=1)
        known = {"aux_cols": task["known"], "secret": task["secret"]}
        every[name]["inference"] = told(InferenceEvaluator(**given, **known, n_attacks=attacks), n_jobs=1)
    json.dump(every, sys.stdout)


if __name__ == "__main__":
    main()
