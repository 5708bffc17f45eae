"""A request to stop that reaches work while it waits."""

from __future__ import annotations

import threading

import pytest

from workbench.params import CancelledError
from workbench.signals.cancel import CancelToken


def test_a_rest_ends_as_soon_as_a_stop_is_asked_for():
    token = CancelToken()
    stopper = threading.Timer(0.02, token.cancel)
    stopper.start()
    with pytest.raises(CancelledError):
        token.rest(600)
    stopper.join()


def test_a_rest_that_nobody_stops_goes_by():
    token = CancelToken()
    token.rest(0.001)
    assert not token.cancelled
