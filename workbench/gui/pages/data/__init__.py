"""The Data page: open a table and declare what is publicly known about its attributes."""
