"""Files in the published formats; hostile ones are refused with line and reason."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from workbench.params import InputError, ParameterError, WorkbenchError
from workbench.privacy.rappor.bits import BloomBits
from workbench.privacy.rappor.parameters import RapporParameters
from workbench.rappor.candidates import candidate_map, map_bytes, read_candidates, read_map
from workbench.rappor.files import Counts, count_bytes, parameter_text, read_counts, read_parameters
from workbench.rappor.reports import read_sum, report_bytes, summed

SMALL = RapporParameters(k=4, h=2, m=2)


def test_the_published_parameters(shared_data, tmp_path):
    vectors = json.loads((shared_data / "rappor" / "golden_vectors.json").read_text("utf-8"))["vectors"]
    seen = 0
    for vector in vectors:
        if not vector["id"].startswith("py_params"):
            continue
        path = tmp_path / f"{vector['id']}.csv"
        path.write_text(vector["csv"], "utf-8")
        if vector["expected"] == "error":
            with pytest.raises(InputError):
                read_parameters(path)
        else:
            assert read_parameters(path) == RapporParameters(**vector["expected"])
            path.write_text(parameter_text(RapporParameters(**vector["expected"])), "utf-8")
            assert read_parameters(path) == RapporParameters(**vector["expected"])
        seen += 1
    assert seen == 4
    assert read_parameters(shared_data / "rappor" / "tests_params.csv") == RapporParameters(
        k=16, h=2, m=4, p=0.1, q=0.9, f=0.2
    )


def test_the_published_sum(shared_data):
    folder = shared_data / "rappor"
    counts = read_sum(folder / "sum_bits_input.csv", RapporParameters(k=16, h=2, m=2))
    assert count_bytes(counts) == (folder / "sum_bits_expected.csv").read_bytes()
    with pytest.raises(InputError, match=r"line [12]"):
        read_sum(folder / "sum_bits_bad_input.csv", RapporParameters(k=16, h=2, m=2))


def test_the_published_map(shared_data, tmp_path):
    folder = shared_data / "rappor"
    parameters = RapporParameters(k=16, h=2, m=4)
    strings = read_candidates(folder / "hash_candidates_input.txt")
    made = map_bytes(strings, BloomBits(parameters))
    assert made == (folder / "hash_candidates_expected.csv").read_bytes()
    (tmp_path / "map.csv").write_bytes(made)
    read = read_map(tmp_path / "map.csv", parameters)
    assert read.strings == strings
    assert (read.bits == candidate_map(strings, BloomBits(parameters)).bits).all()


def test_a_row_with_a_missing_last_index_is_legal(shared_data):
    folder = shared_data / "rappor"
    parameters = read_parameters(folder / "analysis_params.csv")
    found = read_map(folder / "analysis_map.csv", parameters)
    assert len(found.strings) == 300
    assert int((found.bits < 0).any(axis=1).sum()) == 19
    assert found.design().sum() == 300 * 16 - 19


def test_reports_are_written_and_summed_again(tmp_path):
    parameters = RapporParameters(k=12, h=2, m=3)
    random = np.random.default_rng(1)
    bits = random.integers(0, 2, (500, 12)).astype(bool)
    reports = np.packbits(bits, axis=1, bitorder="little")
    where = random.integers(0, 3, 500)
    path = tmp_path / "reports.csv"
    path.write_bytes(report_bytes(np.arange(500), where, reports, parameters))
    read, direct = read_sum(path, parameters), summed(reports, where, parameters)
    assert (read.ones == direct.ones).all()
    assert (read.reports == direct.reports).all()
    assert (direct.ones == [bits[where == c].sum(axis=0) for c in range(3)]).all()
    path.write_bytes(count_bytes(direct))
    again = read_counts(path, parameters)
    assert isinstance(again, Counts)
    assert (again.ones == direct.ones).all()


COUNTS = "10,1,2,3,4\n9,0,0,9,1\n"
MAP = "a,1,2,5,6\nb,3,4,7,\n"
REPORTS = "client,cohort,rappor\n1,0,0101\n2,1,1111\n"
HOSTILE: list[tuple[str, Callable[[Path, RapporParameters], object], bytes, str, int | None]] = [
    ("empty counts", read_counts, b"", "is empty", None),
    ("blank counts", read_counts, b"\n\n", "is empty", None),
    ("too few bits", read_counts, b"10,1,2,3,4\n9,0,0,9\n", "cohort 1 has 3 counts", 2),
    ("too many bits", read_counts, b"10,1,2,3,4,5\n", "cohort 0 has 5 counts", 1),
    ("a count above the reports", read_counts, b"10,1,2,3,4\n9,0,0,10,1\n", "bit 2 has the count 10", 2),
    ("a negative count", read_counts, b"10,1,-2,3,4\n", "'-2' in column 3", 1),
    ("a count that is no number", read_counts, b"10,1,x,3,4\n", "'x' in column 3", 1),
    ("a huge count", read_counts, b"10,1,99999999999999999999,3,4\n", "is not a count", 1),
    ("a cohort too many", read_counts, (COUNTS + "1,1,1,1,1\n").encode(), "more than m = 2", 3),
    ("a cohort too few", read_counts, b"10,1,2,3,4\n", "1 cohorts, and m = 2", None),
    ("no reports at all", read_counts, b"0,0,0,0,0\n0,0,0,0,0\n", "have no reports", None),
    ("counts that are not UTF-8", read_counts, b"10,1,2,3,4\n9,0,0,9,\xff\n", "not UTF-8", 2),
    ("an empty map", read_map, b"", "is empty", None),
    ("a candidate twice", read_map, b"a,1,2,5,6\na,3,4,7,8\n", "'a' is also on line 1", 2),
    ("a nameless candidate", read_map, b",1,2,5,6\n", "the candidate is empty", 1),
    ("a bit that is not there", read_map, b"a,1,2,5,9\n", "'9' is not a bit number", 1),
    ("bit 0", read_map, b"a,0,2,5,6\n", "'0' is not a bit number", 1),
    ("a bit of another cohort", read_map, b"a,1,2,5,6\nb,1,2,3,6\n", "more than h = 2 bits in cohort 0", 2),
    ("no bit in a cohort", read_map, b"a,1,2\n", "no bit in cohort 1", 1),
    ("a hole", read_map, b"a,1,,5,6\n", "'' is not a bit number", 1),
    ("too many numbers", read_map, b"a,1,2,5,6,7\n", "5 bits, and m", 1),
    ("a candidate that is not UTF-8", read_map, b"a,1,2,5,6\n\xe9,3,4,7,8\n", "not UTF-8", 2),
    ("an open quote", read_map, b'a,1,2,5,6\n"b,3,4,7,8\n', "is not CSV", 2),
    ("empty reports", read_sum, b"", "is empty", None),
    ("a header alone", read_sum, b"client,cohort,rappor\n", "no reports below", None),
    ("a strange header", read_sum, b"client,group,rappor\n1,0,0101\n", "name a column cohort", 1),
    ("a wrong cohort", read_sum, b"client,cohort,rappor\n1,0,0101\n2,2,1111\n", "the cohort '2'", 3),
    ("a cohort that is no number", read_sum, b"client,cohort,rappor\n1,x,0101\n", "the cohort 'x'", 2),
    ("a wrong bit count", read_sum, b"client,cohort,rappor\n1,0,01010\n", "5 bits, and k = 4", 2),
    ("letters among the bits", read_sum, b"client,cohort,rappor\n1,0,0101\n2,1,01a1\n", "'01a1' is not made", 3),
    ("a cell too many", read_sum, b"client,cohort,rappor\n1,0,0101,9\n", "4 cells below 3 names", 2),
    ("reports that are not UTF-8", read_sum, b"client,cohort,rappor\n\xff,0,0101\n", "not UTF-8", 2),
]  # fmt: skip


@pytest.mark.parametrize(("read", "data", "told", "line"), [h[1:] for h in HOSTILE], ids=[h[0] for h in HOSTILE])
def test_a_hostile_file_is_refused_with_line_and_reason(tmp_path, read, data, told, line):
    path = tmp_path / "hostile.csv"
    path.write_bytes(data)
    with pytest.raises(InputError) as caught:
        read(path, SMALL)
    assert told in str(caught.value)
    assert caught.value.line == line
    assert str(path) in caught.value.where


def test_sound_files_of_that_size_are_read(tmp_path):
    for read, text in ((read_counts, COUNTS), (read_map, MAP), (read_sum, REPORTS)):
        path = tmp_path / "sound.csv"
        path.write_text(text, "utf-8")
        assert read(path, SMALL) is not None  # type: ignore[operator]


@pytest.mark.parametrize(
    ("data", "told", "line"),
    [
        (b"", "is empty", None),
        (b"a\nb\na\n", "'a' is also on line 1", 3),
        (b"a\n\xff\n", "not UTF-8", 2),
        (b"Wien, Graz\n", "2 cells on the line", 1),
        (b'a\n""\n', "the candidate is empty", 2),
    ],
)
def test_a_hostile_list_of_candidates_is_refused(tmp_path, data, told, line):
    path = tmp_path / "candidates.txt"
    path.write_bytes(data)
    with pytest.raises(InputError) as caught:
        read_candidates(path)
    assert told in str(caught.value)
    assert caught.value.line == line


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "is empty"),
        ("k,h,m,p,q,f\n8,2,4,0.5,0.5,0.5\n", "line 2"),
        ("k,h,m,p,q,f\n8,2,4,0.5,nan,0.5\n", "line 2"),
        ("k,h,m,p,q,f\n8,2,4,0.5,0.75\n", "line 2"),
        ("h,k,m,p,q,f\n8,2,4,0.5,0.75,0\n", "line 1"),
        ("k,h,m,p,q,f\n8,2,4,0.5,0.75,0\n8,2,4,0.5,0.75,0\n", "line 3"),
    ],
)
def test_hostile_parameters_are_refused(tmp_path, text, told):
    path = tmp_path / "params.csv"
    path.write_text(text, "utf-8")
    with pytest.raises((InputError, ParameterError)) as caught:
        read_parameters(path)
    assert told in str(caught.value)
    assert isinstance(caught.value, WorkbenchError)


def test_missing_files_and_folders_are_told(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        read_parameters(tmp_path / "none.csv")
    with pytest.raises(InputError, match="is a folder"):
        read_map(tmp_path, SMALL)
