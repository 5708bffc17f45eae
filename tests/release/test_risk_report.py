"""The report: what is measured and attacked follows from the lists, the document says it is private, the bundle too."""

import dataclasses

import numpy as np
import polars as pl
import pytest

from workbench import api
from workbench.data.table import Table
from workbench.data.table_reader import read_table
from workbench.params import ParameterError
from workbench.release.documents.release_document import belief_table
from workbench.release.documents.risk_document import NO_ATTACK, NOT_DP, TABLE_ALONE, risk_document, summary_sentences
from workbench.release.documents.written_document import document_bytes
from workbench.release.ledger.ledger import Ledger
from workbench.release.risk_report import ReportRequest, risk_report
from workbench.render.document import Document, Grid
from workbench.render.values import Bar, BarsFigure
from workbench.risk import attacks
from workbench.risk.attacks import RELEASE
from workbench.risk.attacks.bound import Guarantee
from workbench.risk.attacks.outcome import Rate

ASKED = ReportRequest(quasi=("age", "sex", "zip"), sensitive="label", attacks=100)


@pytest.fixture(scope="module")
def people():
    """Rows that are released, and rows that are kept back."""
    table = read_table("sample:people")
    used, other = (Table(table.frame.slice(k * 600, 600), "people.csv") for k in (0, 1))
    return used, other


@pytest.fixture(scope="module")
def released(people, tmp_path_factory):
    """A copy of the rows, without a certificate."""
    path = tmp_path_factory.mktemp("copy") / "copy.csv"
    people[0].frame.drop("id", "name").write_csv(path)
    return path


def texts(document: Document) -> str:
    return document_bytes(document, ".html").decode()


def test_a_table_alone_has_its_measures_and_no_attack(people, tmp_path):
    found = risk_report(people[0], request=ASKED, ledger=tmp_path / "l.sqlite")
    assert found.tried == ()
    assert found.risk["unique"] > 300
    document = risk_document(found)
    assert [s.title for s in document.sections] == [
        "In short",
        "Who could be found in the table",
        "What ε allows",
        "What is not covered",
    ]
    assert "private" in document.badge
    assert TABLE_ALONE in texts(document)
    with Ledger.read(tmp_path / "l.sqlite") as book:
        assert [shown.study for shown in book.figures()] == ["risk"]


def test_a_copy_is_attacked_by_every_attack_on_releases(people, released, tmp_path):
    found = risk_report(people[0], released, people[1], request=ASKED, ledger=tmp_path / "l.sqlite")
    able = [a.name for a in attacks.ATTACKS if RELEASE in [needed.name for needed in a.given]]
    assert [t.attack.name for t in found.tried] == able
    outcomes = {t.attack.name: t.outcome for t in found.tried if t.outcome is not None}
    assert outcomes["linkability"].main.value > 0.4
    assert outcomes["inference"].main.value > 0.9
    assert found.guarantee.epsilon is None
    assert found.released_risk is not None
    assert found.quality is not None
    assert found.quality.overall == pytest.approx(1)
    page = texts(risk_document(found))
    assert NOT_DP in page
    assert NO_ATTACK in page
    titles = [t.attack.title for t in found.tried if t.outcome is not None]
    (grid,) = (
        block
        for section in risk_document(found).sections
        if section.title == "Results of attacks"
        for block in section.blocks
        if isinstance(block, Grid)
    )
    assert [row[0] for row in grid.rows] == titles
    sizes, shares, scores = (picture.figure for picture in risk_document(found).pictures)
    assert all(isinstance(figure, BarsFigure) and figure.badge for figure in (sizes, shares, scores))
    assert [sum(bar.share for bar in group) for group in zip(*(row.bars for row in sizes.rows), strict=True)] == (
        pytest.approx([1, 1])
    )
    assert [row.name for row in shares.rows] == titles
    first = shares.rows[titles.index("Inference")]
    main = outcomes["inference"].main
    assert first.bars[1] == Bar(main.value, main.low, main.high)
    assert [row.name for row in scores.rows] == [score.title for score, _ in found.quality.found]
    assert page.count('src="data:image/png;base64,') == 3
    assert page.count("src=") == 3
    with Ledger.read(tmp_path / "l.sqlite") as book:
        assert sorted({shown.study for shown in book.figures()}) == ["attack", "quality", "risk"]


def test_what_epsilon_allows_of_a_fact_is_by_the_replace_one_figure(people, tmp_path):
    found = risk_report(people[0], request=ASKED, ledger=tmp_path / "l.sqlite")
    held = dataclasses.replace(found, guarantee=Guarantee(epsilon=1.0, replaced=(2.0, 0.0)))
    (section,) = (s for s in risk_document(held).sections if s.title == "What ε allows")
    assert next(b for b in section.blocks if isinstance(b, Grid)) == belief_table(2.0)


def test_an_attack_that_needs_a_control_set_says_so(people, released, tmp_path):
    found = risk_report(people[0], released, request=ASKED, ledger=tmp_path / "l.sqlite")
    reasons = {t.attack.name: t.why_not for t in found.tried if t.outcome is None}
    assert reasons["closest"] == "It needs rows of other people, who were not released."
    assert reasons["closest"] in texts(risk_document(found))


def test_another_attack_is_in_the_report_by_its_line(people, released, tmp_path, monkeypatch):
    monkeypatch.setattr("workbench.release.risk_report.ATTACKS", attacks.ATTACKS[2:3])
    found = risk_report(people[0], released, request=ASKED, ledger=tmp_path / "l.sqlite")
    assert list(found.to_plain()["not_tried"]) == []
    assert [one["attack"] for one in found.to_plain()["attacks"]] == ["inference"]
    assert "One attack was made" in " ".join(summary_sentences(found))


def test_an_attack_that_a_guess_equals_found_nothing(people, released, tmp_path):
    """Without a control set the risk of linking by columns that all people share is 100 %, and so is a guess."""
    found = risk_report(people[0], released, request=ASKED, ledger=tmp_path / "l.sqlite")
    tried = next(t for t in found.tried if t.attack.name == "linkability" and t.outcome is not None)
    assert tried.outcome is not None
    sure = dataclasses.replace(tried.outcome, main=Rate.counted(100, 100), naive=Rate.counted(100, 100), base=None)
    alone = dataclasses.replace(found, tried=(dataclasses.replace(tried, outcome=sure),))
    assert sure.risk.low > 0.9
    assert "None found more than a guess does." in " ".join(summary_sentences(alone))
    # What is right of everybody, released or not, is no guess either, and it is said so.
    both = dataclasses.replace(sure, naive=Rate.counted(10, 100), control=Rate.counted(100, 100))
    alone = dataclasses.replace(found, tried=(dataclasses.replace(tried, outcome=both),))
    assert "does, or more than it finds of people who were not released." in " ".join(summary_sentences(alone))


def test_without_quasi_identifiers_there_is_no_report(people, tmp_path):
    with pytest.raises(ParameterError, match="no quasi-identifier"):
        risk_report(people[0], request=ReportRequest(), ledger=tmp_path / "l.sqlite")
    assert not (tmp_path / "l.sqlite").exists()


@pytest.mark.filterwarnings("ignore::workbench.api.PrivateStudyWarning")
def test_from_python_a_table_is_reported_on(people, tmp_path):
    frame = people[0].frame.cast(pl.String).to_pandas()
    out = tmp_path / "r.html"
    found = api.report(frame, out, quasi=["age", "sex"], study_ledger=tmp_path / "l.sqlite")
    assert found["quasi"] == ["age", "sex"]
    assert "private" in found["private"]
    assert "not for release" in out.read_text("utf-8")


def test_a_score_that_cannot_be_computed_is_a_dash(tmp_path):
    rng = np.random.default_rng(1)
    unrelated = pl.DataFrame({"a": rng.integers(0, 60, 300), "b": rng.integers(0, 60, 300)})
    unrelated.write_csv(tmp_path / "one.csv")
    unrelated[::-1].write_csv(tmp_path / "two.csv")
    request = ReportRequest(quasi=("a",))
    original = read_table(tmp_path / "one.csv")
    found = risk_report(original, tmp_path / "two.csv", request=request, ledger=tmp_path / "l.sqlite")
    assert "nan" not in document_bytes(risk_document(found), ".html").decode().split(">Pair trends<")[1][:200]
