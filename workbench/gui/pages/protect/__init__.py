"""The Protect page: how each attribute is protected, and how epsilon is split over them."""
