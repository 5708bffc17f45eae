"""What the benchmark of painting concludes follows from its figures."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))

from bench_painting import conclusions, plain_will_do


def test_other_figures_lead_to_another_conclusion():
    slow, alike, quick = (5.0, 1.0), (7.0, 1.4), (20.0, 7.9)
    assert plain_will_do(slow, alike)
    assert not plain_will_do(slow, quick)
    told = "\n".join(conclusions([("A chart", slow, quick), ("A bar", slow, alike)]))
    assert "A chart: is worth painting by hand (7.9 ms against 1.0 ms in its worst frame)" in told
    assert "A bar: **the plain way would do**" in told
