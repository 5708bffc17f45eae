"""What each value of a generalised table became, as files: one per quasi-identifier. Private."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from workbench.params import InputError
from workbench.release.atomic import write_output
from workbench.release.parts import keep_inputs
from workbench.risk.generalise.generalised import Generalised
from workbench.risk.hierarchies import file_name
from workbench.risk.hierarchies.hierarchy import semicolons


def require_mapping(folder: Path, quasi: Iterable[str], *used: str | Path | None) -> None:
    """Refuse a folder whose files could not be written, or would replace one of ``used``.

    A folder among ``used`` means its file of each quasi-identifier.

    Raises:
        InputError: ``folder`` is a file.
        ParameterError: a file of the mapping is one of ``used``.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError("the folder for the mapping is a file", str(folder), "name a folder")
    for name in map(file_name, quasi):
        keep_inputs(folder / name, *(Path(one) / name if one and Path(one).is_dir() else one for one in used))


def write_mapping(folder: Path, made: Generalised) -> str:
    """Write what the values became, and return the folder.

    Raises:
        InputError: a file cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name in made.asked.quasi:
        write_output(folder / file_name(name), semicolons(made.mapping(name)).encode())
    return str(folder)
