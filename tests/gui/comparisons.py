"""Studies with made-up figures, models in the ledger, and what is seen and clicked on the Compare page."""

import json
from decimal import Decimal

from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QTableView

from workbench.gui.session.session import RunRecord
from workbench.privacy.accounting.event import Cost, PureDp
from workbench.release.certificate import checksum
from workbench.release.ledger.ledger import Ledger
from workbench.studies.curve import CurvePlan, CurveResult
from workbench.studies.results import Row, Tally

LEFT = Qt.MouseButton.LeftButton
TABLE = "compare_table"
REGIMES = ("none", "sanitized:staircase", "private")
PINNED = Qt.CheckState.Checked


def study(
    model: str = "naive-bayes", regimes=REGIMES, epsilons=(0.1, 1.0, 10.0), repeats: int = 4, better: float = 0.0
):
    """A finished study, with figures made up: the mean of a line rises with its number and with ε."""
    plan = CurvePlan(model=model, regimes=regimes, epsilons=epsilons, repeats=repeats)
    rows = []
    for number, regime in enumerate(regimes):
        for place, epsilon in enumerate(epsilons):
            for repeat in range(repeats):
                value = 0.4 + 0.1 * number + better + 0.01 * repeat
                value += 0.0 if regime == "none" else 0.05 * place
                rows += [Row(regime, epsilon, repeat, m.name, value) for m in plan.measured.metrics[:2]]
    levels = {plan.measured.main.name: 0.333}
    return CurveResult(plan, tuple(rows), Tally(rows).points(), levels, 150)


def add(window, result, source: str = "iris", time: str = "2026-01-02T03:04:05+00:00") -> None:
    window.session.add_run(RunRecord("curve", "Accuracy against ε", None, result, source, time))


def column(window, heading: str) -> int:
    model = window.page.runs
    heads = [model.headerData(c, Qt.Orientation.Horizontal) for c in range(model.columnCount())]
    return heads.index(heading)


def shown(window, heading: str) -> list[str]:
    """The cells of a column, from top to bottom as they are seen."""
    table, at = window.page.table, column(window, heading)
    return [window.page.runs.index(row, at).data() for row in table.in_sight()]


def pinned(window) -> list[int]:
    model = window.page.runs
    role = Qt.ItemDataRole.CheckStateRole
    return [row for row in range(model.rowCount()) if model.index(row, 0).data(role) == PINNED]


def click_cell(window, qtbot, row: int, at: int = 0) -> None:
    table = window.findChild(QTableView, TABLE)
    index = window.page.runs.index(row, at)
    table.scrollTo(index)
    qtbot.mouseClick(table.viewport(), LEFT, pos=table.visualRect(index).center())


def click_heading(window, qtbot, heading: str) -> None:
    heads = window.findChild(QTableView, TABLE).horizontalHeader()
    at = column(window, heading)
    place = QPoint(heads.sectionViewportPosition(at) + heads.sectionSize(at) // 2, heads.height() // 2)
    qtbot.mouseClick(heads.viewport(), LEFT, pos=place)


def point_at(page, series: int, index: int) -> QPoint:
    return page.plot.place_of(series, index).toPoint()


def charged(output, release_card=None, *, epsilon: str = "0.5", work: str = "fit naive-bayes") -> str:
    """Charge a model to an account, and write its card into its folder."""
    with Ledger.open() as book:
        book.set_cap("a" * 64, Decimal(20), Decimal("0.1"))
        cost = Cost(Decimal(epsilon), Decimal("0.00001"), PureDp(Decimal(epsilon), "a model"))
        release_id = book.reserve("a" * 64, cost, work=work, details={"output": str(output)})
        book.charge(release_id)
        if release_card is not None:
            output.mkdir()
            release_card = {**release_card, "release_id": release_id}
            release_card["checksum"] = checksum(release_card)
            (output / "card.json").write_text(json.dumps(release_card), "utf-8")
            book.certify(release_id, release_card["checksum"], "request")
    return release_id


def card(accuracy: float | None = None) -> dict:
    """A card that is valid by its schema."""
    training: dict = {"rows_per_person": 1}
    if accuracy is not None:
        training["accuracy"] = {"value": accuracy, "rows": 50, "on": "a test table declared public"}
    return {
        "format": "privacy-workbench-model-card",
        "version": 2,
        "time": "2026-01-02T03:04:05Z",
        "program": {"name": "privacy-workbench", "version": "1"},
        "rows": 150,
        "model": "mlp" if accuracy is not None else "naive-bayes",
        "guarantee": {
            "relation": "zero-out",
            "statement": "as of any model",
            "epsilon": "0.5",
            "delta": "0.00001",
            "replace_one": {"epsilon": 1, "delta": 0.0001},
            "randomness": "of the system",
        },
        "parameters": {},
        "inputs": [{"name": "length"}, {"name": "species"}],
        "outside_guarantee": [],
        "training": training,
        "files": {"model.json": "0" * 64},
    }


def with_one_study(window, press, idle):
    """Open the iris sample, add one study, and show the Compare page."""
    press(window, "sample_iris")
    idle(window)
    add(window, study())
    press(window, "tab_compare")
    idle(window)
    return window
