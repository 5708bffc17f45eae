"""Limits that forms and schemas need too, without numpy."""

MOST_CELLS = 4096  # most cells of a mechanism's table; a domain of more names has randomised response in closed form
