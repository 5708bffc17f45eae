"""The Released page: everything that was released or paid for, with its files."""
