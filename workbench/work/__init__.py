"""What is published is a Work: its cost is declared, and its noise is drawn from what was declared, in one place."""
