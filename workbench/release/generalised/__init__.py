"""Generalised tables as files: published beside the releases, without a guarantee and without a charge."""
