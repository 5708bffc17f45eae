"""Statistics in the settings: ticks with what to expect, and the released figures."""
