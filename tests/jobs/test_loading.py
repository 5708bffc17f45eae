"""Loading a library: the collector rests while it is imported and does not walk it afterwards."""

import gc

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
