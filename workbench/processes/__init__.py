"""Work in other processes: isolated, restarted, cancelled; no trace of theirs holds data."""
