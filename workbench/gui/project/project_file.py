"""What the file of a project says: where the table or the images are, how they are read, and what is planned.

No value of a table and no pixel is in it, nor the name of a class that nobody declared. Facts that a person took from
the rows are, and then the file says so.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.data.csv.options import ReadOptions
from workbench.data.databases.address import address_of
from workbench.gui.session.draft import FACTS, WHOLE, DraftPlan
from workbench.gui.session.session import OpenImages, Session
from workbench.gui.style.language import tr
from workbench.gui.widgets.way_bar import ways
from workbench.params import InputError, ParameterError
from workbench.params.codec import read_toml, require_table, write_toml

if TYPE_CHECKING:
    from workbench.data.images.image_reader import ImageOptions
    from workbench.deep.plan import DpSgdPlan
    from workbench.gui.session.generalise_draft import GeneraliseDraft

SUFFIX = ".workbench.toml"
VERSION = 1
_OF_TABLES = (*WHOLE, "column")
_OF_IMAGES = ("epsilon", "account")
_BESIDE_PLAN = ("table", "second", "way", "reading", "generalise", "hierarchy", "held_out")
_KEYS = ("project", *_BESIDE_PLAN, "images", "declared", "network")
_COMMENT = (
    "A project of the privacy workbench: where the table is, how it is read, and the plan.\nIt "  # not translated
    'holds no value of the table; what is declared below is public. "?" is not declared yet.'
)
_FROM_DATA = (
    "A project of the privacy workbench: where the table is, how it is read, and the plan.\n"  # not translated
    'PRIVATE: the facts of a column with bounds_origin = "data" were read off the rows, so the '
    'file has values of the table.\nWhat is declared of the other columns is public. "?" is not '
    "declared yet."
)
_IMAGES = (
    "A project of the privacy workbench: where the images are, what is declared of them, and the "  # not translated
    "training.\nIt holds no image and no label; names of classes are here only if they were "
    "declared, and are public then."
)


@dataclass(frozen=True)
class Planned:
    """What a person has declared and planned of what is open: what a project's file says, and is lost without one."""

    source: str  # the path of the table or the images, absolute in a file that was read, or `sample:NAME`
    plan: DraftPlan  # the plan of a table as it was drafted; of images its ε and account alone
    # What the person stated about the table's file over the guess; no work that could be lost.
    options: ReadOptions | None = field(default=None, compare=False)
    declared: ImageOptions | None = None  # what was declared of images; `None` of a table
    network: DpSgdPlan | None = None  # the training that is planned for images
    way: str = ""  # to release a table; empty where none was chosen
    generalised: GeneraliseDraft | None = None  # what was set on the page Generalise; `None` where nothing was
    held_out: str = ""  # the file of the rows that were held out of the table; empty for none
    second: str = ""  # the path of the table that is joined with it; empty for none

    @classmethod
    def of(cls, session: Session) -> Planned:
        opened = session.open_data
        if isinstance(opened, OpenImages):
            return cls(opened.source, session.plan, declared=opened.options, network=session.network.plan)
        source, options, second = ("", None, "") if opened is None else (opened.source, opened.options, opened.second)
        way, generalised, held_out = session.chosen_way, session.generalised, session.held_out
        return cls(source, session.plan, options, way=way, generalised=generalised, held_out=held_out, second=second)

    @property
    def is_sample(self) -> bool:
        return self.source.startswith("sample:")


def project_text(planned: Planned, folder: Path) -> str:
    """Return the project as TOML."""
    comment = _IMAGES if planned.declared is not None else _FROM_DATA if holds_values(planned.plan) else _COMMENT
    return write_toml(project_raw(planned, folder), comment)


def holds_values(plan: DraftPlan) -> bool:
    """Return whether facts of the plan were read off the rows, so that its file is as private as they are."""
    return any(c.bounds_origin == "data" and any(getattr(c, f) is not None for f in FACTS) for c in plan.columns)


def project_raw(planned: Planned, folder: Path) -> dict[str, Any]:
    """Return what the project says; a file beside it is named by its relative path, so that both can move."""
    source = planned.source if planned.is_sample else _beside(planned.source, folder)
    stated = {k: v for k, v in planned.plan.to_raw().items() if k != "version"}
    raw: dict[str, Any] = {"project": VERSION}
    if planned.declared is not None:
        raw |= {"images": source} | {key: stated[key] for key in _OF_IMAGES if key in stated}
        declared, network = planned.declared.to_plain(), planned.network
        raw |= {"declared": [declared]} if declared else {}
        return raw | ({} if network is None else {"network": [_with_weights(network.to_plain(), folder, _beside)]})
    reading = {} if planned.options is None else planned.options.to_plain()
    raw |= {"table": source} | ({"second": _beside(planned.second, folder)} if planned.second else {})
    raw |= {"held_out": _beside(planned.held_out, folder)} if planned.held_out else {}
    raw |= ({"way": planned.way} if planned.way else {}) | ({"reading": [reading]} if reading else {})
    drafted = {} if planned.generalised is None else planned.generalised.to_raw(lambda file: _beside(file, folder))
    return raw | drafted | stated


def read_project(path: Path) -> Planned:
    """Return the project in the file at ``path``.

    Raises:
        InputError: it cannot be read, or is no project.
        ParameterError: a key or value is refused.
    """
    return project_of(read_toml(path, "project"), path)


def project_of(raw: dict[str, Any], path: Path) -> Planned:
    """Return the project that is in ``path`` as ``raw``; raise as :func:`read_project` does."""
    if raw.get("project") != VERSION:
        raise InputError(
            tr("this is not a project of version {version}", version=VERSION),
            str(path),
            tr("open a file that the window saved"),
        )
    of_images = "images" in raw
    source = raw.get("images" if of_images else "table")
    if not isinstance(source, str) or not source or (of_images and "table" in raw):
        raise ParameterError(
            tr("the project does not name its table"), str(path), tr('write table = "FILE", or images')
        )
    parts = {
        name: _only(raw, name, path)
        for name in (("declared", "network") if of_images else ("reading", "generalise"))
        if raw.get(name, []) != []
    }
    columns = raw.get("column", [])
    if not isinstance(columns, list):
        raise ParameterError(tr("column is not a list of columns"), str(path), tr("write each column as [[column]]"))
    for column in columns:
        require_table(column, "a column", str(path))
    unknown = set(raw) - {*(_OF_IMAGES if of_images else _OF_TABLES), "project"}
    unknown -= {"images", "declared", "network"} if of_images else set(_BESIDE_PLAN)
    if unknown:
        raise ParameterError(tr("the key {key} is not known", key=repr(min(unknown))), str(path), tr("remove it"))
    options = ReadOptions.from_plain(parts["reading"]) if "reading" in parts else None
    try:
        plan = DraftPlan.from_raw({k: v for k, v in raw.items() if k not in _KEYS})
    except (ValueError, TypeError, ArithmeticError) as error:
        if isinstance(error, ParameterError):
            raise
        raise ParameterError(
            tr("a value is not a number: {error}", error=error), str(path), tr("correct the line")
        ) from None
    if not source.startswith("sample:"):
        source = _found(source, path.absolute().parent)
    if of_images:
        return _of_images(source, plan, parts, path)
    generalised = _generalised(parts.get("generalise"), raw, path) if {"generalise", "hierarchy"} & set(raw) else None
    held_out, second = (_file(raw, key, path) for key in ("held_out", "second"))
    way = _way(raw.get("way", ""), path)
    return Planned(source, plan, options, way=way, generalised=generalised, held_out=held_out, second=second)


def _file(raw: dict[str, Any], key: str, path: Path) -> str:
    """Return the path of another file that a project names; empty where it names none."""
    named = raw.get(key, "")
    if not isinstance(named, str):
        what, hint = tr("{key} is not a path", key=key), tr('write {key} = "FILE", or remove it', key=key)
        raise ParameterError(what, str(path), hint)
    return _found(named, path.absolute().parent) if named else ""


def _generalised(settings: dict[str, Any] | None, raw: dict[str, Any], path: Path) -> GeneraliseDraft:
    from workbench.gui.session.generalise_draft import GeneraliseDraft

    folder = path.absolute().parent
    return GeneraliseDraft.from_raw(settings, raw.get("hierarchy", []), lambda file: _found(file, folder), str(path))


def _of_images(source: str, plan: DraftPlan, parts: dict[str, dict[str, Any]], path: Path) -> Planned:
    from workbench.data.images.image_reader import ImageOptions
    from workbench.deep.plan import DpSgdPlan

    declared = ImageOptions.from_plain(parts.get("declared", {}), str(path))
    network = None
    if "network" in parts:
        network = DpSgdPlan.from_plain(_with_weights(parts["network"], path.absolute().parent, _found), str(path))
    return Planned(source, plan, declared=declared, network=network)


def _way(named: object, path: Path) -> str:
    known = [name for name, _, _ in ways()]
    if named and named not in known:
        raise ParameterError(
            tr("the way {way} is not known", way=repr(named)),
            str(path),
            tr("choose one of {names}", names=", ".join(known)),
        )
    return str(named)


def _only(raw: dict[str, Any], name: str, path: Path) -> dict[str, Any]:
    found = raw[name]
    if not isinstance(found, list) or len(found) > 1:
        raise ParameterError(
            tr("{name} is given more than once", name=name), str(path), tr("keep one [[{name}]]", name=name)
        )
    return require_table(found[0], name, str(path))


def _with_weights(network: dict[str, Any], folder: Path, place: Callable[[str, Path], str]) -> dict[str, Any]:
    """Return the keys of a training with the path of its weights changed by ``place``."""
    weights = network.get("weights")
    return {**network, "weights": place(weights, folder)} if isinstance(weights, str) else network


def _beside(source: str, folder: Path) -> str:
    """Return a path as the file of a project in ``folder`` names it; an address stays as it is."""
    if address_of(source) is not None:
        return source
    absolute = Path(source).absolute()
    inside = absolute.is_relative_to(folder.absolute())
    return (absolute.relative_to(folder.absolute()) if inside else absolute).as_posix()


def _found(source: str, folder: Path) -> str:
    """Return the absolute path that the file of a project in ``folder`` names."""
    return source if address_of(source) is not None else os.path.normpath(folder / source)
