"""What a table says, however it is written: canonical cells, their keyed hashes, rows chosen by them."""
