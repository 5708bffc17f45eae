"""A bundle checks itself with Python alone, whoever changed it is found, and it appears whole or not at all."""

import hashlib
import json
import os
import shlex
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from release_cases import names_in, release

from workbench.params import CheckFailedError, InputError, ParameterError
from workbench.release import bundle as writing
from workbench.release import signature
from workbench.release.bundle import plan_text, write_bundle
from workbench.release.described_release import DescribedRelease, release_at
from workbench.release.ledger.ledger import Ledger
from workbench.release.manifest import MANIFEST, is_inside, read_manifest
from workbench.release.signature import sign, signature_of
from workbench.release.verification import ledger_claims, signatures, verify_any

needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """A release, and a signed bundle of it."""
    folder = tmp_path_factory.mktemp("bundles")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(folder / "data"))
        patch.setenv("HOME", str(folder))
        signature.make_key()
        release(folder / "l.sqlite", folder / "people.csv", account="people")
        with Ledger.read(folder / "l.sqlite") as ledger:
            write_bundle(release_at(folder / "people.csv"), folder / "signed", ledger, signed=True)
    return folder


@pytest.fixture
def bundle(original, tmp_path):
    """A copy of the bundle that a test may damage, without anything else that the release left."""
    shutil.copytree(original / "signed", tmp_path / "bundle")
    return tmp_path / "bundle"


def checked(bundle: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the script inside with a bare Python: isolated, and without installed packages."""
    script = [sys.executable, "-I", "-S", "verify.py", *words]
    return subprocess.run(script, cwd=bundle, capture_output=True, text=True, env={"PATH": os.environ["PATH"]})


@needs_openssl
def test_the_script_inside_needs_nothing_but_python_and_openssl(bundle):
    done = checked(bundle)
    assert done.returncode == 0, done
    assert "ok: 11 files, epsilon = 3" in done.stdout
    assert done.stdout.count("is good") == 2


@needs_openssl
def test_a_changed_byte_of_the_data_is_found_by_both(bundle):
    path = bundle / "release" / "people.csv"
    path.write_bytes(path.read_bytes().replace(b"Graz", b"Grax", 1))
    done = checked(bundle)
    assert done.returncode == 1
    assert "FAULT: release/people.csv was changed: its SHA-256 differs" in done.stdout
    assert len(verify_any(bundle)) == 1


@pytest.mark.slow
@needs_openssl
def test_a_changed_byte_anywhere_is_found_by_both(bundle):
    assert verify_any(bundle) == []
    for path in sorted(p for p in bundle.rglob("*") if p.is_file() and p.name != "verify.py"):
        whole = path.read_bytes()
        middle = len(whole) // 2
        path.write_bytes(whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :])
        assert checked(bundle).returncode == 1, path
        if path.name != "certificate.pdf":
            assert verify_any(bundle), path
        path.write_bytes(whole)
    assert checked(bundle).returncode == 0


def test_a_file_too_many_or_too_few_is_found_by_both(bundle):
    (bundle / "more.txt").write_text("x")
    assert "more.txt is not in the manifest" in checked(bundle).stdout
    assert verify_any(bundle) == ["the file more.txt is not in the manifest"]
    (bundle / "more.txt").unlink()
    (bundle / "plan.toml").unlink()
    assert "plan.toml is missing" in checked(bundle).stdout
    assert verify_any(bundle) == ["the file plan.toml is missing"]


def forge(bundle: Path, name: str, data: bytes) -> None:
    """Change a file and the manifest with it, as a forger without the key can; the signatures go."""
    (bundle / name).write_bytes(data)
    listed = json.loads((bundle / MANIFEST).read_text("utf-8"))
    listed["files"][name] = hashlib.sha256(data).hexdigest()
    for path in bundle.rglob("*.sig"):
        listed["files"].pop(path.relative_to(bundle).as_posix(), None)
        path.unlink()
    (bundle / MANIFEST).write_text(json.dumps(listed), "utf-8")


def test_a_forged_text_does_not_follow_from_the_certificate(bundle):
    page = (bundle / "certificate.html").read_text("utf-8")
    forge(bundle, "certificate.html", page.replace("ε = 3", "ε = 1").encode())
    assert verify_any(bundle) == ["the file certificate.html does not follow from the certificate"]


def test_a_forged_ledger_entry_is_found_by_both(bundle):
    entry = json.loads((bundle / "ledger-entry.json").read_text("utf-8"))
    forge(bundle, "ledger-entry.json", json.dumps({**entry, "epsilon": "1"}).encode())
    assert verify_any(bundle) == ["the ledger's entry does not belong to the certificate"]
    done = checked(bundle)
    assert done.returncode == 1
    assert "the ledger's entry says epsilon = 1" in done.stdout


@needs_openssl
def test_a_forger_who_signs_anew_has_another_key(bundle, original):
    key = signature.fingerprint(signatures_key(original / "signed"))
    forge(bundle, "plan.toml", b"epsilon = 1\n")
    signature.make_key()  # in this test's own home
    sign(bundle / MANIFEST)
    done = checked(bundle, "--key", key)
    assert done.returncode == 1
    assert "was made with another key" in done.stdout


def signatures_key(bundle: Path) -> bytes:
    found = signatures(bundle)
    assert found is not None
    return found.public


def test_without_openssl_nothing_is_claimed_of_the_signature(bundle):
    script = [sys.executable, "-I", "-S", "verify.py"]
    done = subprocess.run(script, cwd=bundle, capture_output=True, text=True, env={"PATH": "/nowhere"})
    assert done.returncode == 3
    assert "NOT CHECKED" in done.stdout


def test_a_bundle_holds_what_is_public_and_no_more(bundle, original):
    assert names_in(bundle) == {
        *("README.txt", "MANIFEST.json", "MANIFEST.json.sig", "certificate.html", "certificate.pdf"),
        *("ledger-entry.json", "plan.toml", "release", "rerun.json", "rerun.py", "verify.py"),
    }
    entry = json.loads((bundle / "ledger-entry.json").read_text("utf-8"))
    assert set(entry) == {"format", "release_id", "time", "epsilon", "delta", "status", "certificate"}
    with Ledger.read(original / "l.sqlite") as ledger:
        (found,) = ledger.releases()
        everything = b"".join(p.read_bytes() for p in bundle.rglob("*") if p.is_file())
        assert found.dataset.encode() not in everything
        assert str(original).encode() not in everything
    assert ledger_claims(bundle)["release_id"] == entry["release_id"]


def test_the_plan_runs_again_by_the_script(bundle, tmp_path):
    words = [sys.executable, "-I", "-S", "rerun.py", "mine.csv", "-o", "new.csv", "--show", "--ledger", "l.sqlite"]
    done = subprocess.run(words, cwd=bundle, capture_output=True, text=True)
    accuracy_text = f"workbench sanitize mine.csv --plan {bundle}/plan.toml -o new.csv --ledger l.sqlite"
    assert done.stdout.strip() == accuracy_text


def test_a_name_that_begins_with_an_at_sign_is_no_file(bundle):
    words = ["statistics", "@DATA", "--mean", "@age", "--request", "@request.toml", "-o", "@OUT"]
    told = {"command": words, "files": ["request.toml"]}
    (bundle / "rerun.json").write_text(json.dumps(told), "utf-8")
    again = [sys.executable, "-I", "-S", "rerun.py", "mine.csv", "-o", "new.csv", "--show"]
    done = subprocess.run(again, cwd=bundle, capture_output=True, text=True)
    assert shlex.split(done.stdout) == [
        *(
            "workbench",
            "statistics",
            "mine.csv",
            "--mean",
            "@age",
            "--request",
            f"{bundle}/request.toml",
            "-o",
            "new.csv",
        )
    ]


def test_a_bundle_that_fails_leaves_nothing(original, tmp_path, monkeypatch):
    def full(source, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(writing, "_copy", full)
    monkeypatch.setattr(writing, "document_bytes", lambda document, suffix: b"printed")
    (tmp_path / "out").mkdir()
    with Ledger.read(original / "l.sqlite") as ledger, pytest.raises(InputError, match="the disk is full"):
        write_bundle(release_at(original / "people.csv"), tmp_path / "out" / "b", ledger)
    assert names_in(tmp_path / "out") == set()


def test_a_ledger_that_does_not_know_the_release_gives_no_bundle(original, tmp_path):
    release(tmp_path / "other.sqlite", tmp_path / "other.csv")
    with Ledger.read(tmp_path / "other.sqlite") as ledger, pytest.raises(InputError, match="does not know the release"):
        write_bundle(release_at(original / "people.csv"), tmp_path / "b", ledger)
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize("name", ["/etc/passwd", "../x", "a/../../x", "", "a//b", "a\\b", "./a", 3, None])
def test_no_path_of_a_manifest_leads_out_of_the_bundle(bundle, name):
    assert not is_inside(name)
    listed = json.loads((bundle / MANIFEST).read_text("utf-8"))
    (bundle / MANIFEST).write_text(json.dumps({**listed, "released": name}), "utf-8")
    with pytest.raises(InputError, match="not the manifest of a bundle"):
        read_manifest(bundle)
    assert len(verify_any(bundle)) == 1


def test_the_key_is_made_once_and_is_its_owners_alone():
    assert signature.own_public_key() is None
    public = signature.make_key()
    assert signature.own_public_key() == public
    with pytest.raises(InputError, match="there is a signing key already"):
        signature.make_key()
    path = signature.signing_key_path()
    if os.name != "nt":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        path.chmod(0o644)
        with pytest.raises(InputError, match="other users may read"):
            signature.signing_key()


def test_a_public_key_is_read_as_it_is_printed():
    public = signature.make_key()
    import base64

    for text in (base64.b64encode(public).decode(), signature.public_pem(public)):
        assert signature.public_key_in(text) == public
    for text in ("", "nonsense", base64.b64encode(b"x" * 31).decode(), "-----BEGIN PUBLIC KEY-----"):
        with pytest.raises(InputError, match="not an Ed25519 public key"):
            signature.public_key_in(text)


def test_a_signature_says_who_issued_the_release(tmp_path):
    release(tmp_path / "l.sqlite", tmp_path / "a.csv")
    public = signature.make_key()
    certificate = tmp_path / "a.csv.certificate.json"
    sign(certificate)
    assert verify_any(tmp_path / "a.csv") == []
    found = signatures(tmp_path / "a.csv")
    assert found is not None
    assert (found.issuer, found.known) == ("your own key", True)
    signature.signing_key_path().unlink()
    stranger = signatures(tmp_path / "a.csv")
    assert stranger is not None
    assert not stranger.known
    assert signature.fingerprint(public) in stranger.issuer
    signature.trust(public, "the office")
    friend = signatures(tmp_path / "a.csv")
    assert friend is not None
    assert (friend.issuer, friend.known) == ("the trusted key of the office", True)
    signature.forget("the office")
    assert signature.trusted_keys() == {}


def test_a_signature_of_another_file_is_a_fault(tmp_path):
    signature.make_key()
    for name in ("a.csv", "b.csv"):
        release(tmp_path / f"{name}.sqlite", tmp_path / name)
    sign(tmp_path / "a.csv.certificate.json")
    shutil.copy(tmp_path / "a.csv.certificate.json.sig", tmp_path / "b.csv.certificate.json.sig")
    with pytest.raises(CheckFailedError, match="does not match this file"):
        signature_of(tmp_path / "b.csv.certificate.json")
    (problem,) = verify_any(tmp_path / "b.csv")
    assert "does not match this file" in problem
    (tmp_path / "b.csv.certificate.json.sig").write_text("{}")
    (problem,) = verify_any(tmp_path / "b.csv")
    assert "not a signature of the workbench" in problem


def test_the_plan_of_a_model_has_the_dates_of_its_card():
    born = {"name": "born", "kind": "date", "lower": 693596.0, "upper": 766645.0}
    card = {"guarantee": {"epsilon": "1", "statement": ""}, "training": {}, "inputs": [born]}
    text = plan_text(DescribedRelease("model", Path("m"), Path("m/card.json"), card))
    assert 'lower = "1900-01-01"' in text
    assert 'upper = "2100-01-01"' in text
    for wrong in (-1, 1e12, "1900-01-01"):
        forged = {**card, "inputs": [{**born, "lower": wrong}]}
        with pytest.raises(ParameterError, match="born"):
            plan_text(DescribedRelease("model", Path("m"), Path("m/card.json"), forged))
