"""Boosted steps in single columns, in the manner of an explainable boosting machine."""
