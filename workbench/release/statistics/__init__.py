"""The release of statistics, and their recomputation from the certificate."""
