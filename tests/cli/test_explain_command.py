"""What the command says of an ε is what the sections say, for a whole person."""

from __future__ import annotations

from command_cases import Run

from workbench.privacy.accounting.event import group
from workbench.privacy.explain.sections import sections


def test_epsilon_is_explained_for_a_person_with_several_rows(run: Run) -> None:
    told = run("explain", "--epsilon", "0.5", "--delta", "1e-6", "--rows-per-person", "3", "--json").json
    assert (told["epsilon"], told["delta"]) == group(0.5, 1e-6, 3)
    assert [s["title"] for s in told["sections"]] == [s.title for s in sections(1.5, told["delta"])]
    assert [s["text"] for s in told["sections"]] == [list(s.text) for s in sections(1.5, told["delta"])]


def test_three_answers_lead_to_a_range_with_reasons_and_sources(run: Run) -> None:
    words = ["explain", "--reader", "contract", "--knowledge", "some", "--purpose", "model"]
    told = run(*words, "--json").json["advice"]
    assert (told["low"], told["high"]) == (0.5, 3.0)
    assert told["published"] == ["Wikimedia", "Google", "Google", "Apple", "Google"]
    assert len(told["reasons"]) == 4
    text = run(*words).out
    assert "A range to begin with: ε = 0.5 to 3" in text
    assert "arXiv 2002.05839" in text
    assert max(map(len, text.splitlines())) < 200
