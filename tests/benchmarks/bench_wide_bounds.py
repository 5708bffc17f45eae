"""What bounds that are too wide cost learners: accuracy on diabetes, 20 splits; kept in ``results/wide_bounds.md``.

``python tests/benchmarks/bench_wide_bounds.py --data FOLDER [MODEL …]`` prints it; FOLDER: see ``public_tables.py``.
"""

import argparse
import copy
import dataclasses
import sys
from pathlib import Path

from bench_additive_trees import CLASSES, ours, told
from public_tables import PublicTable

WIDE = {"BMI": (0, 200), "Age": (0, 200), "Glucose": (0, 1000), "BloodPressure": (0, 500), "Pregnancies": (0, 50)}
EPSILONS = (0.3, 1.0, 3.0, 10.0, 100.0)


def main() -> None:
    """Print a line for each bounds and model."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("models", nargs="*", default=CLASSES)
    options = parser.parse_args()
    table = PublicTable(options.data, "diabetes")
    every = {a.name: (0.0, 10 * a.bounds()[1]) for a in table.attributes}
    for name, wide in (("round", {}), ("wide", WIDE), ("all ten times as wide", every)):
        own = copy.copy(table)
        own.attributes = tuple(
            dataclasses.replace(a, lower=float(wide[a.name][0]), upper=float(wide[a.name][1])) if a.name in wide else a
            for a in table.attributes
        )
        for model in options.models:
            cells = [told(ours(own, model, epsilon, 20)) for epsilon in EPSILONS]
            sys.stdout.write(f"| {name} | {model} | {' | '.join(cells)} |\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
