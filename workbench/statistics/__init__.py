"""Private statistics of a table: integer-valued queries, figures computed from noisy answers, and their errors."""
