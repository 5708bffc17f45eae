"""The door of central releases, with a toy kind: charge first, certify, verify, publish what was finished."""

import importlib
import json
import shutil
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from release_cases import die_at, forge, names_in, plan_of, raise_cap, run_to_exit, statuses, table_of

from workbench.data.table import Table
from workbench.params import BudgetRefusedError, InputError, ParameterError
from workbench.privacy.accounting.event import PureDp
from workbench.release import kinds
from workbench.release.ledger.ledger import Ledger
from workbench.release.release_path import Destination, Released, destination, prepare, release_prepared
from workbench.release.verdict import verdict_on
from workbench.release.verification import ledger_claims, verify_any
from workbench.release.verify import verify_in_ledger
from workbench.sanitize.plan import Plan
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Emit
from workbench.work.ask import Ask
from workbench.work.work import Work, WorkOutput

FORMATS = {".csv": "csv", ".json": "json"}
WHOLE = {"out.csv", "out.csv.certificate.json"}


def recomputed(document: dict[str, Any], plan: Plan, output: Path, cancel: CancelToken) -> Iterator[str]:
    if len(output.read_text("utf-8").splitlines()) != document["method"]["lines"]:
        yield "the toy has another number of lines"


@pytest.fixture(autouse=True)
def toy(monkeypatch):
    register(monkeypatch.setattr, monkeypatch.setitem)


def register(setattr_: Any = setattr, setitem: Any = dict.__setitem__) -> None:
    module = ModuleType("toy_kind_for_tests")
    module.recomputed = recomputed  # type: ignore[attr-defined]
    setitem(sys.modules, module.__name__, module)
    setattr_(kinds, "KINDS", (*kinds.KINDS, kinds.Kind("toy", "toys", module.__name__, "one number")))


def toy_work(epsilons: tuple[str, ...] = ("0.1", "0.2"), **keys: Any) -> Work:
    events = tuple(PureDp(Decimal(e), f"query {i}") for i, e in enumerate(epsilons))

    def counted(rows: Table, ask: Ask, emit: Emit, cancel: CancelToken) -> list[int]:
        return [ask(event.label, [int((rows.column("city") == "Graz").sum())], 1)[0] for event in events]

    return Work(
        **{  # type: ignore[arg-type]
            "kind": "toy",
            "columns": ("city",),
            "events": events,
            "request": {"count": "Graz"},
            "room": 100,
            "ask": counted,
            "files": lambda answers, cancel: WorkOutput(f"graz\n{answers[0]}\n".encode(), {"lines": 2}),
            **keys,
        }
    )


def release(ledger: Path, target: Path, work: Work | None = None, plan: Plan | None = None, **keys: Any) -> Released:
    prepared = prepare(
        plan or plan_of(), table_of(50), destination(target, formats=FORMATS, replace=True), work or toy_work()
    )
    with Ledger.open(ledger) as opened:
        return release_prepared(prepared, opened, **keys)


def test_facts_that_no_certificate_can_hold_are_refused_where_they_are_made(tmp_path):
    """Nothing of such a draw leaves the memory, and it costs nothing."""
    ledger = tmp_path / "l.sqlite"
    facts: Any = [("lines", 2)]
    with pytest.raises(TypeError, match="the facts of a release are a mapping, not a list"):
        release(ledger, tmp_path / "a.csv", toy_work(files=lambda answers, cancel: WorkOutput(b"", facts)))
    assert statuses(ledger) == ["void"]
    assert not [name for name in names_in(tmp_path) if name.startswith("a.csv")]


def test_three_tenths_fit_a_cap_of_three_tenths(tmp_path):
    """Decimals add exactly: 0.1 + 0.1 + 0.1 is no more than 0.3, and a further 1e-6 is refused."""
    ledger = tmp_path / "l.sqlite"
    release(ledger, tmp_path / "a.csv", toy_work(("0.1",)))
    raise_cap(ledger, "0.3")
    release(ledger, tmp_path / "b.csv", toy_work(("0.1",)))
    assert release(ledger, tmp_path / "c.csv", toy_work(("0.1",))).epsilon_remaining == 0
    with pytest.raises(BudgetRefusedError):
        release(ledger, tmp_path / "d.csv", toy_work(("0.000001",)))
    assert not (tmp_path / "d.csv").exists()


@pytest.mark.parametrize("epsilon", ["0.0000001", "1" + "0" * 20, "9" * 399])
def test_an_epsilon_that_is_not_served_is_neither_released_nor_recomputed(tmp_path, epsilon, monkeypatch):
    with pytest.raises(ParameterError, match="of a row is outside 1e-06 to 1e"):
        release(tmp_path / "l.sqlite", tmp_path / "out.csv", toy_work((epsilon,)))
    release(tmp_path / "l.sqlite", tmp_path / "out.csv", toy_work(("0.1",)))
    monkeypatch.setattr("workbench.release.verify.central_guarantee", lambda *arguments: 1 / 0)
    forge(tmp_path / "out.csv", lambda document: document["queries"][0].update(epsilon=epsilon))
    assert "of a row is outside 1e-06 to 1e" in " ".join(verify_any(tmp_path / "out.csv"))


def test_guesses_unprotected_columns_and_unknown_kinds_are_refused(tmp_path):
    plain = plan_of().to_plain()
    columns = [{**c, "origin": "guess"} if c["name"] == "pay" else c for c in plain["column"]]
    with pytest.raises(InputError, match="unconfirmed guesses"):
        release(
            tmp_path / "l.sqlite", tmp_path / "o.csv", plan=Plan.from_plain({**plain, "epsilon": 3, "column": columns})
        )
    columns = [{"name": c["name"], "action": "drop"} if c["name"] == "city" else c for c in plain["column"]]
    with pytest.raises(ParameterError, match="the plan drops the column 'city'"):
        release(
            tmp_path / "l.sqlite", tmp_path / "o.csv", plan=Plan.from_plain({**plain, "epsilon": 3, "column": columns})
        )
    with pytest.raises(InputError, match="does not know the kind"):
        release(tmp_path / "l.sqlite", tmp_path / "o.csv", toy_work(kind="unknown"))
    assert not (tmp_path / "l.sqlite").exists() or statuses(tmp_path / "l.sqlite") == []


def test_an_invalid_value_reserves_nothing(tmp_path):
    table = table_of(50)
    broken = Table(table.frame.with_columns(city=table.frame["city"].str.replace("Graz", "Rome")), "people.csv")
    prepared = prepare(plan_of(), broken, destination(tmp_path / "o.csv"), toy_work())
    with Ledger.open(tmp_path / "l.sqlite") as opened, pytest.raises(InputError, match="is not in the domain"):
        release_prepared(prepared, opened)
    assert statuses(tmp_path / "l.sqlite") == []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d["guarantee"].update(epsilon="0.2"), "epsilon = 0.2"),
        (lambda d: d["queries"][0].update(epsilon="0.05"), "epsilon"),
        (lambda d: d["guarantee"].update(replace_one={"epsilon": 0.3, "delta": 0.0}), "replace_one"),
        (lambda d: d["method"].update(lines=7), "another number of lines"),
        (lambda d: d["outside_guarantee"].append("nothing"), "does not list all that ε does not cover"),
        (lambda d: d.update(kind="other"), "does not know the kind"),
        (lambda d: d.update(columns=["town"]), "no column 'town'"),
        (lambda d: d.update(more=1), "malformed"),
    ],
)
def test_verify_finds_a_changed_certificate(tmp_path, change, said):
    release(tmp_path / "l.sqlite", tmp_path / "out.csv")
    path = tmp_path / "out.csv.certificate.json"
    document = json.loads(path.read_text("utf-8"))
    change(document)
    path.write_text(json.dumps(document), "utf-8")
    assert "checksum differs" in verify_any(tmp_path / "out.csv")[0] or said == "malformed"
    forge(tmp_path / "out.csv", lambda document: None)
    problems = verify_any(tmp_path / "out.csv")
    assert said in " ".join(problems)
    if said != "malformed":
        with Ledger.open(tmp_path / "l.sqlite") as opened:
            assert verify_in_ledger(ledger_claims(tmp_path / "out.csv"), opened)


def test_a_certificate_that_is_no_json_is_a_fault_of_the_release(tmp_path):
    release(tmp_path / "l.sqlite", tmp_path / "out.csv")
    (tmp_path / "out.csv.certificate.json").write_text('{"format": ', "utf-8")
    assert "not JSON" in " ".join(verify_any(tmp_path / "out.csv"))
    (tmp_path / "out.csv.certificate.json").unlink()
    with pytest.raises(InputError, match="no certificate next to the file"):
        verify_any(tmp_path / "out.csv")


def die_and_release(ledger: Path, target: Path, owner: str, attribute: str, after: bool) -> None:
    """Release the toy and die at a call of an inner function."""
    register()
    importlib.import_module(owner.partition(":")[0])
    die_at(owner, attribute, 1, after)
    release(ledger, target)


@pytest.mark.skipif(sys.platform == "win32", reason="fork servers and SIGKILL are POSIX")
@pytest.mark.parametrize(
    ("owner", "attribute", "after"),
    [
        ("workbench.release.ledger.ledger:Ledger", "certify", True),
        ("workbench.release.part_files:DrawFile", "publish", False),
    ],
)
def test_the_next_run_publishes_what_a_killed_one_finished_without_a_charge(tmp_path, owner, attribute, after):
    out, ledger = tmp_path / "out", tmp_path / "l.sqlite"
    out.mkdir()
    assert run_to_exit(die_and_release, ledger, out / "out.csv", owner, attribute, after) == -9
    prepared = prepare(plan_of(), table_of(50), destination(out / "out.csv"), toy_work())
    with Ledger.open(ledger) as opened:
        assert verdict_on(prepared, opened).waiting
    if attribute == "certify":
        with pytest.raises(InputError, match="this run asks for something else"):
            release(ledger, out / "out.csv", toy_work(request={"count": "Linz"}))
    done = release(ledger, out / "out.csv")
    assert done.published_earlier
    assert statuses(ledger) == ["charged"]
    assert names_in(out) == WHOLE
    assert verify_any(out / "out.csv") == []


def test_a_part_that_was_changed_is_thrown_away_and_paid_anew(tmp_path, monkeypatch):
    out, ledger = tmp_path / "out", tmp_path / "l.sqlite"
    out.mkdir()

    def occupy(event: Any) -> None:
        if getattr(event, "label", "") == "certified":
            (out / "out.csv.certificate.json").mkdir()

    prepared = prepare(plan_of(), table_of(50), Destination(out / "out.csv", "csv"), toy_work())
    with Ledger.open(ledger) as opened, pytest.raises(InputError, match="could not be renamed"):
        release_prepared(prepared, opened, occupy)
    (part,) = (p for p in out.iterdir() if p.name.endswith(".part"))
    part.write_bytes(b"graz\n99\n")
    shutil.rmtree(out / "out.csv.certificate.json")
    raise_cap(ledger, "10")
    notes: list[Any] = []
    with Ledger.open(ledger) as opened:
        assert not release_prepared(prepared, opened, notes.append).published_earlier
    assert any("damaged or changed" in getattr(n, "text", "") for n in notes)
    assert statuses(ledger) == ["charged", "charged"]
