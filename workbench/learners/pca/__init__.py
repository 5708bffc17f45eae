"""Private principal components."""
