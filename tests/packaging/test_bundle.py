"""What is handed out: nothing that is imported by name is forgotten, and what desktops read is well formed."""

import ast
import configparser
import importlib
import json
import os
import plistlib
import re
import runpy
import signal
import subprocess
import sys
import tarfile
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import bundle as bundles
import contents
import pytest
import workshop
from bundle import Bundle
from environment import BUNDLED, EXTRAS, Environment

import workbench
from workbench.gui.pages import PAGES
from workbench.gui.project.project_file import SUFFIX
from workbench.params.errors import EXTRAS as MISSING

ROOT = Path(__file__).resolve().parents[2]
PACKAGING = ROOT / "packaging"
HOOK = PACKAGING / "pyinstaller" / "hook-workbench.py"
NAMED = re.compile(r"workbench(\.[a-z_][a-z0-9_]*)+(:\w+)?")

OWN_RUNTIME = pytest.mark.skipif(
    not all(Path(part).exists() for part in bundles.RUNTIME_NEEDS)
    or not bundles.shutil.which("mksquashfs")
    or bool(bundles.shutil.which("appimagetool")),  # it would be used
    reason="made of squashfs-tools, libsquashfuse-dev and libfuse3-dev",
)


@pytest.fixture(scope="module")
def hook():
    return runpy.run_path(str(HOOK))


@pytest.fixture
def bundle(tmp_path):
    """A bundle of an empty checkout that has the files of packaging/linux."""
    (tmp_path / "packaging").mkdir()
    (tmp_path / "packaging" / "linux").symlink_to(PACKAGING / "linux")
    (tmp_path / "workbench").mkdir()
    (tmp_path / "workbench" / "__init__.py").write_text('"""It."""\n\n__version__ = "4.5.6"\n', "utf-8")
    (tmp_path / "LICENSE").write_text("the licence", "utf-8")
    made = Bundle(Environment(tmp_path, *BUNDLED))
    made.folder.mkdir(parents=True)
    made.work.mkdir(parents=True)
    for path in (
        made.dist / "licences.txt",
        made.dist / "sbom.json",
        made.work / "icon.png",
        made.folder / "workbench",
    ):
        path.write_text(path.name, "utf-8")
    return made


def test_every_module_that_is_named_in_a_string_is_taken_along(hook):
    taken, named = set(hook["hiddenimports"]), set()
    for path in (ROOT / "workbench").rglob("*.py"):
        text = path.read_text("utf-8")
        for node in ast.walk(ast.parse(text)) if '"workbench.' in text else ():  # parsing all takes seconds
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and NAMED.fullmatch(node.value):
                named.add(node.value.partition(":")[0])
    files = {name for name in named if name.endswith((".log", ".toml"))}
    assert named - files <= taken
    # The lists from which the program imports by name: kinds, figures, and pages by the names of their folders.
    assert {"workbench.release.statistics.statistics_work", "workbench.render.curve"} <= named
    assert {page.module for page in PAGES} <= taken


def test_every_command_is_taken_along(hook):
    from workbench.cli.catalogue import COMMANDS

    assert {f"workbench.cli.{name}" for name in COMMANDS} <= set(hook["hiddenimports"])


def test_what_the_hook_lists_are_modules(hook):
    assert "workbench" in hook["hiddenimports"]
    assert not [name for name in hook["hiddenimports"] if name.endswith("__init__")]
    importlib.import_module(hook["hiddenimports"][-1])
    assert hook["datas"] == [(str(ROOT / "resources"), "workbench/resources")]


def test_the_bundle_has_the_sources_whose_digest_it_needs(hook):
    from workbench.sanitize import calibrated_columns

    assert calibrated_columns.local.__name__ in hook["module_collection_mode"]


def test_nothing_that_the_program_needs_is_left_out():
    text = (ROOT / "pyproject.toml").read_text("utf-8")
    block = text.split("dependencies = [", 1)[1].split("\n]", 1)[0]
    needed = {name.lower().replace("-", "_") for name in re.findall(r'^    "([A-Za-z0-9-]+)', block, re.MULTILINE)}
    assert len(needed) > 10
    assert not needed & {name.lower() for name in bundles.LEFT_OUT}
    assert {"torch", "pandas", "dask", "xgboost", "readline"} <= set(bundles.LEFT_OUT)


def test_bundles_are_made_in_an_environment_without_torch():
    assert BUNDLED == (".venv-bundle", ("bundle",))
    assert "bundle" not in EXTRAS
    assert Environment(ROOT, *BUNDLED).recipe() != Environment(ROOT).recipe()


def test_pyinstaller_is_told_everything(bundle):
    words = [str(word) for word in bundles.frozen_by(bundle, ["lark"])]
    assert words[-1] == str(bundle.root / "packaging" / "pyinstaller" / "start.py")
    left_out = {words[k + 1] for k, word in enumerate(words) if word == "--exclude-module"}
    assert left_out == {*bundles.LEFT_OUT, "lark"}
    assert "--clean" in words
    assert words[words.index("--additional-hooks-dir") + 1] == str(bundle.root / "packaging" / "pyinstaller")


def test_the_version_is_read_without_importing(bundle):
    assert bundles.version(bundle.root) == "4.5.6"
    assert bundles.version(ROOT) == workbench.__version__


def test_the_folder_holds_what_a_person_and_a_desktop_read(bundle):
    wheel = bundle.dist / "privacy_workbench-4.5.6-py3-none-any.whl"
    wheel.write_text("the wheel", "utf-8")
    bundles.add_papers(bundle, wheel)
    here = {str(path.relative_to(bundle.folder)) for path in bundle.folder.rglob("*") if path.is_file()}
    assert {"LICENSE", "licences.txt", "sbom.json", "privacy-workbench.png", wheel.name} <= here
    if sys.platform.startswith("linux"):
        for place in (bundle.folder, bundle.dist):
            told = (place / "READ-ME.txt").read_text("utf-8")
            assert f"./{wheel.name}[deep]" in told
            extras = told.partition(f"./{wheel.name}[deep,")[2].partition("]")[0].split(",")
            assert {extra for _, extra in MISSING.values()} == {"deep", *extras}
        assert os.access(bundle.folder / "install.sh", os.X_OK)
        assert "share/applications/privacy-workbench.desktop" in here
        assert "share/icons/hicolor/scalable/apps/privacy-workbench.svg" in here
        assert "share/mime/packages/privacy-workbench.xml" in here


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux's archive")
def test_the_archive_does_not_say_who_made_it(bundle):
    with tarfile.open(bundles.pack(bundle)) as archive:
        members = archive.getmembers()
    assert "privacy-workbench/workbench" in [member.name for member in members]
    assert {(m.uid, m.gid, m.uname, m.gname) for m in members} == {(0, 0, "root", "root")}


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="AppImages are Linux's")
class TestAppImage:
    def test_without_its_tool_the_folder_is_laid_out_and_the_rest_is_said(self, bundle, monkeypatch, capsys):
        monkeypatch.setattr(bundles.shutil, "which", lambda name: None)
        (app,) = bundles.app_image(bundle)
        assert "No AppImage: appimagetool is not on the PATH" in capsys.readouterr().out
        for name in ("AppRun", "privacy-workbench.desktop", "privacy-workbench.svg", "usr/lib/privacy-workbench"):
            assert (app / name).exists()
        assert os.access(app / "AppRun", os.X_OK)

    def test_with_its_tool_it_is_made(self, bundle, monkeypatch, tmp_path):
        tool = tmp_path / "appimagetool"
        tool.write_text('#!/bin/sh\ncp "$1/AppRun" "$2"\n', "utf-8")
        tool.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
        bundle.environment.folder.mkdir()
        _, image = bundles.app_image(bundle)
        assert image.name.startswith("privacy-workbench-4.5.6-")
        assert image.is_file()

    @pytest.mark.slow
    @OWN_RUNTIME
    @pytest.mark.parametrize("how", [{}, {"APPIMAGE_EXTRACT_AND_RUN": "1"}], ids=["mounted", "unpacked"])
    def test_without_its_tool_it_is_made_of_our_own_runtime_and_runs(self, bundle, how):
        program = bundle.folder / "workbench"
        program.write_text('#!/bin/sh\necho "$APPDIR" "$@"\nexit 3\n', "utf-8")
        program.chmod(0o755)
        bundle.environment.folder.mkdir()
        _, image = bundles.app_image(bundle)
        assert image.read_bytes()[8:11] == bundles.APPIMAGE_MARK
        words = [str(image), "help", "a b"]
        done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, **how}, check=False)
        folder, _, said = done.stdout.partition(" ")
        assert (done.returncode, said) == (3, "help a b\n")
        assert not Path(folder).exists(), "nothing is left behind"

    @pytest.mark.slow
    @OWN_RUNTIME
    def test_a_signal_that_comes_while_it_is_unpacked_leaves_nothing_behind(self, bundle, tmp_path):
        program = bundle.folder / "workbench"
        program.write_text("#!/bin/sh\nexec sleep 60\n", "utf-8")
        program.chmod(0o755)
        with (bundle.folder / "large").open("wb") as large:
            large.truncate(1 << 28)
        bundle.environment.folder.mkdir()
        _, image = bundles.app_image(bundle)
        room = tmp_path / "room"
        room.mkdir()
        how = {"APPIMAGE_EXTRACT_AND_RUN": "1", "TMPDIR": str(room)}
        with subprocess.Popen([str(image)], env={**os.environ, **how}) as running:
            while not list(room.glob(".mount_*/usr/lib/*/large")):
                assert running.poll() is None
                time.sleep(0.001)
            running.terminate()
            assert running.wait(30) == 128 + 15
        assert not list(room.iterdir())

    @pytest.mark.slow
    @OWN_RUNTIME
    @pytest.mark.parametrize("how", [{}, {"APPIMAGE_EXTRACT_AND_RUN": "1"}], ids=["mounted", "unpacked"])
    def test_a_signal_that_is_ignored_or_early_ends_nothing_halfway(self, bundle, tmp_path, how):
        program = bundle.folder / "workbench"
        program.write_text("#!/bin/sh\necho here\nexec sleep 60\n", "utf-8")
        program.chmod(0o755)
        bundle.environment.folder.mkdir()
        _, image = bundles.app_image(bundle)
        room = tmp_path / "room"
        room.mkdir()
        given = {**os.environ, **how, "TMPDIR": str(room)}
        with subprocess.Popen(["nohup", str(image)], env=given, stdout=subprocess.PIPE) as running:
            assert running.stdout.readline() == b"here\n"
            running.send_signal(signal.SIGHUP)
            time.sleep(0.3)
            assert running.poll() is None
            running.terminate()
            assert running.wait(30) == 128 + 15
        for _ in range(5):
            with subprocess.Popen([str(image)], env=given, stdout=subprocess.DEVNULL) as running:
                while not list(room.iterdir()):
                    time.sleep(0.0001)
                running.terminate()
                assert running.wait(30) == 128 + 15
            assert not list(room.iterdir())

    def test_app_run_starts_the_program_with_its_words(self, bundle):
        program = bundle.folder / "workbench"
        program.write_text('#!/bin/sh\necho "$0" "$@"\n', "utf-8")
        program.chmod(0o755)
        bundle.environment.folder.mkdir()
        app = bundles.app_image(bundle)[0]
        done = subprocess.run([str(app / "AppRun"), "help", "a b"], capture_output=True, text=True, check=True)
        assert done.stdout == f"{app.resolve()}/usr/lib/privacy-workbench/workbench help a b\n"


def test_the_menu_entry_opens_tables_and_projects():
    parser = configparser.ConfigParser(interpolation=None)
    parser.optionxform = str
    parser.read(PACKAGING / "linux" / "privacy-workbench.desktop", "utf-8")
    entry = parser["Desktop Entry"]
    assert entry["Exec"] == "workbench gui %f"
    kind = next(iter(ElementTree.parse(PACKAGING / "linux" / "privacy-workbench.xml").getroot()))
    assert kind.get("type") in entry["MimeType"].split(";")
    glob = next(node for node in kind if node.tag.endswith("glob"))
    assert glob.get("pattern") == f"*{SUFFIX}"
    assert ElementTree.parse(PACKAGING / "linux" / "privacy-workbench.svg").getroot().get("viewBox")


def test_the_window_calls_itself_as_the_menu_entry_does():
    source = (ROOT / "workbench" / "gui" / "app.py").read_text("utf-8")
    assert f'setDesktopFileName("{bundles.NAME}")' in source


def test_files_for_other_systems_are_well_formed_and_say_that_they_are_untested():
    stated = plistlib.loads((PACKAGING / "macos" / "Info.plist").read_bytes())
    assert stated["CFBundleExecutable"] == "workbench"
    for path in (PACKAGING / "macos" / "make_app.sh", PACKAGING / "windows" / "privacy-workbench.iss"):
        assert "Untested:" in path.read_text("utf-8")


def test_the_installer_for_windows_is_in_the_form_that_its_compiler_reads():
    value = r'(?:"(?:[^"]|"")*"|[^";]+)'
    parameters = rf"\w+: {value}(?:; \w+: {value})*"
    section, places = "", []
    for line in (PACKAGING / "windows" / "privacy-workbench.iss").read_text("utf-8").splitlines():
        if found := re.fullmatch(r"\[(Setup|Files|Icons|Registry)\]", line):
            section = found[1]
        elif line and not line.lstrip().startswith((";", "#")):
            assert re.fullmatch(r"[A-Z]\w+=\S.*" if section == "Setup" else parameters, line), line
            places += re.findall(r'(?:LicenseFile=|Source: ")\.\.\\\.\.\\([\w-]+)', line)
    assert places == ["LICENSE", "dist"]


@pytest.mark.skipif(os.name == "nt", reason="shell scripts")
@pytest.mark.parametrize("name", ["linux/install.sh", "linux/AppRun", "macos/make_app.sh"])
def test_scripts_are_read_by_a_plain_shell(name):
    assert subprocess.run(["sh", "-n", str(PACKAGING / name)], capture_output=True, text=True).stderr == ""


def test_the_container_runs_without_rights_and_has_qts_libraries():
    import qt_libraries

    lines = (PACKAGING / "Containerfile").read_text("utf-8")
    assert re.findall(r"^USER (\w+)$", lines, re.MULTILINE) == ["workbench"]
    assert all(package in lines for package in qt_libraries.OFFSCREEN.values())


def test_unknown_words_of_bundle_are_refused(capsys):
    with pytest.raises(SystemExit, match="2"):
        workshop.main(["bundle", "--frobnicate"])
    assert "--frobnicate" in capsys.readouterr().err


def test_what_the_workbench_needs_is_found_through_others_and_without_extras():
    needed = contents.needed("privacy-workbench")
    assert {"privacy-workbench", "numpy", "polars", "scikit-learn", "joblib", "referencing"} <= needed
    assert not {"torch", "pandas", "pytest", "dask"} & needed


def test_tools_are_what_it_does_not_need():
    tools = set(contents.tools())
    assert {"pytest", "mypy"} <= tools
    assert not {"numpy", "polars", "PySide6", "workbench", "yaml_is_no_module"} & tools


def test_every_package_has_its_line_and_its_text():
    text = "".join(contents.licences(contents.needed("privacy-workbench"), []))
    head, _, texts = text.partition(contents.RULE)
    assert re.search(r"^numpy +\d\S+ +BSD", head, re.MULTILINE)
    assert re.search(r"^CPython .*PSF-2.0$", head, re.MULTILINE)
    titled = set(re.findall(r"^=+\n(\S+)[^\n]*\n=+$", text, re.MULTILINE))
    packages = {line.split()[0] for line in head.splitlines()[2:] if line}
    assert packages - titled <= set(contents.WITHOUT_TEXT)
    assert {"numpy", "CPython", "resources/fonts/OFL.txt", "LGPL-3", "GPL-3", "Apache-2.0"} <= titled
    assert "PYTHON SOFTWARE FOUNDATION LICENSE" in texts
    if contents.COMMON.is_dir():
        assert "GNU LESSER GENERAL PUBLIC LICENSE" in texts


def test_a_licence_that_debian_only_names_is_given_in_full():
    said = (
        "in /usr/share/common-licenses/GPL-2. Or /usr/share/common-licenses/CC0-1.0, /usr/share/common-licenses/LGPL'"
    )
    assert contents.NAMED.findall(said) == ["GPL-2", "CC0-1.0", "LGPL"]


def test_a_library_of_the_system_is_listed_with_its_checksum(tmp_path):
    inside = tmp_path / "_internal"
    inside.mkdir()
    (inside / "libzzz.so.1").write_bytes(b"it")
    (inside / "libpython3.11.so.1.0").write_bytes(b"Python")
    (inside / "libofwheel.so.2").symlink_to("libzzz.so.1")
    (library,) = contents.system_libraries(tmp_path)
    entry = contents.component_of(library)
    assert entry["name"] == "libzzz.so.1"
    assert len(entry["hashes"][0]["content"]) == 64
    json.dumps(entry)
    linked = contents.component_of(contents.SystemLibrary(None, "libfuse3-dev", "3.14"))
    assert linked["purl"] == "pkg:deb/debian/libfuse3-dev@3.14"
    assert "AppImage" in linked["description"]
