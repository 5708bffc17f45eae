"""The content of a table, however it is written: canonical cells, their keyed hashes, rows chosen by them."""
