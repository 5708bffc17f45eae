"""Private naive Bayes for numeric and categorical columns."""
