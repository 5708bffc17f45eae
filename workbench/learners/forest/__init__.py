"""Private forests of few shallow trees: classes in their leaves, or numbers."""
