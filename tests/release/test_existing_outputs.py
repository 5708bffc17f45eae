"""An output that exists is refused, and nothing is charged, unless it is to be replaced, which is charged again."""

import os
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest
from release_cases import plan_of, table_of
from released import release_table

from workbench.learners import learner
from workbench.params import InputError
from workbench.params.remedies import REPLACE_OUTPUT
from workbench.release import part_files
from workbench.release.bundle import write_bundle
from workbench.release.certificate import certificate_path
from workbench.release.described_release import release_at
from workbench.release.ledger.ledger import Ledger
from workbench.release.model.release_learner import FitTask, release_fit
from workbench.release.part_files import DrawFolder
from workbench.release.release_path import destination, prepare, release_prepared
from workbench.release.statistics.statistics_work import statistics_work
from workbench.release.verification import verify_any
from workbench.signals.events import Event, Notice
from workbench.statistics.release_file import FORMATS
from workbench.statistics.request import usual_request

CAP = Decimal(1000)


def _table(folder: Path, ledger: Ledger, heard: list[Event], *, replace: bool) -> Path:
    target = folder / "people.csv"
    release_table(plan_of(), table_of(30), target, ledger, heard.append, replace=replace)
    return target


def _figures(folder: Path, ledger: Ledger, heard: list[Event], *, replace: bool) -> Path:
    target = folder / "figures.json"
    plan, table = plan_of(), table_of(30)
    to = destination(target, formats=FORMATS, replace=replace)
    work = statistics_work(usual_request(plan), plan, plan.row_epsilon(), 30, "json")
    release_prepared(prepare(plan, table, to, work), ledger, heard.append)
    return target


def _model(folder: Path, ledger: Ledger, heard: list[Event], *, replace: bool) -> Path:
    target, chosen = folder / "model", learner("naive-bayes")
    parameters = chosen.parameters.from_plain({"epsilon": 1.0}, "test")
    task = FitTask(chosen, parameters, plan_of(), "city", table_of(30), target, replace=replace)
    release_fit(task, ledger, heard.append)
    return target


WAYS = pytest.mark.parametrize("way", [_table, _figures, _model], ids=["table", "figures", "model"])


@pytest.fixture
def ledger(tmp_path):
    """Return a ledger with room for several releases of the table."""
    opened = Ledger.open(tmp_path / "ledger.sqlite")
    opened.set_cap(opened.enter_for_release(table_of(30), None), CAP)
    return opened


def _spent(ledger: Ledger) -> list[Decimal]:
    return [r.epsilon for r in ledger.releases() if r.status == "charged"]


def _bytes(path: Path) -> dict[str, bytes]:
    files = [path, certificate_path(path)] if path.is_file() else [p for p in path.rglob("*") if p.is_file()]
    return {str(p): p.read_bytes() for p in files}


@WAYS
def test_a_second_run_is_refused_and_costs_nothing(way, tmp_path, ledger):
    target = way(tmp_path, ledger, [], replace=False)  # type: ignore[operator]
    spent, before = _spent(ledger), _bytes(target)
    with pytest.raises(InputError, match="exists already") as refused:
        way(tmp_path, ledger, [], replace=False)  # type: ignore[operator]
    assert REPLACE_OUTPUT in [r.kind for r in refused.value.remedies]
    assert (_spent(ledger), _bytes(target)) == (spent, before)
    assert not [p for p in tmp_path.iterdir() if p.name.endswith(".part")]


@WAYS
def test_replacing_charges_again_and_says_so(way, tmp_path, ledger):
    heard: list[Event] = []
    target = way(tmp_path, ledger, heard, replace=True)  # type: ignore[operator]
    assert not [e for e in heard if isinstance(e, Notice) and "charged again" in e.text]
    before = _bytes(target)
    way(tmp_path, ledger, heard, replace=True)  # type: ignore[operator]
    assert [e for e in heard if isinstance(e, Notice) and "charged again" in e.text]
    assert len(_spent(ledger)) == 2
    assert _bytes(target) != before
    assert verify_any(target) == []
    assert not [p for p in tmp_path.iterdir() if p.name.endswith(".part")]


@pytest.mark.parametrize("way", [_table, _figures])
def test_a_certificate_of_something_else_is_not_overwritten_either(way, tmp_path, ledger):
    target = way(tmp_path, ledger, [], replace=False)  # type: ignore[operator]
    os.unlink(target)
    with pytest.raises(InputError, match="exists already"):
        way(tmp_path, ledger, [], replace=False)  # type: ignore[operator]
    assert len(_spent(ledger)) == 1


def test_a_folder_that_holds_no_model_is_never_replaced(tmp_path, ledger):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "thesis.txt").write_text("years of work")
    with pytest.raises(InputError, match=r"not a folder with a card\.json"):
        _model(tmp_path, ledger, [], replace=True)
    assert (tmp_path / "model" / "thesis.txt").read_text() == "years of work"
    assert _spent(ledger) == []


def test_a_link_to_a_model_is_not_replaced(tmp_path, ledger):
    target = _model(tmp_path, ledger, [], replace=False)
    os.rename(target, tmp_path / "real")
    os.symlink(tmp_path / "real", target)
    with pytest.raises(InputError, match="exists already"):
        _model(tmp_path, ledger, [], replace=True)
    assert (tmp_path / "real" / "card.json").is_file()


def test_an_output_that_appears_meanwhile_is_kept_and_the_paid_draw_waits(tmp_path, ledger):
    target = tmp_path / "people.csv"

    def occupy(event: Event) -> None:
        if getattr(event, "what", "") == "certified" or getattr(event, "label", "") == "certified":
            target.write_text("of somebody else")

    with pytest.raises(InputError, match="could not be renamed"):
        release_table(plan_of(), table_of(30), target, ledger, occupy)
    assert target.read_text() == "of somebody else"
    with pytest.raises(InputError, match="exists already"):  # still there, and nothing is charged
        _table(tmp_path, ledger, [], replace=False)
    assert len(_spent(ledger)) == 1
    assert release_table(plan_of(), table_of(30), target, ledger, replace=True).published_earlier
    assert len(_spent(ledger)) == 1
    assert verify_any(target) == []


def test_a_bundle_is_replaced_only_when_asked(tmp_path, ledger):
    target = _table(tmp_path, ledger, [], replace=False)
    write_bundle(release_at(target), tmp_path / "bundle", ledger)
    with pytest.raises(InputError, match="exists already"):
        write_bundle(release_at(target), tmp_path / "bundle", ledger)
    (tmp_path / "bundle" / "README.txt").unlink()
    write_bundle(release_at(target), tmp_path / "bundle", ledger, replace=True)
    assert verify_any(tmp_path / "bundle") == []
    with pytest.raises(InputError, match=r"MANIFEST\.json"):
        write_bundle(release_at(target), tmp_path, ledger, replace=True)


def test_a_certificate_that_appears_meanwhile_is_kept(tmp_path, ledger):
    target = tmp_path / "people.csv"

    def occupy(event: Event) -> None:
        if getattr(event, "label", "") == "certified" or getattr(event, "what", "") == "certified":
            certificate_path(target).write_text("of somebody else")

    with pytest.raises(InputError, match="could not be renamed"):
        release_table(plan_of(), table_of(30), target, ledger, occupy)
    assert certificate_path(target).read_text() == "of somebody else"
    certificate_path(target).unlink()
    assert release_table(plan_of(), table_of(30), target, ledger).published_earlier


def test_a_folder_that_appears_in_place_of_a_model_is_kept(tmp_path, ledger, monkeypatch):
    target, publish = _model(tmp_path, ledger, [], replace=False), DrawFolder.publish

    def occupied(part: DrawFolder) -> None:
        os.rename(target, tmp_path / "former")
        target.mkdir()
        (target / "thesis.txt").write_text("years of work")
        publish(part)

    monkeypatch.setattr(DrawFolder, "publish", occupied)
    with pytest.raises(InputError, match="could not be renamed"):
        _model(tmp_path, ledger, [], replace=True)
    assert (target / "thesis.txt").read_text() == "years of work"


@pytest.mark.parametrize("together", [True, False])
def test_a_model_is_replaced_in_one_step_where_the_system_can(together, tmp_path, ledger, monkeypatch):
    target = _model(tmp_path, ledger, [], replace=False)
    if together and sys.platform != "linux":
        pytest.skip("this system cannot exchange two folders")
    if not together:
        monkeypatch.setattr(part_files, "swap_names", lambda one, other: False)
    former, present = (target / "card.json").read_bytes(), []
    for name in ("rename", "replace"):
        monkeypatch.setattr(os, name, _watched(getattr(os, name), target, present))
    _model(tmp_path, ledger, [], replace=True)
    assert all(present) or not together
    assert (target / "card.json").read_bytes() != former
    assert verify_any(target) == []
    assert not list(tmp_path.glob("model.*"))


def _watched(call: Callable[..., None], target: Path, present: list[bool]) -> Callable[..., None]:
    def watched(*names: object) -> None:
        call(*names)
        present.append(target.is_dir())

    return watched
