"""A plan applied to a table: shares, forecast, engine, estimates."""
