"""Documents, bundles and signatures from the command line, of every kind of release."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from workbench.params import WorkbenchError
from workbench.release.documents import written_document

LEDGER = ["--ledger", "l.sqlite"]
SANITIZE = ["sanitize", "people.csv", "--plan", "plan.toml", "-o", "out.csv", *LEDGER]
OTHERS = {
    "statistics": ["statistics", "people.csv", "--plan", "plan.toml", "--epsilon", "1", "-o", "out.csv"],
    "synthetic": ["synthesize", "people.csv", "--plan", "plan.toml", "--epsilon", "1", "-o", "out.csv", "--cuts", "5"],
    "model": ["fit", "people.csv", "--target", "city", "--model", "naive-bayes", "--epsilon", "1", "-o", "out"],
    "network": [
        *("dpsgd", "people.csv", "--target", "city", "--network", "logistic", "--noise", "2", "--delta", "1e-3"),
        *("--batch", "5", "--epochs", "1", "--lr", "0.5", "--clip", "1", "-o", "out"),
    ],
}


@pytest.fixture
def unprinted(monkeypatch):
    """Let a PDF be its title: the printing itself has tests of its own."""
    monkeypatch.setattr(written_document, "pdf_bytes", lambda document: document.title.encode())


def checked(bundle: str) -> int:
    return subprocess.run([sys.executable, "-I", "-S", f"{bundle}/verify.py"], capture_output=True).returncode


def test_a_release_comes_with_its_papers(folder, run, unprinted):
    assert run("key", "make", "--json").json["key"]["public_key"]
    told = run(*SANITIZE, "--pdf", "c.pdf", "--html", "c.html", "--bundle", "b", "--sign", "--json").json
    assert {told[k] for k in ("pdf", "html", "bundle", "signature")} == {
        *("c.pdf", "c.html", "b", "out.csv.certificate.json.sig")
    }
    assert "ε = 3" in (folder / "c.html").read_text("utf-8")
    for release in ("out.csv", "b"):
        answer = run("verify", release, *LEDGER, "--json").json
        assert answer["ok"], answer
        assert answer["signature"]["issuer"] == "your own key"
        assert run("verify", release, "--known").code == 0
    assert (folder / "b" / "certificate.html").read_bytes() == (folder / "c.html").read_bytes()
    assert checked("b") in (0, 3)  # 3: there is no openssl on this machine
    text = folder / "b" / "release" / "out.csv"
    text.write_bytes(text.read_bytes().replace(b"\n", b"\n\n", 1))
    assert run("verify", "b").code == 5
    assert checked("b") == 1


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=[] if kind == "statistics" else [pytest.mark.slow]) for kind in OTHERS]
)
def test_every_kind_of_release_is_bundled_and_runs_again(folder, run, unprinted, kind):
    plan = ["--bounds", "plan.toml"] if kind in ("model", "network") else []
    done = run(*OTHERS[kind], *plan, *LEDGER, "--bundle", "b", "--json")
    assert done.code == 0, done
    assert run("verify", "b", "--json").json["problems"] == []
    assert checked("b") == 0
    assert not (folder / "b" / "release" / "out" / "private").exists()
    script = [sys.executable, "b/rerun.py", "people.csv", "-o", "again", "--ledger", "other.sqlite", "--show"]
    said = subprocess.run(script, capture_output=True, text=True, check=True).stdout.split()
    suffix = "" if kind in ("model", "network") else ".csv"
    words = [f"again{suffix}" if word == "again" else word for word in said[1:]]
    again = run(*words, "--json")
    assert again.code == 0, again
    assert again.json["epsilon_charged"] == pytest.approx(done.json["epsilon_charged"], rel=1e-9)
    first, second = (request_of(folder / name, kind) for name in ("out", "again"))
    assert first == second


def request_of(path: Path, kind: str) -> object:
    """Return what a release says that was asked for."""
    if kind in ("model", "network"):
        card = json.loads((path / "card.json").read_text("utf-8"))
        return card["parameters"], card["inputs"]
    return json.loads(path.with_name(f"{path.name}.csv.certificate.json").read_text("utf-8"))["request"]


def test_a_model_of_a_release_is_bundled_afterwards(folder, run, unprinted):
    assert run(*SANITIZE).code == 0
    words = ["fit", "--on-release", "out.csv", "--target", "city", "--model", "naive-bayes", "-o", "free"]
    assert "are made afterwards" in run(*words, "--bundle", "b").error()
    assert run(*words).code == 0
    assert run("certificate", "free", "--bundle", "b", *LEDGER).code == 0
    assert run("verify", "b").code == 0
    assert checked("b") == 0


def test_papers_are_made_of_a_release_that_stands(folder, run, unprinted):
    assert run(*SANITIZE).code == 0
    told = run("certificate", "out.csv.certificate.json", "--html", "c.html", "--bundle", "b", *LEDGER, "--json").json
    assert told["release"] == "out.csv"
    again = run("certificate", "b", "--html", "again.html", "--json")
    assert again.code == 0
    assert (folder / "again.html").read_bytes() == (folder / "c.html").read_bytes()
    assert "exists already" in run("certificate", "out.csv", "--bundle", "b", *LEDGER).error()
    (folder / "out.csv").write_text("age,city\n")
    assert "does not match its certificate" in run("certificate", "out.csv", "--html", "d.html").error(5)
    assert not (folder / "d.html").exists()


def test_papers_that_cannot_be_written_leave_the_release_and_say_so(folder, run, monkeypatch):
    def failed(told: object, target: Path, ledger: object, **_: bool) -> None:
        raise WorkbenchError("Qt cannot print the PDF: libGL.so.1")

    monkeypatch.setattr("workbench.release.bundle.write_bundle", failed)
    said = run(*SANITIZE, "--bundle", "b").error()
    assert "the release is at out.csv and stays charged; `workbench certificate out.csv --ledger l.sqlite`" in said
    assert run("verify", "out.csv", *LEDGER).code == 0
    assert not (folder / "b").exists()


def test_what_cannot_be_written_is_refused_before_a_charge(folder, run):
    (folder / "b").mkdir()
    (folder / "b" / "x").write_text("x")
    for words in (["--bundle", "b"], ["--pdf", "plan.pdf", "--html", "no/x.html"], ["--sign"]):
        assert run(*SANITIZE, *words).code == 2
    model = ["fit", "people.csv", "--target", "city", "--model", "naive-bayes", "--epsilon", "1"]
    words = [*model, "--bounds", "plan.toml", *LEDGER, "-o", "b2", "--bundle", "b2"]
    assert "two outputs have the same name" in run(*words).error()
    assert not (folder / "l.sqlite").exists()
    assert not (folder / "out.csv").exists()


def test_only_a_known_key_will_do_where_one_is_asked_for(folder, run):
    assert run(*SANITIZE).code == 0
    assert run("verify", "out.csv", "--known", "--json").json["problems"] == ["it has no signature"]
    own = run("key", "make", "--json").json
    assert run("certificate", "out.csv", "--sign").code == 0
    Path(own["file"]).unlink()
    (problem,) = run("verify", "out.csv", "--known", "--json").json["problems"]
    assert "a key that is not known here" in problem
    assert own["key"]["fingerprint"] in problem
    (folder / "office.pem").write_text(own["key"]["pem"])
    trusted = run("key", "trust", "office.pem", "--name", "the office", "--json").json["trusted"]
    assert [entry["name"] for entry in trusted] == ["the office"]
    assert "signed with the trusted key of the office" in run("verify", "out.csv", "--known").out
    assert "another key is already trusted as" in run("key", "trust", OTHER, "--name", "the office").error()
    assert run("key", "forget", "--name", "the office", "--json").json["trusted"] == []
    assert run("verify", "out.csv", "--known").code == 5


OTHER = "MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE="
"""A public key of RFC 8410, section 10.3."""
