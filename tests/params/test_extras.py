"""Libraries that come with an extra: a missing one is named with the command that installs it, never a bug."""

import sys

import pytest

from workbench import __version__
from workbench.jobs.runner import Job, perform
from workbench.params import ParameterError
from workbench.params.errors import EXTRAS, absent, how_to_install, is_missing, require
from workbench.processes.isolated_process import run_in_process
from workbench.signals.cancel import CancelToken
from workbench.signals.events import Failed, ignore


def needs_torch(argument: object, emit: object, cancel: object) -> None:
    raise ModuleNotFoundError("No module named 'torch.nn'", name="torch.nn")


def test_an_installed_library_is_no_hindrance():
    assert not is_missing("json")
    assert is_missing("a_module_that_nobody_has")


def test_a_missing_one_is_named_with_the_command(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ParameterError, match="It needs PyTorch, which is not installed; in a terminal") as refused:
        require("torch", "It")
    assert 'pip install "privacy-workbench[deep]"' in str(refused.value)


def test_a_bundle_cannot_take_it_in_and_names_the_wheel_that_is_handed_out_with_it(monkeypatch):
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    wheel = f"./privacy_workbench-{__version__}-py3-none-any.whl"
    for module, (_, extra) in EXTRAS.items():
        assert f'pip install "{wheel}[{extra}]" (see READ-ME.txt)' in how_to_install(module)


def test_an_import_that_fails_in_a_job_or_its_process_is_no_bug():
    ended = perform(Job("It", lambda emit, cancel: needs_torch(None, emit, cancel)), ignore, CancelToken())
    assert isinstance(ended, Failed)
    assert not ended.bug
    assert isinstance(ended.error, ParameterError)
    with pytest.raises(ParameterError, match="this needs PyTorch, which is not installed"):
        run_in_process(needs_torch, None, ignore, CancelToken())


def test_an_import_of_our_own_that_fails_is_a_bug():
    assert absent(ModuleNotFoundError("No module named 'workbench.lost'", name="workbench.lost")) is None

    def lost(emit: object, cancel: object) -> None:
        raise ModuleNotFoundError("No module named 'workbench.lost'", name="workbench.lost")

    ended = perform(Job("It", lost), ignore, CancelToken())
    assert isinstance(ended, Failed)
    assert ended.bug
