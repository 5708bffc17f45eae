"""Every attack on releases of a generated survey, as ``bench_attack_table.py`` makes them, with fewer people."""

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))

pytest.importorskip("torch")

from bench_attack_table import COPY, GENERALISED, Bench, survey

pytestmark = pytest.mark.slow


def test_a_copy_is_found_and_private_releases_stay_within_their_epsilon(tmp_path):
    bench = Bench(survey(tmp_path, 600), tmp_path)
    for subject, place in bench.releases().items():
        found = [
            bench.attack("singling-out", subject, place, "--attacks", "500"),
            bench.attack("linkability", subject, place),
            bench.attack("inference", subject, place, "--secret", "ill"),
            bench.attack("closest", subject, place),
        ]
        if subject == COPY:
            assert min(one["main"] for one in found) >= 0.9
        if subject == GENERALISED:
            assert found[-1]["auc_low"] > 0.6
            assert all(one["allowed"] is None for one in found)
        if subject not in (COPY, GENERALISED):
            assert all(one["rates"]["main"]["low"] <= one["allowed"] for one in found if one)
            assert found[-1]["epsilon_lower"] <= found[-1]["epsilon"]
