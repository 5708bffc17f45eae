"""Figures and documents, the same for window, PNG and SVG (Qt offscreen)."""
