"""Delimited text: encoding, dialect, a strict reader, and the ambiguities of a file."""
