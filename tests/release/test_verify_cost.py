"""What `verify` spends on a release of somebody else: the cheap checks decide first, and memory is bounded."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from release_cases import certificate_of, plan_of
from released import release_table

from workbench.data.table import Table
from workbench.params import CancelledError
from workbench.privacy.local.mechanism_table import MechanismTable
from workbench.privacy.local.mechanisms import Mechanism
from workbench.release import verify
from workbench.release.certificate import checksum
from workbench.release.ledger.ledger import Ledger
from workbench.release.verify import verify_release
from workbench.signals.cancel import CancelToken

LARGEST, SMALL = 4096, 100
MEASURED = """
import sys
from pathlib import Path
from workbench.release.verify import verify_release
problems = verify_release(Path(sys.argv[1]))
assert problems == [], problems
status = Path("/proc/self/status").read_text().split()
print(int(status[status.index("VmHWM:") + 1]) * 1024)
"""


def release_of(folder: Path, cells: int) -> Path:
    """A release of a few rows by three mechanisms of so many cells."""

    def column(name: str, mechanism: str) -> dict[str, Any]:
        return {"name": name, "kind": "integer", "lower": 0, "upper": cells - 1, "mechanism": mechanism}

    frame = pl.DataFrame({"a": ["1", "2"], "b": ["3", "4"], "c": ["5", "6"]})
    plan = plan_of(3.0, column=[column("a", "staircase"), column("b", "bounded-laplace"), column("c", "grr")])
    with Ledger.open(folder / "ledger.sqlite") as ledger:
        release_table(plan, Table(frame, "large.csv"), folder / "out.csv", ledger)
    return folder / "out.csv"


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    return release_of(tmp_path_factory.mktemp("small"), SMALL)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak of a process is told otherwise there")
@pytest.mark.slow
def test_the_largest_tables_are_rebuilt_within_half_a_gigabyte(tmp_path, monkeypatch):
    # Every value stays as it is: the samplers of such tables would take most of the time of this test.
    monkeypatch.setattr(MechanismTable, "sample", lambda table, cells, entropy: cells)
    released = release_of(tmp_path, LARGEST)
    done = subprocess.run([sys.executable, "-c", MEASURED, str(released)], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 500_000_000


def spoiled(released: Path, folder: Path, change: dict[str, Any], *, forged: bool) -> Path:
    """A copy of the release whose certificate says something else."""
    target = folder / released.name
    shutil.copy(released, target)
    document = {**certificate_of(released), **change}
    if forged:
        document["checksum"] = checksum(document)
    target.with_name(target.name + ".certificate.json").write_text(json.dumps(document), "utf-8")
    return target


@pytest.mark.parametrize("what", ["checksum", "bytes", "other names", "other claim", "account"])
def test_no_mechanism_is_rebuilt_where_less_decides(released, tmp_path, monkeypatch, what):
    def built(self: Mechanism, *_: Any) -> Any:
        raise AssertionError(f"{self.name} was built")

    document = certificate_of(released)
    changes: dict[str, dict[str, Any]] = {
        "checksum": {"rows": 3},
        "bytes": {},
        "other names": {"columns": document["columns"][:2]},
        "other claim": {"guarantee": {**document["guarantee"], "epsilon": "0.01"}},
        "account": {
            "account": {
                "name": "nobody's",
                "cap_epsilon": "17",
                "spent_before": "0",
                "remaining_after": "1",
                "cap_raised": [],
            }
        },
    }
    target = spoiled(released, tmp_path, changes[what], forged=what != "checksum")
    if what == "bytes":
        target.write_text("a,b,c\n1,2,3\n")
    monkeypatch.setattr(Mechanism, "build", built)
    assert verify_release(target)


def test_a_certificate_that_asks_for_too_much_is_a_fault_and_costs_nothing(released, monkeypatch):
    monkeypatch.setattr(verify, "MOST_ENTRIES", 2 * SMALL**2)
    monkeypatch.setattr(Mechanism, "build", None)
    (problem,) = verify_release(released)
    assert problem == "its mechanisms have more than 2.0e+04 probabilities: too many to recompute"


def test_verifying_can_be_cancelled(released):
    cancel = CancelToken()
    cancel.cancel()
    with pytest.raises(CancelledError):
        verify_release(released, cancel)


def test_a_key_that_is_there_twice_does_not_verify(released, tmp_path):
    """Programs differ in which of the two they believe: here the first one says less than the second."""
    target = spoiled(released, tmp_path, {}, forged=False)
    assert verify_release(target) == []
    certificate = target.with_name(target.name + ".certificate.json")
    whole = certificate.read_text("utf-8")
    for key, lie in (("rows", "999"), ("guarantee", '{"epsilon": "0.01"}'), ("checksum", '"0"')):
        certificate.write_text(whole.replace("{", f'{{"{key}": {lie}, ', 1), "utf-8")
        (problem,) = verify_release(target)
        assert problem.startswith(f"the certificate has the key {key!r} twice (")
    inner = whole.replace('"guarantee": {', '"guarantee": {"epsilon": "0.01", ', 1)
    certificate.write_text(inner, "utf-8")
    assert "the key 'epsilon' twice" in verify_release(target)[0]
