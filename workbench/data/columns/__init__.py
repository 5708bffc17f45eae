"""Cells of one column as values on a public grid."""
