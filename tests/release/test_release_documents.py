"""The document of a release says what its verified JSON says, and nothing else."""

import json
import math
from decimal import Decimal
from pathlib import Path

import pytest
from release_cases import certificate_of, plan_of, raise_cap, release, table_of

from workbench.params import CheckFailedError
from workbench.privacy.accounting.posterior import posterior
from workbench.privacy.central.laplace import StudyNoise
from workbench.release.described_release import release_at
from workbench.release.documents.release_document import belief_table, expected_error, expected_gaussian_error
from workbench.release.ledger.ledger import Ledger
from workbench.release.release_path import destination, prepare, release_prepared
from workbench.release.statistics.statistics_work import statistics_work
from workbench.release.synthetic.synthesis_work import synthesis_work
from workbench.release.verification import verified
from workbench.render.document import Bullets, Document, FactList, Grid, Paragraph, Section
from workbench.render.document_html import page_html
from workbench.sanitize.calibrated_columns import protected_columns
from workbench.statistics.release_file import FORMATS
from workbench.statistics.request import usual_request
from workbench.synth.parameters import SynthesisParameters


def section(document: Document, title: str) -> Section:
    return next(s for s in document.sections if s.title == title)


def words(document: Document) -> str:
    found = [document.title, document.subtitle, document.foot]
    for part in document.sections:
        found.append(part.title)
        for block in part.blocks:
            match block:
                case Paragraph(text):
                    found.append(text)
                case Bullets(lines):
                    found += lines
                case FactList(lines):
                    found += [text for line in lines for text in line]
                case Grid(header, rows):
                    found += [*header, *(cell for row in rows for cell in row)]
    return "\n".join(found)


def test_a_table_is_told_column_by_column_with_epsilon_and_error(tmp_path):
    target = tmp_path / "people.csv"
    release(tmp_path / "l.sqlite", target, rows_per_person=2, epsilon=1.5)
    document = verified(target).to_document()
    certificate = certificate_of(target)
    grid = next(b for b in section(document, "What was done with each column").blocks if isinstance(b, Grid))
    expected = {c.column.name: c.facts.expected_absolute_error for c in protected_columns(plan_of(1.5))}
    for line, column in zip(grid.rows, certificate["columns"], strict=True):
        assert (line[0], line[3]) == (column["name"], column["epsilon"])
        assert float(line[4]) == pytest.approx(column["exact_epsilon"], rel=1e-9)
        assert float(line[5]) == pytest.approx(expected[column["name"]], rel=1e-3)
    text = words(document)
    assert "one person with at most 2 rows" in text
    assert certificate["guarantee"]["epsilon"] == "3"
    assert f"at most\n{posterior(3.0, 0.1).high:.1%}".replace("%", "").split("\n")[1] in text.replace(" %", "")
    for said in (
        certificate["guarantee"]["statement"],
        certificate["checksum"],
        certificate["output"]["sha256"],
        certificate["release_id"],
        "ε = 3, δ = 0",
        "zero-out",
        "staircase",
        "Not checked",
    ):
        assert said.lower() in text.lower()


def test_an_account_without_a_name_is_not_told_of(tmp_path):
    ledger = tmp_path / "l.sqlite"
    release(ledger, tmp_path / "a.csv")
    raise_cap(ledger, "97.5")
    release(ledger, tmp_path / "b.csv")
    silent = words(release_at(tmp_path / "b.csv").to_document())
    assert "97.5" not in silent
    assert "does not say what else was charged" in silent


def test_a_named_account_is_told_with_its_raised_cap(tmp_path):
    ledger = tmp_path / "l.sqlite"
    release(ledger, tmp_path / "a.csv", account="people")
    raise_cap(ledger, "97.5")
    release(ledger, tmp_path / "b.csv", account="people")
    text = words(release_at(tmp_path / "b.csv").to_document())
    assert "ε = 97.5" in text
    assert "ε = 91.5" in text
    assert "Cap raised" in text


def test_what_is_not_covered_is_told(tmp_path):
    columns = [
        {"name": "age", "kind": "integer", "lower": 0, "upper": 120, "bounds_origin": "data", "mechanism": "grr"},
        {"name": "city", "action": "keep"},
        {"name": "pay", "action": "drop"},
    ]
    release(tmp_path / "l.sqlite", tmp_path / "a.csv", column=columns, keep_order=True)
    document = release_at(tmp_path / "a.csv").to_document()
    listed = next(b for b in section(document, "What is not covered").blocks if isinstance(b, Bullets))
    assert list(listed.lines) == certificate_of(tmp_path / "a.csv")["outside_guarantee"]
    assert len(listed.lines) == 3
    text = words(document)
    assert "published as it is: not covered" in text
    assert "read off the data" in text


def test_a_document_follows_from_the_json_alone(tmp_path):
    release(tmp_path / "l.sqlite", tmp_path / "a.csv")
    first = page_html(release_at(tmp_path / "a.csv").to_document())
    for name in ("a.csv", "a.csv.certificate.json"):
        (tmp_path / "elsewhere").mkdir(exist_ok=True)
        (tmp_path / "elsewhere" / name).write_bytes((tmp_path / name).read_bytes())
    assert page_html(release_at(tmp_path / "elsewhere" / "a.csv").to_document()) == first


def test_no_document_is_made_of_a_release_that_was_changed(tmp_path):
    target = tmp_path / "a.csv"
    release(tmp_path / "l.sqlite", target)
    target.write_bytes(target.read_bytes() + b"1,Graz,2\n")
    with pytest.raises(CheckFailedError, match="does not match its certificate"):
        verified(target)
    path = tmp_path / "a.csv.certificate.json"
    path.write_text(path.read_text("utf-8").replace('"epsilon": "3"', '"epsilon": "2"'), "utf-8")
    with pytest.raises(CheckFailedError, match="checksum differs"):
        release_at(target)


def central(tmp_path: Path, kind: str, delta: str = "0") -> Path:
    """Release statistics or synthetic rows of the little table."""
    plan, table, given = plan_of(), table_of(60), Decimal(delta)
    if kind == "statistics":
        to = destination(tmp_path / "out.csv", formats=FORMATS)
        work = statistics_work(usual_request(plan).checked(plan), plan, 1.0, table.rows, to.format, given)
    else:
        to = destination(tmp_path / "out.csv")
        work = synthesis_work(plan, SynthesisParameters(target="city"), Decimal(1), given, table.rows, to.format)
    with Ledger.open(tmp_path / "l.sqlite") as ledger:
        release_prepared(prepare(plan, table, to, work), ledger)
    return tmp_path / "out.csv"


@pytest.mark.parametrize("kind", ["statistics", "synthetic"])
def test_a_central_release_is_told_query_by_query(tmp_path, kind):
    target = central(tmp_path, kind)
    document = verified(target).to_document()
    certificate = certificate_of(target)
    grid = next(b for b in section(document, "Queries").blocks if isinstance(b, Grid))
    assert [(line[0], line[2]) for line in grid.rows] == [(q["label"], q["epsilon"]) for q in certificate["queries"]]
    shares = sum(Decimal(line[2]) for line in grid.rows)
    assert shares == Decimal(certificate["guarantee"]["epsilon_row"])
    counts = next(line for line in grid.rows if "discrete Laplace" in line[1])
    size = (certificate["method"].get("queries") or [{}])[0].get("sensitivity", 1)
    assert float(counts[3]) == pytest.approx(expected_error(float(counts[2]), size) / size, rel=1e-3)
    text = words(document)
    replaced = certificate["guarantee"]["replace_one"]["epsilon"]
    assert f"ε = {replaced:g}" in text
    beliefs = next(b for b in section(document, "The guarantee").blocks if isinstance(b, Grid))
    assert beliefs == belief_table(replaced) != belief_table(float(certificate["guarantee"]["epsilon"]))
    if kind == "statistics":  # the noisy answers stand in the JSON; the paper is for reading
        assert json.dumps(certificate["method"]["answers"]) not in text


@pytest.mark.parametrize("kind", ["statistics", "synthetic"])
def test_a_central_release_with_a_delta_is_told_by_its_rho(tmp_path, kind):
    target = central(tmp_path, kind, "1e-3")
    document, certificate = verified(target).to_document(), certificate_of(target)
    asked = section(document, "Queries")
    grid = next(b for b in asked.blocks if isinstance(b, Grid))
    assert grid.header[2] == "ρ"
    assert [line[2] for line in grid.rows] == [q["rho"] for q in certificate["queries"]]
    assert sum(Decimal(line[2]) for line in grid.rows) == Decimal(certificate["guarantee"]["rho_row"])
    text = words(document)
    assert "discrete Gaussian" in text
    assert "Laplace" not in "".join(line[1] for line in grid.rows)
    assert "δ = 0.001" in text


@pytest.mark.parametrize(("rho", "size"), [(5.0, 1), (0.5, 1), (0.02, 4), (1e-4, 1)])
def test_the_expected_error_of_gaussian_noise_is_that_of_the_noise(rho, size):
    import numpy as np

    drawn = np.abs(StudyNoise(np.random.default_rng(5)).gaussian([0] * 200_000, size, rho))
    wide = 6 * max(drawn.std(), 0.01) / math.sqrt(200_000)  # six standard errors
    assert abs(drawn.mean() - expected_gaussian_error(rho, size)) < wide


def test_the_expected_error_is_that_of_the_noise():
    import numpy as np

    for epsilon, size in ((0.5, 1), (2.0, 1), (1.0, 4)):
        drawn = np.abs(StudyNoise(np.random.default_rng(5)).integers([0] * 200_000, size, epsilon))
        # A mean of 200,000 draws with a standard deviation below 1.5 times the mean: 6 standard errors.
        assert abs(drawn.mean() - expected_error(epsilon, size)) < 6 * 1.5 * drawn.mean() / math.sqrt(200_000)


@pytest.mark.parametrize(
    ("model", "title", "facts"),
    [
        ("net", "Logistic regression, DP-SGD", {"Learning rate": "0.1", "Rows in a step": "20", "Clipping norm": "1"}),
        ("m-naive-bayes", "Naive Bayes", {"Privacy budget": "1"}),
    ],
)
def test_a_model_and_its_settings_are_called_as_in_a_form(model, title, facts):
    document = verified(Path(__file__).parent / "former_version" / model).to_document()
    lines = {
        line
        for part in document.sections
        for block in part.blocks
        if isinstance(block, FactList)
        for line in block.lines
    }
    assert {("Model", title), *facts.items()} <= lines
    named = dict(lines)
    assert named.get("Privacy accountant", "privacy loss").startswith("privacy loss")
    assert "network" not in {name.lower() for name in named}


def test_the_plan_lists_released_columns_and_names_the_others(tmp_path):
    age, pay = {"name": "age", "kind": "integer", "lower": 0, "upper": 120}, {"name": "pay", "action": "drop"}
    release(tmp_path / "l.sqlite", tmp_path / "a.csv", column=[pay, age, {"name": "city", "action": "drop"}])
    plan, left_out = section(verified(tmp_path / "a.csv").to_document(), "The plan").blocks
    assert isinstance(plan, Paragraph)
    assert isinstance(left_out, Paragraph)
    assert plan.text.count("[[column]]") == 1
    assert 'name = "age"' in plan.text
    assert left_out.text == 'Not released, and left out above: "pay", "city".'
