"""Noise for a handful of central numbers (counts, sums) from a maintained library with proved samplers."""
