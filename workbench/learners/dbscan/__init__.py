"""Density clustering: see :mod:`workbench.learners.dbscan.estimator`."""
