"""``workbench dpsgd`` to the letter of its contract: the folder, the card, the charge."""

import csv
import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
from command_cases import Run

pytest.importorskip("torch")

from workbench.cli import main
from workbench.data.table_reader import read_table
from workbench.deep.features import TableData
from workbench.deep.model import TrainedModel
from workbench.params.amounts import paid
from workbench.privacy.accounting.event import replace_one
from workbench.release.certificate import checksum, read_card
from workbench.release.checkpoint_folder import STATE

PLAN = """
version = 1
epsilon = 3
[[column]]
name = "a"
kind = "real"
lower = -1
upper = 1
[[column]]
name = "c"
kind = "category"
domain = ["p", "q"]
[[column]]
name = "note"
action = "drop"
[[column]]
name = "y"
kind = "category"
domain = ["no", "yes"]
"""


@pytest.fixture
def folder(tmp_path):
    """A folder with a table that a line separates, a held-out one, and a plan."""
    (tmp_path / "plan.toml").write_text(PLAN, encoding="utf-8")
    for name, rows, seed in (("train.csv", 300, 0), ("test.csv", 200, 1)):
        generator = np.random.default_rng(seed)
        a, c = generator.uniform(-1, 1, rows), generator.choice(["p", "q"], rows)
        y = np.where(a + 0.2 * (c == "p") > 0, "yes", "no")
        lines = [f"{v:.4f},{k},text,{t}" for v, k, t in zip(a, c, y, strict=True)]
        (tmp_path / name).write_text("\n".join(["a,c,note,y", *lines]) + "\n", encoding="utf-8")
    return tmp_path


def command(folder: Path, *more: str, output: str = "net", data: str = "train.csv") -> list[str]:
    words = {
        "--target": "y", "--bounds": str(folder / "plan.toml"), "--network": "logistic", "--delta": "1e-4",
        "--batch": "30", "--epochs": "4", "--lr": "2", "--clip": "1", "--accountant": "rdp", "--device": "cpu",
        "-o": str(folder / output), "--ledger": str(folder / "ledger.sqlite"),
    }  # fmt: skip
    flat = [w for pair in words.items() for w in pair]
    return ["dpsgd", str(folder / data), *flat, *(more or ("--noise", "2"))]


def entries(run: Run, folder: Path) -> list[dict[str, Any]]:
    if not (folder / "ledger.sqlite").exists():
        return []
    shown = run("ledger", "show", "--ledger", folder / "ledger.sqlite", "--json").done
    assert shown["ok"]
    result: list[dict[str, Any]] = shown["entries"]
    return result


def test_a_run_gives_the_promised_keys_files_and_charge(run, folder):
    result = run(*command(folder, "--epsilon", "3"), "--json").done
    promised = (
        "release_id epsilon_charged epsilon delta noise_multiplier steps accuracy peak_memory_bytes "
        "predicted_peak_bytes seconds"
    )
    assert set(promised.split()) <= set(result)
    assert result["epsilon"] == result["epsilon_charged"] <= 3
    assert result["steps"] == 40
    assert result["accuracy"] > 0.7
    assert not result["accuracy_public"]
    found = sorted(p.relative_to(folder / "net").as_posix() for p in (folder / "net").rglob("*") if p.is_file())
    assert found == ["card.json", "model.safetensors", "private/metrics.csv"]
    if os.name == "posix":
        private = folder / "net" / "private"
        modes = [stat.S_IMODE(path.stat().st_mode) for path in (private, private / "metrics.csv")]
        assert modes == [0o700, 0o600], "private figures are for their owner alone"
    (entry,) = entries(run, folder)
    assert (entry["status"], entry["epsilon"], entry["delta"]) == ("charged", result["epsilon"], 1e-4)
    assert run("verify", str(folder / "net")).code == 0


def alive(process: psutil.Process) -> bool:
    """Return whether a process is still there; one that nobody has waited for is not."""
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise there")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_processes_that_train_together_end_together_and_leave_nothing(folder, number):
    (folder / "temporary").mkdir()
    words = command(
        folder, "--noise", "2", "--epochs", "100000", "--processes", "2", "--checkpoint", str(folder / "kept")
    )
    program = subprocess.Popen(
        [sys.executable, "-m", "workbench", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "TMPDIR": str(folder / "temporary")},
    )
    deadline = time.monotonic() + 120
    while not (folder / "kept" / STATE).exists() and program.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    ranks = psutil.Process(program.pid).children(recursive=True)
    if number == signal.SIGINT:
        os.killpg(program.pid, number)  # as Ctrl+C does
    else:
        program.send_signal(number)
    out, err = program.communicate(timeout=60)
    assert ranks
    while any(map(alive, ranks)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(map(alive, ranks))
    assert list((folder / "temporary").iterdir()) == []
    assert out == ""
    if number != signal.SIGKILL:
        assert program.returncode == 4
        assert "paused after" in err
        assert "Traceback" not in err


def test_the_metrics_have_the_promised_columns_and_rise_to_the_charge(run, folder):
    result = run(*command(folder), "--json").done
    with (folder / "net" / "private" / "metrics.csv").open(newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert list(rows[0]) == ["step", "epoch", "loss", "accuracy", "epsilon", "memory_bytes"]
    epsilons = [float(r["epsilon"]) for r in rows]
    assert epsilons == sorted(epsilons)
    assert epsilons[-1] <= result["epsilon"]
    assert rows[-1]["step"] == "40"


def test_the_card_says_what_was_done_and_no_private_figure(run, folder):
    result = run(*command(folder, "--noise", "2", "--test", str(folder / "test.csv")), "--json").done
    card = read_card(folder / "net")
    assert float(card["guarantee"]["epsilon"]) == result["epsilon"]
    assert float(card["guarantee"]["delta"]) == 1e-4
    assert card["guarantee"]["replace_one"]["epsilon"] == pytest.approx(2 * result["epsilon"])
    assert "double-precision Gaussian" in card["guarantee"]["randomness"]
    training = card["training"]
    assert training["noise_multiplier"] == 2
    assert training["clip"] == 1
    assert training["steps"] == 40
    assert training["sample_rate"] == 0.1
    assert training["accountant"] == "rdp"
    assert "accuracy" not in training
    assert "loss" not in json.dumps(card)
    assert [i["name"] for i in card["inputs"]] == ["a", "c", "y"]


def test_only_a_test_table_declared_public_puts_its_accuracy_on_the_card(run, folder):
    result = run(*command(folder, "--noise", "1", "--test", str(folder / "test.csv"), "--test-public"), "--json").done
    card = read_card(folder / "net")
    assert result["accuracy_public"]
    assert card["training"]["accuracy"]["value"] == result["accuracy"] > 0.8
    model = TrainedModel.load(folder / "net", card["training"], card["inputs"])
    assert model.accuracy(TableData(model.features, read_table(folder / "test.csv"))) == result["accuracy"]


def test_a_cap_beside_the_noise_ends_the_run_early(run, folder):
    result = run(*command(folder, "--noise", "1", "--epsilon", "2.5", "--epochs", "50"), "--json").done
    assert result["stopped"] == "cap"
    assert result["epsilon"] <= 2.5
    assert 0 < result["steps"] < 500


def test_a_clock_settles_the_charge(run, folder):
    result = run(*command(folder, "--noise", "2", "--epochs", "100000", "--seconds", "0.3"), "--json").done
    assert result["stopped"] == "clock"
    (entry,) = entries(run, folder)
    assert (entry["status"], entry["epsilon"]) == ("settled", result["epsilon"])
    (sentence,) = json.loads((folder / "net" / "card.json").read_text("utf-8"))["outside_guarantee"]
    assert sentence.startswith("The run was to stop after a time: the number of steps tells how fast this machine was")


def test_a_second_run_is_refused_and_leaves_no_folder(run, folder):
    first = run(*command(folder), "--json").done
    said = run(*command(folder, output="again")).refused(3)
    assert f"costs epsilon = {paid(first['epsilon'])} but" in said
    assert not (folder / "again").exists()
    assert [e["status"] for e in entries(run, folder)] == ["charged", "refused"]


def test_rows_per_person_multiply_the_charge(run, folder):
    one = run(*command(folder), "--json").done
    (folder / "plan.toml").write_text(PLAN.replace("epsilon = 3", "epsilon = 3\nrows_per_person = 2"), encoding="utf-8")
    words = command(folder, output="two")
    words[words.index("--ledger") + 1] = str(folder / "other.sqlite")
    assert run(*words, "--json").done["epsilon_charged"] == pytest.approx(2 * one["epsilon_charged"])


def test_a_delta_of_a_person_that_reaches_one_over_the_rows_is_refused(run, folder):
    """Before, a run with a hundred rows of a person was certified with δ = 1."""
    for people, delta in ((1, "0.0034"), (100, "1e-5")):
        facts = PLAN.replace("epsilon = 3", f"epsilon = 3\nrows_per_person = {people}")
        (folder / "plan.toml").write_text(facts, encoding="utf-8")
        words = command(folder)
        words[words.index("--delta") + 1] = delta
        assert "is not below 1/rows = 0.00333" in run(*words).refused(2)
    assert not (folder / "ledger.sqlite").exists()
    assert not (folder / "net").exists()


def test_a_card_with_less_delta_than_its_steps_have_is_found(run, folder):
    (folder / "plan.toml").write_text(PLAN.replace("epsilon = 3", "epsilon = 3\nrows_per_person = 2"), encoding="utf-8")
    assert run(*command(folder, "--noise", "8")).code == 0
    assert run("verify", folder / "net").code == 0
    card = read_card(folder / "net")
    card["guarantee"]["delta"] = "0.0001"  # of one row
    other = replace_one(float(card["guarantee"]["epsilon"]), 1e-4)
    card["guarantee"]["replace_one"] = dict(zip(("epsilon", "delta"), other, strict=True))
    card["checksum"] = checksum(card)
    (folder / "net" / "card.json").write_text(json.dumps(card), encoding="utf-8")
    answer = run("verify", folder / "net", "--json")
    assert answer.code == 5
    (problem,) = answer.json["problems"]
    assert problem.startswith("the steps on the card cost epsilon = ")
    assert "and delta = 0.0002" in problem
    assert problem.endswith(" and 0.0001")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--noise", "1", "--seed", "3"), "--seed"),
        (("--noise", "1", "--resume", "x"), "no checkpoint in this folder"),
        (("--noise", "1", "--give-up"), "--resume DIR"),
        (("--noise", "1", "--resume", "x", "--checkpoint", "y"), "--checkpoint and --resume"),
        (("--noise", "1", "--image-size", "8"), "--grey work only for images"),
        (("--noise", "1", "--network", "vgg16-head"), "--weights FILE"),
        (("--noise", "1", "--network", "package.module:factory"), "add --trust-code"),
        (("--noise", "1", "--network", "mpl"), "did you mean 'mlp'"),
        (("--epochs", "4"), "neither noise nor epsilon"),
        (("--noise", "nan"), "--noise"),
        (("--noise", "1", "--batch", "301"), "larger than the table"),
        (("--noise", "1", "--target", "z"), "no column 'z'"),
        (("--noise", "1", "--target", "note"), "drops the target"),
        (("--noise", "1", "--target", "a"), "not category or boolean"),
        (("--noise", "1", "--test-public"), "--test"),
        (("--epsilon", "0"), "--epsilon"),
        (("--noise", "1", "--lr", "-1"), "--lr"),
    ],
)
def test_bad_usage_is_one_sentence_and_charges_nothing(run, folder, more, said):
    assert said in run(*command(folder, *more)).refused(2)
    assert not (folder / "net").exists()
    assert not (folder / "ledger.sqlite").exists() or entries(run, folder) == []


def test_missing_facts_say_so(run, folder):
    words = command(folder)
    at = words.index("--bounds")
    assert "--bounds is missing" in run(*words[:at] + words[at + 2 :]).refused(2)


def test_a_value_outside_the_domain_names_its_row_and_costs_nothing(run, folder):
    text = (folder / "train.csv").read_text(encoding="utf-8").splitlines()
    text[7] = "0.5,x,text,yes"
    (folder / "train.csv").write_text("\n".join(text) + "\n", encoding="utf-8")
    said = run(*command(folder)).refused(2)
    assert "row 7" in said
    assert "'x'" in said
    assert [e["status"] for e in entries(run, folder)] == ["void"]
    assert {p.name for p in folder.iterdir()} == {
        "plan.toml",
        "test.csv",
        "train.csv",
        "ledger.sqlite",
        "ledger.sqlite.key",
    }


def test_the_text_badges_a_private_accuracy(run, folder):
    out = run(*command(folder)).shown
    assert "private – not for release" in out
    assert "charged epsilon" in out


def test_ctrl_c_pauses_a_run_and_the_same_command_goes_on_or_gives_it_up(run, capsys, folder, monkeypatch):
    """As Ctrl+C does: the job's token is cancelled, here from within its tenth step."""
    from workbench.deep.trainer import PrivateStep
    from workbench.jobs import runner
    from workbench.release.ledger.ledger import Ledger

    running: list[Any] = []
    start, step, steps, whole = runner.Run._start, PrivateStep.step, [], 0.0

    def interrupted(self: PrivateStep, *given: Any, **more: Any) -> Any:
        steps.append(1)
        if len(steps) == 10:
            running[-1].cancel()
        return step(self, *given, **more)

    monkeypatch.setattr(runner.Run, "_start", lambda run: (running.append(run), start(run))[1])
    monkeypatch.setattr(PrivateStep, "step", interrupted)
    for quiet in ((), ("--quiet",)):
        steps.clear()
        words = command(folder, "--noise", "2", *quiet, output=f"net{len(quiet)}")
        words[words.index("--ledger") + 1] = str(folder / f"ledger{len(quiet)}.sqlite")
        assert main(words) == 4
        out, err = capsys.readouterr()
        assert out == ""
        assert ("a quiet run shows nothing private" in err) == bool(quiet)
        assert "paused after 10 steps; epsilon = " in err
        checkpoint = err.split("--resume ")[1].split()[0]
        assert not (folder / f"net{len(quiet)}").exists()
        if quiet:
            told = run(*[*words, "--resume", checkpoint, "--give-up"], "--json").done
            with Ledger.open(folder / "ledger1.sqlite") as ledger:
                (release,) = ledger.releases()
            assert told["given_up"]
            assert release.status == "settled"
            assert 0 < told["epsilon_charged"] == float(release.epsilon) < whole
        else:
            done = run(*[*words, "--resume", checkpoint], "--json").done
            assert done["steps"] == 40 == len(steps)
            whole = done["epsilon_charged"]
        assert not Path(checkpoint).exists()


def test_steps_that_share_noise_are_on_a_card_that_verifies(run, folder):
    assert run(*command(folder, "--noise", "2", "--bands", "4"), "--json").code == 0
    card = read_card(folder / "net")
    stated, asked = card["training"], card["parameters"]
    assert (stated["bands"], stated["sample_rate"], asked["bands"]) == (4, 0.4, 4)
    assert "in turn" in stated["sampling"]
    assert run("verify", str(folder / "net")).code == 0
    usual = "Poisson: each row is in each batch by an independent coin"
    alone = {key: value for key, value in stated.items() if key not in ("bands", "power")}
    told = [{**stated, **wrong} for wrong in ({"bands": 2}, {"power": 0.5}, {"sampling": usual})]
    for training, parameters in [*((one, asked) for one in (*told, alone)), (stated, {**asked, "bands": 2})]:
        tampered = {**card, "training": training, "parameters": parameters}
        tampered["checksum"] = checksum(tampered)
        (folder / "net" / "card.json").write_text(json.dumps(tampered), encoding="utf-8")
        assert run("verify", str(folder / "net")).code == 5, training


def test_a_norm_that_follows_a_quantile_is_on_a_card_that_verifies(run, folder):
    apart = ("--noise", "2", "--ledger", str(folder / "other.sqlite"))
    still = run(*command(folder, *apart, output="still"), "--json").done
    asked = ("--noise", "2", "--target-unclipped-quantile", "0.5")
    result = run(*command(folder, *asked), "--json").done
    assert result["epsilon"] == still["epsilon"]
    card = read_card(folder / "net")
    stated = card["training"]
    assert (stated["target_unclipped_quantile"], stated["unclipped_num_std"]) == (0.5, 4.0)
    assert stated["noise_standard_deviation"] > 2.0
    assert stated["last_clip"] != 1.0
    assert run("verify", str(folder / "net")).code == 0
    for key, value in (("unclipped_num_std", 5.0), ("last_clip", -1.0), ("last_clip", 1e-7)):
        tampered = {**card, "training": {**stated, key: value}}
        tampered["checksum"] = checksum(tampered)
        (folder / "net" / "card.json").write_text(json.dumps(tampered), encoding="utf-8")
        assert run("verify", str(folder / "net")).code == 5, key
