"""Private random forests of a few shallow trees, for classification and regression."""
