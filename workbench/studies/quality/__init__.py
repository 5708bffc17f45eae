"""Quality of released rows (synthetic, noisy or generalised) compared with the original. Everything is private.

Each score is a file of this folder and a line of ``SCORES`` (:mod:`workbench.studies.quality.study`).
"""
