"""What black-box audits prove of the ε of released files, and which planted faults they see.

Run alone, on an idle machine; ``-k`` chooses some of the audits, whose lines are then written anew::

    pytest -m benchmark tests/benchmarks/bench_attacks.py

The table is written to ``tests/benchmarks/results/attacks.md``.
"""

import sys
import tempfile
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "attacks"))

pytest.importorskip("torch")
pytest.importorskip("xgboost")

from audits import ALPHA, Audit
from central_audits import STATISTICS, SYNTHETIC
from local_audits import LOCAL
from model_audits import models
from network_audits import networks

pytestmark = pytest.mark.benchmark

RESULTS = Path(__file__).parent / "results" / "attacks.md"
MISSED, REFUTED = "(missed)", "(refuted)"


def key_of(audit: Audit) -> str:
    """How the line of an audit begins."""
    return f"| {audit.name} | {audit.row} |"


def line_of(audit: Audit) -> str:
    """Audit a release and its faults; return a line of the table."""
    found = audit.found()
    seen = [(fault, audit.found(fault)) for fault in audit.faults]
    faults = "; ".join(f"{f.name}: {b.epsilon:.2f}{'' if b.refutes(audit.claim) else ' ' + MISSED}" for f, b in seen)
    delta = f", δ = {audit.delta:g}" if audit.delta else ""
    bound = f"{found.epsilon:.3f}{' ' + REFUTED if found.refutes(audit.claim) else ''}"
    power = found.catches(audit.claim)
    return (
        f"{key_of(audit)} {audit.claim:.4g}{delta} | {bound} | {2 * found.tested:,} "
        f"| {'–' if power == float('inf') else format(power, '.2f')} | {faults} |"
    )


def write(audits: tuple[Audit, ...], line: str) -> None:
    """Put a line into the table, in place of an earlier one of the same audit."""
    kept = RESULTS.read_text("utf-8").splitlines() if RESULTS.exists() else []
    lines = []
    for audit in audits:
        of_it = [told for told in (line, *kept) if told.startswith(key_of(audit))]
        lines += of_it[:1]
    planted = sum(told.rpartition(" | ")[2].count(";") + 1 for told in lines)
    missed, refuted = ("\n".join(lines).count(word) for word in (MISSED, REFUTED))
    text = [
        "# Black-box audits of released files",
        "",
        f"Lower bounds on ε at a confidence of 1 − {ALPHA:g} each, from the bytes of released files alone, under two "
        "tables that differ in one hostile row. A bound above the claim refutes it. The power is the least ε that the "
        "event of the audit would refute in 95 % of such audits; – where that is beyond 100. Of each planted fault the "
        "bound is given, which has to be above the claim.",
        "",
        f"{len(lines)} audits: {refuted} claims refuted. {planted} planted faults: {planted - missed} seen, {missed} "
        "missed.",
        "",
        "| released | hostile row | claim | lower bound | outputs of each | would catch | planted faults: bound |",
        "|---|---|---|---|---|---|---|",
        *lines,
        "",
    ]
    RESULTS.write_text("\n".join(text), encoding="utf-8")


def all_audits(folder: Path) -> tuple[Audit, ...]:
    """Return every audit; the file of one public row is in ``folder``."""
    asked = folder / "asked.csv"
    asked.write_text("x,z\n0,0\n")
    return (*LOCAL, *networks(), *STATISTICS, *models(asked), *SYNTHETIC)


with tempfile.TemporaryDirectory() as _folder:
    NAMES = [f"{audit.name}, {audit.row}" for audit in all_audits(Path(_folder))]


@pytest.mark.parametrize("name", NAMES)
def test_a_release_proves_no_more_than_its_claim_and_its_faults_are_seen(name, tmp_path):
    audits = all_audits(tmp_path)
    line = line_of(audits[NAMES.index(name)])
    write(audits, line)
    assert MISSED not in line
    assert REFUTED not in line
