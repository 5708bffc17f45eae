"""The three risks of Giomi et al. (2023) beside anonymeter's, on the same six releases of a table of 768 rows.

anonymeter 1.1.0 needs an environment of its own (numpy below 1.27). Name its Python, and the table, and run::

    WORKBENCH_PEER_PYTHON=/path/to/python WORKBENCH_DIABETES=/path/to/diabetes.csv \\
        pytest -m benchmark tests/benchmarks/bench_anonymeter.py

The table is written to ``tests/benchmarks/results/anonymeter.md``.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from workbench import api
from workbench.data.read import read_table
from workbench.risk.attacks import attack
from workbench.risk.attacks.base import Subject
from workbench.risk.attacks.outcome import Outcome, Rate
from workbench.signals.cancel import CancelToken
from workbench.signals.events import ignore

pytestmark = pytest.mark.benchmark

HERE = Path(__file__).parent
PEER, DIABETES = os.environ.get("WORKBENCH_PEER_PYTHON", ""), os.environ.get("WORKBENCH_DIABETES", "")
ATTACKS, ROWS, PARTS, SECRET = 380, 384, 6, "Outcome"


def releases(original: pd.DataFrame, folder: Path) -> dict[str, pd.DataFrame]:
    """The six releases; those with ε draw as a release at ε = 3 does."""
    facts: dict[str, Any] = {
        "bounds": {n: (0, float(original[n].max())) for n in original.columns if n != SECRET},
        "domains": {SECRET: ["0", "1"]},
    }
    rounded = original.copy()
    for name in original.columns[:-1]:
        rounded[name] = pd.cut(original[name], PARTS, labels=False)
    plan = api.plan(original, epsilon=3, **facts, target=SECRET)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {"copy": original, "rounded": rounded, "noisy rows": api.release(original, plan)}
        for method in ("marginals", "mst", "aim"):
            found[method] = api.synthesize(original, plan, method=method, epsilon=3)
    for name, frame in found.items():
        frame.to_csv(folder / f"{name}.csv", index=False)
    return found


def ours(folder: Path, name: str, kind: str, **asked: Any) -> tuple[Outcome, float]:
    """One attack, and how many seconds of the processor it took."""
    chosen = attack(kind)
    tables = {part: read_table(folder / f"{part}.csv") for part in ("original", "control")}
    subject = Subject(release=read_table(folder / f"{name}.csv"), tables=tables)
    begun = time.process_time()
    found = chosen.run(subject, chosen.asked()(**asked), ignore, CancelToken())
    return found, time.process_time() - begun


def large_noisy_rows(folder: Path) -> str:
    """How long 2,000 attacks take on 10,000 noisy rows of 12 columns."""
    rng = np.random.default_rng(1)
    names = [f"c{i}" for i in range(12)]

    def people() -> pd.DataFrame:
        words = {n: rng.choice(list("abcd"), 10_000) for n in names[:6]}
        return pd.DataFrame({**words, **{n: rng.integers(0, 100, 10_000) for n in names[6:]}})

    original = people()
    facts = {"bounds": dict.fromkeys(names[6:], (0, 99)), "domains": {n: list("abcd") for n in names[:6]}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        released = api.release(original, api.plan(original, epsilon=1, **facts))
    for part, frame in (("original", original), ("control", people()), ("large", released)):
        frame.to_csv(folder / f"{part}.csv", index=False)
    told = []
    for kind in ("singling-out", "linkability", "inference"):
        outcome, seconds = ours(folder, "large", kind, attacks=2000)
        told.append(f"{kind} {seconds:.1f} s ({outcome.main.of:,} attacks)")
        assert seconds < 60
    return f"2,000 attacks on 10,000 noisy rows × 12 at ε = 1, with a control set of 10,000: {', '.join(told)}."


def test_risks_beside_anonymeter(tmp_path: Path) -> None:
    frame = pd.read_csv(DIABETES)
    order = np.random.default_rng(0).permutation(len(frame))
    parts = {"original": frame.iloc[order[:ROWS]], "control": frame.iloc[order[ROWS:]]}
    for part, rows in parts.items():
        rows.to_csv(tmp_path / f"{part}.csv", index=False)
    names = list(releases(parts["original"], tmp_path))
    known = [name for name in frame.columns if name != SECRET]
    found: dict[str, dict[str, tuple[Outcome, float]]] = {}
    for name in names:
        found[name] = {
            mode: ours(tmp_path, name, "singling-out", attacks=ATTACKS, mode=mode)
            for mode in ("univariate", "multivariate")
        }
        found[name]["linkability"] = ours(
            tmp_path, name, "linkability", attacks=ATTACKS, known=known[::2], others=known[1::2]
        )
        found[name]["inference"] = ours(tmp_path, name, "inference", attacks=ATTACKS, secret=SECRET)
    task = {
        "folder": str(tmp_path),
        "releases": names,
        "attacks": ATTACKS,
        "files": [known[::2], known[1::2]],
        "known": known,
        "secret": SECRET,
        **{mode: {n: found[n][mode][0].main.of for n in names} for mode in ("univariate", "multivariate")},
    }
    words = [PEER, str(HERE / "peer_anonymeter.py")]
    done = subprocess.run(words, input=json.dumps(task), capture_output=True, text=True, check=True, timeout=3600)
    theirs: dict[str, dict[str, Mapping[str, float]]] = json.loads(done.stdout)
    lines, apart, cut = [], [], []
    for name in names:
        for kind, (outcome, seconds) in found[name].items():
            here, there = outcome.risk, Rate(*(theirs[name][kind][key] for key in ("risk", "low", "high")))
            value, error = theirs[name][kind]["uncut"]
            if not (here.low <= there.value <= here.high and value - error <= here.value <= value + error):
                apart.append(f"{name}, {kind}")
            if there.value == 0 and there.high < here.value:
                cut.append(f"{name}, {kind} ({value:.3f} ± {error:.3f})")
            risks = [f"{one.value:.3f} ({one.low:.3f} to {one.high:.3f})" for one in (here, there)]
            times = [f"{one:.2f}" for one in (seconds, theirs[name][kind]["seconds"])]
            lines.append(f"| {' | '.join([name, kind, str(outcome.main.of), *risks, *times])} |")
            assert max(here.low, there.low) <= min(here.high, there.high), (name, kind, here, there)
    outside = "none" if not apart else "; ".join(apart)
    head = [
        "# The three risks beside anonymeter's",
        "",
        f"{ROWS} rows of the Pima diabetes table, {len(frame) - ROWS} more as control set. *rounded*: every column in",
        f"{PARTS} parts (k-anonymous-like); the last four draw as a release at ε = 3. anonymeter 1.1.0 in the same",
        "run, one process. Risks with 95 % intervals; seconds are CPU time, anonymeter's first linkability with its",
        "compilation. All intervals overlap. Where the risk of one is outside the other's interval:",
        f"{outside}.",
        "anonymeter shows 0 with no interval where its risk is below 0; compared is what it has before that:",
        f"{'; '.join(cut) or 'nowhere'}. Of rows that are equally near,",
        "anonymeter takes the first; the workbench's linkability takes all, and finds more where many are (.96 against",
        ".11 where *rounded* has the middles of its parts).",
        "",
        large_noisy_rows(tmp_path),
        "",
        "| release | attack | attacks | workbench | anonymeter | seconds | seconds |",
        "|---|---|---|---|---|---|---|",
    ]
    (HERE / "results" / "anonymeter.md").write_text("\n".join([*head, *lines, ""]), "utf-8")
