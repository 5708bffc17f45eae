"""Mechanisms, cost events and accountants: what a mechanism is and what it costs."""
