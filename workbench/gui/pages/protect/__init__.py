"""The Protect page: how each attribute is protected, and how ε is split over them."""
