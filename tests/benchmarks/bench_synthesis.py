"""Ways of releasing a table side by side: how near their marginals are, and what a model learns from them.

Run ``pytest -m benchmark tests/benchmarks/bench_synthesis.py``; the table is written to ``results/synthesis.md`` and
the picture to ``results/synthesis.png``. All draws are seeded; nothing of them is released. It takes hours: compute its
pieces beforehand, some at a time, with ``synthesis_pieces.py``, and name their folder in WORKBENCH_BENCH_PIECES. The
variable WORKBENCH_BENCH_SPLITS limits the number of splits.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

HERE = Path(__file__).parent
sys.path.append(str(HERE))

from synthesis_pieces import (  # noqa: E402
    AGAIN,
    CORRECTED,
    EM_ROUNDS,
    EPSILONS,
    FIGURES,
    FOREST_ROWS,
    FREE,
    LEARNERS,
    METHODS,
    NOISY,
    NOISY_VALUES,
    PAID,
    PRIVATE,
    REAL,
    Kept,
    Key,
    complete,
    keys,
)
from synthesis_tables import SUBJECTS  # noqa: E402

from workbench.render.offscreen import write_figure  # noqa: E402
from workbench.render.values import Baseline, CurveFigure, Series  # noqa: E402

pytestmark = pytest.mark.benchmark

SPLITS = 20

# Two-way error, logistic regression and forest of OpenDP's and SmartNoise's AIM on diabetes (16 public bins, 3 splits,
# δ = 1e-6): the better of the two in each figure.
PEERS = {1.0: (0.257, 0.729, 0.721), 3.0: (0.189, 0.740, 0.734), 10.0: (0.165, 0.751, 0.758)}
TARGETS = {1.0: 0.23, 3.0: 0.16}
BEST = "marginals"
"""The method with a target, and the program's default where one is named."""

Means = dict[tuple[str, str, float | None, str], tuple[float, float]]
"""By table, way, ε and figure: mean and standard error."""

HEAD = f"""# Ways of releasing a table: marginals kept, and what is learned from them

Stratified 80/20 splits; mean ± standard error. *Error*: mean total variation distance to the training rows of the
tables of all pairs of columns, and of all columns and pairs (16 public cuts a column of numbers). *Accuracy*: of
ordinary models trained on the rows named and tested on held-out real rows. ε is of the whole row, pure (δ = 0).

* **{REAL}**: no privacy; **drawn again**: as many rows drawn from them with replacement, the error of mere chance.
* **{NOISY}**: every column through the advisor's mechanism for statistics (the default); **for values**: the
  advisor's choice for values near the truth.
* **{CORRECTED}**: the noisy rows, read by somebody who knows the public tables: marginals by {EM_ROUNDS} rounds of
  EM, and the corrected naive Bayes, the only one of the three learners that has such a form.
* **{", ".join(METHODS)}**: synthetic rows, default cuts. **{PRIVATE}**: the program's private models, ε for each alone;
  nothing is released but the model, so that there are no marginals.

In the table of 50,000 × 15 (generated) 6 of 15 columns are categories.
Trees of a forest see at most {FOREST_ROWS:,} rows. Seconds: to make the rows (of {CORRECTED} and {PRIVATE}: to correct
or train), on two cores that other work kept very busy.
"""


def splits() -> int:
    return min(SPLITS, int(os.environ.get("WORKBENCH_BENCH_SPLITS", "20")))


def wanted() -> Iterator[Key]:
    for table in SUBJECTS:
        for way in (*FREE, *PAID):
            yield from keys([table], [way], EPSILONS, range(splits()))


def means_of(kept: Kept, tables: list[str]) -> Means:
    """Return the means of the splits there are; a way that is not finished for a table has none."""
    gathered: dict[tuple[str, str, float | None], list[dict[str, float]]] = {}
    for (table, way, epsilon, split), figures in kept.pieces.items():
        if table in tables and way in (*FREE, *PAID) and split < splits():
            gathered.setdefault((table, way, epsilon), []).append(figures)
    out: Means = {}
    for (table, way, epsilon), pieces in gathered.items():
        assert len(pieces) == splits(), (table, way, epsilon)
        for figure in pieces[0]:
            values = np.array([piece[figure] for piece in pieces])
            out[table, way, epsilon, figure] = float(values.mean()), deviation(values)
    return out


def deviation(values: NDArray[np.float64]) -> float:
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def report(means: Means) -> list[str]:
    lines = [HEAD]
    for table in SUBJECTS:
        lines += ["", f"## {table} ({splits()} splits)", ""]
        lines += [f"| rows | ε | error, pairs | error, all | {' | '.join(LEARNERS)} | seconds |", "|---" * 8 + "|"]
        for way, epsilon in [(way, None) for way in FREE] + [(way, e) for e in EPSILONS for way in PAID]:
            cells = []
            for figure in FIGURES:
                held = means.get((table, way, epsilon, figure))
                cells.append("–" if held is None else f"{held[0]:.3f} ± {held[1]:.3f}")
                if figure == "seconds" and held is not None:
                    cells[-1] = f"{held[0]:.1f}"
            lines.append(f"| {way} | {'–' if epsilon is None else f'{epsilon:g}'} | {' | '.join(cells)} |")
    return lines


def expectations(means: Means) -> Iterator[tuple[str, bool]]:
    """Yield each expectation in words, with its figures, and whether it is met."""

    def at(table: str, way: str, epsilon: float, figure: str) -> tuple[float, float]:
        return means[table, way, epsilon, figure]

    for epsilon, most in TARGETS.items():
        for method in METHODS:
            error = at("diabetes", method, epsilon, "pairs")[0]
            if method == BEST or error <= most:
                yield f"diabetes, ε = {epsilon:g}, {method}: error of pairs {error:.3f}, at most {most}", error <= most
    for epsilon, peers in PEERS.items():
        for figure, peer in zip(("pairs", *LEARNERS[1:]), peers, strict=True):
            found, error = at("diabetes", BEST, epsilon, figure)
            met = found < peer if figure == "pairs" else found >= peer - 2 * error
            yield f"diabetes, ε = {epsilon:g}, {BEST}, {figure}: {found:.3f} ± {error:.3f}, best peer {peer}", met
    for table in SUBJECTS:
        for epsilon in EPSILONS:
            for learner in LEARNERS:
                ours, own = at(table, BEST, epsilon, learner)
                for noisy in (NOISY, NOISY_VALUES):
                    theirs, other = at(table, noisy, epsilon, learner)
                    words = f"{table}, ε = {epsilon:g}, {learner}: {BEST} {ours:.3f}, {noisy} {theirs:.3f}"
                    yield words, ours > theirs + 2 * float(np.hypot(own, other))


STYLES = {
    NOISY: "sanitized",
    CORRECTED: "corrected",
    PRIVATE: "private",
    **dict(zip(METHODS, ("third", "fourth", "fifth", "sixth"), strict=False)),
}


def panel(means: Means, table: str, figure: str) -> CurveFigure:
    """One table and one figure against ε."""
    series = []
    for way, style in STYLES.items():
        held = [means.get((table, way, epsilon, figure)) for epsilon in EPSILONS]
        if None not in held:
            known = [h for h in held if h is not None]
            series.append(
                Series(
                    name=way,
                    style=style,
                    x=EPSILONS,
                    mean=tuple(m for m, _ in known),
                    low=tuple(m - s for m, s in known),
                    high=tuple(m + s for m, s in known),
                )
            )
    levels = [("no privacy", REAL)] if figure in LEARNERS else [("chance", AGAIN)]
    baselines = tuple(Baseline(name, "no-privacy", means[table, way, None, figure][0]) for name, way in levels)
    title = "error of columns and pairs" if figure == "all" else f"accuracy, {figure}"
    return CurveFigure(
        title=f"{table}: {title}",
        x_label="ε of a row",
        y_label=title,
        series=tuple(series),
        baselines=baselines,
        subtitle=f"{splits()} splits, mean ± standard error",
        badge="",
    )


STITCH = """
import sys
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QImage, QPainter
application = QGuiApplication([])
across, target, *files = sys.argv[1:]
images = [QImage(file) for file in files]
w, h = images[0].width(), images[0].height()
whole = QImage(w * int(across), h * -(-len(images) // int(across)), QImage.Format.Format_RGB32)
whole.fill("white")
painter = QPainter(whole)
for place, image in enumerate(images):
    painter.drawImage(place % int(across) * w, place // int(across) * h, image)
painter.end()
flat = Qt.ImageConversionFlag.ThresholdDither | Qt.ImageConversionFlag.AvoidDither
whole.convertToFormat(QImage.Format.Format_Indexed8, flat).save(target)
"""


def draw(means: Means, tables: list[str], target: Path, folder: Path) -> None:
    """Draw a row of panels for each table."""
    figures = ("all", *LEARNERS)
    files = []
    for table in tables:
        for figure in figures:
            files.append(folder / f"{len(files):02}.png")
            write_figure(panel(means, table, figure), files[-1], width=620, height=430, scale=1.0)
    command = [sys.executable, "-c", STITCH, str(len(figures)), str(target), *map(str, files)]
    subprocess.run(command, check=True, env={**os.environ, "QT_QPA_PLATFORM": "offscreen"})


def test_ways_of_releasing_side_by_side(shared_data, tmp_path):
    kept = Kept(Path(os.environ.get("WORKBENCH_BENCH_PIECES", tmp_path / "pieces")))
    complete(kept, shared_data, list(wanted()))
    means = means_of(kept, list(SUBJECTS))
    checked = list(expectations(means))
    missed = [words for words, met in checked if not met]
    lines = report(means)
    lines += ["", "## Expectations", "", f"{len(checked) - len(missed)} of {len(checked)} are met."]
    lines += [f"* Not met: {words}." for words in missed]
    (HERE / "results" / "synthesis.md").write_text("\n".join(lines) + "\n", "utf-8")
    draw(means, list(SUBJECTS), HERE / "results" / "synthesis.png", tmp_path)
    for words, met in checked:
        # At ε = 0.3 few rows and many columns leave nothing of either; the text above names where that is.
        assert met or "ε = 0.3" in words, words
