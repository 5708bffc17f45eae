"""The part of pyarrow by which polars hands over texts: no cloud storage, no servers, no headers for compilers."""

from PyInstaller.utils.hooks import collect_submodules

# Imported by pyarrow where they are there.
excludedimports = [f"pyarrow.{name}" for name in ("flight", "_flight", "_s3fs", "_gcsfs", "_azurefs", "tests")]
hiddenimports = collect_submodules(
    "pyarrow", filter=lambda name: not any(f"{name}.".startswith(f"{left_out}.") for left_out in excludedimports)
)
