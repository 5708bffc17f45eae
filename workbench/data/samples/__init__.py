"""The tables that come with the program."""
