"""How good released rows are: synthetic, noisy or generalised rows beside the original ones. Everything is private.

Each score is a file of this folder and a line of ``SCORES`` (:mod:`workbench.studies.quality.study`).
"""
