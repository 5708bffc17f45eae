"""Questions: who gets the release, which columns they need, and what they will ask of it."""
