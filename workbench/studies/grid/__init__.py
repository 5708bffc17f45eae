"""Sweeps of DP-SGD: every combination of the listed settings, repeated, with one CSV row per run."""
