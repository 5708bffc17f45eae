"""Story H: who is unique, k = 5, what is still learnt, ε instead, both attacked, the report saved; all by clicks."""

import random
from pathlib import Path

import pytest
from hands import Hands
from mishaps import statuses
from PySide6.QtWidgets import QComboBox, QFileDialog

from workbench.data.samples import sample_tables
from workbench.release.ledger.ledger import Ledger
from workbench.release.verification import verify_any
from workbench.risk.attacks import reconstruction

pytestmark = pytest.mark.usefixtures("people")

KNOWN, SECRET = ("age", "sex", "zip"), "label"


def others(path: Path) -> Path:
    """Write people of the same town who are not in the sample."""
    draw = random.Random(77)
    rows = [sample_tables._person(at, draw) for at in range(5000, 6000)]
    path.write_text("\n".join(["id,name,age,sex,zip,income,label", *(",".join(row) for row in rows)]) + "\n", "utf-8")
    return path


def choose(hands: Hands, name: str, data: str) -> None:
    """Choose the entry of a list that stands for ``data``."""
    found = hands.see(name)
    assert isinstance(found, QComboBox)
    at = next(i for i in range(found.count()) if str(found.itemData(i)) == data)
    found.setCurrentIndex(at)
    found.activated.emit(at)


def attack(hands: Hands, release: Path, control: Path) -> list[str]:
    """Infer the secret from a release by clicks; return the line of the outcome."""
    hands.finish("tab_attack")
    choose(hands, "attack_kind", "inference")
    form = hands.window.page.form
    if form._target.findData(str(release)) < 0:
        hands.click("attack_inference_release_browse")
    else:
        choose(hands, "attack_inference_release", str(release))
    hands.type_into("attack_inference_control", str(control))
    hands.type_into("attack_form_inference_secret", SECRET)
    hands.type_into("attack_form_inference_known", ",".join(KNOWN))
    hands.type_into("attack_form_inference_attacks", "500")
    hands.finish("attack_run")
    view = hands.table("attack_outcomes").model()
    return [str(view.index(0, at).data()) for at in range(view.columnCount())]


def share(cell: str) -> float:
    return float(cell.split()[0])


def test_risk_k_anonymity_and_epsilon_side_by_side(hands, tmp_path, monkeypatch):
    general, synthetic = tmp_path / "general.csv", tmp_path / "synthetic.csv"
    control, report = others(tmp_path / "others.csv"), tmp_path / "report.html"
    saved: list[Path] = [general, report]
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *a, **k: (str(saved.pop(0)), ""))
    monkeypatch.setattr(QFileDialog, "getOpenFileName", lambda *a, **k: (str(general), ""))

    # Who is unique? The sample says what an outsider knows: it is taken back, and ticked one by one.
    hands.click("tab_risk")
    for _ in range(2):
        said = []
        for name in KNOWN:
            hands.click_cell("risk_columns", name, "Known")
            hands.idle()
            said.append(hands.text("risk_said"))
    assert [words.split(" rows")[0] for words in said] == ["0 of 2,000", "3 of 2,000", "977 of 2,000"]
    for name in ("income", SECRET):  # the one is taken back, the other ticked
        hands.click_cell("risk_columns", name, "Sensitive")
        hands.idle()
    assert hands.text("risk_said").startswith("977 of 2,000 rows are unique")
    hands.click("risk_view_rows")
    assert hands.table("risk_rows").model().rowCount() > 100

    # k = 5, and what it still reveals.
    hands.finish("tab_generalise")
    hands.type_into("generalise_form_k", "5")
    hands.finish("generalise_run")
    assert "classes of at least 5" in hands.text("generalise_said")
    hands.click("generalise_view_failures")
    assert "is certain" in hands.text("generalise_failure_0")
    asked = hands.answer("yes")
    hands.finish("generalise_release")
    assert "This is not differential privacy" in asked[0]
    assert verify_any(general) == []

    # ε instead.
    hands.finish("tab_ways")
    hands.type_into("ways_epsilon_field", "1")
    hands.idle()
    hands.choose_way("Synthetic")
    hands.finish("ways_settings")
    hands.type_into("release_target", str(synthetic))
    hands.answer("yes")
    hands.click("release_now")
    hands.until(lambda: statuses() == ["charged"])
    hands.idle()
    assert verify_any(synthetic) == []

    # Both attacked, in words and in a picture.
    of_general, of_synthetic = attack(hands, general, control), attack(hands, synthetic, control)
    assert of_general[-1] == "–"
    assert share(of_synthetic[3]) <= share(of_synthetic[-1])
    assert "ε = 1 allows at most" in hands.text("attack_said")
    assert hands.window.page.chart.isVisible()

    # The report; a linear programme for each of 60 strangers would take a third of this test.
    monkeypatch.setattr(reconstruction, "_STRANGERS", 6)
    hands.finish("attack_report")
    page = report.read_text("utf-8")
    assert "Results of attacks" in page
    assert "private – not for release" in page
    assert "977 of 2,000 rows of the table are unique" in page
    with Ledger.read() as book:
        assert {"risk", "generalise", "attack", "quality"} <= {shown.study for shown in book.figures()}
