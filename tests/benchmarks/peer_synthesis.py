"""Run by a peer environment's Python: rows that OpenDP, SmartNoise or dpmm makes of splits from standard input.

The rows come and go as codes: 16 public cuts of each column of numbers, and names. Each program knows all codes.
"""

import json
import random
import sys
import time
import warnings

import numpy as np


def opendp(kind, task, at, codes, names, seed):
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib")
    rho = task["rhos"][at]
    context = dp.Context.compositor(
        data=pl.LazyFrame(codes, schema=names),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(rho=rho),
    )
    keys = {name: list(range(size)) for name, size in zip(names, task["sizes"], strict=True)}
    algorithm = {"aim": dp.mbi.AIM, "mst": dp.mbi.MST}[kind]()
    found = context.query(rho=rho).select(*names).contingency_table(keys=keys, algorithm=algorithm).release()
    made = found.synthesize(rows=len(codes), method="sample")
    return made.select(pl.col(name).fill_null(0) for name in names).to_numpy()


def smartnoise(kind, task, at, codes, names, seed):
    import pandas as pd
    from snsynth import Synthesizer

    made = Synthesizer.create(kind, epsilon=task["epsilons"][at], delta=task["delta"], verbose=False)
    table = pd.DataFrame(codes, columns=names)
    # Without a part of epsilon for it, it takes the names that occur for the public ones, which helps this peer.
    made.fit(table, categorical_columns=list(names), preprocessor_eps=0.0)
    return made.sample(len(codes))[names].to_numpy()


def dpmm(kind, task, at, codes, names, seed):
    import pandas as pd
    from dpmm import pipelines

    pipeline = {"aim": pipelines.AIMPipeline, "mst": pipelines.MSTPipeline, "privbayes": pipelines.PrivBayesPipeline}
    # Codes need none of its private cuts: all of epsilon goes into the model.
    how = {"disable_processing": True, "n_jobs": 1, "max_model_size": 80}  # MB: without an end it takes minutes
    made = pipeline[kind](epsilon=task["epsilons"][at], delta=task["delta"], **how)
    made.fit(pd.DataFrame(codes, columns=names), dict(zip(names, task["sizes"], strict=True)), random_state=seed)
    return made.generate(n_records=len(codes), random_state=seed)[names].to_numpy()


PROGRAMS = {"opendp": opendp, "smartnoise": smartnoise, "dpmm": dpmm}


def main() -> None:
    warnings.simplefilter("ignore")
    task, answers = json.load(sys.stdin), sys.stdout
    sys.stdout = sys.stderr  # some of them print
    codes, names = np.array(task["codes"]), [f"c{j}" for j in range(len(task["sizes"]))]
    out = []
    for at in range(len(task["epsilons"])):
        told = []
        for (train, _), seed in zip(task["splits"], task["seeds"], strict=True):
            np.random.seed(seed)
            random.seed(seed)
            begun = time.process_time()
            made = PROGRAMS[task["program"]](task["kind"], task, at, codes[train], names, seed)
            told.append({"codes": made.tolist(), "seconds": time.process_time() - begun})
        out.append(told)
    json.dump(out, answers)


if __name__ == "__main__":
    main()
