"""Data, Columns: open a table and declare what is publicly known about its columns."""
