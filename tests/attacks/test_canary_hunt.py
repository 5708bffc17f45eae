"""A canary in one cell, through the commands and through Python: it is in no file, log or argument but the input's."""

import tempfile
from decimal import Decimal
from pathlib import Path

import pytest
from canary import NAME, NUMBER, PLAN, found_in, hunted, table, watched_processes

from workbench.cli import main
from workbench.release.ledger.ledger import Ledger


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder to stand in, with everything a user has below it: home, temporary files, table and plan."""
    for name, variables in {
        "home": ("HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"),
        "temp": ("TMPDIR",),
    }.items():
        (tmp_path / name).mkdir()
        for variable in variables:
            monkeypatch.setenv(variable, str(tmp_path / name))
    monkeypatch.setattr(tempfile, "tempdir", None)
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    table().write_csv("people.csv")
    table().write_parquet("people.parquet")
    Path("plan.toml").write_text(PLAN, "utf-8")
    Path("rappor.csv").write_text("k,h,m,p,q,f\n32,1,2,0.5,0.75,0.5\n")
    yield tmp_path
    monkeypatch.undo()


def inputs(here: Path) -> list[Path]:
    return sorted((here / "work").glob("people*"))


FIGURES = "--mean pay --quantiles pay --histogram city --mode city --by group -o figures.json"
FIT, TRAIN = "fit people.csv --bounds plan.toml", "dpsgd people.csv --bounds plan.toml --target group"
RELEASES = (
    "sanitize people.csv --plan plan.toml -o sanitised.csv",
    f"statistics people.csv --plan plan.toml --epsilon 4 {FIGURES}",
    f"{FIT} --target group --model naive-bayes --epsilon 2 -o bayes",
    "rappor encode people.csv --params rappor.csv --column name --client name --answers kept -o reports.csv",
)
MORE = (
    "describe people.csv",
    "plan people.csv --epsilon 2 -o drafted.toml",
    "sanitize people.csv --plan plan.toml -o printed.csv --pdf s.pdf --html s.html --bundle bundle",
    "sanitize people.parquet --plan plan.toml -o sanitised.parquet",
    "statistics people.parquet --plan plan.toml --epsilon 4 --delta 1e-5 --sum pay --by city -o sums.csv --pdf t.pdf",
    "synthesize people.csv --plan plan.toml --epsilon 4 --method mst -o synthetic.csv",
    "synthesize people.csv --plan plan.toml --epsilon 4 --method aim -o aim.parquet",
    "synthesize people.csv --plan plan.toml --epsilon 4 --method marginals --target group -o marginals.tsv",
    *(
        f"{FIT} --target {target} --model {model} --epsilon 2 -o {model} --html {model}.html"
        for model, target in (
            ("logistic-regression", "group"),
            ("random-forest", "group"),
            ("linear-regression", "pay"),
            ("forest-regression", "pay"),
            ("boosted-trees", "pay"),
            ("kmeans", "group"),
            ("dbscan", "group"),
            ("pca", "group"),
            ("standardize", "group"),
        )
    ),
    f"{TRAIN} --network logistic --epsilon 3 --delta 1e-3 --batch 20 --epochs 2 --lr 1 --clip 1 -o network",
    "estimate sanitised.csv",
    "verify sanitised.csv",
    "curve people.csv --target group --bounds plan.toml --epsilons 1 --repeats 2 -o curve.csv --report curve.pdf",
    "why people.csv --target group --epsilon 1 --bounds plan.toml --repeats 2",
    "predict people.csv --model bayes -o predicted.csv",
    "ledger show",
)
LEDGER = ("sanitize", "statistics", "synthesize", "fit", "rappor", "dpsgd", "curve", "why", "predict", "ledger")


def run_all(here: Path, lines: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    with watched_processes() as told:
        for line in lines:
            words = line.split()
            code = main([*words, *(("--ledger", "book.sqlite") if words[0] in LEDGER else ())])
            said = capsys.readouterr()
            assert code == 0, (line, said.err, [log.read_text() for log in (here / "home").rglob("*.log")])
            screen = said.out + said.err
            assert words[0] in ("describe", "plan") or not found_in(screen.encode()), line
    assert not any(found_in(arguments.encode()) for arguments in told)
    assert hunted([here], [*inputs(here), *(here / "work").glob("predicted*")]) == []


@pytest.fixture
def plentiful(here):
    """The same with a cap that all releases fit."""
    first = "statistics people.csv --plan plan.toml --epsilon 0.1 --mean pay -o first.csv --ledger book.sqlite"
    assert main(first.split()) == 0
    assert main(["ledger", "cap", "people.csv", "--epsilon", "1000", "--delta", "0.01", "--ledger", "book.sqlite"]) == 0
    return here


def test_a_canary_is_in_nothing_that_commands_write(plentiful, capsys):
    run_all(plentiful, RELEASES, capsys)


@pytest.mark.slow
def test_a_canary_is_in_nothing_that_any_command_writes(plentiful, capsys):
    pytest.importorskip("torch")
    run_all(plentiful, (*RELEASES, *MORE), capsys)


def test_the_hunt_finds_a_canary(here):
    """The hunt is not blind: a kept column, a plain hash, a double, a compressed file."""
    import gzip
    import hashlib
    import struct

    kept = PLAN.replace('action = "drop"', 'action = "keep"')
    Path("keep.toml").write_text(kept, "utf-8")
    assert main(["sanitize", "people.csv", "--plan", "keep.toml", "-o", "kept.csv", "--ledger", "kept.sqlite"]) == 0
    Path("hash").write_text(hashlib.sha256(NAME.encode()).hexdigest())
    Path("double").write_bytes(struct.pack("<d", float(NUMBER)))
    Path("zipped").write_bytes(gzip.compress(NAME.encode()))
    found = {Path(name).name for name in hunted([here], inputs(here))}
    assert found == {"kept.csv", "hash", "double", "zipped"}


BAD = {
    "a name that is no number": {"pay": NAME},
    "a number beyond all that is finite": {"pay": f"{NUMBER}e9999"},
    "a value that was not declared": {"city": NAME},
}


@pytest.mark.parametrize("bad", BAD)
def test_an_error_on_the_very_cell_leaves_nothing_behind(here, bad, capsys):
    table(**BAD[bad]).write_csv("people.csv")
    codes = set()
    for line in (*RELEASES[:3], "sanitize people.csv --plan plan.toml -o again.csv --json"):
        codes.add(main([*line.split(), "--ledger", "book.sqlite"]))
    assert 1 not in codes
    assert 2 in codes
    capsys.readouterr()
    assert hunted([here], inputs(here)) == []


RELEASED, CENTRAL = "workbench.release", "people.csv --plan plan.toml --epsilon 1"
CRASHES = {
    "sanitize people.csv --plan plan.toml": f"{RELEASED}.rows_work.draw_prepared",
    f"statistics {CENTRAL} --mean pay": "workbench.statistics.bins.numbers",
    f"synthesize {CENTRAL}": f"{RELEASED}.synthetic.synthesis_work.coded",
    f"{FIT} --target group --model naive-bayes --epsilon 1": f"{RELEASED}.model.release_learner.matrix",
    "rappor encode people.csv --params rappor.csv --column name": f"{RELEASED}.rappor.rappor_work.collected",
}


@pytest.mark.parametrize("line", CRASHES)
def test_a_crash_in_a_worker_leaves_no_value_behind(here, line, capsys, monkeypatch):
    def crashing(*arguments: object, **named: object) -> object:
        held = {"row": NAME, NUMBER: arguments}
        try:
            raise KeyError(NAME)
        except KeyError as error:
            error.add_note(f"at {NUMBER}")
            raise RuntimeError(f"{NAME} has {NUMBER}: {sorted(map(str, held))}") from error

    monkeypatch.setattr(CRASHES[line], crashing)
    out = "out" if "fit" in line else "out.csv"
    assert main([*line.split(), "-o", out, "--ledger", "book.sqlite"]) == 1
    said = capsys.readouterr()
    assert not found_in((said.out + said.err).encode())
    assert list((here / "home").rglob("*.log*")), "the fault is in the log"
    assert hunted([here], inputs(here)) == []


@pytest.mark.filterwarnings("ignore::workbench.api.PrivateStudyWarning")
def test_a_canary_is_in_nothing_that_python_writes(here):
    """Releases, private studies, and an error on the very cell, whose message may hold it and whose files may not."""
    pytest.importorskip("pandas")
    from workbench import api
    from workbench.params import InputError

    Path("named.toml").write_text(f'account = "crew"\n{PLAN}', "utf-8")
    plan, frame = api.load_plan(Path("named.toml")), table().to_pandas()
    frame["pay"] = frame["pay"].astype(float)
    whole = {"ledger": here / "work" / "book.sqlite"}
    api.release(frame, plan, **whole, output=here / "work" / "released.csv")
    with Ledger.open(here / "work" / "book.sqlite") as book:
        book.set_cap(book.releases()[0].dataset, Decimal(100))
    asked = [{"statistic": "mean", "column": "pay"}, {"statistic": "mode", "column": "city"}]
    api.statistics(frame, plan, asked, epsilon=1, **whole, output=here / "work" / "figures.csv")
    api.synthesize(frame, plan, epsilon=1, method="mst", **whole, output=here / "work" / "synthetic.csv")
    study = here / "work" / "studies.sqlite"
    api.statistics(frame, plan, asked, epsilon=1, study_ledger=study)
    model = api.NaiveBayes(epsilon=1, bounds={"pay": (0, 1e5)}, classes=["a", "b"], study_ledger=study)
    model.fit(frame[["pay"]], frame["group"]).predict(frame[["pay"]])
    with pytest.raises(InputError):
        api.release(frame.replace({"Graz": NAME}), plan, ledger=study, output=here / "work" / "bad.csv")
    assert hunted([here], inputs(here)) == []
