"""Theme, style sheet and colours of the window."""
