"""The compiled part of OpenDP, which it looks for in a folder beside its modules, under a name that varies."""

from PyInstaller.utils.hooks import collect_dynamic_libs

binaries = collect_dynamic_libs("opendp", search_patterns=["*.so", "*.dylib", "*.pyd", "*.dll"])
