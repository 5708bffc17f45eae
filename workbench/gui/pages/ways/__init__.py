"""The page on which a way to release and an ε are chosen: what recipients will see of what they ask."""
