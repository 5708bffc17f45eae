"""DP-SGD: the only package that imports torch."""
