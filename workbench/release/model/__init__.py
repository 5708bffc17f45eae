"""A released model or network with its card."""
