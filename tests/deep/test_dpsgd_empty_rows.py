"""DP-SGD on tables whose invalid values are replaced: an empty row has no gradient, and none has more than C."""

import itertools

import numpy as np
import polars as pl
import pytest

torch = pytest.importorskip("torch")

from workbench.data.table import Table  # noqa: E402
from workbench.deep.clipping import PerRowClippedSum  # noqa: E402
from workbench.deep.features import Features, TableData  # noqa: E402
from workbench.deep.networks import network  # noqa: E402
from workbench.learners.tasks import EMPTY  # noqa: E402
from workbench.release.model.release_learner import columns_of  # noqa: E402
from workbench.sanitize.plan import Plan  # noqa: E402

PLAN = Plan.from_plain(
    {
        "epsilon": 1.0,
        "invalid": "replace",
        "column": [
            {"name": "x", "kind": "real", "lower": -3, "upper": 5},
            {"name": "colour", "kind": "category", "domain": ["red", "blue"]},
            {"name": "y", "kind": "category", "domain": ["n", "p"]},
        ],
    }
)
INPUTS, TARGET = columns_of(PLAN, "y")
FEATURES = Features(tuple(c.facts() for c in INPUTS), TARGET.facts())
EMPTY_ROW = (None, None, None)
RECORDS = [*itertools.product(("5", "x"), ("red", "pink"), ("n", "q")), ("-99", None, "p"), EMPTY_ROW]
CLIP = 0.5


def loaded(*rows: tuple[str | None, ...]) -> tuple[np.ndarray, np.ndarray]:
    frame = pl.DataFrame(rows, schema=dict.fromkeys(("x", "colour", "y"), pl.String), orient="row")
    return TableData(FEATURES, PLAN.rows_of(Table(frame, "made"))).load()


def test_what_the_network_sees_of_missing_cells():
    inputs, classes = loaded(("5", "red", "n"), ("x", "pink", "p"), ("-99", None, "q"), EMPTY_ROW)
    assert inputs.tolist() == [[1, 0, 1, 0, 0], [0, 1, 0, 0, 1], [-1, 0, 0, 0, 1], [0, 1, 0, 0, 1]]
    assert classes.tolist() == [0, 1, EMPTY, EMPTY]


@pytest.mark.parametrize("name", ["logistic", "mlp"])
def test_emptying_any_row_moves_the_sum_by_at_most_the_clipping_norm(name):
    torch.manual_seed(0)
    module = network(name).build(FEATURES.width, 2)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.mul_(30)  # so that gradients are clipped
    engine = PerRowClippedSum(module, CLIP, physical_batch=4)

    def total(*rows: tuple[str | None, ...]) -> torch.Tensor:
        inputs, classes = loaded(*rows)
        return engine(torch.from_numpy(inputs), torch.from_numpy(classes)).total

    totals = {pair: total(*pair) for pair in itertools.product(RECORDS, repeat=2)}
    moved = [
        float(torch.linalg.vector_norm(whole - totals[emptied]))
        for pair, whole in totals.items()
        for emptied in ((EMPTY_ROW, pair[1]), (pair[0], EMPTY_ROW))
    ]
    assert max(moved) <= CLIP
    assert max(moved) > CLIP * 0.99


def test_a_row_without_a_valid_class_has_no_gradient():
    module = network("logistic").build(FEATURES.width, 2)
    engine = PerRowClippedSum(module, CLIP, physical_batch=4)
    inputs, classes = loaded(("5", "red", "q"), ("x", "pink", None), EMPTY_ROW)
    sums = engine(torch.from_numpy(inputs), torch.from_numpy(classes))
    assert sums.rows == 0
    assert not sums.total.any()
