"""Private linear regression: noisy sums of products, or the functional mechanism."""
