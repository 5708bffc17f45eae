"""The study of memory: every combination once, what fits, and why the curves have steps."""

import csv

import pytest

from workbench.deep.memory import PHASES, Setting, memory_pool_outgrown, peak
from workbench.deep.memory_study import MOST_SETTINGS, MemoryStudy, compare, line_name, setting_of, study_bytes
from workbench.deep.networks import NETWORKS, network
from workbench.params import CancelledError, ParameterError
from workbench.signals.cancel import CancelToken


def test_every_combination_stands_in_the_file_once():
    asked = MemoryStudy(shape="1,28,28", batches="32,64", hidden="64,512", reductions="1,2")
    found = compare(asked, [network("mlp")])
    rows = list(csv.DictReader(study_bytes(found.rows).decode().splitlines()))
    told = [(r["hidden"], r["reduction"], r["batch"], r["private"]) for r in rows]
    wanted = [(h, r, b, p) for h in ("64-64", "512-512") for r in "12" for b in ("32", "64") for p in ("no", "yes")]
    assert told == wanted
    for row, entry in zip(rows, sorted(found.rows, key=lambda r: told.index(_key(r))), strict=True):
        assert {name: int(row[f"{name}_bytes"]) for name in PHASES} == entry.phases
        assert int(row["peak_bytes"]) == max(entry.phases.values())


def _key(row: object) -> tuple[str, ...]:
    plain = row.plain()  # type: ignore[attr-defined]
    return tuple(str(plain[name]) for name in ("hidden", "reduction", "batch", "private"))


def test_the_hidden_units_of_the_head_of_vgg_are_varied():
    asked = MemoryStudy(shape="3,128,128", batches="64", hidden="64,512", private="yes")
    few, many = compare(asked, [network("vgg16-head")]).rows
    features = 512 * 4 * 4
    assert few.phases["model"] == 4 * ((features + 1) * 64 + 65 * 10)
    assert many.phases["model"] == 4 * ((features + 1) * 512 + 513 * 10)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_the_most_rows_fit_and_one_more_does_not(device):
    asked, room = MemoryStudy(shape="784", batches="64", device=device), 60_000_000
    found = compare(asked, [network("mlp"), network("mnist-cnn")], room)
    assert len(found.largest) == 4
    for line, most in found.largest.items():
        fitting, beyond = (setting_of(line, 784, 10, rows, 0) for rows in (most, most + 1))
        assert peak(fitting, device) <= room < peak(beyond, device)


def test_what_a_network_cannot_read_is_left_out_with_its_reason():
    found = compare(MemoryStudy(shape="8", batches="16", hidden="32"), NETWORKS)
    assert {row.line.network.name for row in found.rows} == {"logistic", "mlp"}
    assert any(f"“{network('mnist-cnn').title}” reads images" in remark for remark in found.remarks)
    assert "logistic has no hidden units to vary." in found.remarks
    with pytest.raises(ParameterError, match="reads images"):
        compare(MemoryStudy(shape="8"), [network("mnist-cnn")])
    with pytest.raises(ParameterError, match="no network"):
        compare(MemoryStudy(), [])


def test_a_jump_is_explained_by_the_tensor_that_outgrows_a_segment():
    asked = MemoryStudy(shape="1024", batches="64,128,256,512", private="no", device="cuda")
    found = compare(asked, [network("logistic")])
    # 256 rows of 1,024 numbers are 1 MiB: the next batch is larger.
    assert "So the curve jumps where a tensor outgrows a segment" in found.remarks[0]
    assert "between 256 and 512 rows: a tensor of the phase batch outgrows 1 MiB" in found.remarks[1]
    before, after = (Setting(network("logistic"), 1024, 10, rows, private=False) for rows in (256, 257))
    assert peak(after, "cuda") - peak(before, "cuda") >= 20 * 2**20 - 2**21
    assert memory_pool_outgrown(before, after) is not None
    assert memory_pool_outgrown(before, before) is None


def test_on_the_processor_the_held_rows_are_named():
    found = compare(MemoryStudy(shape="784", batches="64,4096"), [network("mlp")])
    assert any("at most 384 rows are in memory at once" in remark for remark in found.remarks)
    few = compare(MemoryStudy(shape="784", batches="64"), [network("mlp")])
    assert not any("in memory at once" in remark for remark in few.remarks)


def test_names_tell_lines_apart_by_what_differs():
    one = compare(MemoryStudy(batches="16", private="yes"), [network("mlp")])
    assert [line_name(line, one.lines) for line in one.lines] == ["Network"]
    asked = MemoryStudy(batches="16", hidden="8,9", reductions="1,2")
    several = compare(asked, [network("mlp"), network("logistic")])
    names = [line_name(line, several.lines) for line in several.lines]
    assert len(set(names)) == len(names)
    assert "Network, 8-8 hidden, sides ÷ 2, private" in names


@pytest.mark.parametrize(
    ("field", "value"),
    [("batches", "16,x"), ("batches", ""), ("hidden", "0"), ("reductions", "1;2"), ("shape", "3,4"), ("fit", -1.0)],
)
def test_a_list_that_is_none_is_told_of_its_field(field, value):
    with pytest.raises(ParameterError) as refused:
        MemoryStudy(**{field: value})  # type: ignore[arg-type]
    assert field in (refused.value.field, refused.value.where) or "fit" in str(refused.value)


def test_a_study_can_be_cancelled_and_is_not_endless():
    token, seen = CancelToken(), []

    def progress(done: int, total: int) -> None:
        seen.append((done, total))
        if done == 3:
            token.cancel()

    with pytest.raises(CancelledError):
        compare(MemoryStudy(), [network("mlp")], progress=progress, cancel=token)
    assert seen == [(at, 14) for at in range(4)]
    many = ",".join(map(str, range(1, MOST_SETTINGS)))
    with pytest.raises(ParameterError, match="too many"):
        compare(MemoryStudy(batches=many[:4000]), NETWORKS)
