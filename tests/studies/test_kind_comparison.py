"""The four ways to release, foreseen without a row: what they promise is kept, and what is advised follows from it."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from workbench.data.table import Table
from workbench.params import CancelledError
from workbench.privacy.central.laplace import StudyNoise
from workbench.release.synthetic.synthesis_work import synthesis_setting
from workbench.sanitize.forecast import forecast
from workbench.sanitize.intended_use import PlanQuestions
from workbench.sanitize.plan import Column, Plan
from workbench.signals.cancel import CancelToken
from workbench.statistics.figures import figures
from workbench.statistics.queries import queries_of
from workbench.statistics.request import usual_request
from workbench.studies import kind_draws, synthetic_errors
from workbench.studies.kind_advice import (
    MODEL,
    NAMES,
    NO,
    NOT_ANSWERED,
    NOT_KNOWN,
    ROWS,
    STATISTICS,
    SYNTHETIC,
    YES,
    Advice,
    Answer,
    KindResult,
)
from workbench.studies.kind_comparison import (
    EQUAL_GROUPS,
    NOISE_IN_ROWS,
    compare_kinds,
    figure_text,
    shortfalls_of_model,
    synthetic_setting,
)
from workbench.studies.kind_draws import draw_kinds
from workbench.studies.kind_questions import Question, answered_by, asked_request
from workbench.studies.regimes import setting_of, synthetic_cells
from workbench.studies.solve import least_epsilon
from workbench.studies.synthetic_errors import Trial
from workbench.studies.why.rows import made_up_columns
from workbench.synth import MARGINALS, MST, TAN, positions
from workbench.synth.base import Coarser
from workbench.synth.columns import coarse_columns
from workbench.synth.parameters import SynthesisParameters

COLUMNS = (
    Column(name="age", kind="integer", lower=0, upper=99),
    Column(name="pay", kind="real", lower=0, upper=1000),
    Column(name="city", kind="category", domain=("Bonn", "Lille", "Turin")),
    Column(name="sick", kind="category", domain=("no", "yes"), role="target"),
)


def plan(epsilon: float, *columns: Column) -> Plan:
    return Plan(epsilon=epsilon, columns=columns or COLUMNS)


def test_each_way_is_asked_the_same_questions():
    ways = compare_kinds(plan(1.0), 5000)
    assert [way.name for way in ways.ways] == list(NAMES)
    assert [q.words for q in ways.questions] == [
        "the mean of age",
        "the share of yes in sick",
        "the correlation of age and pay",
    ]
    assert all(len(way.answers) == 3 for way in ways.ways)
    assert ways.way(STATISTICS).answers[2].half_length is None
    assert ways.way(SYNTHETIC).answers[2].note == "in some pairs"


@pytest.mark.parametrize(
    ("epsilon", "rows", "advised"), [(1.0, 5000, SYNTHETIC), (200.0, 5000, ROWS), (0.02, 30, MODEL)]
)
def test_what_is_advised_depends_on_epsilon_and_rows(epsilon, rows, advised):
    ways = compare_kinds(plan(epsilon), rows)
    assert ways.advised == advised
    assert ": release " not in ways.reason, "a way may be chosen already"
    assert f"ε = {epsilon:g}" in ways.reason


def test_a_larger_epsilon_or_more_rows_never_answer_worse():
    made = [compare_kinds(plan(e), n) for e, n in ((0.3, 1000), (1.0, 1000), (1.0, 9000), (5.0, 9000))]
    for way in (ROWS, SYNTHETIC, STATISTICS):
        series = [ways.way(way) for ways in made]
        for at in range(3):
            lengths = [w.answers[at].half_length for w in series]
            known = [length for length in lengths if length is not None]
            assert known == sorted(known, reverse=True), (way, at)


def test_without_a_target_no_model_is_advised_and_without_numbers_no_mean_is_asked():
    ways = compare_kinds(plan(1.0, COLUMNS[2]), 100)
    assert [q.asked for q in ways.questions] == ["share"]
    assert "target" in ways.way(MODEL).problem
    assert compare_kinds(plan(0.001, COLUMNS[2]), 20).advised == STATISTICS


@pytest.mark.parametrize("target", [True, False])
@pytest.mark.parametrize(("epsilon", "rows"), [(0.5, 60), (0.5, 400), (1.0, 5000)])
def test_the_forecast_the_study_and_the_release_have_the_same_cuts(epsilon, rows, target):
    columns = COLUMNS if target else (*COLUMNS[:3], Column(name="sick", kind="category", domain=("no", "yes")))
    made = plan(epsilon, *columns)
    method, released = synthesis_setting(made, made.row_epsilon(), rows, SynthesisParameters())
    foreseen_method, foreseen = synthetic_setting(made, "sick" if target else None, rows)
    assert method is foreseen_method is (MST if not target else MARGINALS if rows == 60 else TAN)
    settings = [released, foreseen, setting_of(columns, rows, epsilon, method)]  # a study's last column is its target
    assert len({tuple(c.cuts for c in s.columns) for s in settings}) == 1
    most = 64 if method is TAN else 16
    assert (released.columns[0].cuts < most) == (rows < 5000)
    assert foreseen.target == released.target == (3 if target else None)


def test_few_rows_have_few_cuts_in_the_forecast():
    few, many = (synthetic_setting(plan(0.5), "sick", rows)[1].columns[0].cuts for rows in (30, 100_000))
    assert (few, many) == (5, 64)


@pytest.fixture(scope="module")
def cells():
    """Rows that are spread evenly, as the forecasts assume; the target depends on age, and pay on age."""
    made = np.random.default_rng(3)
    age = made.integers(0, 100, 4000)
    pay = np.clip(age * 10 + made.normal(0, 250, 4000), 0, 1000).round(2)
    frame = pl.DataFrame(
        {
            "age": [str(v) for v in age],
            "pay": [f"{v:.2f}" for v in pay],
            "city": [("Bonn", "Lille", "Turin")[v] for v in made.integers(0, 3, 4000)],
            "sick": ["yes" if v > 50 else "no" for v in age + made.normal(0, 20, 4000)],
        }
    )
    table = Table(frame, "t")
    return np.column_stack([c.grid().encode(table) for c in COLUMNS]).astype(np.uint32)


@pytest.mark.parametrize("target", [True, False])
def test_synthetic_rows_keep_what_was_foreseen(cells, target):
    """Of 2 × 8 errors at 95 % each, binomial: more than 8 outside would be chance in 1 of 10^6."""
    columns = COLUMNS if target else (*COLUMNS[:3], Column(name="sick", kind="category", domain=("no", "yes")))
    ways = compare_kinds(plan(1.0, *columns), len(cells))
    halves = [answer.half_length for answer in ways.way(SYNTHETIC).answers]
    truth = _figures(cells, columns, ways.questions[1].columns[0])
    outside, method = 0, synthetic_setting(plan(1.0, *columns), "sick" if target else None, len(cells))[0]
    assert method is (TAN if target else MST)
    for seed in range(8):
        made = synthetic_cells(columns, cells, method, 1.0, seed)
        found = _figures(made, columns, ways.questions[1].columns[0])
        for at in (0, 1):
            half = halves[at]
            assert half is not None
            outside += abs(found[at] - truth[at]) > half
    assert outside <= 8


def test_the_correlation_with_a_target_is_foreseen(cells):
    """8 errors at 95 % each: more than 5 outside would be chance in 1 of 10^6."""
    columns = (COLUMNS[0], COLUMNS[2], Column(name="pay", kind="real", lower=0, upper=1000, role="target"))
    ways = compare_kinds(plan(1.0, *columns), len(cells))
    assert ways.questions[2].columns == ("age", "pay")
    half = ways.way(SYNTHETIC).answers[2].half_length
    assert half is not None
    rows = cells[:, [0, 2, 1]]
    truth, outside = _correlation(rows, columns), 0
    assert synthetic_setting(plan(1.0, *columns), "pay", len(rows))[0] is TAN
    for seed in range(8):
        outside += abs(_correlation(synthetic_cells(columns, rows, TAN, 1.0, seed), columns) - truth) > half
    assert outside <= 5


@pytest.mark.parametrize("cuts", [16, 32])
def test_the_foreseen_error_of_a_correlation_falls_with_epsilon(cuts):
    facts = [Column(name=name, kind="integer", lower=0, upper=1000).facts() for name in ("one", "other")]
    columns = coarse_columns(facts, cuts)
    halves = [Trial(columns, share, 20_000).half_length("correlation", CancelToken()) for share in (0.25, 0.5, 1, 2, 6)]
    assert halves == sorted(halves, reverse=True)
    assert halves[3] < 0.05


def _correlation(cells: np.ndarray, columns: tuple[Column, ...]) -> float:
    age, pay = columns[0].grid().numbers_of(cells[:, 0]), columns[2].grid().numbers_of(cells[:, 2])
    return float(np.corrcoef(age, pay)[0, 1])


def _figures(cells: np.ndarray, columns: tuple[Column, ...], name: str) -> list[float]:
    age = columns[0].grid().numbers_of(cells[:, 0])
    pay = columns[1].grid().numbers_of(cells[:, 1])
    at = [c.name for c in columns].index(name)
    share = float(np.mean(cells[:, at] == columns[at].grid().cells.size - 1))
    return [float(age.mean()), share, float(np.corrcoef(age, pay)[0, 1])]


def test_statistics_keep_what_was_foreseen(cells):
    """40 means at 95 % each: more than 14 outside would be chance in 1 of 10^6."""
    made = plan(1.0)
    ways = compare_kinds(made, len(cells))
    half = ways.way(STATISTICS).answers[0].half_length
    assert half is not None
    table = Table(pl.DataFrame({c.name: c.grid().decode(cells[:, j]) for j, c in enumerate(COLUMNS)}), "t")
    truth = float(COLUMNS[0].grid().numbers_of(cells[:, 0]).mean())
    queries = queries_of(usual_request(made).checked(made), made, made.row_epsilon(), len(cells))
    exact = {q.label: q.answer(table) for q in queries}
    outside = 0
    for seed in range(40):
        noise = StudyNoise(np.random.default_rng(seed))
        told = figures(queries, {q.label: q.paid.noisy(noise, exact[q.label], q.size) for q in queries})
        mean = next(f for f in told if f.statistic == "mean" and f.column == "age")
        outside += abs(float(mean.estimate) - truth) > half
    assert outside <= 14


def test_rounding_to_even_steps_of_whole_numbers_is_part_of_what_is_foreseen():
    """0, 10, 20 …: 5 to 14 become 10, on average half a unit too high; every step of 9 has its middle in it."""
    even = Column(name="age", kind="integer", lower=0, upper=90, cells=10)
    odd = Column(name="age", kind="integer", lower=0, upper=90, cells=11)
    assert (even.grid().step, odd.grid().step) == (10, 9)
    values = pl.Series([str(v) for v in range(5, 85)])
    codes = even.grid().encode(Table(pl.DataFrame({"age": values}), "t"))
    assert float(even.grid().numbers_of(codes).mean()) - 44.5 == 0.5
    made = [compare_kinds(plan(5.0, c, COLUMNS[3]), 9000) for c in (even, odd)]
    for way in (ROWS, SYNTHETIC, STATISTICS):
        halves = [ways.way(way).answers[0].half_length for ways in made]
        assert halves[0] is not None
        assert halves[1] is not None
        assert (halves[0] > 0.5) == (way != STATISTICS), "figures are not of rounded values"
        assert way != STATISTICS or halves[1] < 0.5


@pytest.mark.parametrize("shape", [0, *(pytest.param(shape, marks=pytest.mark.slow) for shape in (1, 2))])
def test_a_few_hundred_rows_are_foreseen_about_as_they_come_out(shape):
    """Of 3 × 6 errors at 95 %, over three shapes of age: more than 8 outside would be chance in 1 of 10^6."""
    draw = np.random.default_rng(5)
    made = plan(1.0)
    half = compare_kinds(made, 400).way(SYNTHETIC).answers[0].half_length
    assert half is not None
    assert half < 8
    outside, errors = 0, []
    for seed in range(6):
        age = (draw.integers(0, 100, 400), draw.normal(45, 15, 400), draw.exponential(12, 400))[shape]
        fine = np.column_stack(
            [
                np.clip(age, 0, 99).astype(np.uint32),
                draw.integers(0, 501, 400).astype(np.uint32),
                draw.integers(0, 3, 400).astype(np.uint32),
                draw.integers(0, 2, 400).astype(np.uint32),
            ]
        )
        found = synthetic_cells(COLUMNS, fine, TAN, 1.0, seed)
        errors.append(float(found[:, 0].mean()) - float(fine[:, 0].mean()))
        outside += abs(errors[-1]) > half
    assert outside <= 4
    assert max(map(abs, errors)) > half / 20


def asked(epsilon: float, *wishes: str, asks: tuple[str, ...] = ("averages", "pairs", "model", "rows")) -> Plan:
    return replace(plan(epsilon), questions=PlanQuestions(asks=asks, wishes=wishes))


def test_the_questions_of_the_plan_are_asked_each_once_the_wishes_first():
    found = compare_kinds(asked(1.0, "mean(pay) ± 5", "share(city=Bonn) ± 2 %"), 5000, coarse=True, train=False)
    assert [q.words for q in found.questions] == [
        "the mean of pay",
        "the share of Bonn in city",
        "the mean of age",
        "how age relates to sick",
        "how pay relates to sick",
        "a model of sick",
        "look at rows",
    ]
    assert [q.enough for q in found.questions[:2]] == [5, 0.02]
    marks = {way.name: [answer.mark for answer in way.answers] for way in found.ways}
    assert marks[SYNTHETIC][-1] == YES
    assert marks[STATISTICS][-1] == marks[STATISTICS][-2] == NOT_ANSWERED
    assert marks[SYNTHETIC][-2] == NOT_KNOWN  # nobody has trained a model yet
    assert "Pay" not in found.shortfalls(STATISTICS)[0]


def test_coarse_marks_are_near_the_fine_ones():
    for rows, epsilon in ((400, 1.0), (5000, 0.5), (5000, 5.0)):
        made = asked(epsilon, asks=("averages", "pairs"))
        coarse, fine = (compare_kinds(made, rows, coarse=rough, train=False) for rough in (True, False))
        for way in (ROWS, SYNTHETIC, STATISTICS):
            for rough, exact in zip(coarse.way(way).answers, fine.way(way).answers, strict=True):
                assert (rough.half_length is None) == (exact.half_length is None)
                if rough.half_length is not None and exact.half_length is not None:
                    assert 0.4 < rough.half_length / exact.half_length < 2.6, (way, rows, epsilon)


def test_a_model_is_tried_on_made_up_rows_and_then_known_at_once():
    made = asked(2.0, asks=("model",))
    fine = compare_kinds(made, 3000)
    assert fine.way(MODEL).answers[0].mark == YES
    assert fine.advised == MODEL
    assert fine.way(ROWS).answers[0].note.count(" of ") == 1
    again = compare_kinds(made, 3000, coarse=True, train=False)
    assert [way.answers[0] for way in again.ways] == [way.answers[0] for way in fine.ways]


def test_the_least_epsilon_of_a_wish_holds_and_a_smaller_one_does_not():
    made = asked(1.0, "mean(age) ± 2", asks=("averages",))
    question = compare_kinds(made, 4000, coarse=True, train=False).questions[0]
    for way in (ROWS, SYNTHETIC, STATISTICS):
        least = least_epsilon(made, 4000, question, way, CancelToken())
        assert least is not None
        for epsilon, mark in ((float(least) * 1.05, YES), (float(least) * 0.85, NO)):
            at = replace(made, epsilon=epsilon)
            assert compare_kinds(at, 4000, train=False).way(way).answers[0].mark == mark, (way, epsilon)
    assert least_epsilon(made, 4000, question, MODEL, CancelToken()) is None
    narrow = compare_kinds(asked(1.0, "mean(age) ± 0.000001"), 4000, coarse=True, train=False).questions[0]
    assert least_epsilon(made, 4000, narrow, STATISTICS, CancelToken()) is None


def test_questions_of_one_kind_without_an_answer_share_a_sentence():
    found = compare_kinds(asked(1.0), 5000, coarse=True, train=False)
    assert found.shortfalls(MODEL) == shortfalls_of_model(asked(1.0), 5000)
    assert shortfalls_of_model(asked(1.0), 5000) == (
        "Averages and shares are not available: age, pay, city.",
        "Relations between columns are not available: age, sick, pay.",
        "There are no rows to look at.",
    )
    grouped = asked(1.0, "mean(age by sick) ± 2", "median(pay) ± 3", asks=("figures",))
    assert shortfalls_of_model(grouped, 5000)[0] == (
        "Exact figures are not available: the mean of age by sick, the median of pay, the median of age."
    )


def test_every_shortfall_is_a_sentence_and_fewer_columns_are_nearer():
    found = compare_kinds(asked(0.05, "mean(age) ± 1"), 500, train=False)
    told = found.shortfalls(ROWS)
    assert told[0] == NOISE_IN_ROWS
    assert any(
        one.startswith("The mean of age is accurate only to ± ") and one.endswith("; you asked for ± 1.")
        for one in told
    )
    usual = compare_kinds(asked(0.05, asks=("averages",)), 500, train=False).shortfalls(ROWS)
    assert any(one.endswith(" is usual.") for one in usual), "nobody asked for that margin"
    assert all(one.endswith(".") for one in (*told, *usual))
    few = plan(1.0, *COLUMNS[:2])
    whole = plan(1.0)
    near = [compare_kinds(p, 500, coarse=True).way(ROWS).answers[0].half_length for p in (few, whole)]
    assert near[0] is not None
    assert near[1] is not None
    assert near[0] < near[1]


def test_figures_that_answer_the_questions_are_what_statistics_release():
    made = asked(1.0, asks=("averages", "figures"))
    told = {(one.statistic, one.column) for one in asked_request(made).figures}
    assert told == {
        ("mean", "age"),
        ("mean", "pay"),
        ("histogram", "city"),
        ("histogram", "sick"),
        ("quantiles", "age"),
        ("quantiles", "pay"),
    }
    assert asked_request(plan(1.0)) == usual_request(plan(1.0))


def test_statistics_answer_wishes_about_groups_and_stated_quantiles():
    wishes = "mean(pay by city) ± 50", "quantile(age, 0.9) ± 3", "mean(pay by sick by city) ± 9", "count(age) ± 3"
    made = asked(3.0, *wishes[:2], wishes[3], asks=("averages",))
    told = {(one.statistic, one.column, one.by, one.at) for one in asked_request(made).figures}
    assert {("mean", "pay", ("city",), None), ("quantiles", "age", None, (0.9,)), ("mean", "pay", None, None)} < told
    assert not any(statistic == "count" for statistic, *_ in told), "the number of rows is public, and asks for nothing"
    found = compare_kinds(made, 5000, coarse=True, train=False)
    grouped, quantile = found.way(STATISTICS).answers[:2]
    assert (grouped.mark, grouped.note, quantile.mark) == (YES, EQUAL_GROUPS, YES)
    alone = found.way(STATISTICS).answers[[q.words for q in found.questions].index("the mean of pay")]
    assert grouped.half_length > 1.5 * alone.half_length
    assert found.way(SYNTHETIC).answers[0].half_length is None
    assert found.advised == STATISTICS, "no other way says how near a figure of groups is"
    beside = compare_kinds(asked(3.0, wishes[0], asks=("averages", "pairs")), 5000, coarse=True, train=False)
    assert (beside.advised, beside.seconds[SYNTHETIC][0]) == (SYNTHETIC, STATISTICS)
    assert "do not give exact figures" in beside.reason
    # The same groups in another order are the same figure: both wishes are answered by it.
    both = asked(3.0, "mean(pay by city and sick) ± 50", "mean(pay by sick and city) ± 40", asks=("averages",))
    assert [one.by for one in asked_request(both).checked(both).figures].count(("city", "sick")) == 1
    one, other = compare_kinds(both, 5000, coarse=True, train=False).way(STATISTICS).answers[:2]
    assert one == other
    assert one.half_length is not None


def test_a_private_draw_has_the_truth_beside_what_each_way_shows_and_stops_within_it(cells, monkeypatch):
    made = asked(20.0, "quantile(age, 0.59) ± 3", asks=("averages", "pairs", "figures"))
    table = Table(pl.DataFrame({c.name: c.grid().decode(cells[:, j]) for j, c in enumerate(COLUMNS)}), "t")
    drawn = draw_kinds(made, table, 1)
    mean = ("mean", ("age",), "")
    truth = float(COLUMNS[0].grid().numbers_of(cells[:, 0]).mean())
    assert drawn.truth[mean] == pytest.approx(truth)
    for way in (ROWS, SYNTHETIC, STATISTICS):
        assert drawn.seen[way, mean] == pytest.approx(truth, abs=6)
    assert drawn.seen[STATISTICS, ("median", ("age",), "")] == pytest.approx(drawn.truth["median", ("age",), ""], abs=6)
    assert draw_kinds(made, table, 2).seen[STATISTICS, mean] != drawn.seen[STATISTICS, mean]

    class After(CancelToken):
        """Cancelled once the rows of the model are being placed within its cells."""

        reached = False

        @property
        def cancelled(self) -> bool:
            return self.reached

    late, likeliest = After(), positions.latent_correlation

    def reach(shares):
        late.reached = True
        return likeliest(shares)

    monkeypatch.setattr(positions, "latent_correlation", reach)
    monkeypatch.setattr(Coarser, "drawn", lambda *_: pytest.fail("goes on although it was cancelled"))
    with pytest.raises(CancelledError):
        draw_kinds(made, table, 3, cancel=late)
    late = After()

    def count(queries, rows, cancel):
        late.reached = True
        cancel.check()

    monkeypatch.undo()
    monkeypatch.setattr(kind_draws, "counted", count)
    with pytest.raises(CancelledError):
        draw_kinds(made, table, 3, cancel=late)


def test_trials_that_were_made_serve_other_columns_and_another_epsilon(monkeypatch):
    made, true = [], synthetic_errors._Run._made
    monkeypatch.setattr(synthetic_errors, "_KEPT", {})
    monkeypatch.setattr(synthetic_errors._Run, "_made", lambda run, cancel: made.append(run.key) or true(run, cancel))

    def trial(lower: float, upper: float, share: float) -> Trial:
        column = Column(name="x", kind="integer", lower=lower, upper=upper)
        return Trial(coarse_columns([column.facts()]), share, 1000)

    half = trial(0, 100, 0.3).half_length("mean", CancelToken())
    assert len(made) == len(set(made)) == 2 * 3 * synthetic_errors.TRIES
    made.clear()
    assert trial(1, 101, 0.3).half_length("mean", CancelToken()) == pytest.approx(half)
    near = [trial(0, 100, share).half_length("mean", CancelToken()) for share in (0.26, 0.3, 0.4, 0.49)]
    assert made == []
    assert near == sorted(near, reverse=True), "more ε, less error"
    assert trial(0, 100, 0.4).coarse("mean", CancelToken()) == near[2], "what is known is not guessed"
    stopped = CancelToken()
    stopped.cancel()
    with pytest.raises(CancelledError):
        trial(0, 100, 5.0).half_length("mean", stopped)


def test_a_margin_is_written_as_a_person_writes_it():
    read = [figure_text("mean", half) for half in (218.3, 43_210, 12, 0.234)]
    assert read == ["± 218", "± 43,200", "± 12", "± 0.234"]
    assert [figure_text("share", half) for half in (0.123, 1.23)] == ["± 12.3 %", "± 100 %"]


@pytest.mark.parametrize("asks", [("averages",), ("averages", "pairs")])
def test_the_way_that_suits_the_questions_is_advised_where_it_answers_as_much(asks):
    made = replace(plan(1.0, *COLUMNS[:3]), questions=PlanQuestions(asks=asks))
    ways = compare_kinds(made, 5000)
    synthetic, statistics = ways.way(SYNTHETIC).useful, ways.way(STATISTICS).useful
    assert synthetic == statistics > ways.way(ROWS).useful
    assert ways.advised == (STATISTICS if asks == ("averages",) else SYNTHETIC)


def test_the_usual_margin_of_a_median_of_whole_numbers_is_one_that_some_epsilon_gives():
    few = Column(name="children", kind="integer", lower=0, upper=20)
    made = replace(plan(5.0, few), questions=PlanQuestions(asks=("averages", "figures")))
    found = compare_kinds(made, 800, coarse=True, train=False)
    assert [(q.asked, q.enough) for q in found.questions] == [("mean", 0.4), ("median", 1.0)]
    assert found.way(STATISTICS).useful == 2


KINDS = {"averages": "mean", "pairs": "correlation", "model": "model", "figures": "median"}


def advice(asks: tuple[str, ...], *, epsilon: float = 1.0, **marks: str) -> Advice:
    """Return what is advised where each way has these marks, one for each ask."""
    said = {"y": YES, "n": NO, "-": NOT_ANSWERED, "?": NOT_KNOWN}
    made = asked(epsilon, asks=tuple(dict.fromkeys(asks)))
    ways = tuple(KindResult(name, name, "", tuple(Answer(None, said[one]) for one in marks[name])) for name in NAMES)
    questions = tuple(Question(KINDS[ask], ("age",), ask, 1.0) for ask in asks)
    return Advice(ways, made, forecast(made, coarse=True), 900, questions, answered_by(made))


def test_what_is_asked_decides_and_the_marks_compare_only_what_suits():
    both = advice(("averages", "pairs", "model"), rows="nnn", synthetic="nny", statistics="y--", model="--y")
    assert both.best.name == SYNTHETIC, "pairs, which no way gives at this ε, decide nothing"
    assert (
        "no kind of release is accurate enough for relations between columns: fewer columns may help, or a more"
        in both.reason
    )
    nothing = advice(("averages", "pairs", "model"), rows="nnn", synthetic="nny", statistics="n--", model="--y")
    assert (
        "no kind of release is accurate enough for averages and shares, and relations between columns: "
        in nothing.reason
    )
    more = advice(("averages", "averages", "model"), rows="nnn", synthetic="nny", statistics="yy-", model="--y")
    assert more.best.name == SYNTHETIC
    assert "statistics answer more questions, but not a model of sick." in more.reason
    name, said = more.second(more.best)
    assert name == STATISTICS
    assert said.startswith("A second release of statistics would add: averages and shares. Together they cost ε = 2; ")
    assert said.endswith("at ε = 0.5 each they stay within ε = 1, the highest on offer.")
    assert more.second(more.ways[2])[0] == MODEL


def test_where_no_way_gives_every_answer_each_is_told_and_a_second_release_gives_the_rest():
    half = advice(("model", "figures"), epsilon=0.5, rows="n-", synthetic="y-", statistics="-y", model="y-")
    assert half.best.name == MODEL
    assert "statistics do not give a model of sick; a model does not give exact figures." in half.reason
    said = "A second release of statistics would add: exact figures. Together they cost ε = 1."
    assert half.second(half.best) == (STATISTICS, said)
    other = half.second(half.ways[2])
    assert other == (MODEL, "A second release could be a model of sick. Together they cost ε = 1.")


def test_a_second_release_is_of_another_way_and_names_what_that_gives_more_of():
    asks = ("averages", "averages", "pairs", "model")
    made = advice(asks, rows="nnnn", synthetic="ynyn", statistics="yy--", model="---y")
    assert made.best.name == SYNTHETIC
    said = "A second release of statistics would add: averages and shares. Together they cost ε = 2; "
    name, told = made.second(made.best)
    assert (name, told[: len(said)]) == (STATISTICS, said)
    several = replace(made, plan=replace(made.plan, rows_per_person=3))
    assert "Together they cost ε = 6; " in several.second(several.best)[1], "as they are charged"


def test_a_way_that_answers_nothing_is_not_advised_where_another_answers_something():
    none = advice(("averages", "model"), rows="nn", synthetic="nn", statistics="y-", model="-y")
    assert none.best.name == STATISTICS
    assert none.reason == "At ε = 1 statistics would answer most questions, but not a model of sick."
    unknown = advice(("averages", "model"), rows="n?", synthetic="n?", statistics="y-", model="-?")
    assert unknown.best.name == SYNTHETIC
    hopeless = advice(("model",), rows="n", synthetic="n", statistics="-", model="n")
    assert hopeless.best.name == MODEL
    assert hopeless.reason.startswith("At ε = 1 no kind of release is accurate enough for a model of sick: ")


# -- Made-up rows of a preview follow from the plan alone -------------------------------------------------------------


def test_made_up_rows_follow_from_the_plan_alone():
    one = Column(name="age", kind="integer", lower=0, upper=90)
    kept = Column(name="town", kind="category", action="keep", domain=("Graz", "Linz"))
    rows, plan = made_up_columns(Plan(epsilon=1, columns=(one, kept)), 10**6)
    assert (rows.names, plan.columns) == (("age",), (one,))
    assert rows.rows == 20_000
    assert rows.frame.equals(made_up_columns(Plan(epsilon=1, columns=(one, kept)), 10**6)[0].frame)
