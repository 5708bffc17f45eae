"""The part of pyarrow by which polars hands over texts: no cloud storage, no network, no headers for compilers."""

from PyInstaller.utils.hooks import collect_submodules

LEFT_OUT = ("tests", "flight", "s3fs", "gcsfs", "azurefs", "hdfs", "orc", "encryption", "substrait")

hiddenimports = collect_submodules("pyarrow", filter=lambda name: not name.endswith(LEFT_OUT))
