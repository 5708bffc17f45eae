"""What goes wrong in a set-up is one sentence that names the thing, the place and the mend."""

from __future__ import annotations

import errno

import failure
import pytest
from failure import SetupError

NO_NETWORK = """Looking in indexes: http://127.0.0.1:9/simple
WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError('<HTTPConnection>: [Errno 111]')'
ERROR: Could not find a version that satisfies the requirement hatchling>=1.27 (from versions: none)
ERROR: No matching distribution found for hatchling>=1.27
"""
DISK_FULL = """Collecting torch==2.13.0
ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device
"""
NO_BUILD = """ERROR: Could not find a version that satisfies the requirement torch==2.13.0 (from versions: 3.0.0)
ERROR: No matching distribution found for torch==2.13.0
"""
OTHER = """Collecting something
ERROR: something-1.0.whl is not a supported wheel

"""


@pytest.mark.parametrize(
    ("output", "what"),
    [
        (NO_NETWORK, "pip got no answer from the package index"),
        (DISK_FULL, "there is no space left on the disk"),
        (DISK_FULL + NO_NETWORK, "there is no space left on the disk"),
        (NO_BUILD, "the package index has no torch==2.13.0 for this computer"),
        (OTHER, "pip failed: something-1.0.whl is not a supported wheel"),
        ("Killed\n", "pip failed: Killed"),
        ("", "pip failed: it said nothing"),
    ],
)
def test_what_pip_printed_becomes_one_sentence(output, what, tmp_path):
    error = failure.from_output("pip", output, tmp_path / "setup.log")
    assert str(error).startswith(what)
    assert str(tmp_path) in str(error)
    assert error.hint
    assert "\n" not in str(error)


@pytest.mark.parametrize(
    ("number", "what"),
    [
        (errno.ENOSPC, "there is no space left"),
        (errno.EDQUOT, "there is no space left"),
        (errno.EACCES, "the environment cannot be written"),
        (errno.EROFS, "the environment cannot be written"),
    ],
)
def test_errors_of_the_system_become_one_sentence(number, what, tmp_path):
    error = failure.from_os(OSError(number, "as the system says", str(tmp_path)), tmp_path / "not" / "yet")
    assert str(error).startswith(what)


def test_a_sentence_names_what_where_and_the_mend():
    assert str(SetupError("this is wrong", "there", "do that")) == "this is wrong (there); do that"
    assert str(SetupError("this is wrong")) == "this is wrong"


@pytest.mark.parametrize(("count", "words"), [(2_900_000_000, "2.7 GiB"), (2**30, "1.0 GiB"), (73_500_000, "70 MiB")])
def test_bytes_are_given_in_words(count, words):
    assert failure.in_words(count) == words
