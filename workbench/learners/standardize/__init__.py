"""Private means and standard deviations, with which columns of numbers are scaled."""
