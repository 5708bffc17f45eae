"""Private statistics of a table: whole-number queries, the figures that are read from them, and their errors."""
