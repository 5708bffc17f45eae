"""The Release page: publish the table."""
