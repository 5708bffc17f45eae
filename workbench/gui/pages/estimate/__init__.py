"""The Estimate page: what a released table says of the original, for whoever receives it."""
