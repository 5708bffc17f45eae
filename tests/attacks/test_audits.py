"""What is released proves no more than what was charged, and a fault planted under it is seen.

The bounds hold with a confidence of 1 − 1e-6 each. The quick tests audit one release of each kind with few samples and
a gross fault; the slow ones audit every kind, every learner and every fault.
"""

import pytest
from audits import Audit, Fault, drawn_at, released
from central_audits import STATISTICS, SYNTHETIC
from local_audits import LOCAL, RELEASES
from model_audits import EDGE, model, models

from workbench.learners import LEARNERS


def named(name: str, audits: tuple[Audit, ...]) -> Audit:
    (found,) = (audit for audit in audits if audit.name == name)
    return found


QUICK = {
    "statistics: count by groups": (STATISTICS, 150, drawn_at(10)),
    "synthesize: marginals": (SYNTHETIC, 150, drawn_at(10)),
    "rappor: 1 report of a client": (LOCAL[:1], 30_000, LOCAL[0].faults[0]),
    f"rappor: a client in {RELEASES} releases, answers kept": (LOCAL, 3_800, LOCAL[3].faults[0]),
    "oue: a report": (LOCAL, 60_000, LOCAL[4].faults[0]),
    "olh: a report": (LOCAL, 60_000, LOCAL[4].faults[0]),
}


@pytest.mark.parametrize("name", QUICK)
def test_a_release_proves_no_more_than_it_is_charged_and_a_gross_fault_is_seen(name):
    audits, samples, fault = QUICK[name]
    audit = named(name, audits)
    assert not audit.found(samples=samples).refutes(audit.claim)
    assert audit.found(fault, samples).refutes(audit.claim)


def test_a_model_file_proves_no_more_than_it_is_charged_and_a_gross_fault_is_seen():
    audit = model("dbscan", EDGE, epsilon=1.0, samples=200)
    assert not audit.found().refutes(audit.claim)
    assert audit.found(drawn_at(16)).refutes(audit.claim)


@pytest.fixture
def one_row(tmp_path):
    """A file of one public row."""
    path = tmp_path / "asked.csv"
    path.write_text("x,z\n0,0\n")
    return path


def test_every_learner_is_audited(one_row):
    audited = {audit.name.partition(",")[0].removeprefix("fit ") for audit in models(one_row)}
    assert audited == {entry.name for entry in LEARNERS}


def check(audit: Audit) -> None:
    found = audit.found()
    assert not found.refutes(audit.claim), found
    assert found.epsilon >= audit.least, found
    for fault in audit.faults:
        assert audit.found(fault).refutes(audit.claim), fault.name


ALL = (*STATISTICS, *SYNTHETIC, *LOCAL)


@pytest.mark.slow
@pytest.mark.parametrize("audit", ALL, ids=[f"{a.name}, {a.row}" for a in ALL])
def test_every_release_proves_no_more_than_it_is_charged_and_every_fault_is_seen(audit):
    check(audit)


@pytest.mark.slow
@pytest.mark.parametrize("place", range(18))
def test_every_model_proves_no_more_than_it_is_charged_and_every_fault_is_seen(place, one_row):
    pytest.importorskip("xgboost")
    found = models(one_row)
    assert len(found) == 18
    check(found[place])


@pytest.mark.slow
@pytest.mark.parametrize("place", range(4))
def test_every_network_proves_no_more_than_it_is_charged_and_every_fault_is_seen(place):
    pytest.importorskip("torch")
    from network_audits import networks

    found = networks()
    assert len(found) == 4
    check(found[place])


@pytest.mark.slow
@pytest.mark.parametrize("audit", STATISTICS, ids=[a.name for a in STATISTICS])
def test_the_noise_that_publishes_proves_no_more_than_it_is_charged(audit):
    assert not audit.found(Fault("none", noise=released)).refutes(audit.claim)
