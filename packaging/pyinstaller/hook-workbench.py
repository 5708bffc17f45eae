"""What PyInstaller cannot see in the workbench: modules that are imported by name, resources, and some sources."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# All of them: pages, commands, kinds, figures and learners are imported by a name in a list.
hiddenimports = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in (ROOT / "workbench").rglob("*.py")
)
# Facts about a mechanism are kept under a digest of its source (workbench.sanitize.calibrated_columns).
module_collection_mode = {"workbench.privacy.local": "pyz+py"}
datas = [(str(ROOT / "resources"), "workbench/resources")]
