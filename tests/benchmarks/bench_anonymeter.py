"""The three risks of Giomi et al. (2023) beside anonymeter's, on the same six releases of a table of 768 rows.

Three conventions differ: what is shown of a risk below 0, which of equally near rows counts, and over which tables the
range of a column is taken. The workbench is run with its own and with anonymeter's, so that like is compared with like.

anonymeter 1.1.0 needs an environment of its own (numpy below 1.27). Name its Python, and the table, and run::

    WORKBENCH_PEER_PYTHON=/path/to/python WORKBENCH_DIABETES=/path/to/diabetes.csv \\
        pytest -m benchmark tests/benchmarks/bench_anonymeter.py

The table is written to ``tests/benchmarks/results/anonymeter.md``.
"""

import json
import os
import subprocess
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pandas as pd
import pytest

from workbench import api
from workbench.data.table_reader import read_table
from workbench.risk.attacks import attack, inference, linkability
from workbench.risk.attacks.base import Subject
from workbench.risk.attacks.common_columns import CommonColumns, Matrix
from workbench.risk.attacks.neighbours import distances
from workbench.risk.attacks.outcome import Outcome, uncut
from workbench.signals.cancel import CancelToken
from workbench.signals.events import ignore

pytestmark = pytest.mark.benchmark

HERE = Path(__file__).parent
PEER, DIABETES = os.environ.get("WORKBENCH_PEER_PYTHON", ""), os.environ.get("WORKBENCH_DIABETES", "")
ATTACKS, ROWS, PARTS, SECRET = 380, 384, 6, "Outcome"
DRAWS = 10
"""Conditions and people are drawn at random: compared are means of so many draws, with the interval of one."""
KINDS = ("univariate", "multivariate", "linkability", "inference")


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


@numba.njit
def _first(distance: Matrix) -> np.ndarray:
    """Return the nearest row of each person; of equally near ones that which numba's sort puts first, as anonymeter."""
    found = np.zeros(len(distance), np.int64)
    for person in range(len(distance)):
        found[person] = distance[person].argsort()[0]
    return found


def _distances(
    columns: CommonColumns, places: list[int], people: Matrix, released: Matrix, cancel: CancelToken
) -> Iterator[Matrix]:
    """Yield distances with ranges over the release and the people who are looked up, without those of the other set."""
    yield from distances(replace(columns, tables=(released, people)), places, people, released, cancel)


def _nearest(*given: Any) -> np.ndarray:
    return np.concatenate([_first(part) for part in _distances(*given)])


def _near(distance: Matrix, k: int) -> np.ndarray:
    assert k == 1
    found = np.zeros(distance.shape, dtype=bool)
    found[np.arange(len(distance)), _first(distance)] = True
    return found


def _mean(risks: list[tuple[float, float, float]]) -> tuple[float, float, float]:
    low, value, high = np.mean(risks, axis=0)
    return float(low), float(value), float(high)


def _uncut(outcome: Outcome) -> tuple[float, float, float]:
    assert outcome.control is not None
    return uncut(outcome.main, outcome.control)


def _shown(outcome: Outcome) -> tuple[float, float, float]:
    return outcome.risk.low, outcome.risk.value, outcome.risk.high


def every_attack(
    folder: Path, names: list[str], known: list[str]
) -> dict[tuple[str, str], list[tuple[Outcome, float]]]:
    """Return the outcomes of all draws by release and attack, each with its seconds."""
    asked: dict[str, tuple[str, dict[str, Any]]] = {
        mode: ("singling-out", {"mode": mode}) for mode in ("univariate", "multivariate")
    }
    asked["linkability"] = "linkability", {"known": known[::2], "others": known[1::2]}
    asked["inference"] = "inference", {"secret": SECRET}
    return {
        (name, kind): [ours(folder, name, chosen, attacks=ATTACKS, seed=seed, **more) for seed in range(DRAWS)]
        for name in names
        for kind, (chosen, more) in asked.items()
    }


def test_risks_beside_anonymeter(tmp_path, monkeypatch):
    frame = pd.read_csv(DIABETES)
    order = np.random.default_rng(0).permutation(len(frame))
    parts = {"original": frame.iloc[order[:ROWS]], "control": frame.iloc[order[ROWS:]]}
    for part, rows in parts.items():
        rows.to_csv(tmp_path / f"{part}.csv", index=False)
    names = list(releases(parts["original"], tmp_path))
    known = [name for name in frame.columns if name != SECRET]
    found = every_attack(tmp_path, names, known)
    with monkeypatch.context() as conventions:
        conventions.setattr(linkability, "distances", _distances)
        conventions.setattr(linkability, "near", _near)
        conventions.setattr(inference, "nearest", _nearest)
        alike = every_attack(tmp_path, names, known)
    task = {
        "folder": str(tmp_path),
        "releases": names,
        "attacks": ATTACKS,
        "draws": DRAWS,
        "files": [known[::2], known[1::2]],
        "known": known,
        "secret": SECRET,
        **{mode: {n: [one.main.of for one, _ in found[n, mode]] for n in names} for mode in KINDS[:2]},
    }
    words = [PEER, str(HERE / "peer_anonymeter.py")]
    done = subprocess.run(words, input=json.dumps(task), capture_output=True, text=True, check=True, timeout=3600)
    theirs: dict[str, dict[str, list[dict[str, Any]]]] = json.loads(done.stdout)
    lines, apart, changed = [], [], []
    for name, kind in found:
        peer = theirs[name][kind]
        here, there = _mean([_uncut(one) for one, _ in alike[name, kind]]), _mean([one["uncut"] for one in peer])
        product = _mean([_uncut(one) for one, _ in found[name, kind]])
        if not (here[0] <= there[1] <= here[2] and there[0] <= here[1] <= there[2]):
            apart.append(f"{name}, {kind}")
        if not (product[0] <= there[1] <= product[2] and there[0] <= product[1] <= there[2]):
            changed.append(f"{name}, {kind}")
        shown = _mean([_shown(one) for one, _ in found[name, kind]]), _mean([one["shown"] for one in peer])
        risks = [f"{value:.3f} ({low:.3f} to {high:.3f})" for low, value, high in (here, there, *shown)]
        many = sorted({one.main.of or 0 for one, _ in found[name, kind]})
        attacks = f"{many[0]}" if len(many) == 1 else f"{many[0]} – {many[-1]}"
        seconds = [np.mean([s for _, s in found[name, kind]]), np.median([one["seconds"] for one in peer])]
        lines.append(f"| {' | '.join([name, kind, attacks, *risks, *(f'{one:.2f}' for one in seconds)])} |")
    head = [
        "# The three risks beside anonymeter's",
        "",
        f"{ROWS} rows of the Pima diabetes table, {len(frame) - ROWS} more as control set. *rounded*: every column in",
        f"{PARTS} parts (k-anonymous-like); the last four draw as a release at ε = 3. anonymeter 1.1.0 in the same",
        f"run, one process. Means of {DRAWS} draws of conditions and people, with the 95 % interval of one; seconds",
        "are CPU time of one.",
        "",
        "*Alike*: the workbench's attack with anonymeter's conventions, and anonymeter before it cuts a risk below 0",
        f"to 0. Where the risk of one is outside the other's interval: {'; '.join(apart) or 'nowhere'}.",
        "",
        "*As shown*: what each program shows. Three conventions differ. (1) anonymeter shows 0 with no interval where",
        "its risk is below 0, the workbench what is left of the interval. (2) Of rows that are equally near anonymeter",
        "takes the one that its sort puts first; the workbench's linkability takes all of them, an attacker who may",
        "name several, and its inference the first of the file. (3) anonymeter divides a column by its range in the",
        "release and among the people looked up, which differs between original and control set; the workbench by one",
        "range for all. With (2) and (3) as the workbench has them, and no risk cut, one would be outside the other's",
        f"interval in: {'; '.join(changed) or 'nothing'}.",
        "",
        large_noisy_rows(tmp_path),
        "",
        "| release | attack | attacks | alike: workbench | alike: anonymeter | as shown: workbench "
        "| as shown: anonymeter | seconds: workbench | seconds: anonymeter |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    (HERE / "results" / "anonymeter.md").write_text("\n".join([*head, *lines, ""]), "utf-8")
    assert not apart
