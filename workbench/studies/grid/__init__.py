"""Sweeps of DP-SGD: every combination of the listed settings, each several times, one row of a CSV for each run."""
