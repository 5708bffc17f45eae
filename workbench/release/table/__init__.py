"""A released table: draw, certificate, verification."""
