"""The Utility page: how good models are against ε."""
