"""Delimited text: encoding, dialect, a strict reader, and what is ambiguous in a file."""
