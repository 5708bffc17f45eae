"""Loading a library: the collector rests while it is imported and does not walk it afterwards."""

import gc
import threading

import pytest

from workbench.jobs.loading import load
from workbench.params import CancelledError
from workbench.signals.cancel import CancelToken


def test_the_collector_rests_while_a_module_loads_and_wakes_after_it(tmp_path, monkeypatch):
    (tmp_path / "loaded_for_a_test.py").write_text("import gc\nasleep = not gc.isenabled()\n")
    monkeypatch.syspath_prepend(tmp_path)
    frozen = gc.get_freeze_count()
    load("loaded_for_a_test")
    import loaded_for_a_test

    assert loaded_for_a_test.asleep
    assert gc.isenabled()
    assert gc.get_freeze_count() > frozen


def test_a_job_deletes_no_widget_that_waits_for_the_collector(tmp_path, monkeypatch):
    class Widget:
        def __init__(self):
            self.own = self

        def __del__(self):
            deleted_in.append(threading.current_thread())

    (tmp_path / "loaded_in_a_job.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    gc.collect()
    gc.disable()
    try:
        deleted_in: list[threading.Thread] = []
        Widget()
        job = threading.Thread(target=load, args=("loaded_in_a_job",))
        job.start()
        job.join()
        assert deleted_in == []
    finally:
        gc.unfreeze()
        gc.enable()
        gc.collect()
        gc.freeze()  # as all tests are
    assert deleted_in == [threading.main_thread()]


def test_what_is_loaded_already_keeps_nothing_from_the_collector():
    frozen = gc.get_freeze_count()
    load("gc", "pytest")
    assert gc.get_freeze_count() == frozen


def test_a_load_that_fails_wakes_the_collector_too():
    with pytest.raises(ModuleNotFoundError):
        load("there_is_no_such_module")
    assert gc.isenabled()


def test_a_load_stops_between_two_modules_when_asked():
    cancel = CancelToken()
    cancel.cancel()
    with pytest.raises(CancelledError):
        load("there_is_no_such_module", cancel=cancel)
    assert gc.isenabled()
