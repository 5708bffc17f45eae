"""Fixtures of the tests of releases."""

import pytest
from local_cluster import Cluster

from workbench.release.ledger.ledger import Ledger


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.sqlite"


@pytest.fixture
def ledger(path):
    with Ledger.open(path) as opened:
        yield opened


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "out"
    made.mkdir()
    return made


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A scheduler with two workers."""
    with Cluster(tmp_path_factory.mktemp("cluster")) as started:
        started.add(2)
        yield started
