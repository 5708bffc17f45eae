"""One training in several processes: the batches, sums and cost of one, rows that stay apart, and no process left."""

import os
import signal
import tempfile
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

torch = pytest.importorskip("torch")

from own_networks import written  # noqa: E402

from workbench.data.schema import Attribute  # noqa: E402
from workbench.data.table import Table  # noqa: E402
from workbench.deep import ranks  # noqa: E402
from workbench.deep.devices import computing_on  # noqa: E402
from workbench.deep.features import Features  # noqa: E402
from workbench.deep.frozen_weights import frozen  # noqa: E402
from workbench.deep.plan import LEAST_SINGLE, DpSgdPlan  # noqa: E402
from workbench.deep.preparation import engine_for  # noqa: E402
from workbench.deep.private_step import flattened, sampler_of  # noqa: E402
from workbench.deep.probe_step import HalvingClippedSum  # noqa: E402
from workbench.deep.ranks import bound_of, other_processes, ranges  # noqa: E402
from workbench.deep.user_network import trust  # noqa: E402
from workbench.params import ParameterError, WorkbenchError  # noqa: E402
from workbench.processes.executor import worker_processes  # noqa: E402
from workbench.release.certificate import read_card  # noqa: E402
from workbench.release.checkpoint_folder import runs_folder  # noqa: E402
from workbench.release.ledger.ledger import Ledger  # noqa: E402
from workbench.release.model.network_task import Checkpoints, NetworkTask  # noqa: E402
from workbench.release.model.preflight import network_preflight  # noqa: E402
from workbench.release.model.release_network import NetworkRelease, release_training  # noqa: E402
from workbench.release.verify import verify_release  # noqa: E402
from workbench.signals import Event, Progress  # noqa: E402
from workbench.signals.cancel import NEVER  # noqa: E402
from workbench.signals.events import ignore  # noqa: E402
from workbench.work.noise import Charged  # noqa: E402

ROWS, RATE, STEPS = 60, 0.25, 200
FALSE_ALARM = 1e-6


def features(columns: int) -> Features:
    of = tuple(Attribute(name=f"x{i}", kind="real", lower=-1, upper=1) for i in range(columns))
    return Features(of, Attribute(name="y", kind="category", domain=("0", "1")))


def plan(**changes: Any) -> DpSgdPlan:
    usual = {"network": "logistic", "noise": 1.0, "delta": 1e-5, "batch": 10, "epochs": 8, "lr": 1.0, "clip": 1.0}
    return DpSgdPlan(**{**usual, "accountant": "rdp", "device": "cpu", "processes": 2, **changes})


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    made = tmp_path / "temporary"
    made.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(made))
    return made


@given(st.integers(1, 10**6), st.integers(1, 256))
def test_each_row_is_in_one_range(rows, processes):
    parts = ranges(rows, processes)
    assert [part.start for part in parts] == [0, *(part.stop for part in parts[:-1])]
    assert (len(parts), parts[-1].stop) == (processes, rows)
    sizes = [part.stop - part.start for part in parts]
    assert max(sizes) - min(sizes) <= 1


@given(st.integers(0, 2**32 - 1), st.integers(2, 5), st.sampled_from([1.0, 0.1, 3e-5, 977.3]))
def test_no_row_moves_the_sum_of_all_ranks_by_more_than_the_norm(seed, processes, clip):
    """Sums that are as large as can be, so that adding them rounds as much as it can; compared as fractions."""
    generator, rows = np.random.default_rng(seed), 400
    bound = bound_of(clip, rows, processes)
    direction = generator.normal(size=3)
    direction *= bound * (1 - 2**-50) / np.linalg.norm(direction)
    sums = [direction * (part.stop - part.start) for part in ranges(rows, processes)]
    emptied = [sums[0] - direction, *sums[1:]]
    order = generator.permutation(processes)
    with_row, without = (np.add.reduce([part[k] for k in order]) for part in (sums, emptied))
    exact = [Fraction(a) - Fraction(b) for a, b in zip(with_row.tolist(), without.tolist(), strict=True)]
    assert sum(d * d for d in exact) <= Fraction(clip) ** 2


def test_two_processes_sum_what_one_does_of_independent_coins_and_each_knows_its_rows_alone(temporary, monkeypatch):
    """Row i alone has a number in column i: the sum says who was drawn, and one engine sums these rows again.

    At a norm that only the engine in double precision serves, whose bound does not depend on the rows of a batch.
    """
    sent: list[Any] = []
    told = ranks.OtherProcesses._send
    monkeypatch.setattr(ranks.OtherProcesses, "_send", lambda *given: (sent.append(given[2]), told(*given)))
    known, asked = features(ROWS), plan(batch=round(RATE * ROWS), clip=LEAST_SINGLE / 2)
    inputs, targets = torch.eye(ROWS), torch.arange(ROWS) % 2
    seen = np.zeros((STEPS, ROWS), dtype=bool)
    with computing_on("cpu"), other_processes(asked, known, asked.schedule(ROWS), "cpu") as others:
        assert others is not None
        others.join(NEVER)
        assert not list(temporary.iterdir()), "before the charge nothing is left on the disk"
        module = asked.architecture.build(ROWS, 2)
        parameters = flattened(module)
        own, alone = (HalvingClippedSum(lambda rows: engine_for(module, asked.clip, rows), 16, ignore) for _ in "12")
        cost = asked.schedule(ROWS).cost()
        steps = Charged(lambda cost: None).ask(cost).steps("DP-SGD logistic")
        mine = others.begin(inputs, targets, own, (parameters, {}), steps)
        sampler = sampler_of(len(mine[1]), steps)
        for step in range(STEPS):
            found = others.drawn(*mine, sampler.draw())
            seen[step] = found.total[: 2 * ROWS].view(2, ROWS).abs().sum(0).numpy() > 0
            drawn = torch.from_numpy(np.flatnonzero(seen[step]))
            one = alone(inputs[drawn], targets[drawn])
            assert torch.allclose(found.total, one.total.double(), rtol=0, atol=1e-6 * float(one.total.norm()))
            assert (found.rows, found.correct) == (one.rows, one.correct)
            assert found.loss == pytest.approx(one.loss, rel=1e-6)
            parameters += torch.randn(len(parameters)) / 10
    assert worker_processes() == ()
    half = ROWS // 2
    for drawn, chance in ((seen[:, :half], RATE), (seen[:, half:], RATE), (seen[:, :half] & seen[:, half:], RATE**2)):
        low, high = stats.binom.ppf([FALSE_ALARM / 6, 1 - FALSE_ALARM / 6], drawn.size, chance)
        assert low <= drawn.sum() <= high
    (of_rank,) = (m for m in sent if isinstance(m, ranks._Part))
    assert np.array_equal(of_rank.inputs, inputs[half:].numpy())
    assert np.array_equal(of_rank.targets, targets[half:].numpy())
    before = sent[: sent.index(of_rank)]
    assert [type(m) for m in before] == [ranks._Rank, bytes], "before the charge goes what is public, and a key"


NETWORK = """
import os, torch
def make(inputs, classes):
    torch.manual_seed(int.from_bytes(os.urandom(4), "big"))
    first = torch.nn.Linear(inputs, 8).requires_grad_(False)
    return torch.nn.Sequential(first, torch.nn.Tanh(), torch.nn.Linear(8, classes))
"""


@pytest.mark.slow
def test_frozen_weights_that_code_makes_anew_are_those_of_the_first_process(tmp_path, monkeypatch):
    name = written("drawn_anew", NETWORK, tmp_path, monkeypatch) + ":make"
    trust(name)
    known, asked = features(3), plan(network=name, batch=ROWS, clip=LEAST_SINGLE / 2)
    inputs, targets = torch.rand(ROWS, 3), torch.arange(ROWS) % 2
    with computing_on("cpu"), other_processes(asked, known, asked.schedule(ROWS), "cpu") as others:
        assert others is not None
        others.join(NEVER)
        module = asked.architecture.build(3, 2)
        weights = flattened(module), {key: held.numpy() for key, held in frozen(module).items()}
        own, alone = (HalvingClippedSum(lambda rows: engine_for(module, asked.clip, rows), 16, ignore) for _ in "12")
        steps = Charged(lambda cost: None).ask(asked.schedule(ROWS).cost()).steps(asked.schedule(ROWS).event.label)
        mine = others.begin(inputs, targets, own, weights, steps)
        found = others.drawn(*mine, np.arange(len(mine[1])))
    assert weights[1]
    one = alone(inputs, targets)
    assert torch.allclose(found.total, one.total.double(), rtol=0, atol=1e-6 * float(one.total.norm()))


@pytest.mark.parametrize("keys", [(b"one", b"one"), (b"one", b"two")])
def test_a_program_without_the_key_is_no_rank(keys, tmp_path):
    told = [ranks._Rank(plan(), features(1), rank, "cpu", str(tmp_path / "ranks")) for rank in (0, 1)]
    with ThreadPoolExecutor(2) as pool:
        joined = [pool.submit(one.group, key) for one, key in zip(told, keys, strict=True)]
        lost = [isinstance(one.exception(timeout=60), ranks._LostError) for one in joined]
    assert lost == [keys[0] != keys[1]] * 2
    assert ranks._proof(b"one", 0, 1) != ranks._proof(b"one", 1, 0)


TABLE = Table(pl.DataFrame({"x0": [str(i / 50) for i in range(50)], "y": [str(i // 25) for i in range(50)]}), "made")


def released(ledger: Ledger, target: Path, hear: Any = ignore, **more: Any) -> NetworkRelease:
    task = NetworkTask(**{"plan": plan(), "features": features(1), "table": TABLE, "folder": target, **more})
    return release_training(task, ledger, hear)


@pytest.mark.slow
def test_a_killed_process_ends_the_run_which_stays_charged_and_goes_on(tmp_path, temporary):
    def kill(event: Event) -> None:
        if isinstance(event, Progress) and event.label == "training steps" and event.done == 9:
            (rank,) = worker_processes()
            os.kill(rank, signal.SIGKILL)

    whole = plan(processes=1).schedule(50).cost()
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        with pytest.raises(WorkbenchError, match=r"^process 2 of the 2 training processes has ended"):
            released(ledger, tmp_path / "net", kill, checkpoints=Checkpoints())
        (entry,) = ledger.releases()
        assert (entry.status, entry.epsilon, entry.delta) == ("reserved", whole.epsilon, whole.delta)
        assert not (tmp_path / "net").exists()
        assert worker_processes() == ()
        assert not list(temporary.iterdir())
        (folder,) = runs_folder().iterdir()
        released(ledger, tmp_path / "net", checkpoints=Checkpoints(resume=folder))
        (entry,) = ledger.releases()
        assert (entry.status, entry.epsilon, entry.delta) == ("charged", whole.epsilon, whole.delta)
    card = read_card(tmp_path / "net")
    assert card["parameters"]["processes"] == 2
    assert card["training"]["steps"] == 40
    assert verify_release(tmp_path / "net") == []


def test_the_forecast_of_memory_counts_every_process():
    two, one = (network_preflight(plan(processes=n), features(1), 50_000) for n in (2, 1))
    assert two.libraries == 2 * one.libraries
    assert one.memory is not None
    assert two.memory is not None
    assert one.memory < two.memory < 2 * one.memory


def test_what_two_processes_cannot_do_is_refused_before_the_charge(tmp_path, monkeypatch):
    with pytest.raises(ParameterError, match=r"an adaptive clipping norm needs a single process"):
        plan(target_unclipped_quantile=0.5)
    with Ledger.open(tmp_path / "ledger.sqlite") as ledger:
        with pytest.raises(
            ParameterError, match=r"^200 processes are more than two for each of the \d+ processor cores"
        ):
            released(ledger, tmp_path / "net", plan=plan(processes=200))
        monkeypatch.setattr("workbench.deep.ranks.cores", lambda: 51)
        with pytest.raises(ParameterError, match=r"^50 rows cannot be divided among 51 processes"):
            released(ledger, tmp_path / "net", plan=plan(processes=51))
        assert ledger.releases() == () or {r.status for r in ledger.releases()} <= {"void"}
