"""Modules that run as child processes: by this Python, or by a bundle, which is one program."""

import os
import sys
from pathlib import Path

import polars as pl
import pytest

from workbench.data.table_reader import read_table
from workbench.processes.child_program import WORD, called, command, environment
from workbench.render.document import Document
from workbench.render.document_pdf import pdf_bytes

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def frozen(tmp_path, monkeypatch):
    """Let this be a bundle: its program is a script that takes the words of the command line and no others."""
    if os.name == "nt":
        pytest.skip("a shell script stands for the program")
    program = tmp_path / "workbench"
    program.write_text(f'#!/bin/sh\ncd {ROOT} && exec {sys.executable} -m workbench "$@"\n', "utf-8")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(sys, "executable", str(program))
    return program


def test_a_bundle_prints_documents_by_calling_itself(frozen):
    assert command("workbench.render.document_pdf") == [str(frozen), WORD, "workbench.render.document_pdf"]
    assert pdf_bytes(Document("It", "", ())).startswith(b"%PDF")


def test_a_bundle_reads_columnar_files_by_calling_itself(frozen, tmp_path):
    pl.DataFrame({"a": [1, 2]}).write_parquet(tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet").frame.rows() == [("1",), ("2",)]


def test_python_runs_a_module_that_no_file_of_the_working_folder_replaces():
    assert command("workbench.render.offscreen")[1:] == ["-P", "-m", "workbench.render.offscreen"]
    variables = environment({"MORE": "1"})
    assert variables["PYTHONPATH"].split(os.pathsep)[0] == str(ROOT)
    assert variables["MORE"] == "1"


@pytest.mark.parametrize("words", [[], ["plan"], [WORD], [WORD, "os"], [WORD, "workbench.cli.main", "more"]])
def test_other_words_are_commands(words):
    assert called(words) is None
