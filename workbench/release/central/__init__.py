"""A central release: something computed from all rows with exact noise, charged, certified and verified."""
