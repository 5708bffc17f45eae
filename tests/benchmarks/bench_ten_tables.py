"""Ten public tables: what is learned from noisy rows, synthetic rows and private learners, and how near tables stay.

``bench_ten_tables.py --data FOLDER --kept FILE [--tables …] [--ways …] [--epsilons …] [--splits 10]`` measures what is
not in FILE yet, a line of JSON for each piece: it may be stopped at any time. ``--page`` prints what is
there as Markdown, ``--picture PNG`` draws it: so ``results/ten_tables.md`` and ``.png`` are made. FOLDER is that of
``public_tables.py``. A way is one of :data:`ROWS`, or a method of synthesis or a learner (``NAME, δ`` for δ = 1e-6),
or another program's, ``NAME: METHOD`` (:data:`PEERS`), which runs in an environment of its own: ``--peer NAME=PYTHON``.
All draws are seeded; nothing of them is released.
"""

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from bench_additive_trees import DELTA, falling, fitted
from numpy.typing import NDArray
from public_tables import TABLES, WHOLE, PublicTable

from workbench.data.schema import Attribute
from workbench.learners import LEARNERS
from workbench.privacy.central.share import Budget
from workbench.privacy.entropy import SeededEntropy
from workbench.render.offscreen import write_figure
from workbench.render.values import Baseline, CurveFigure, Series
from workbench.sanitize.plan import Column
from workbench.studies.regimes import Regime, StudyData
from workbench.synth.columns import coarse_columns, coded_cells
from workbench.synth.setting import method_for, setting_for
from workbench.synth.synthesis import cost_of_synthesis, synthesised
from workbench.work.noise import Study

HERE = Path(__file__).parent
REAL, AGAIN, NOISY = "real rows", "drawn again", "noisy rows"
ROWS = (REAL, AGAIN, NOISY)
MARK = ", δ"
EPSILONS = (0.3, 1.0, 3.0, 10.0)
MODELS, ERRORS = ("linear", "forest"), ("1", "2", "3")
MOST_TABLES = 300
"""Tables of k columns whose error is measured at most, drawn once."""
BEST = {
    "diabetes": ("logistic-regression", "logistic-regression"),
    "contraceptive": ("random-forest", "logistic-regression"),
    "nursery": ("naive-bayes", "logistic-regression"),
    "breast cancer": ("logistic-regression", "logistic-regression"),
    "abalone": ("linear-regression", "linear-regression"),
    "insurance": ("boosted-trees", "linear-regression"),
    "airfoil": ("linear-regression", "linear-regression"),
    "wine": ("additive-regression", "linear-regression"),
    "power": ("additive-regression", "linear-regression"),
    "diamonds": ("additive-regression", "linear-regression"),
}
"""The best learner of each table at ε = 1, with pure ε and with a δ: ``learner`` among the ways."""
WAYS = (REAL, AGAIN, NOISY, "marginals", "tan", f"auto{MARK}", "learner", f"learner{MARK}")
PEERS = {"interpret": "peer_ebm.py", "diffprivlib": "peer_learners.py"}
"""Scripts of other programs; those that are not here make rows, by ``peer_synthesis.py``."""

Key = tuple[str, str, float | None, int]
Figures = dict[str, float]


class Subject:
    """A table, its rows as cells of the public grids, the target last, and what a piece needs."""

    def __init__(self, table: PublicTable) -> None:
        self.table = table
        declared = [*table.attributes, table.target]
        columns = tuple(Column(name=a.name, **_facts(a)) for a in declared)
        rows = zip([*table.X.T, table.y], columns, strict=True)
        cells = [c.grid().cells_of(x.copy()) if c.numeric else x.astype(np.uint32) for x, c in rows]
        self.data = StudyData(columns[:-1], columns[-1], table.X, table.y, np.column_stack(cells).astype(np.uint32))
        self.facts = [column.facts() for column in columns]
        self.columns = coarse_columns(self.facts)

    @cached_property
    def chosen(self) -> list[list[tuple[int, ...]]]:
        """The tables of one, two and three columns that are compared."""
        every = [list(itertools.combinations(range(len(self.columns)), k)) for k in (1, 2, 3)]
        draw = np.random.default_rng(28)
        return [[own[i] for i in draw.permutation(len(own))[:MOST_TABLES]] for own in every]

    def coarse(self, cells: NDArray[Any]) -> NDArray[np.int64]:
        """Return the 16 public cuts of each column of numbers, (n, d), and names as they are."""
        return np.column_stack([c.coarse(own) for c, own in zip(self.columns, cells.T, strict=True)]).astype(np.int64)

    def errors(self, made: NDArray[Any], train: NDArray[np.int64]) -> Figures:
        """Mean total variation distances to the training rows, of tables of one, two and three columns."""
        sides = [self.coarse(cells) for cells in (self.data.cells[train], made)]
        sizes = [column.size for column in self.columns]

        def shares(codes: NDArray[np.int64], places: tuple[int, ...]) -> NDArray[np.float64]:
            own = tuple(sizes[place] for place in places)
            found = np.ravel_multi_index(tuple(codes[:, place] for place in places), own)
            return np.bincount(found, minlength=int(np.prod(own))) / len(codes)

        def apart(places: tuple[int, ...]) -> float:
            return float(np.abs(shares(sides[0], places) - shares(sides[1], places)).sum()) / 2

        return {k: float(np.mean([apart(p) for p in own])) for k, own in zip(ERRORS, self.chosen, strict=True)}

    def of_rows(self, made: NDArray[Any], train: NDArray[np.int64], held: NDArray[np.int64]) -> Figures:
        """Scores of what ordinary models learn from rows, given as cells, and how far their tables are."""
        X, y = self.data.values(made)
        return {**{m: self.table.ordinary(m, X, y, held) for m in MODELS}, **self.errors(made, train)}

    def synthetic(self, method: str, epsilon: float, delta: str, train: NDArray[np.int64], seed: int) -> NDArray[Any]:
        """As many synthetic rows as training rows, as fine cells."""
        last, paid = len(self.facts) - 1, (Decimal(str(epsilon)), Decimal(delta))
        found = method_for(method, self.facts, last, len(train), *paid)
        setting = setting_for(self.facts, last, len(train), paid[0], delta=paid[1], method=found)
        rows, entropy = coded_cells(setting.columns, self.data.cells[train]), SeededEntropy(seed)
        ask = Study(np.random.default_rng([seed, 7]), entropy).ask(cost_of_synthesis(found, setting))
        made = synthesised(found, setting, rows, len(train), ask)
        return np.column_stack([c.draw(made.codes[:, j], entropy) for j, c in enumerate(setting.columns)])

    def piece(self, way: str, epsilon: float | None, repeat: int) -> Figures:
        """Measure one way of one split at one ε."""
        begun, (train, held), seed = time.process_time(), self.table.split(repeat), 100 * repeat + 1
        name, marked = way.removesuffix(MARK), way.endswith(MARK)
        if name in {model.name for model in LEARNERS}:
            assert epsilon is not None
            more = {"delta": DELTA} if marked else {}
            return {"score": fitted(self.table, name, epsilon, repeat, **more), "seconds": time.process_time() - begun}
        if way == REAL:
            found = {m: self.table.ordinary(m, self.table.X[train], self.table.y[train], held) for m in MODELS}
        elif way == AGAIN:
            again = np.random.default_rng(seed).choice(train, len(train))
            found = self.of_rows(self.data.cells[again], train, held)
        elif way == NOISY:
            assert epsilon is not None
            noisy = self.data.sanitised_cells(Regime.parse("sanitized:plan"), epsilon, seed)
            found = self.of_rows(noisy[train], train, held)
        else:
            assert epsilon is not None
            found = self.of_rows(self.synthetic(name, epsilon, str(DELTA) if marked else "0", train, seed), train, held)
        return {**found, "seconds": time.process_time() - begun}

    def by_peer(self, way: str, python: str, epsilons: Sequence[float], repeats: Sequence[int]) -> Iterator[Any]:
        """Yield (ε, split, figures) of another program's method; it runs once for all of them."""
        program, _, method = way.partition(": ")
        table, parts = self.table, [self.table.split(repeat) for repeat in repeats]
        task = {
            "kind": method,
            "epsilons": list(epsilons),
            "splits": [[part.tolist() for part in split] for split in parts],
            "seeds": [100 * repeat + 1 for repeat in repeats],
            "delta": DELTA,
            "y": table.y.tolist(),
            "target": list(table.target.bounds()) if table.target.numeric else None,
        }
        if program not in PEERS:
            task |= {"codes": self.coarse(self.data.cells).tolist(), "sizes": [column.size for column in self.columns]}
            task |= {"ordered": [column.ordered for column in self.columns], "program": program}
            task["rhos"] = [float(Budget(Decimal(str(e)), Decimal(str(DELTA))).amount) for e in epsilons]
        elif program == "interpret":
            bounds = [list(a.bounds()) if a.numeric else None for a in table.attributes]
            task |= {"X": table.X.tolist(), "bounds": bounds}
        else:
            wide = [a.bounds() if a.numeric else (0.0, 1.0) for a in table.attributes for _ in range(_width(a))]
            task |= {"X": table.matrix(table.X).tolist(), "scaled": method == "logistic-regression"}
            task |= {"lower": [w[0] for w in wide], "upper": [w[1] for w in wide]}
            task["classes"] = 0 if table.target.numeric else len(table.target.values())
        script = str(HERE / PEERS.get(program, "peer_synthesis.py"))
        done = subprocess.run([python, script], input=json.dumps(task), capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{way}, {table.name}: {done.stderr[-2000:]}")
        for epsilon, told in zip(epsilons, json.loads(done.stdout), strict=True):
            for repeat, (train, held), said in zip(repeats, parts, told, strict=True):
                if program in PEERS:
                    answer = np.array(said["said"] if isinstance(said, dict) else said)
                    yield epsilon, repeat, {"score": table.score(answer, held)}
                else:
                    codes, entropy = np.array(said["codes"]), SeededEntropy(100 * repeat + 1)
                    made = [c.draw(codes[:, j], entropy) for j, c in enumerate(self.columns)]
                    figures = self.of_rows(np.column_stack(made), train, held)
                    yield epsilon, repeat, {**figures, "seconds": said["seconds"]}


def _facts(attribute: Attribute) -> dict[str, Any]:
    if not attribute.numeric:
        return {"kind": "category", "domain": attribute.values()}
    lower, upper = attribute.bounds()
    return {"kind": "integer" if attribute.name in WHOLE else "real", "lower": lower, "upper": upper}


def _width(attribute: Attribute) -> int:
    return 1 if attribute.numeric else len(attribute.values()) - 1


def way_of(table: str, way: str) -> str:
    """Return what ``learner`` is on a table."""
    return way.replace("learner", BEST[table][way.endswith(MARK)]) if way.startswith("learner") else way


class Kept:
    """The pieces in a file of JSON lines."""

    def __init__(self, path: Path, splits: int) -> None:
        self._path, self._splits = path, splits
        lines = path.read_text().splitlines() if path.exists() else []
        self.pieces: dict[Key, Figures] = {tuple(key): figures for key, figures in map(json.loads, lines)}

    def add(self, key: Key, figures: Figures) -> None:
        """Keep a piece."""
        self.pieces[key] = figures
        with self._path.open("a") as opened:
            opened.write(json.dumps([key, figures]) + "\n")

    def of(self, table: str, way: str, epsilon: float | None, figure: str) -> list[float]:
        """The figure of each of the first splits that are there."""
        found = (self.pieces.get((table, way_of(table, way), epsilon, k)) for k in range(self._splits))
        return [piece.get(figure, piece.get("score", np.nan)) for piece in found if piece is not None]


def measure(options: argparse.Namespace, kept: Kept) -> None:
    """Measure what is not there, five splits of every table after the other; a peer's splits of a table at once."""
    subjects = {name: Subject(PublicTable(options.data, name)) for name in options.tables}
    peers = dict(peer.split("=", 1) for peer in options.peer)
    ours = [way for way in options.ways if ": " not in way]
    for first, name, way in itertools.product(range(0, options.splits, 5), options.tables, ours):
        chosen, beyond = way_of(name, way), min(first + 5, options.splits)
        epsilons = (None,) if chosen in (REAL, AGAIN) else options.epsilons
        for epsilon, repeat in itertools.product(epsilons, range(first, beyond)):
            if (name, chosen, epsilon, repeat) not in kept.pieces:
                kept.add((name, chosen, epsilon, repeat), subjects[name].piece(chosen, epsilon, repeat))
    for name, way in itertools.product(options.tables, [way for way in options.ways if ": " in way]):
        repeats = [
            k
            for k in range(options.splits)
            if any((name, way, epsilon, k) not in kept.pieces for epsilon in options.epsilons)
        ]
        if repeats:
            python = peers[way.partition(": ")[0]]
            for epsilon, repeat, figures in subjects[name].by_peer(way, python, options.epsilons, repeats):
                kept.add((name, way, epsilon, repeat), figures)


def page(options: argparse.Namespace, kept: Kept) -> Iterator[str]:
    """Yield the table of all ways, and what falls with ε."""
    heads = " | ".join(f"ε = {epsilon:g}" for epsilon in options.epsilons)
    yield f"| table | rows | {heads} | ± | error, {heads} |\n|{'---|' * (3 + 2 * len(options.epsilons))}"
    falls: list[str] = []
    for name, way in itertools.product(options.tables, options.ways):
        free, learns = way in (REAL, AGAIN), "score" in next(iter(found_of(kept, name, way)), {})
        at = [None] * len(options.epsilons) if free else options.epsilons
        models = MODELS[:1] if learns else MODELS
        found = {m: [kept.of(name, way, epsilon, m) for epsilon in at] for m in models}
        if not any(found[models[0]]):
            continue
        cells = [" / ".join(map(told, own)) for own in zip(*found.values(), strict=True)]
        wrong = [" ".join(told(kept.of(name, way, epsilon, k)) for k in ERRORS) for epsilon in at]
        wrong = [""] * len(at) if learns or way == REAL else wrong
        most = max(error_of(scores) for own in found.values() for scores in own)
        shown = f"{way_of(name, way)}" if not free else f"{way}, {len(found[models[0]][0])} splits"
        if free:
            cells, wrong = [cells[0], *[""] * (len(at) - 1)], [wrong[0], *[""] * (len(at) - 1)]
        yield f"| {name} | {shown} | {' | '.join(cells)} | {short(most)} | {' | '.join(wrong)} |"
        if not free and len({len(scores) for scores in found[models[0]]}) == 1:
            for figure in models if learns else (*models, *ERRORS):
                by = {epsilon: kept.of(name, way, epsilon, figure) for epsilon in options.epsilons}
                sign, what = (-1, f"error of {figure}") if figure in ERRORS else (1, figure)
                falls += falling(f"{name}, {shown}, {what}", by, sign)
    yield from ("", *falls)


def found_of(kept: Kept, table: str, way: str) -> Iterator[Figures]:
    """Yield the pieces of a way."""
    return (piece for key, piece in kept.pieces.items() if key[:2] == (table, way_of(table, way)))


def error_of(scores: Sequence[float]) -> float:
    """A standard error, 0 of a single score."""
    return float(np.std(scores, ddof=1) / np.sqrt(len(scores))) if len(scores) > 1 else 0.0


def short(figure: float) -> str:
    """Three digits behind the point, without the 0 before it."""
    return f"{figure:.3f}".replace("0.", ".", 1) if abs(figure) < 1 else f"{figure:.2f}"


def told(scores: Sequence[float]) -> str:
    """A mean."""
    return short(float(np.mean(scores))) if scores else "–"


STYLES = dict(zip(WAYS[2:], ("sanitized", "third", "fifth", "fourth", "private", "sixth"), strict=True))


def panel(kept: Kept, name: str, figure: str) -> CurveFigure:
    """One table: the better model's score (``score``), or the error of pairs (``2``), against ε."""
    series = []
    ways = [way for way in STYLES if figure == "score" or not way.startswith("learner")]

    def best(way: str, epsilon: float | None) -> list[float]:
        models = MODELS if figure == "score" else (figure,)
        return max((kept.of(name, way, epsilon, m) for m in models), key=lambda s: float(np.mean(s)))

    for way in ways:
        scores = [best(way, epsilon) for epsilon in EPSILONS]
        means, errors = [float(np.mean(s)) for s in scores], [error_of(s) for s in scores]
        low, high = (tuple(m + sign * e for m, e in zip(means, errors, strict=True)) for sign in (-1, 1))
        series.append(Series(name=way, style=STYLES[way], x=EPSILONS, mean=tuple(means), low=low, high=high))
    level = ("real rows", REAL) if figure == "score" else ("chance", AGAIN)
    _, goal, facts = TABLES[name]
    measured = "accuracy" if isinstance(facts[goal][0], str) else "R²"
    title = f"{name}: {measured}" if figure == "score" else f"{name}: error of pairs"
    return CurveFigure(
        title=title,
        x_label="ε of a row",
        y_label=title.partition(": ")[2],
        series=tuple(series),
        baselines=(Baseline(level[0], "no-privacy", float(np.mean(best(level[1], None)))),),
        subtitle=f"{len(best(level[1], None))} splits, mean ± standard error",
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


def draw(kept: Kept, tables: Sequence[str], target: Path) -> None:
    """Draw two panels for each table, two tables in a row."""
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for name, figure in itertools.product(tables, ("score", "2")):
            files.append(Path(folder) / f"{len(files):02}.png")
            write_figure(panel(kept, name, figure), files[-1], width=620, height=430, scale=1.0)
        command = [sys.executable, "-c", STITCH, "4", str(target), *map(str, files)]
        subprocess.run(command, check=True, env={**os.environ, "QT_QPA_PLATFORM": "offscreen"})


def main() -> None:
    """Measure, print or draw."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path)
    parser.add_argument("--kept", type=Path, required=True)
    parser.add_argument("--tables", nargs="+", default=list(TABLES), choices=list(TABLES))
    parser.add_argument("--ways", nargs="+", default=list(WAYS))
    parser.add_argument("--epsilons", nargs="+", type=float, default=list(EPSILONS))
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--peer", nargs="+", default=[], metavar="NAME=PYTHON")
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--picture", type=Path, metavar="PNG")
    options = parser.parse_args()
    kept = Kept(options.kept, options.splits)
    if options.data is not None:
        measure(options, kept)
    if options.page:
        for line in page(options, kept):
            sys.stdout.write(line + "\n")
    if options.picture is not None:
        draw(kept, options.tables, options.picture)


if __name__ == "__main__":
    main()
