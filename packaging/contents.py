"""What a bundle contains and under which licences: ``python packaging/contents.py BUNDLE OUT [PACKAGE …]``.

Run by the Python of the environment that the bundle was made from. Writes ``sbom.json`` (CycloneDX) and
``licences.txt`` into OUT. Both list the workbench, the packages that it needs, Python, PyInstaller, of which a part
is in every bundle, the libraries of the system that it took along, and each PACKAGE of Debian that the head of an
AppImage is linked with.

``python packaging/contents.py --tools`` prints the modules that are installed only to make bundles, one a line.
"""

from __future__ import annotations

import hashlib
import json
import platform
import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

WORKBENCH = "privacy-workbench"
MAKERS = {"pyinstaller", "pyinstaller-hooks-contrib"}
"""The first program of a bundle and what it runs at the start are theirs."""
STATED = {
    "dp-accounting": "Apache-2.0",
    "pyinstaller": "GPL-2.0-or-later WITH Bootloader-exception",
    "pyinstaller-hooks-contrib": "Apache-2.0",
}
"""The licence of what a bundle has of packages whose metadata do not say it so that scanners understand it."""
ROOT = Path(__file__).resolve().parent.parent
COMMON = Path("/usr/share/common-licenses")
"""Where Debian keeps the licences that its packages only name."""
NAMED = re.compile(rf"{COMMON.as_posix()}/([A-Za-z0-9]+(?:-[0-9]+(?:\.[0-9]+)?)?)")
WITHOUT_TEXT = {
    "dp-accounting": {"Apache-2.0"},
    "PySide6_Essentials": {"LGPL-3", "GPL-3"},
    "shiboken6": {"LGPL-3", "GPL-3"},
}
"""Packages that come without the text of their licence, and the texts that they need."""
LICENCE_FILE = re.compile(r"(LICEN[CS]E|COPYING|NOTICE|AUTHORS|OFL)", re.IGNORECASE)
RULE = "=" * 100


@dataclass(frozen=True)
class SystemLibrary:
    """A library of the system that lies in the bundle.

    Attributes:
        path: in the bundle; None of one that is linked into the head of an AppImage.
        package: of Debian that it comes from, with its version; empty where dpkg does not know.
    """

    path: Path | None
    package: str
    version: str

    @property
    def name(self) -> str:
        """The name of its file, else of its package."""
        return self.path.name if self.path else self.package


def canonical(name: str) -> str:
    """Return the one spelling of a package's name."""
    return re.sub(r"[-_.]+", "-", name).lower()


def needed(name: str, extras: frozenset[str] = frozenset()) -> set[str]:
    """Return the names of the installed packages that ``name`` needs, itself included."""
    found: set[str] = set()
    waiting = [(name, extras)]
    seen: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        now = waiting.pop()
        if now in seen:
            continue
        seen.add(now)
        found.add(canonical(now[0]))
        for text in metadata.requires(now[0]) or ():
            requirement = Requirement(text)
            asked = [{"extra": extra} for extra in ("", *now[1])]
            if requirement.marker is None or any(requirement.marker.evaluate(extra) for extra in asked):
                waiting.append((requirement.name, frozenset(requirement.extras)))
    return found


def tools() -> list[str]:
    """Return the modules of packages that the workbench does not need: what made a bundle stays out of it.

    Libraries look for some of them (jsonschema for those that check formats), and would change with what is found.
    """
    kept = needed(WORKBENCH)
    owners = metadata.packages_distributions()
    return sorted(m for m, names in owners.items() if m.isidentifier() and not kept & set(map(canonical, names)))


def system_libraries(bundle: Path) -> list[SystemLibrary]:
    """Return the libraries that come from the system: real files at the top, where a package's own are links."""
    inside = bundle / "_internal"
    files = sorted(p for p in inside.glob("lib*") if p.is_file() and not p.is_symlink() and ".so" in p.name)
    return [SystemLibrary(path, *debian_package(path.name)) for path in files if "python" not in path.name]


def debian_package(library: str) -> tuple[str, str]:
    """Return name and version of the Debian package that has ``library``; two empty ones where that is not known."""
    try:
        owner = subprocess.run(["dpkg-query", "--search", f"*/{library}"], capture_output=True, text=True)
    except FileNotFoundError:  # another system
        return "", ""
    name = owner.stdout.partition(":")[0]
    return (name, debian_version(name)) if name else ("", "")


def debian_version(package: str) -> str:
    """Return the version of an installed package of Debian."""
    words = ["dpkg-query", "--show", "--showformat", "${Version}\n", package]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.split("\n")[0]


def sbom(names: set[str], libraries: list[SystemLibrary]) -> dict[str, Any]:
    """Return the list of contents in the format CycloneDX: what CycloneDX finds here, less the tools of the build."""
    words = [sys.executable, "-m", "cyclonedx_py", "environment", "--output-reproducible", "-o", "-", sys.executable]
    found: dict[str, Any] = json.loads(subprocess.run(words, capture_output=True, check=True).stdout)
    kept = [part for part in found["components"] if canonical(part["name"]) in names]
    for part in kept:
        if canonical(part["name"]) in STATED:
            part["licenses"] = [{"expression": STATED[canonical(part["name"])]}]
    references = {part["bom-ref"] for part in kept}
    found["dependencies"] = [
        {**entry, "dependsOn": [r for r in entry.get("dependsOn", ()) if r in references]}
        for entry in found["dependencies"]
        if entry["ref"] in references
    ]
    python = {
        "type": "platform",
        "name": "CPython",
        "version": platform.python_version(),
        "licenses": [{"license": {"id": "PSF-2.0"}}],
    }
    found["components"] = [*kept, python, *(component_of(library) for library in libraries)]
    return found


def component_of(library: SystemLibrary) -> dict[str, Any]:
    """Return the entry of a library of the system."""
    entry: dict[str, Any] = {"type": "library", "name": library.name}
    if library.path:
        digest = hashlib.sha256(library.path.read_bytes()).hexdigest()
        entry["hashes"] = [{"alg": "SHA-256", "content": digest}]
    else:
        entry["description"] = "linked into the head of the AppImage"
    if library.package:
        place = f"pkg:deb/debian/{library.package}@{library.version}"
        entry |= {"version": library.version, "purl": place, "bom-ref": f"{library.name} {place}"}
    return entry


def licences(names: set[str], libraries: list[SystemLibrary]) -> Iterator[str]:
    """Yield the parts of ``licences.txt``: a table, then every text.

    Raises:
        FileNotFoundError: Python or a package of Debian is here without its licence.
    """
    packages = sorted((d for d in metadata.distributions() if canonical(d.name) in names), key=lambda d: d.name.lower())
    yield "The parts of this bundle and their licences, as each states it; the texts follow.\n\n"
    for package in packages:
        yield f"{package.name:32} {package.version:14} {stated_licence(package)}\n"
    yield f"{'CPython':32} {platform.python_version():14} PSF-2.0\n"
    owners = sorted({(library.package, library.version) for library in libraries if library.package})
    for name, version in owners:
        yield f"{name:32} {version:14} see below (a library of Debian)\n"
    for library in libraries:
        if not library.package:
            yield f"{library.name:32} {'':14} a library of the system on which this bundle was made\n"
    named: set[str] = set()
    for title, text in texts(packages, [name for name, _ in owners]):
        named |= set(NAMED.findall(text))
        yield under(title, text)
    for package in packages:
        named |= WITHOUT_TEXT.get(package.name, set())
    for name in sorted(named):
        known = COMMON / name
        yield under(name, known.read_text("utf-8") if known.exists() else "See https://spdx.org/licenses/\n")


def texts(packages: list[metadata.Distribution], owners: list[str]) -> Iterator[tuple[str, str]]:
    """Yield a title and a text of each licence that comes with a package, Python, a font or a library of Debian."""
    for package in packages:
        for file in package.files or ():
            if LICENCE_FILE.search(file.name) and file.suffix not in (".py", ".pyc", ".pyi"):
                text = Path(str(package.locate_file(file))).read_text("utf-8", errors="replace")
                yield f"{package.name} {package.version}: {file}", text
    of_python = Path(sysconfig.get_path("stdlib"), "LICENSE.txt")
    if sys.platform == "win32":
        of_python = Path(sys.base_prefix, "LICENSE.txt")
    yield f"CPython {platform.python_version()}", of_python.read_text("utf-8")
    for path in sorted((ROOT / "resources").rglob("*")):
        if path.is_file() and LICENCE_FILE.match(path.name):
            yield str(path.relative_to(ROOT)), path.read_text("utf-8")
    for name in owners:
        yield f"{name} (Debian)", Path("/usr/share/doc", name, "copyright").read_text("utf-8", errors="replace")


def under(title: str, text: str) -> str:
    """Return a text of ``licences.txt`` under its title."""
    return f"\n\n{RULE}\n{title}\n{RULE}\n\n{text}"


def stated_licence(package: metadata.Distribution) -> str:
    """Return what a package says its licence is, in one line."""
    if canonical(package.name) in STATED:
        return STATED[canonical(package.name)]
    fields = package.metadata
    stated, written = ((fields.get_all(name) or [""])[0].strip() for name in ("License-Expression", "License"))
    classified = [c.rpartition(" :: ")[2] for c in fields.get_all("Classifier") or () if c.startswith("License ::")]
    return stated or ", ".join(classified) or written.partition("\n")[0] or "see its text"


def main(bundle: Path, out: Path, *linked: str) -> int:
    """Write both files; return 0."""
    names, libraries = needed(WORKBENCH) | MAKERS, system_libraries(bundle)
    libraries += [SystemLibrary(None, package, debian_version(package)) for package in linked]
    (out / "sbom.json").write_text(json.dumps(sbom(names, libraries), indent=1, ensure_ascii=False) + "\n", "utf-8")
    (out / "licences.txt").write_text("".join(licences(names, libraries)), "utf-8")
    return 0


if __name__ == "__main__":
    if sys.argv[1:] == ["--tools"]:
        print("\n".join(tools()))
    else:
        sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:]))
