"""dp-accounting is imported in one place, so that two threads never meet a half of it."""

import subprocess
import sys

import pytest

AT_ONCE = """
import sys, threading, time
inside, other = threading.Event(), threading.Event()

class Slow:
    def find_spec(self, name, path=None, target=None):
        if name == "dp_accounting.pld" and not inside.is_set():
            inside.set()  # half of the package is there
            other.wait(60)
            time.sleep(0.2)

sys.meta_path.insert(0, Slow())
from workbench.jobs.loading import load
from workbench.privacy.accounting import accountant, pld_mixture
done = []

def first():
    done.append(accountant.renyi_of_one(0.1, 1.0))

def second():
    inside.wait(60)
    other.set()
    {second}
    done.append(accountant.renyi_of_one(0.2, 1.0))

threads = [threading.Thread(target=run) for run in (first, second)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(done))
"""


@pytest.mark.parametrize(
    "second",
    [
        "load('workbench.privacy.accounting.dp_library')",
        "accountant._improved(*accountant.renyi_of_one(0.2, 1.0), 1e-5)",
    ],
)
def test_two_threads_that_need_it_first_both_have_all_of_it(second):
    code = AT_ONCE.replace("{second}", second)
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ended.stdout, ended.stderr) == ("2\n", "")
