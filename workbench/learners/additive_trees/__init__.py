"""Private additive models of shallow trees: an explainable boosting machine."""
