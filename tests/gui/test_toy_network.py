"""A network that is registered by one line is in the form, the command and their help, and is trained and released."""

import json
from pathlib import Path

import pytest
from mishaps import needs_torch, retype
from PySide6.QtWidgets import QCheckBox, QLabel, QLineEdit, QRadioButton

from workbench.cli import main
from workbench.deep import networks
from workbench.deep.networks import Network
from workbench.deep.plan import DpSgdPlan
from workbench.params import ParameterError
from workbench.release.certificate import read_card
from workbench.release.ledger.ledger import Ledger
from workbench.release.verify import verify_release

TOY = Network("narrow", "One hidden layer of 4", "It learns 4 combinations of columns.", hidden=(4,))


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setattr(networks, "NETWORKS", (*networks.NETWORKS, TOY))


@pytest.fixture
def here(monkeypatch):
    """Train in this process: one that is started for the training reads the list as it stands in the file."""
    place = "workbench.jobs.network.run_in_process"
    monkeypatch.setattr(place, lambda work, task, emit, cancel: work(task, emit, cancel))


@pytest.fixture
def train(window, finish, press):
    finish(window, "sample_iris")
    press(window, "tab_train")
    told = window.findChild(QRadioButton, "train_model_narrow").toolTip()
    assert told == f"{TOY.title}. {TOY.about} {TOY.needs}"
    press(window, "train_model_narrow")
    return window


def test_the_form_has_the_parameters_of_every_network_and_says_what_it_costs(train, qtbot):
    field = train.findChild(QLineEdit, "train_narrow_clip")
    assert field.toolTip() == "The most that one row can change a step; the noise is proportional to it"
    assert train.findChild(QLineEdit, "train_narrow_noise").placeholderText() == "from ε"
    assert train.page.forms.value().network == "narrow"
    figure = train.findChild(QLabel, "fact_sigma")
    qtbot.waitUntil(lambda: figure.text().startswith("σ = "))


@needs_torch
def test_it_is_trained_in_sight_and_released_with_a_card_of_its_own(train, finish, idle, qtbot, answer, here, tmp_path):
    retype(train, qtbot, "train_narrow_epochs", "3")
    retype(train, qtbot, "train_narrow_batch", "30")
    folder = tmp_path / "model"
    retype(train, qtbot, "train_folder", str(folder))
    qtbot.waitUntil(lambda: train.page.primary.isEnabled())
    asked = answer("yes")
    finish(train, "train_start")
    idle(train)
    assert TOY.title in asked[0]
    card = read_card(folder)
    assert (card["model"], card["parameters"]["network"]) == ("narrow", "narrow")
    assert card["training"]["widths"][1:] == [4, 3]
    assert verify_release(folder) == []
    assert train.page.going.loss.points
    assert "all epochs" in train.findChild(QLabel, "train_outcome").text()
    assert [run.title for run in train.session.runs] == [TOY.title]
    with Ledger.open() as book:
        assert [release.body["work"] for release in book.releases()] == ["dpsgd"]


def test_the_memory_of_networks_lists_it(window, press):
    press(window, "sample_iris")
    window.show_page("memory")
    box = window.findChild(QCheckBox, "memory_network_narrow")
    press(window, "memory_network_narrow")
    assert box.isChecked()


@pytest.mark.parametrize("command", ["dpsgd", "memory"])
def test_help_names_it(capsys, command):
    assert main([command, "--help"]) == 0
    assert "narrow (One hidden layer of 4)" in " ".join(capsys.readouterr().out.split())


def command(folder: Path, network: str) -> list[str]:
    plan = folder / "plan.toml"
    assert main(["plan", "sample:iris", "--epsilon", "1", "--target", "species", "-o", str(plan)]) == 0
    words = ["dpsgd", "sample:iris", "--target", "species", "--bounds", str(plan), "--network", network]
    words += ["--epsilon", "3", "--delta", "1e-3", "--batch", "30", "--epochs", "2", "--lr", "1", "--clip", "1"]
    return [*words, "-o", str(folder / "net"), "--ledger", str(folder / "l.sqlite"), "--json"]


@needs_torch
@pytest.mark.slow
def test_dpsgd_releases_it(tmp_path, capsys):
    words = command(tmp_path, "narrow")
    capsys.readouterr()
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out)["steps"] == 10
    assert read_card(tmp_path / "net")["model"] == "narrow"


def test_a_near_miss_is_told_its_name(tmp_path, capsys):
    assert main(command(tmp_path, "narow")) == 2
    assert "did you mean 'narrow'" in capsys.readouterr().err
    with pytest.raises(ParameterError, match=r"choose one of logistic, mlp, .*, narrow"):
        DpSgdPlan(network="wide", epsilon=1.0, delta=1e-6, batch=1, epochs=1, lr=1.0, clip=1.0)
