"""The Why page: where the accuracy of a private model goes, and what would help most."""
