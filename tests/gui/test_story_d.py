"""Story D: a network trained with DP-SGD to ε = 3, in sight; stopped by its cap, by a person, by a lack of memory."""

import json
import subprocess
import sys
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from mishaps import text_of
from PySide6.QtWidgets import QLabel, QWidget

torch = pytest.importorskip("torch")

from mishaps import retype, statuses  # noqa: E402

from workbench.gui.widgets.formatting import at_most, entered, exactly  # noqa: E402
from workbench.privacy.accounting.accountant import loss  # noqa: E402
from workbench.privacy.accounting.event import PoissonGaussian  # noqa: E402
from workbench.release.certificate import read_card  # noqa: E402
from workbench.release.ledger.ledger import Ledger  # noqa: E402
from workbench.release.verify import verify_release  # noqa: E402

DELTA = 1e-5


@pytest.fixture
def network(window, qtbot, finish, press, tmp_path):
    """A window with 569 tumours and the form of a network to be trained to ε = 3, δ = 1e-5."""
    finish(window, "sample_breast-cancer")
    press(window, "tab_train")
    press(window, "train_model_logistic")
    for key, text in (("epsilon", "3"), ("delta", "1e-5"), ("batch", "64"), ("epochs", "40")):
        retype(window, qtbot, "train_epsilon" if key == "epsilon" else f"train_logistic_{key}", text)
    retype(window, qtbot, "train_folder", str(tmp_path / "net"))
    return window


def start(window, qtbot, press, answer):
    qtbot.waitUntil(lambda: window.page.primary.isEnabled())
    answer("yes")
    press(window, "train_start")


def test_a_network_reaches_its_target_in_sight(network, qtbot, press, idle, answer, tmp_path):
    qtbot.waitUntil(lambda: network.page.primary.isEnabled())
    stated_cost = Decimal(text_of(network, "fact_cost").split()[2].rstrip(","))
    assert 2.99 < stated_cost <= 3
    assert "δ = 1e-5" in text_of(network, "fact_cost")
    stated_sigma = float(text_of(network, "fact_sigma").removeprefix("σ = "))
    assert text_of(network, "fact_steps") == "360, 11.25 % of the rows each"
    assert "fits, " in text_of(network, "fact_memory")

    accounts, predicted = [], []
    network.session.account_changed.connect(lambda: accounts.append(network.session.account))
    network.jobs.memory.connect(lambda sample: predicted.append(sample.predicted))
    start(network, qtbot, press, answer)
    going = network.page.going
    qtbot.waitUntil(lambda: len(going.loss.points) > 0)
    gauge = network.findChild(QWidget, "gauge_memory")
    assert gauge.findChild(QLabel, "fact_predicted").isVisible()
    assert gauge.findChild(QLabel, "fact_peak").isVisible()
    assert text_of(network, "train_memory").startswith("Predicted ")
    assert " after the first step" in text_of(network, "train_memory")
    bars = network.memory_gauge.phases
    assert bars.isVisible()
    assert [phase.name for phase in bars.phases] == ["model", "batch", "backward", "step"]
    assert all(phase.predicted > 0 and phase.peak > 0 for phase in bars.phases)
    assert bars.current in {phase.name for phase in bars.phases}
    first = going.epsilon.points
    assert first[0] == (0, 0.0)
    assert 0 < first[1][1] < 3, "ε is shown from the first step on"
    idle(network)
    idle(network)

    assert not bars.isVisible(), "the training is over"

    # The gauge: reserved while it ran, then spent. The ledger has what the page says, and the accountant agrees.
    assert any(a.reserved > 0 and a.spent == 0 for a in accounts)
    account = network.session.account
    assert account.reserved == 0
    assert account.spent <= 3
    assert "all epochs" in text_of(network, "train_outcome")
    with Ledger.open() as book:
        (release,) = book.releases(account.dataset)
    assert release.epsilon == account.spent
    paid = f"ε = {at_most(account.spent)}{exactly(account.spent)}, δ = {entered(release.delta)}"
    assert f"Charged {paid};" in text_of(network, "train_outcome")
    facts = read_card(tmp_path / "net")["training"]
    assert facts["noise_multiplier"] == pytest.approx(stated_sigma, rel=1e-3)
    event = PoissonGaussian(facts["sample_rate"], facts["noise_multiplier"], facts["steps"])
    assert loss(event, DELTA).epsilon <= float(account.spent) <= loss(event, DELTA).epsilon + 2e-6
    assert verify_release(tmp_path / "net") == []

    # The charts, and where it ran.
    epsilons = [value for _, value in going.epsilon.points]
    assert epsilons == sorted(epsilons)
    assert epsilons[-1] <= 3
    for chart in (going.accuracy, going.loss):  # each keeps the newest of what arrives between two looks
        steps = [step for step, _ in chart.points]
        assert steps == sorted(set(steps))
        assert len(steps) > 3
        assert steps[-1] == 360
    if not torch.cuda.is_available():
        assert text_of(network, "train_notice") == "No GPU was found; training runs on the processor."


@pytest.mark.slow
def test_a_run_with_its_own_noise_ends_before_the_step_that_would_pass_the_cap(
    network, qtbot, press, idle, answer, tmp_path
):
    retype(network, qtbot, "train_logistic_noise", "4")
    retype(network, qtbot, "train_logistic_epochs", "200")
    start(network, qtbot, press, answer)
    assert "of 1,800: its target ε ends it" in text_of(network, "fact_steps")
    idle(network)
    idle(network)
    assert "stopped before its target ε" in text_of(network, "train_outcome")
    facts = read_card(tmp_path / "net")["training"]
    event = PoissonGaussian(facts["sample_rate"], 4.0, facts["steps"])
    assert loss(event, DELTA).epsilon <= 3 < loss(replace(event, steps=facts["steps"] + 1), DELTA).epsilon
    assert network.session.account.spent <= 3


@pytest.mark.slow
def test_a_person_who_stops_it_is_told_how_far_it_came_and_what_it_cost(network, qtbot, press, idle, answer, tmp_path):
    retype(network, qtbot, "train_logistic_epochs", "2000")
    start(network, qtbot, press, answer)
    qtbot.waitUntil(lambda: network.page.going.step > 100)
    qtbot.waitUntil(lambda: len(network.page.going.accuracy.points) > 0)
    assert "so cancelling gives no ε back" in network.findChild(QWidget, "note_train").accessibleName()
    answer("lose")
    press(network, "train_cancel")
    assert network.findChild(QWidget, "train_cancel").text() == "Cancelling…"
    outcome = network.findChild(QLabel, "train_outcome")
    qtbot.waitUntil(lambda: outcome.text().startswith("Cancelled after"))
    idle(network)
    spent = network.session.account.spent
    assert 2.99 < spent <= 3, "private figures were seen: the whole run is charged"
    told = f"ε = {at_most(spent)}{exactly(spent)} stays charged"
    assert f"of 18,000 steps. Nothing was released; {told}" in outcome.text()
    assert "stays charged, as private figures were shown" in outcome.text()
    assert statuses() == ["charged"]
    assert not (tmp_path / "net").exists()


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the limit on memory is the kernel's")
def test_a_lack_of_memory_ends_a_run_with_one_sentence_and_its_charge(tmp_path):
    """A real window in a process of its own, whose memory the kernel limits while it trains."""
    script = Path(__file__).with_name("window_short_of_memory.py")
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path)], capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert len(found["errors"]) == 1, found["errors"]
    assert "There is not enough memory for the gradient of even one row (step " in found["errors"][0]
    assert "close other programs, or train a smaller network" in found["errors"][0]
    assert found["halved"], "fewer rows at once were tried first"
    assert found["left"] == [], "nothing is half-written"
    # The rule of the ledger: once a figure was seen a run stays charged in full, whatever ended it.
    assert found["steps_shown"] > 0
    assert found["spent"] == found["charged_in_ledger"] == found["whole"] > 0
    assert "stays charged, as private figures were shown" in found["notice"]
    assert "Ended by an error after" in found["outcome"]
    assert found["second"].startswith("Released to"), "the window works on"
