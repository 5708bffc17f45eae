"""Private multinomial logistic regression."""
