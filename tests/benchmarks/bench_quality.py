"""Shapes and pair trends as sdmetrics 0.32 scores them: ours beside it, on six releases of three tables.

Run ``pytest -m benchmark tests/benchmarks/bench_quality.py`` with WORKBENCH_SDMETRICS naming the Python of an
environment that has sdmetrics 0.32; the table is written to ``results/quality.md``. All draws are seeded.
"""

import dataclasses
import datetime
import json
import math
import os
import subprocess
import time
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from workbench.data.columns.profile import profile
from workbench.data.table import Table
from workbench.data.table_reader import read_table
from workbench.privacy.entropy import SeededEntropy
from workbench.sanitize.engine import draw
from workbench.sanitize.plan import Plan
from workbench.sanitize.plan_template import draft
from workbench.studies.quality.study import SCORES, Quality, QualityRequest, quality
from workbench.studies.regimes import synthetic_cells
from workbench.synth import synthesiser

pytestmark = pytest.mark.benchmark

HERE = Path(__file__).parent
PEER = os.environ.get("WORKBENCH_SDMETRICS", "")
NEAR = 0.01
"""How far ours may be from sdmetrics."""


@pytest.mark.skipif(not PEER, reason="WORKBENCH_SDMETRICS names no Python with sdmetrics")
def test_scores_are_those_of_sdmetrics(tmp_path):
    cases: list[tuple[str, Quality, float]] = []
    tables = []
    for name, (table, target) in subjects().items():
        plan = load(table, target)
        for way, released in ways(plan, table).items():
            begun = time.process_time()
            found = quality(table, released, plan=plan, request=QualityRequest(target=target))
            cases.append((f"{name}, {way}", found, time.process_time() - begun))
            paths = {side: str(tmp_path / f"{side}-{len(tables)}.csv") for side in ("original", "released")}
            for path, rows in zip(paths.values(), (table, released), strict=True):
                rows.frame.write_csv(path)
            kinds = {"integer": "numerical", "real": "numerical", "date": "datetime"}
            tables.append({**paths, "columns": {c.name: kinds.get(str(c.kind), "categorical") for c in plan.protected}})
    asked = json.dumps({"tables": tables})
    begun = time.monotonic()
    said = subprocess.run(
        [PEER, str(HERE / "peer_quality.py")], input=asked, capture_output=True, text=True, check=True
    )
    spent = time.monotonic() - begun
    lines, far = [], 0.0
    for (title, found, seconds), peer in zip(cases, json.loads(said.stdout), strict=True):
        line, one = compared(title, found, seconds, peer)
        lines.append(line)
        far = max(far, one)
    (HERE / "results" / "quality.md").write_text(report(lines, cases, far, spent), "utf-8")
    assert far <= NEAR


def subjects() -> dict[str, tuple[Table, str]]:
    return {
        "people (2,000 × 5)": (read_table("sample:people"), "label"),
        "iris (150 × 5)": (read_table("sample:iris"), "species"),
        "survey (5,000 × 9, generated, with gaps and dates)": (survey(), "employed"),
    }


def survey() -> Table:
    drawn = np.random.default_rng(26)
    n = 5000
    age = drawn.integers(18, 90, n)
    years = np.clip(np.round((age - 16) * drawn.beta(3, 3, n)), 0, 60)
    region = drawn.choice(["north", "south", "east", "west"], n, p=[0.4, 0.3, 0.2, 0.1])
    dialect = np.where(drawn.random(n) < 0.8, np.char.add(region, "ern"), "other")
    employed = np.where(drawn.random(n) < np.where(age < 65, 0.8, 0.1), "yes", "no")
    income = np.round(np.exp(drawn.normal(7, 0.4, n) + (employed == "yes") * 0.9), 2)
    moved = [
        (datetime.date(1990, 1, 1) + datetime.timedelta(days=int(d))).isoformat() for d in drawn.integers(0, 9000, n)
    ]
    frame = pl.DataFrame(
        {
            "age": age.astype(str),
            "years": [None if drop else f"{y:.0f}" for y, drop in zip(years, drawn.random(n) < 0.05, strict=True)],
            "region": region,
            "dialect": dialect,
            "employed": employed,
            "income": income.astype(str),
            "moved": moved,
            "children": drawn.poisson(1.2, n).clip(0, 9).astype(str),
            "car": [
                None if drop else c
                for c, drop in zip(drawn.choice(["yes", "no"], n), drawn.random(n) < 0.1, strict=True)
            ],
        }
    )
    return Table(frame, "survey")


def load(table: Table, target: str) -> Plan:
    dropped = [name for name in ("id", "name") if name in table.names]
    made = draft(profile(table), 1.0, target=target, from_data=True, dropped=dropped)
    return Plan.from_plain(tomllib.loads(made.toml), where="draft")


def ways(plan: Plan, table: Table) -> dict[str, Table]:
    columns = plan.protected
    cells = np.column_stack([c.grid().encode(table) for c in columns]).astype(np.uint32)
    drawn = synthetic_cells(columns, cells, synthesiser("marginals"), 2.0, 7)
    synthetic = pl.DataFrame([c.grid().decode(drawn[:, j]) for j, c in enumerate(columns)])
    noisy = draw(dataclasses.replace(plan, epsilon=12.0), table, SeededEntropy(5)).frame()
    return {"synthetic rows at ε = 2": Table(synthetic, "s"), "noisy rows at ε = 12": Table(noisy, "n")}


def compared(title: str, found: Quality, seconds: float, peer: dict[str, Any]) -> tuple[str, float]:
    """Return a line of the table, and the farthest of all scores of columns, pairs and averages."""
    plain = found.to_plain()
    scores = plain["scores"]
    far = []
    for name in ("overall", "column_shapes", "pair_trends", "all_pairs"):
        ours = plain["overall"] if name == "overall" else scores["pair_trends"]["all_pairs"]
        ours = scores[name]["value"] if name in scores else ours
        far.append((0.0 if ours is None else ours) - (0.0 if math.isnan(peer[name]) else peer[name]))
    far += [c["score"] - peer["columns"][c["column"]] for c in plain["columns"]]
    of_pair = {frozenset(pair[:2]): (pair[2], pair[3]) for pair in peer["pairs"]}
    for pair in plain["pairs"]:
        metric, score = of_pair[frozenset(pair["columns"])]
        assert metric == pair["metric"]
        far.append(pair["score"] - score)
    assert int(scores["pair_trends"]["strong"]) == peer["strong"]
    most = max(abs(d) for d in far)
    cells = [f"{scores['column_shapes']['value']:.4f} / {peer['column_shapes']:.4f}"]
    cells += [f"{scores['pair_trends']['value'] or math.nan:.4f} / {peer['pair_trends']:.4f}"]
    cells += [f"{scores['pair_trends']['all_pairs']:.4f} / {peer['all_pairs']:.4f}", f"{most:.1e}", f"{seconds:.2f} s"]
    return f"| {title} | {' | '.join(cells)} |", most


def report(lines: list[str], cases: list[tuple[str, Quality, float]], far: float, spent: float) -> str:
    head = (
        "| release | " + " | ".join(score.title for score in SCORES) + " | pMSE ratio |\n|" + "---|" * (len(SCORES) + 2)
    )
    shares = []
    for title, found, _ in cases:
        of = {score.name: one for score, one in found.found}
        cells = [f"{of[s.name].value:.3f} ({100 * of[s.name].share:.0f} %)" if s.name in of else "–" for s in SCORES]
        facts = of["pmse"].facts
        shares.append(f"| {title} | {' | '.join(cells)} | {facts['ratio']:.3g} ({facts['ratio_held_out']:.3g}) |")
    return f"""# Quality of released rows: ours beside sdmetrics 0.32

Ours / sdmetrics' quality report. *Farthest*: the largest difference of any score of a column, a pair or an average.
It must stay within {NEAR}: {far:.1e}. CPU seconds are ours, for all six scores with their held-out rows; sdmetrics took
{spent:.1f} s for all tables, its start and a second report for the pairs below its threshold included.

| release | column shapes | pair trends | all pairs | farthest | CPU |
|---|---|---|---|---|---|
{chr(10).join(lines)}

Each score, and in brackets what as many of these rows reach as a share of what held-out real rows do (one half of the
original against the other); of the pMSE ratio the held-out rows' own.

{head}
{chr(10).join(shares)}
"""
