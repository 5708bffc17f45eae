"""Private trees, each fitted to the errors of those before it."""
