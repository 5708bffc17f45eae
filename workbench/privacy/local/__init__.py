"""Mechanisms for one record: integer tables, sampler, calibration, one file per mechanism."""
