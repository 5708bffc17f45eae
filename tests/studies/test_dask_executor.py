"""Tasks on the workers of a real Dask cluster: nothing is lost, nothing is kept, nothing is said aloud."""

import os
import signal
import socket
import threading
import time
from pathlib import Path

import executor_tasks as tasks
import numpy as np
import pytest
from local_cluster import NO_DASK, Cluster, until
from test_curve_study import BOUNDS, PLAN, table

import workbench
from workbench.params import CancelledError, InputError, ParameterError, WorkbenchError
from workbench.processes import dask_cluster, dask_run
from workbench.processes.dask_address import scheduler_address, scheduler_named, unencrypted
from workbench.processes.dask_executor import run_tasks_on
from workbench.processes.worker import WorkerFaultError
from workbench.signals.cancel import CancelToken
from workbench.studies.curve import run_curve
from workbench.studies.regimes import StudyData
from workbench.studies.results import to_csv

pytestmark = NO_DASK

HERE = Path(__file__).parent
NO_SUCH_FILES = {"tls.ca-file": "/none.pem", "tls.client.cert": "/none.pem", "tls.client.key": "/none.pem"}


def silent(text: str) -> None:
    raise AssertionError(text)


def run(cluster: Cluster, work, shared, count, *, cancel=None, warn=silent):
    return run_tasks_on(
        cluster.address, work, shared, range(count), cancel=cancel or CancelToken(), warn=warn, name="task {}".format
    )


def test_a_scheduler_file_is_read_in_place_of_an_address(tmp_path):
    file = tmp_path / "scheduler.json"
    file.write_text('{"type": "Scheduler", "address": "tls://10.0.0.7:8786", "workers": {}}')
    assert scheduler_named(None, file) == "tls://10.0.0.7:8786"
    assert scheduler_named("10.0.0.7:1", None) == "tcp://10.0.0.7:1"
    assert scheduler_named(None, None) is None
    with pytest.raises(ParameterError, match="--scheduler and --scheduler-file both name the scheduler"):
        scheduler_named("10.0.0.7:1", file, "--")
    with pytest.raises(ParameterError, match="scheduler and scheduler_file both"):
        scheduler_named("10.0.0.7:1", str(file))
    for text in ("{}", "[1]", '"x"', '{"address": 7}', '{"address": null}'):
        file.write_text(text)
        with pytest.raises(InputError, match="this file contains no address of a Dask scheduler"):
            scheduler_named(None, file)
    file.write_text('{"address": "inproc://1/2/3"}')
    with pytest.raises(ParameterError, match="is not the address of a Dask scheduler"):
        scheduler_named(None, file)
    with pytest.raises(InputError, match=r"scheduler\.json"):
        scheduler_named(None, tmp_path / "none" / "scheduler.json")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with Cluster(tmp_path_factory.mktemp("cluster"), imports=[HERE]) as started:
        started.add(2)
        yield started


@pytest.fixture
def own(tmp_path):
    """A cluster for one test, without workers yet."""
    with Cluster(tmp_path, imports=[HERE]) as started:
        yield started


def test_every_task_is_done_once_and_nothing_is_kept(cluster):
    table = np.arange(300.0) * 10
    found = list(run(cluster, tasks.add, table, 300))
    assert len(found) == 300
    assert dict(found) == {i: 11.0 * i for i in range(300)}
    assert cluster.kept() == (0, 0)


def test_both_workers_work_and_each_with_one_thread(cluster):
    found = [answer for _, answer in run(cluster, tasks.process_and_threads, None, 20)]
    assert {process for process, _ in found} == {worker.pid for worker in cluster.workers}
    assert {count for _, counts in found for count in counts} == {1}


def test_a_curve_has_the_figures_of_this_computer(cluster):
    data = StudyData.read(table(), BOUNDS, "Kind")
    there, here = run_curve(PLAN, data, scheduler=cluster.address), run_curve(PLAN, data)
    assert there.rows == here.rows
    assert to_csv(there.rows).encode() == to_csv(here.rows).encode()
    assert cluster.kept() == (0, 0)


def test_cancel_takes_less_than_a_second_and_leaves_nothing(cluster):
    cancel = CancelToken()
    asked = []

    def ask() -> None:
        asked.append(time.monotonic())
        cancel.cancel()

    timer = threading.Timer(1.0, ask)
    timer.start()
    with pytest.raises(CancelledError):
        list(run(cluster, tasks.nap, np.zeros(1000), 10_000, cancel=cancel))
    assert time.monotonic() - asked[0] < 1
    timer.join()
    assert cluster.kept() == (0, 0)


def test_leaving_early_leaves_nothing(cluster):
    results = run(cluster, tasks.nap, np.zeros(1000), 10_000)
    next(results)
    results.close()
    assert cluster.kept() == (0, 0)


def test_errors_are_those_of_this_computer_and_nobody_logs_them(cluster, capfd):
    with pytest.raises(InputError) as refused:
        list(run(cluster, tasks.refuse, None, 4))
    assert str(refused.value) == "the value 'x' is not a number (row 7, column Age); mend the row"
    with pytest.raises(WorkerFaultError) as fault:
        list(run(cluster, tasks.fault, None, 4))
    assert "KeyError" in fault.value.trace
    assert "executor_tasks.py" in fault.value.trace
    assert "secret" not in fault.value.trace
    with pytest.raises(MemoryError):
        list(run(cluster, tasks.exhaust, None, 4))
    assert cluster.kept() == (0, 0)
    assert capfd.readouterr() == ("", "")
    assert "secret" not in cluster.log()
    assert "row 7" not in cluster.log()


def test_other_versions_are_refused_before_anything_is_sent(cluster, monkeypatch):
    monkeypatch.setattr(workbench, "__version__", "9.9.9")
    with pytest.raises(WorkbenchError, match=r"^the scheduler tcp://\S+ has workbench \S+, and .* 9\.9\.9; install"):
        next(run(cluster, tasks.add, np.zeros(4), 4))


@pytest.mark.parametrize(
    "text",
    [
        *("", "here", "tcp://", "tcp://host", "tcp://host:", "tcp://host:0", "tcp://host:99999", "http://host:8786"),
        *("tcp://host:8786/x", "tcp://me@host:8786", "tcp://host:8786?x", "inproc://1", "tcp://[::1:8786", "a:b:c"),
    ],
)
def test_a_malformed_address_is_refused(text):
    with pytest.raises(ParameterError, match=r"is not the address of a Dask scheduler.*tcp://HOST:PORT"):
        scheduler_address(text)


@pytest.mark.parametrize(
    ("text", "address"),
    [("tcp://host:1", "tcp://host:1"), ("host:8786", "tcp://host:8786"), ("tls://[::1]:8786", "tls://[::1]:8786")],
)
def test_an_address_is_taken_as_dask_writes_it(text, address):
    assert scheduler_address(text) == address


def test_only_what_leaves_this_computer_unencrypted_is_readable():
    hidden = ["tls://10.0.0.1:1", "tcp://127.0.0.1:1", "tcp://127.3.2.1:1", "tcp://[::1]:1", "tcp://localhost:1"]
    seen = ["tcp://10.0.0.1:1", "tcp://[fe80::1]:1", "tcp://server:1", "ws://server:1"]
    assert unencrypted([*hidden, *seen]) == seen


def test_without_dask_the_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ParameterError, match=r'Dask, which is not installed.*pip install "privacy-workbench\[dist\]"'):
        scheduler_address("tcp://127.0.0.1:8786")


def test_a_scheduler_that_cannot_be_reached_is_named(monkeypatch, capfd):
    monkeypatch.setattr(dask_cluster, "CONNECT", 0.3)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
        with pytest.raises(WorkbenchError, match=f"no Dask scheduler answers \\({address}\\)"):
            next(run_tasks_on(address, tasks.add, None, [1], cancel=CancelToken(), warn=silent))
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("address", "setting", "told"),
    [
        ("tcp://10.0.0.1:8786", {"require-encryption": True}, "requires encryption .*; use tls://"),
        ("tls://127.0.0.1:8786", {}, "no certificates are configured for tls://"),
        ("tls://127.0.0.1:8786", NO_SUCH_FILES, r"configuration cannot be used .*distributed\.comm\.tls"),
    ],
)
def test_dasks_own_configuration_has_its_say(address, setting, told):
    import dask
    import distributed  # noqa: F401 - its defaults, before anything is set over them

    with (
        dask.config.set({f"distributed.comm.{key}": value for key, value in setting.items()}),
        pytest.raises(WorkbenchError, match=told),
    ):
        next(run_tasks_on(address, tasks.add, None, [1], cancel=CancelToken(), warn=silent))


def test_a_warning_comes_before_the_rows_are_sent(cluster, monkeypatch):
    monkeypatch.setattr("workbench.processes.dask_address._on_this_computer", lambda address: False)
    before = cluster.log().count("'workbench-")
    told: list[str] = []

    def stop(text: str) -> None:
        told.append(text)
        raise CancelledError

    with pytest.raises(CancelledError):
        next(run(cluster, tasks.add, np.zeros(4), 4, warn=stop))
    assert told == [f"the rows are sent unencrypted to {cluster.address} and 2 more; use tls://"]
    assert cluster.log().count("'workbench-") == before
    assert len(list(run(cluster, tasks.add, np.zeros(4), 4, warn=told.append))) == 4


def test_a_killed_worker_loses_nothing(cluster):
    found = {}
    for task, answer in run(cluster, tasks.nap, np.zeros(1000), 60):
        found[task] = answer
        if len(found) == 5:
            cluster.kill_worker()
    assert found == {i: i for i in range(60)}
    assert cluster.kept() == (0, 0)


@pytest.mark.slow
def test_a_scheduler_without_workers_says_how_to_start_one(own):
    with pytest.raises(WorkbenchError, match=f"the scheduler has no worker.*dask worker {own.address} --nthreads 1"):
        next(run(own, tasks.add, np.zeros(4), 4))


@pytest.mark.slow
def test_a_worker_with_other_versions_is_named(own, tmp_path):
    old = tmp_path / "old.py"
    old.write_text("import workbench\nworkbench.__version__ = '0.0.1'\n")
    own.add(1)
    own.add(1, "--preload", str(old))
    with pytest.raises(WorkbenchError, match=r"^the worker tcp://\S+ has workbench 0\.0\.1, and this program"):
        next(run(own, tasks.add, np.zeros(4), 4))


@pytest.mark.slow
def test_a_worker_that_joins_with_other_versions_ends_the_run(own, tmp_path):
    old = tmp_path / "old.py"
    old.write_text("import workbench\nworkbench.__version__ = '0.0.1'\n")
    own.add(1)
    results = run(own, tasks.nap, np.zeros(4), 10_000)
    next(results)
    own.add(1, "--preload", str(old))
    with pytest.raises(WorkbenchError, match=r"a worker that joined has workbench 0\.0\.1"):
        list(results)


@pytest.mark.slow
def test_a_worker_that_joins_takes_part(own):
    own.add(1)
    results = run(own, tasks.process_and_threads, np.zeros(4), 100_000)
    first, _ = next(results)[1]
    own.add(1)
    assert until(lambda: next(results)[1][0] != first, "work of the new one")
    results.close()
    assert own.kept() == (0, 0)


@pytest.mark.slow
def test_a_task_that_kills_two_workers_is_named(own, capfd):
    own.add(3)
    with pytest.raises(WorkbenchError, match=r"worker processes keep dying \(at .*task 2\b.*run again"):
        list(run(own, tasks.die, None, 4))
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_the_table_is_sent_again_when_every_worker_has_died(own):
    own.add(1)
    found = {}
    for task, answer in run(own, tasks.nap, np.zeros(1000), 40):
        found[task] = answer
        if len(found) == 5:
            own.kill_worker()
            own.add(1)
    assert found == {i: i for i in range(40)}
    assert own.kept() == (0, 0)


@pytest.mark.slow
def test_without_any_worker_left_the_run_ends(own, monkeypatch):
    monkeypatch.setattr(dask_run, "PATIENCE", 1.0)
    own.add(1)
    results = run(own, tasks.nap, np.zeros(1000), 10_000)
    next(results)
    own.kill_worker()
    with pytest.raises(WorkbenchError, match=r"no worker is left on the cluster .*; start one, and run again"):
        list(results)


@pytest.mark.slow
@pytest.mark.parametrize("after", [0.0, 0.1, 0.2, 0.4, 0.8])
def test_a_table_that_is_being_sent_when_the_run_is_cancelled_does_not_stay(own, after):
    own.add(2)
    before = own.log().count("Run out-of-band function 'versions'")
    cancel = CancelToken()

    def ask() -> None:
        until(lambda: own.log().count("Run out-of-band function 'versions'") > before, "the question of versions")
        time.sleep(after)
        cancel.cancel()

    asking = threading.Thread(target=ask)
    asking.start()
    with pytest.raises(CancelledError):
        list(run(own, tasks.nap, np.zeros(12_000_000), 10_000, cancel=cancel))
    asking.join()
    until(lambda: own.kept() == (0, 0), "an empty cluster")


@pytest.mark.slow
def test_a_lost_scheduler_ends_the_run(own, capfd):
    own.add(1)
    results = run(own, tasks.nap, np.zeros(1000), 10_000)
    next(results)
    own.kill_scheduler()
    with pytest.raises(WorkbenchError, match="the connection to the scheduler was lost"):
        list(results)
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_a_scheduler_that_has_stopped_answering_does_not_hold_up_a_cancel(own):
    own.add(1)
    cancel = CancelToken()
    results = run(own, tasks.nap, np.zeros(1000), 10_000, cancel=cancel)
    next(results)
    os.kill(own._scheduler.pid, signal.SIGSTOP)
    try:
        cancel.cancel()
        begun = time.monotonic()
        with pytest.raises(CancelledError):
            list(results)
        assert time.monotonic() - begun < 1
    finally:
        os.kill(own._scheduler.pid, signal.SIGCONT)
    assert own.kept() == (0, 0)


@pytest.mark.slow
def test_a_server_that_is_no_scheduler_is_named(capfd):
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connection, _ = server.accept()
            with connection:
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n" * 20)

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(WorkbenchError, match="no Dask scheduler answers"):
            next(run_tasks_on(address, tasks.add, None, [1], cancel=CancelToken(), warn=silent))
        thread.join(10)
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_tls_with_dasks_own_configuration(tmp_path, monkeypatch):
    import dask
    from distributed.security import Security

    made = Security.temporary()
    paths = {}
    for name, text in (("ca", made.tls_ca_file), ("cert", made.tls_client_cert), ("key", made.tls_client_key)):
        paths[name] = str(tmp_path / f"{name}.pem")
        Path(paths[name]).write_text(text)
    options = [
        "--tls-ca-file",
        paths["ca"],
        "--tls-cert",
        paths["cert"],
        "--tls-key",
        paths["key"],
        "--protocol",
        "tls",
    ]
    with Cluster(tmp_path, imports=[HERE], more=options) as cluster:
        cluster.add(1)
        assert cluster.address.startswith("tls://")
        with pytest.raises(WorkbenchError, match="no certificates are configured for tls://"):
            next(run(cluster, tasks.add, np.zeros(4), 4))
        client = {"cert": paths["cert"], "key": paths["key"]}
        with dask.config.set({"distributed.comm.tls.ca-file": paths["ca"], "distributed.comm.tls.client": client}):
            assert len(list(run(cluster, tasks.add, np.zeros(4), 4))) == 4
