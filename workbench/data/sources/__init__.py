"""Formats of tables: one is a file here and a line in :data:`~workbench.data.sources.catalogue.SOURCES`.

A format whose files are read by a library that trusts them has a function ``opened(path, options)``, which runs in a
process of its own (:mod:`workbench.data.isolated_child`), and reads with
:func:`workbench.data.isolated_reader.read_isolated`.
That process imports one format, not the list.
"""
