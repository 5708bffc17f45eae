"""Private k-means clustering, from public starting points."""
