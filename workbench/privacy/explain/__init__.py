"""What ε and δ mean, for people who have to decide on them: sentences, tables, published values, a guided choice."""
