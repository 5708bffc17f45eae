"""Every error is one line on standard error with its exit code; nothing is printed, left behind or charged."""

import os
from pathlib import Path

import pytest
from command_cases import PLAN, TABLE, names, sanitize

from workbench.release.ledger.ledger import Ledger

SANITIZE = sanitize()


# -- tables -----------------------------------------------------------------------------------------------------------

TABLES: dict[str, tuple[bytes | None, str]] = {
    "missing": (None, "there is no such file"),
    "empty": (b"", "the file is empty"),
    "binary": (bytes(range(256)) * 40, ""),
    "a picture": (b"\x89PNG\r\n\x1a\n" + bytes(200), ""),
    "blank lines": (b"\n\n\n", "the file holds only blank lines"),
    "a header alone": (b"age,city\n", "the table has a header but no rows"),
    "a row too long": (TABLE.encode() + b"1,Graz,2\n", "row 21 has 3 cells, the header has 2 (bad.csv, line 22)"),
    "an open quote": (TABLE.encode() + b'1,"Graz\n', "a quoted cell of row 21 is never closed (bad.csv, line 22)"),
    "an unknown column": (TABLE.replace("age", "agee").encode(), "the plan's column 'age' is not in the table, did"),
    "a column too many": (
        TABLE.replace("\n", ",x\n").encode(),
        "the plan does not say what to do with the column 'x' (bad.csv); add a [[column]]",
    ),
    "a value outside the domain": (TABLE.replace("64,Graz", "64,Paris", 1).encode(), "'Paris' is not in the domain"),
    "a missing value": (TABLE.replace("64,Graz", ",Graz", 1).encode(), "the value is missing (column age, row 4"),
    "a missing name": (TABLE.replace("64,Graz", "64,", 1).encode(), "the value is missing (column city, row 4"),
    "a word for a number": (
        TABLE.replace("64,Graz", "old,Graz", 1).encode(),
        "'old' is not a number (column age, row 4",
    ),
    "an infinite number": (TABLE.replace("64,Graz", "1e999,Graz", 1).encode(), "'1e999' is not a finite number"),
    "a broken number": (TABLE.replace("64,Graz", "6.5,Graz", 1).encode(), "'6.5' is not a whole number"),
}


@pytest.mark.parametrize("kind", TABLES)
def test_a_table_that_cannot_be_used_is_one_sentence(folder, run, kind):
    data, sentence = TABLES[kind]
    if data is not None:
        (folder / "bad.csv").write_bytes(data)
    before = names(folder)
    told = run(*sanitize(data="bad.csv")).error()
    assert told.startswith(sentence), told
    assert names(folder) - before <= {"ledger.sqlite", "ledger.sqlite.key"}
    if (folder / "ledger.sqlite").exists():
        with Ledger.open(folder / "ledger.sqlite") as ledger:
            assert {r.status for r in ledger.releases()} <= {"void"}


def test_a_row_and_a_value_outside_the_domain_are_named(folder, run):
    (folder / "bad.csv").write_text(TABLE.replace("64,Graz", "64,Grazz", 1))
    told = run(*sanitize(data="bad.csv")).error()
    assert told == (
        "'Grazz' is not in the domain, did you mean 'Graz'? (column city, row 4, line 5); "
        'correct it, add it to the domain, write other = "…", '
        'or count such values as missing: invalid = "replace" in the plan'
    )


def test_a_folder_or_an_unreadable_file_is_one_sentence(folder, run):
    assert run(*sanitize(data=".")).error().startswith("this is a folder, not a file")
    assert run(*sanitize(data="sample:peple")).error().startswith("there is no sample 'peple', did you mean 'people'?")
    assert run(*sanitize(data=os.devnull)).error().startswith("this is not a regular file")
    assert run(*sanitize(data="x" * 5000)).error()
    assert run(*sanitize(data="")).error()
    if Path("/proc/self/mem").exists():
        assert run(*sanitize(data="/proc/self/mem")).error()


# -- plans ------------------------------------------------------------------------------------------------------------

PLANS: dict[str, tuple[str, str]] = {
    "not TOML": ("epsilon = = 3", "the plan is not TOML: "),
    "bounds the wrong way round (age)": (
        PLAN.replace("upper = 120", "upper = -3"),
        "the lower bound 0 is not below the upper bound -3",
    ),
    "equal bounds (age)": (
        PLAN.replace("upper = 120", "upper = 0"),
        "the lower bound 0 is not below the upper bound 0",
    ),
    "no upper bound (age)": (PLAN.replace("upper = 120\n", ""), "the upper bound is not declared"),
    "epsilon 0": (PLAN.replace("3.0", "0"), "epsilon = 0 is not a number"),
    "a negative epsilon": (PLAN.replace("3.0", "-1"), "epsilon = -1 is not a number"),
    "epsilon nan": (PLAN.replace("3.0", "nan"), "epsilon = nan is not a number"),
    "epsilon inf": (PLAN.replace("3.0", "inf"), "epsilon = inf is not a number"),
    "epsilon 1e999": (PLAN.replace("3.0", "1e999"), "epsilon = inf is not a number"),
    "an epsilon of many digits": (PLAN.replace("3.0", "1" + "0" * 400), "epsilon = 1000"),
    "a comma in epsilon": (PLAN.replace("3.0", "0,5"), "the plan is not TOML: "),
    "epsilon as text": (
        PLAN.replace("3.0", '"3"'),
        "epsilon = '3' is text (bad.toml); write it without quotes: epsilon = 3",
    ),
    "epsilon as truth": (PLAN.replace("3.0", "true"), "epsilon = True is not a number"),
    "no epsilon": (PLAN.replace("epsilon = 3.0", ""), "the key 'epsilon' is missing"),
    "a bound nan (age)": (PLAN.replace("upper = 120", "upper = nan"), "upper = nan is not a number"),
    "a bound as truth (age)": (PLAN.replace("upper = 120", "upper = true"), "upper = True is not a number"),
    "a broken bound of whole numbers (age)": (PLAN.replace("= 120", "= 120.5"), "upper = 120.5 is not whole"),
    "cells that are no number": (PLAN.replace("upper = 120", "upper = 120\ncells = 2.0"), "cells = 2.0 is not a whole"),
    "too many cells (age)": (PLAN.replace("upper = 120", "upper = 120\ncells = 4097"), "cells = 4097 is not a whole"),
    "rows per person 0": ("rows_per_person = 0\n" + PLAN, "rows_per_person = 0 is not a whole number"),
    "rows per person as truth": ("rows_per_person = true\n" + PLAN, "rows_per_person = True is not a whole number"),
    "keep_order 1": ("keep_order = 1\n" + PLAN, "keep_order = 1 is not true or false"),
    "version 2": ("version = 2\n" + PLAN, "version = 2 is not a whole number"),
    "an unknown key": ("epsylon = 1\n" + PLAN, "the key 'epsylon' is not known, did you mean 'epsilon'?"),
    "an unknown key of a column (age)": (
        PLAN.replace("lower = 0", "lwer = 0"),
        "the key 'lwer' is not known, did you mean 'lower'?",
    ),
    "an unknown kind": (PLAN.replace('"integer"', '"integr"'), "kind = 'integr' is not known, did you mean 'integer'?"),
    "an unknown action": (
        PLAN.replace("lower = 0", 'lower = 0\naction = "protct"'),
        "action = 'protct' is not known, did you mean 'protect'?",
    ),
    "an unknown mechanism (age)": (
        PLAN.replace("lower = 0", 'lower = 0\nmechanism = "stair-case"'),
        "the mechanism 'stair-case' is not known, did you mean 'staircase'?",
    ),
    "a mechanism of the wrong kind (city)": (
        PLAN.replace('kind = "category"', 'kind = "category"\nmechanism = "staircase"'),
        "bounded staircase needs numbers with bounds, and these values are names",
    ),
    "Warner for three values (city)": (
        PLAN.replace('kind = "category"', 'kind = "category"\nmechanism = "warner"'),
        "Warner's randomised response is for two values, and there are 3",
    ),
    **{
        f"{name}, which cannot fill a column": (
            PLAN.replace('kind = "category"', f'kind = "category"\nmechanism = "{name}"'),
            f"the mechanism {name} reports vectors or hashes for frequency collection and cannot fill a column",
        )
        for name in ("oue", "sue", "olh")
    },
    "a bound left open": (
        PLAN.replace("upper = 120", 'upper = "?"'),
        'the plan has public facts that are still "?": upper of age (bad.toml); fill them in',
    ),
    "a domain left open": (
        PLAN.replace('["Graz", "Linz", "Wien"]', '"?"'),
        'the plan has public facts that are still "?": domain of city',
    ),
    "a domain of one name (city)": (
        PLAN.replace('"Graz", "Linz", "Wien"', '"Graz"'),
        "domain = ['Graz'] is not a list",
    ),
    "a name twice in a domain (city)": (PLAN.replace('"Linz"', '"Graz"'), "domain names 'Graz' twice"),
    "no domain (city)": (PLAN.replace('domain = ["Graz", "Linz", "Wien"]', ""), "the domain is not declared"),
    "no columns": ("epsilon = 3", "the key 'column' is missing"),
    "an empty list of columns": ("epsilon = 3\ncolumn = []", "the plan names no columns"),
    "columns that are no tables": ("epsilon = 3\ncolumn = [3]", "a column is not a table of keys"),
    "a column that is no list": ("epsilon = 3\ncolumn = 3", "column is not a list of tables"),
    "a column twice": (PLAN + PLAN[PLAN.index("[[") : PLAN.rindex("[[")], "the column 'age' is in the plan twice"),
    "a column without a name": (PLAN.replace('name = "age"\n', ""), "the key 'name' is missing"),
    "nothing protected": (
        'epsilon = 3\n[[column]]\nname = "age"\naction = "keep"\n[[column]]\nname = "city"\naction = "drop"',
        "the plan protects no column",
    ),
    "shares above epsilon": (PLAN.replace("lower = 0", "lower = 0\nepsilon = 4"), "the fixed shares sum to 4, above"),
    "a share that leaves nothing": (PLAN.replace("lower = 0", "lower = 0\nepsilon = 3"), "the fixed shares leave 0 of"),
    "a column missing": (
        PLAN[: PLAN.rindex("[[")],
        "the plan does not say what to do with the column 'city' (people.csv); add a [[column]]",
    ),
    "a column too many": (
        PLAN + '[[column]]\nname = "towns"\naction = "drop"\n',
        "the plan's column 'towns' is not in the table",
    ),
    "a date that is none": (
        PLAN.replace('kind = "integer"', 'kind = "date"').replace("= 120", '= "2020-13-01"'),
        "lower = 0 is not a date",
    ),
}


@pytest.mark.parametrize("kind", PLANS)
def test_a_plan_that_cannot_be_used_is_one_sentence_and_costs_nothing(folder, run, kind):
    text, sentence = PLANS[kind]
    (folder / "bad.toml").write_text(text, "utf-8")
    before = names(folder)
    told = run(*sanitize(plan="bad.toml")).error()
    assert told.startswith(sentence), told
    for column in ("age", "city"):  # a fault of one column names it
        assert (f"column {column}" in told or repr(column) in told) or not kind.endswith(f"({column})")
    assert names(folder) - before <= {"ledger.sqlite", "ledger.sqlite.key"}
    if (folder / "ledger.sqlite").exists():
        with Ledger.open(folder / "ledger.sqlite") as ledger:
            assert ledger.releases() == []


def test_a_plan_that_is_a_folder_missing_or_no_text_is_one_sentence(folder, run):
    assert run(*sanitize(plan=".")).error() == "the plan is a folder (.); name the file in it"
    assert run(*sanitize(plan="none.toml")).error() == "the plan does not exist (none.toml); check the name"
    (folder / "bad.toml").write_bytes(b"\xff\xfe\x00\x01" * 10)
    assert run(*sanitize(plan="bad.toml")).error() == "the plan is not UTF-8 text (bad.toml); save it as UTF-8"
    assert run(*sanitize(plan="people.csv")).error().startswith("the plan is not TOML: ")


def test_a_name_with_line_breaks_stays_one_line(folder, run):
    (folder / "bad.csv").write_text('age,city\n31,"Gr\naz"\n')
    assert r"'Gr\naz' is not in the domain" in run(*sanitize(data="bad.csv")).error()
    assert (
        run(*sanitize(plan="a\nb\x1b[31m.toml")).error()
        == r"the plan does not exist (a\nb\x1b[31m.toml); check the name"
    )


# -- words ------------------------------------------------------------------------------------------------------------

CAP = ["ledger", "cap", "people.csv", "--epsilon"]
DRAFT = ["plan", "people.csv", "--epsilon", "1", "-o"]
FORECAST = ["forecast", "--plan", "plan.toml", "--rows"]
WORDS: dict[str, tuple[list[str], str]] = {
    "an unknown command": (
        ["sanitise"],
        "the command 'sanitise' is not known, did you mean 'sanitize'? (workbench); see",
    ),
    "an option before the command": (["--json", "samples"], "the command '--json' is not known"),
    "an empty command": ([""], "the command '' is not known"),
    "no argument": (["sanitize"], "the following arguments are required: DATA, --plan, -o/--output"),
    "no ledger action": (["ledger"], "the following arguments are required: cap|show|verify|export|version"),
    "an option without its value": (["sanitize", "x", "--plan"], "argument --plan: expected one argument"),
    "an unknown option": ([*SANITIZE, "--plann", "x"], "unrecognized arguments: --plann x, did you mean '--plan'? ("),
    "a shortened option": ([*SANITIZE, "--led", "x"], "unrecognized arguments: --led x, did you mean '--ledger'? ("),
    "an unknown option of an action": (
        ["ledger", "show", "--leger", "x"],
        "unrecognized arguments: --leger, did you mean '--ledger'? (",
    ),
    "an unknown mechanism": (
        ["mechanism", "olhh", "--epsilon", "1"],
        "the mechanism 'olhh' is not known, did you mean 'olh'? (",
    ),
    "a seed for a release": ([*SANITIZE, "--seed", "3"], "--seed is for studies; a release draws fresh randomness"),
    "a seed for a plan": ([*DRAFT, "p", "--seed", "1"], "unrecognized arguments"),
    "dask without a scheduler": (
        [*SANITIZE, "--engine", "dask"],
        "--engine dask needs the address of a scheduler (workbench sanitize); add --scheduler",
    ),
    "an unknown engine": ([*SANITIZE, "--engine", "spark"], "--engine spark is not known"),
    "a scheduler": (
        [*SANITIZE, "--scheduler", "tcp://x"],
        "--scheduler is for --engine dask (workbench sanitize); add",
    ),
    "a bundle in a missing folder": ([*SANITIZE, "--bundle", "no/x"], "the folder of the bundle cannot be made there"),
    "a PDF by another name": ([*SANITIZE, "--pdf", "x.doc"], "--pdf writes a .pdf file (x.doc)"),
    "HTML in a missing folder": ([*SANITIZE, "--html", "no/x.html"], "the document cannot be written there"),
    "a signature without a key": ([*SANITIZE, "--sign"], "there is no signing key"),
    "no document": (["certificate", "x.csv"], "there is nothing to do (workbench certificate); add --pdf FILE"),
    "a document of no release": (["certificate", "x.csv", "--html", "x.html"], "the file does not exist (x.csv)"),
    "a key without a name": (["key", "trust", "x"], "`key trust` needs --name"),
    "a name without a key": (["key", "trust", "--name", "x"], "`key trust` needs a public key"),
    "a key that is none": (["key", "trust", "x", "--name", "y"], "this is not an Ed25519 public key"),
    "a key to forget": (["key", "forget", "--name", "y"], "no key is trusted as 'y'"),
    "a key too many": (["key", "make", "x"], "`key make` takes no key and no name"),
    "an answer of nobody": (
        ["explain", "--reader", "everyon"],
        "the answer 'everyon' is not known, did you mean 'everyone'?",
    ),
    "an epsilon to explain": (["explain", "--epsilon", "0"], "--epsilon"),
    "an unknown suffix": (sanitize(output="out.xls"), "the output's suffix '.xls' is not known (out.xls); use one of"),
    "a folder as output": (sanitize(output="."), "the output's suffix '' is not known"),
    "an output in a missing folder": (sanitize(output="no/out.csv"), "the folder of the output does not exist"),
    "an output under a file": (sanitize(output="plan.toml/out.csv"), "the folder of the output does not exist"),
    "an output that is the table": (sanitize(output="./people.csv"), "the output would replace its input"),
    "a delimiter of two characters": ([*SANITIZE, "--delimiter", "ab"], "delimiter = 'ab' is not one character"),
    "an unknown encoding": ([*SANITIZE, "--encoding", "utf-9"], "encoding = 'utf-9' is not known"),
    "a header neither yes nor no": ([*SANITIZE, "--header", "maybe"], "--header = 'maybe' is not known"),
    "a ledger that is a table": (sanitize(ledger="people.csv"), "the ledger cannot be used: file is not a database"),
    "a ledger that is a folder": (sanitize(ledger="."), "the ledger cannot be used: Is a directory"),
    "a cap of zero": ([*CAP, "0"], "--epsilon = 0.0 is not a number above 0"),
    "a cap of nan": ([*CAP, "nan"], "--epsilon = 'nan' is not a number above 0"),
    "a negative cap": ([*CAP, "-1e-3"], "--epsilon = -0.001 is not a number"),
    "a delta of one": ([*CAP, "1", "--delta", "1"], "--delta = 1.0 is not a number at least 0 and below 1"),
    "a version of an unknown table": (
        ["ledger", "version", "people.csv", "--of", "sample:iris"],
        "the older table is not in the ledger",
    ),
    "a ledger that is not there": (["ledger", "verify", "--ledger", "no.sqlite"], "there is no such file (no.sqlite)"),
    "rows to forecast of nought": ([*FORECAST, "0"], "--rows = 0 is not a whole number"),
    "half a row": ([*FORECAST, "1.5"], "--rows = '1.5' is not a whole number"),
    "a certificate that is not there": (["verify", "people.csv"], "there is no certificate next to the file"),
    "an estimate without a certificate": (["estimate", "people.csv"], "there is no certificate next to the file"),
    "an estimate with a plan": (
        ["estimate", "people.csv", "--certificate", "plan.toml"],
        "the certificate is not JSON: ",
    ),
    "a target that is not there": (
        [*DRAFT, "p", "--target", "cty"],
        "the table has no column 'cty', did you mean 'city'?",
    ),
    "a dropped column that is not there": (
        [*DRAFT, "p", "--drop", "ages"],
        "the table has no column 'ages', did you mean 'age'?",
    ),
    "a plan over its table": ([*DRAFT, "people.csv"], "the output would replace"),
    "a plan in a missing folder": ([*DRAFT, "no/p.toml"], "the folder of the output does not exist"),
}


@pytest.mark.parametrize("kind", WORDS)
def test_words_that_cannot_be_used_are_one_sentence(folder, run, kind):
    words, sentence = WORDS[kind]
    before = names(folder)
    for more in ([], ["--json"]):
        told = run(*words, *more).error()
        assert told.startswith(sentence), told
    assert names(folder) - before <= {"ledger.sqlite", "ledger.sqlite.key"}


NO_EPSILONS = ["0", "-1", "nan", "inf", "-inf", "1e999", "0,5", "", " ", "1e7", "1e-7", "0x1", "true", "½"]


@pytest.mark.parametrize("word", NO_EPSILONS)
@pytest.mark.parametrize(
    "words",
    [
        ["plan", "people.csv", "-o", "new.toml", "--epsilon"],
        ["mechanism", "grr", "--domain", "a,b", "--epsilon"],
        ["ledger", "cap", "people.csv", "--epsilon"],
    ],
    ids=lambda words: words[0],
)
def test_an_epsilon_that_is_none_is_refused_everywhere(folder, run, words, word):
    before = names(folder)
    if words[0] == "ledger" and word == "1e-7":
        return  # a cap may be as small as a person likes
    assert run(*words, word).error().startswith("--epsilon = ")
    assert names(folder) == before


MECHANISMS: dict[str, tuple[str, str]] = {
    "unknown": ("stair-case --domain a,b", "the mechanism 'stair-case' is not known, did you mean 'staircase'?"),
    "for frequencies": ("oue --domain a,b --table t.npy", "a report of oue is a vector of 2 bits, which does not fit"),
    "nearly for frequencies": ("oeu --domain a,b", "the mechanism 'oeu' is not known, did you mean 'oue'?"),
    "spelt otherwise": ("square_wave --domain a,b", "the mechanism 'square_wave' is not known, did you mean 'square-"),
    "for a small grid": ("optimal --lower 0 --upper 9 --cells 33", "optimal table is for at most 32 cells"),
    "for numbers": ("staircase --domain a,b", "bounded staircase needs numbers with bounds"),
    "for two values": ("warner --domain a,b,c", "Warner's randomised response is for two values, and there are 3"),
    "without cells": (
        "grr",
        "the cells are not given (workbench mechanism); give --lower, --upper and --cells, or --domain a,b,c",
    ),
    "with both kinds of cells": ("grr --domain a,b --lower 0", "--domain excludes"),
    "with half the bounds": ("grr --lower 0", "the cells are not given"),
    "the wrong way round": ("grr --lower 1 --upper 0", "the lower bound 1 is not below the upper bound 0"),
    "without width": ("grr --lower 1 --upper 1", "the lower bound 1 is not below the upper bound 1"),
    "too close": (
        "grr --lower 1 --upper 1.0000000000000002",
        "101 cells between 1 and 1 are too close for double precision",
    ),
    "of one cell": ("grr --lower 0 --upper 1 --cells 1", "--cells = 1 is not a whole number at least 2"),
    "of too many cells": ("grr --lower 0 --upper 1 --cells 4097", "--cells = 4097 is not a whole number"),
    "beyond doubles": ("grr --lower 0 --upper 1e999", "--upper = inf is not a number"),
    "whose squares are beyond doubles": ("grr --lower -1e308 --upper 1", "--lower = -1e+308 is not a number at least"),
    "of one name": ("grr --domain a", "--domain = ['a'] is not a list of at least 2 different texts"),
    "of a name twice": ("grr --domain a,b,a", "--domain names 'a' twice"),
    "with another's parameter": ("grr --domain a,b --gamma 0.5", ""),
}


@pytest.mark.parametrize("kind", MECHANISMS)
def test_a_mechanism_that_cannot_be_is_one_sentence(run, kind):
    words, sentence = MECHANISMS[kind]
    assert run("mechanism", *words.split(), "--epsilon", "1").error().startswith(sentence)


def test_a_network_without_pytorch_is_refused_before_it_is_charged(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("plan", "sample:iris", "--epsilon", "3", "--target", "species", "-o", "plan.toml").code == 0
    monkeypatch.setattr("workbench.params.errors.is_missing", lambda module: module == "torch")
    words = ["dpsgd", "sample:iris", "--target", "species", "--bounds", "plan.toml", "--network", "mlp", "-o", "net"]
    words += ["--epsilon", "3", "--delta", "1e-3", "--batch", "16", "--epochs", "1", "--lr", "0.5", "--clip", "1"]
    refused = run(*words, "--ledger", "l.sqlite")
    assert refused.code == 2
    assert 'pip install "privacy-workbench[deep]"' in refused.err
    assert len(refused.err.splitlines()) == 1, "nothing is said of a run that cannot be"
    assert not Path("net").exists()
    assert not Path("l.sqlite").exists()


@pytest.mark.parametrize("words", [["mechanism", "grr", "--epsilon", "0"], ["sanitise"], ["describe", "sample:nobody"]])
def test_an_error_without_a_place_of_its_own_names_the_command(run, words):
    known = words[0] != "sanitise"
    assert f" ({f'workbench {words[0]}' if known else 'workbench'}); " in run(*words).error()
