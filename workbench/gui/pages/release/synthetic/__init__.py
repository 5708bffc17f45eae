"""Synthetic rows in the settings: fields, private preview, comparison with the original."""
