"""The Train page: private models and networks."""
