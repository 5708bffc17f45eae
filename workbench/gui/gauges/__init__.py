"""The panels on the right that are always in sight: privacy budget and memory."""
