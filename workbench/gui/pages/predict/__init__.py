"""The Predict page: a released model applied to the table that is open."""
