"""Window and command line judge alike: the same bad request gets the same error class and code from both.

Nothing is charged and nothing is written, whichever was asked.
"""

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hands import show
from mishaps import needs_torch, retype
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication, QWidget

from workbench.cli import main
from workbench.data.table_reader import ReadOptions
from workbench.gui.project.open_table import open_table
from workbench.gui.session.draft import DraftPlan
from workbench.gui.widgets.dialogs import Question
from workbench.params import WorkbenchError
from workbench.params.codec import write_toml
from workbench.privacy.accounting.event import Cost, PureDp
from workbench.release.ledger import file as ledger_file
from workbench.release.ledger.file import located
from workbench.release.ledger.ledger import Ledger
from workbench.release.ledger.records import COUNTED
from workbench.release.part_files import DrawFile
from workbench.release.recover import place_of, request_of

ROWS = [f"{20 + i % 50},{'Graz' if i % 3 else 'Linz'},{'yes' if i % 2 else 'no'}" for i in range(60)]
TABLE = "\n".join(["age,city,label", *ROWS]) + "\n"
COLUMNS = {
    "age": {"kind": "integer", "lower": 0, "upper": 120},
    "city": {"kind": "category", "domain": ["Graz", "Linz"]},
    "label": {"kind": "category", "domain": ["yes", "no"], "role": "target"},
}


def untouched(folder: Path) -> None:
    """Prepare nothing."""


@dataclass
class Request:
    """One bad request.

    Attributes:
        ends: the class and the code of the error that both give.
        columns: what differs in the plan, by column; ``None`` leaves a column out.
        plan: what differs at its top.
        table: the content of the file. source: its name. output: where to.
        before: what is done beforehand, given the folder; it may return what is done afterwards.
        model: ``fit`` or ``dpsgd`` instead of a table. delta: of a training by DP-SGD.
        opens: whether the file can be read at all.
    """

    ends: tuple[str, str]
    columns: dict[str, Any] = field(default_factory=dict)
    plan: dict[str, Any] = field(default_factory=dict)
    table: str | bytes = TABLE
    source: str = "people.csv"
    output: str = "out.csv"
    before: Callable[[Path], Callable[[], object] | None] = untouched
    model: str = ""
    delta: str = "1e-3"
    opens: bool = True

    def raw(self) -> dict[str, Any]:
        """Return the plan as its file holds it."""
        columns = {name: {**COLUMNS.get(name, {}), **told} for name, told in (COLUMNS | self.columns).items() if told}
        tables = [{"name": name, "action": "protect", **told} for name, told in columns.items()]
        return {"epsilon": 3.0, **self.plan, "column": tables}


def capped(epsilon: str, delta: str | None = None) -> Callable[[Path], None]:
    def cap(folder: Path) -> None:
        from workbench.data.table_reader import read_table

        with Ledger.open() as book:
            identity = book.identify(read_table(str(folder / "people.csv"), ReadOptions()))
            book.set_cap(identity, Decimal(epsilon), None if delta is None else Decimal(delta))

    return cap


def locked(folder: Path) -> Callable[[], object]:
    with Ledger.open() as book:
        path = book.path
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("BEGIN EXCLUSIVE")
    return holder.close


def no_ledger(folder: Path) -> None:
    path = located(None)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("not a database, though long enough to look like a file with a header of a hundred bytes " * 3)


def another_draw_waits(folder: Path) -> Callable[[], object]:
    """Leave a finished draw of another request where the output is to stand."""
    target = folder / "out.csv"
    with Ledger.open() as book:
        part = DrawFile(target, 100).__enter__()
        details = {"output": place_of(target), "part": part.path.name}
        cost = Cost(Decimal(1), Decimal(0), PureDp(Decimal(1)))
        release_id = book.reserve("another-table", cost, work="sanitize", details=details)
        book.charge(release_id)
        part.write(b"x\n")
        with part.keep_on_success():
            part.finish()
            book.certify(release_id, "checksum", request_of("sanitize", plan="another"), "{}")
        part.__exit__(None, None, None)
    return part.path.unlink


def taken(folder: Path) -> None:
    (folder / "net").mkdir()
    (folder / "net" / "mine.txt").write_text("mine")


REQUESTS = {
    "over the cap in epsilon": Request(("BudgetRefusedError", "over-cap"), before=capped("1")),
    "an unconfirmed guess": Request(("InputError", "unconfirmed"), {"age": {"origin": "guess"}}),
    "a doubtful file": Request(
        ("InputError", "doubtful-file"),
        table="\n".join(["age;city;label", *(f"{i},5;Graz;{'yes' if i % 2 else 'no'}" for i in range(60))]) + "\n",
        columns={"age": {"kind": "real"}},
    ),
    "a bound that nobody declared": Request(("ParameterError", "facts-open"), {"age": {"lower": "?"}}),
    "bounds the wrong way round": Request(("ParameterError", "bounds-crossed"), {"age": {"lower": 130}}),
    "a value outside the list": Request(("InputError", "value-refused"), {"city": {"domain": ["Graz", "Wien"]}}),
    "a missing value": Request(("InputError", "value-missing"), table=TABLE + ",Graz,yes\n"),
    "a number that is none": Request(("InputError", "value-refused"), table=TABLE + "old,Graz,yes\n"),
    "the output is the source": Request(("ParameterError", "output-is-source"), output="people.csv"),
    "no folder for the output": Request(("InputError", "output-place"), output="nowhere/out.csv"),
    "an unknown format": Request(("InputError", "output-format"), output="out.xyz"),
    "a column that is not there": Request(
        ("InputError", "unknown-column"), {"zip": {"kind": "integer", "lower": 0, "upper": 9}}
    ),
    "a column without a plan": Request(("InputError", "unplanned-column"), {"city": None}),
    "epsilon 0": Request(("ParameterError", "bad-value"), plan={"epsilon": 0.0}),
    "a negative epsilon": Request(("ParameterError", "bad-value"), plan={"epsilon": -1.0}),
    "an epsilon that is no number": Request(("ParameterError", "bad-value"), plan={"epsilon": float("nan")}),
    "shares above epsilon": Request(("ParameterError", "shares-exceed"), {"age": {"epsilon": 4.0}}),
    "nothing protected": Request(
        ("ParameterError", "nothing-protected"), {name: {"action": "drop"} for name in COLUMNS}
    ),
    "a locked ledger": Request(("InputError", "ledger-locked"), before=locked),
    "a ledger that is none": Request(("InputError", "ledger-unusable"), before=no_ledger),
    "a file of another kind": Request(
        ("InputError", "wrong-file-type"), table=b"%PDF-1.7\n" + bytes(200), source="people.csv", opens=False
    ),
    "a damaged Parquet": Request(
        ("InputError", "damaged-file"), table=b"PAR1" + bytes(200) + b"PAR1", source="people.parquet", opens=False
    ),
    "a finished draw of another request": Request(("InputError", "draw-waits"), before=another_draw_waits),
    "the output exists": Request(("InputError", "output-exists"), before=taken, model="fit", output="net"),
    "a model over the cap": Request(("BudgetRefusedError", "over-cap"), before=capped("1"), model="fit", output="net"),
    "delta at 1/rows": Request(("ParameterError", "delta-too-large"), model="dpsgd", delta="0.02", output="net"),
    "over the cap in delta": Request(
        ("BudgetRefusedError", "over-cap"), before=capped("50", "1e-6"), model="dpsgd", output="net"
    ),
}

SLOW = {"over the cap in delta", "delta at 1/rows"}
"""They load what trains networks; that they are refused is told of in each front end's own tests, too."""


def verdict(error: WorkbenchError | None) -> tuple[str, str]:
    assert error is not None, "it was not refused"
    return type(error).__name__, error.code


def on_the_command_line(request: Request, folder: Path, monkeypatch: pytest.MonkeyPatch) -> WorkbenchError | None:
    """Return the error with which the command ended."""
    ended: list[WorkbenchError] = []
    module = __import__("workbench.cli.main", fromlist=["_complain"])
    complain = module._complain
    monkeypatch.setattr(module, "_complain", lambda error: (ended.append(error), complain(error))[1])
    (folder / "plan.toml").write_text(write_toml({"version": 1, **request.raw()}), "utf-8")
    data, plan, output = str(folder / request.source), str(folder / "plan.toml"), str(folder / request.output)
    words = ["--target", "label", "--bounds", plan, "-o", output, "--epsilon", "3"]
    network = ["--network", "logistic", "--delta", request.delta, "--batch", "10", "--epochs", "1", "--lr", "1"]
    calls = {
        "": ["sanitize", data, "--plan", plan, "-o", output],
        "fit": ["fit", data, "--model", "naive-bayes", *words],
        "dpsgd": ["dpsgd", data, *network, "--clip", "1", *words],
    }
    assert main(calls[request.model]) == (3 if request.ends[0] == "BudgetRefusedError" else 2)
    (folder / "plan.toml").unlink()
    return ended[-1] if ended else None


class InTheWindow:
    """The same request through the pages."""

    def __init__(self, window, qtbot, press, idle) -> None:
        self.window, self.qtbot, self.press, self.idle = window, qtbot, press, idle

    def ends(self, request: Request, folder: Path) -> WorkbenchError | None:
        window, failed = self.window, []
        window.session.opening_failed.connect(lambda source, options, error: failed.append(error))
        open_table(window.session, window.jobs, str(folder / request.source))
        self.idle(window)
        if not request.opens:
            return failed[-1] if failed else None
        window.session.edit("plan as the file", self.draft(request))
        show(window, "train" if request.model else "rows")
        self.idle(window)
        field_name = "train_folder" if request.model else "release_target"
        retype(window, self.qtbot, field_name, str(folder / request.output))
        return self.trained(request) if request.model else self.pressed("release_now")

    def draft(self, request: Request) -> DraftPlan:
        """Return the same plan as it is edited: what no plan's file can say is set as the pages set it."""
        raw = request.raw()
        epsilon = raw.pop("epsilon")
        bounds = [
            (told["name"], {key: float(told.pop(key)) for key in ("lower", "upper") if isinstance(told.get(key), int)})
            for told in raw["column"]
        ]
        made = DraftPlan.from_raw(raw)
        for name, facts in bounds:
            made = made.with_column(name, guessed=made.column(name).guessed, **facts)
        return made.with_(epsilon=Decimal(repr(epsilon)))

    def trained(self, request: Request) -> WorkbenchError | None:
        if request.model == "dpsgd":
            self.press(self.window, "train_model_logistic")
            for name, text in (("delta", request.delta), ("batch", "10"), ("epochs", "1")):
                retype(self.window, self.qtbot, f"train_logistic_{name}", text)
        page = self.window.page
        if not page.missing():
            self.qtbot.waitUntil(lambda: page._preflight is not None or page.refused is not None)
        return self.pressed("train_start")

    def agree(self) -> None:
        box = QApplication.activeModalWidget()
        if isinstance(box, Question):
            self.press(box, "confirm_yes")

    def pressed(self, name: str) -> WorkbenchError | None:
        """Press the button where it can be pressed, agree to what is asked, and return what came of it."""
        page, button = self.window.page, self.window.findChild(QWidget, name)
        if page.refused is None and button.isEnabled():
            agreeing = QTimer(self.window, interval=20)
            agreeing.timeout.connect(self.agree)
            agreeing.start()
            self.press(self.window, name)
            self.qtbot.waitUntil(lambda: page.refused is not None)
            self.idle(self.window)
            agreeing.stop()
        return page.refused


def counted() -> list[str]:
    try:
        with Ledger.read() as book:
            return [r.release_id for r in book.releases() if r.status in COUNTED]
    except WorkbenchError:
        return []


def recorded() -> list[str]:
    """Return the status of every release that the ledger knows of, whatever became of it."""
    try:
        with Ledger.read() as book:
            return [release.status for release in book.releases()]
    except WorkbenchError:
        return []


def alone(request: Request) -> bool:
    """Return whether a request needs a ledger, a front end or a file of its own."""
    return request.before is not untouched or bool(request.model) or not request.opens


ALONE = [name for name, request in REQUESTS.items() if alone(request)]


@needs_torch
@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) if n in SLOW else n for n in ALONE])
def test_both_front_ends_refuse_alike_and_nothing_is_charged(
    name, window, qtbot, press, idle, tmp_path, monkeypatch, capsys
):
    refused_alike(REQUESTS[name], tmp_path, monkeypatch, InTheWindow(window, qtbot, press, idle))


def test_both_front_ends_refuse_what_is_planned_wrongly_alike(
    window, qtbot, press, idle, tmp_path, monkeypatch, capsys, subtests
):
    window.session.may_leave = lambda then: True  # each plan goes with its table
    front = InTheWindow(window, qtbot, press, idle)
    for number, name in enumerate([one for one in REQUESTS if one not in ALONE]):
        folder = tmp_path / str(number)
        folder.mkdir()
        with subtests.test(name):
            refused_alike(REQUESTS[name], folder, monkeypatch, front)


def refused_alike(request: Request, folder: Path, monkeypatch: pytest.MonkeyPatch, front: InTheWindow) -> None:
    """Make a request on the command line and in the window, and compare what both say."""
    monkeypatch.setattr(ledger_file, "PATIENCE", 0.05)
    table = request.table.encode() if isinstance(request.table, str) else request.table
    (folder / request.source).write_bytes(table)
    after = request.before(folder)
    before = counted(), {p: p.stat().st_size for p in folder.rglob("*")}
    command = on_the_command_line(request, folder, monkeypatch)
    assert verdict(command) == request.ends
    if request.ends[1] in ("value-refused", "value-missing"):
        assert recorded() == []  # found before anything was reserved for it
    said = front.ends(request, folder)
    assert verdict(said) == request.ends
    assert said.field == command.field
    assert (counted(), {p: p.stat().st_size for p in folder.rglob("*")}) == before
    if request.ends[1] in ("value-refused", "value-missing"):
        assert recorded() == []
    if after is not None:
        after()
