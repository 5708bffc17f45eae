"""What a central release tells while it runs, and what its figures say to the last digit."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from asks import study_ask
from release_cases import plan_of, table_of

from workbench.data.table import Table
from workbench.params import ParameterError
from workbench.privacy.accounting.event import exact
from workbench.release.ledger.ledger import Ledger
from workbench.release.release_path import destination, prepare, release_prepared
from workbench.release.statistics.statistics_work import statistics_work
from workbench.release.synthetic.synthesis_work import synthesis_work
from workbench.release.verification import verify_any
from workbench.sanitize.plan import Column, Plan
from workbench.signals import Progress
from workbench.signals.cancel import CancelToken
from workbench.signals.events import ignore
from workbench.statistics.release_file import FORMATS, decode
from workbench.statistics.request import Request, Statistic, usual_request
from workbench.synth.parameters import SynthesisParameters


def test_the_progress_of_a_release_follows_from_public_numbers_alone(tmp_path):
    """How many rounds a fit takes follows from the noisy answers; whoever saw it could cancel and pay nothing."""
    seen = []
    for turn, table in enumerate((table_of(60), Table(table_of(60).frame.reverse().head(60), "b"))):
        heard: list[Any] = []
        plan = plan_of()
        work = synthesis_work(plan, SynthesisParameters(method="mst"), exact(1.0), exact(0.0), 60, "csv")
        prepared = prepare(plan, table, destination(tmp_path / f"{turn}.csv"), work)
        with Ledger.open(tmp_path / f"{turn}.sqlite") as ledger:
            release_prepared(prepared, ledger, heard.append)
        seen.append([(e.done, e.total, e.label) for e in heard if isinstance(e, Progress)])
    assert seen[0] == seen[1]
    assert sum(label == "fitting the model" for _, _, label in seen[0]) == 1


def test_intervals_hold_for_numbers_of_many_digits(tmp_path):
    """Seconds of one day in 2020: 40 intervals at 95 %; fewer than 27 that hold would be chance in 1 of 10^7."""
    lower, upper = 1_600_000_000, 1_600_086_400
    plan = Plan(epsilon=1.0, columns=(Column(name="at", kind="integer", lower=lower, upper=upper),))
    moments = np.random.default_rng(1).integers(lower, upper, 50_000)
    table = Table(pl.DataFrame({"at": [str(v) for v in moments]}), "t")
    request = Request(figures=(Statistic(statistic="mean", column="at"), Statistic(statistic="sum", column="at")))
    work = statistics_work(request, plan, 1.0, table.rows, "csv")
    truth, held = {"mean": moments.mean(), "sum": moments.sum()}, {"mean": 0, "sum": 0}
    for seed in range(40):
        made = work.run(table, study_ask(work.events, seed), ignore, CancelToken())
        for figure in decode(made.whole, "csv", "the study"):
            held[figure["statistic"]] += figure["low"] <= truth[figure["statistic"]] <= figure["high"]
    assert min(held.values()) >= 27
    prepared = prepare(plan, table, destination(tmp_path / "f.csv", formats=FORMATS), work)
    with Ledger.open(tmp_path / "l.sqlite") as ledger:
        release_prepared(prepared, ledger)
    assert verify_any(tmp_path / "f.csv") == []


def test_values_that_were_read_off_the_data_are_not_published_by_statistics():
    columns = (
        Column(name="city", kind="category", domain=("Bonn", "Rome"), bounds_origin="data"),
        Column(name="age", kind="integer", lower=0, upper=99),
    )
    plan = Plan(epsilon=1.0, columns=columns)
    with pytest.raises(ParameterError, match="were taken from the data"):
        statistics_work(Request(figures=(Statistic(statistic="histogram", column="city"),)), plan, 1.0, 60, "csv")
    assert {ask.column for ask in usual_request(plan).figures} == {"age"}
