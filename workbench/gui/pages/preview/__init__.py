"""The Preview page: one private draw of the plan beside the original."""
