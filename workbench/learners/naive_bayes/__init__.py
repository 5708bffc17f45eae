"""Private naive Bayes for numbers and names."""
