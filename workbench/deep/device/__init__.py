"""The private step with data, noise and sums on one device, in shapes that never change, so that it can be replayed."""
