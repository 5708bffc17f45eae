"""The Utility page: accuracy against epsilon."""
