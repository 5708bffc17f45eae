"""How near the expected accuracy is to the one that a run reaches: MNIST simulated on its test images, and made up.

Run with ``pytest -m benchmark tests/benchmarks/bench_expected_accuracy.py -s``; ``MNIST`` names the folder with the IDX
files, and ``ONLY``, where it is set, the one network that is measured. The accuracies of real runs are those of
``results/mnist.md``.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

pytest.importorskip("torch")

from bench_mnist import RESULTS, RUNS, rows_of
from mnist_images import DELTA

from workbench.data.images.arrays import TEST
from workbench.data.images.read import read_images
from workbench.deep.expected_accuracy import PATIENCE, expected_accuracy
from workbench.deep.features import ImageFeatures
from workbench.deep.plan import DpSgdPlan
from workbench.params import InputError
from workbench.studies.expected_accuracy import made_up_rows, public_rows

ROWS = 60_000


@pytest.mark.benchmark
def test_expected_and_reached() -> None:
    test = read_images(Path(os.environ["MNIST"]) / "t10k-images-idx3-ubyte.gz", part=TEST)
    features = ImageFeatures.of(test)
    reached = {key: line.split(" | ")[6] for key, line in rows_of((RESULTS / "mnist.md").read_text("utf-8")).items()}
    only, results = os.environ.get("ONLY"), RESULTS / "expected_accuracy.md"
    former = [] if only is None else results.read_text("utf-8").splitlines()
    lines = [line for line in former if line.startswith("| scatter") and not line.startswith(f"| {only} ")]
    for given in [given for _, given in RUNS if only in (None, given["network"])]:
        plan = DpSgdPlan(**{"delta": DELTA, "device": "cpu", **given})
        epsilon = f"{float(plan.schedule(ROWS).cost().epsilon):.3f}"
        for source, rows in (("10,000 test images", public_rows(features, test)), ("made up", made_up_rows(features))):
            begun = time.monotonic()
            try:
                found = expected_accuracy(plan, features, rows, ROWS)
                told = (
                    f"{100 * found.accuracy:.1f} ({100 * found.lowest:.1f} to {100 * found.highest:.1f}) % | "
                    f"{100 * found.without_privacy:.1f} % | {found.simulated_rows:,} | {found.simulated_batch:.0f}"
                )
            except InputError as error:
                told = f"none: {error.what.partition(': ')[2]} | – | – | –"
            lines.append(
                f"| {plan.network} | {epsilon} | {source} | {told} | {time.monotonic() - begun:.0f} | "
                f"{reached.get((plan.network, epsilon), '–')} | {os.getloadavg()[0]:.0f} |"
            )
            results.write_text(HEAD + "\n".join(lines) + "\n" + TOLD, "utf-8")


HEAD = f"""# The accuracy that is told before the start, and the one that is reached

Made by `tests/benchmarks/bench_expected_accuracy.py`: the plans of `mnist.md` for 60,000 images, simulated within
about {PATIENCE:.0f} s on the 10,000 test images (as a public file) or on made-up drawings; no training image is read.
Mean and range of the trainings with noise. "Reached" is the accuracy of the real run on the test images, from
`mnist.md`. Time is of the wall, beside other programs: the load is the system's load average at the end.

| network | ε | simulated on | expected | without privacy | rows | batch | seconds | reached | load |
|---|---|---|---|---|---|---|---|---|---|
"""

TOLD = """
On public images of the same kind the simulation comes within four points, always below: it trains on a few per cent of
the rows. Made-up drawings say what the privacy costs at this ε, not how hard the digits are. On a busy machine, as
here, the fixed features leave time for fewer rows, and the simulation is farther below.
"""
