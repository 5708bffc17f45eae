"""The Generalise page: a table made k-anonymous and the like, and what it still reveals."""
