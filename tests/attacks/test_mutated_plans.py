"""Hundreds of mutated plans: each is a plan or one sentence, never a traceback, a long wait or memory that fills up."""

import random
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from workbench.cli import main

PLAN = """\
version = 1
epsilon = 3.0
keep_order = false
rows_per_person = 2
account = "people"
invalid = "refuse"
impossible = ["city = Wien & age = 0..3"]

[reading]
encoding = "utf-8"
delimiter = ","

[[column]]
name = "age"
kind = "integer"
lower = 0
upper = 12
mechanism = "staircase"
purpose = "statistics"
epsilon = 1.0
missing = "refuse"

[[column]]
name = "city"
kind = "category"
domain = ["Graz", "Linz", "Wien"]
weight = 2.0
role = "target"
missing = "own-value"

[[column]]
name = "pay"
kind = "real"
lower = 0.0
upper = 100.0
cells = 11

[[column]]
name = "born"
kind = "date"
lower = 1990-01-01
upper = 1990-01-20
date_order = "day-first"

[[column]]
name = "truth"
kind = "boolean"
action = "drop"
"""
TABLE = "age,city,pay,born,truth\n" + "3,Graz,1.5,1990-01-03,yes\n4,,99,1990-01-20,no\n8,Wien,0,1990-01-01,yes\n" * 4
HOSTILE = (
    *("0", "-1", "1e-320", "1e308", "-1e308", "1e400", "nan", "-inf", "inf", "9" * 250, "9" * 5_000),
    *("0x7fffffffffffffff", "4097", "3.0000000000000004"),
    *("9223372036854775808", "-9223372036854775809", "1_000_000", "true", '""', '" "', '"\\u0000"', '"\\u202Eabc"'),
    *('"😀"', '"\\uFEFFage"', '"a\\nb"', '"../../etc/passwd"', '"%s{0}"', "'''x'''", "[]", "[[]]", "{}", '{ a = 1 }'),
    *('["a", 1]', "[nan]", '["?"]', '"?"', '"auto"', "1990-01-01", "9999-12-31", "0001-01-01", "1990-02-30"),
    *("1990-01-01T00:00:00Z", "00:00:00", '"1e5000"', '"NaN"', "[" * 200 + "]" * 200, "{ a = " * 90 + "1" + "}" * 90),
    *('["' + "x" * 100_000 + '"]', "[" + ", ".join(f'"v{i}"' for i in range(5_000)) + "]", "0.1e-5000", "-0.0"),
    *("100000", '"integer"', '"date"', '"category"', '"keep"', '"replace"', '"own-value"'),
)  # fmt: skip
KEYS = (
    "lower",
    "upper",
    "domain",
    "kind",
    "cells",
    "impossible",
    "reading",
    "column",
    "epsilon",
    "nobody",
    "mechanism",
)
HANDFUL, HUNDREDS = 60, 2_000
SECONDS = 60
"""For one plan, on a machine that does much else: most take milliseconds."""


def mutated(number: int) -> bytes:
    """Return the plan with one to three things wrong, which follow from ``number``."""
    dice = random.Random(number)
    lines = PLAN.splitlines()
    for _ in range(dice.choice((1, 1, 1, 2, 3))):
        at = dice.randrange(len(lines))
        key = lines[at].partition(" = ")[0]
        match dice.randrange(9):
            case 0 | 1 | 2:
                at = dice.choice([i for i, line in enumerate(lines) if " = " in line])
                lines[at] = f"{lines[at].partition(' = ')[0]} = {dice.choice(HOSTILE)}"
            case 3:
                lines.insert(at, f"{dice.choice(KEYS)} = {dice.choice(HOSTILE)}")
            case 4:
                del lines[at]
            case 5:
                lines.insert(at, lines[dice.randrange(len(lines))])
            case 6:
                lines[at] = lines[at].replace(
                    key, dice.choice(("column", '"" ', "a.b.c", '"na me"', "[[[x]]]", key * 3)), 1
                )
            case 7:
                lines.insert(at, dice.choice(("[[column]]", "[column]", "[reading]", "[[reading]]", "[column.x]", "=")))
            case 8:
                spoiled = bytearray("\n".join(lines).encode())
                for _ in range(dice.choice((1, 3, 20))):
                    spoiled[dice.randrange(len(spoiled))] = dice.randrange(256)
                return bytes(spoiled[: dice.choice((len(spoiled), dice.randrange(len(spoiled))))])
    return ("\n".join(lines) + "\n").encode()


@contextmanager
def within(seconds: int) -> Iterator[None]:
    """Fail where the body takes longer."""

    def late(number: int, frame: object) -> None:
        raise AssertionError(f"no answer within {seconds} s")

    if not hasattr(signal, "SIGALRM"):
        yield
        return
    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def answered(words: list[str], capsys: pytest.CaptureFixture[str]) -> int:
    """Run a command line; check that it answers, or refuses in one sentence."""
    with within(SECONDS):
        code = main(words)
    said = capsys.readouterr()
    assert "Traceback" not in said.out + said.err
    assert code in (0, 2, 3), said.err
    if code:
        assert said.err.count("\n") == 1, said.err
        assert said.err.startswith("error: ")
        assert len(said.err) < 2_000
    return code


def attacked(numbers: range, folder: Path, capsys: pytest.CaptureFixture[str]) -> list[int]:
    """Forecast each mutated plan, and sanitise a table by each that is one; return the exit codes of the forecasts."""
    data, plan, me = folder / "people.csv", folder / "plan.toml", psutil.Process()
    data.write_text(TABLE, "utf-8")
    before, codes, faults = me.memory_info().rss, [], []
    for number in numbers:
        plan.write_bytes(mutated(number))
        out, ledger = folder / f"{number}.csv", folder / f"{number}.ledger"
        try:
            codes.append(answered(["forecast", "--plan", str(plan), "--json"], capsys))
            if codes[-1] == 0:
                answered(["sanitize", str(data), "--plan", str(plan), "-o", str(out), "--ledger", str(ledger)], capsys)
        except Exception as error:  # noqa: BLE001 - all that go wrong are shown at once
            faults.append(f"plan {number}: {str(error)[:500]}")
    assert not faults, "\n".join(faults)
    assert me.memory_info().rss - before < 1_000_000_000
    return codes


def test_mutated_plans_are_plans_or_one_sentence(tmp_path, capsys):
    codes = attacked(range(HANDFUL), tmp_path, capsys)
    assert {0, 2} == set(codes)  # some of them are plans


@pytest.mark.slow
def test_hundreds_of_mutated_plans_are_plans_or_one_sentence(tmp_path, capsys):
    codes = attacked(range(HANDFUL, HUNDREDS), tmp_path, capsys)
    assert codes.count(0) > 20
    assert codes.count(2) > 200
