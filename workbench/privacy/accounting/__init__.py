"""What a release costs: events, accountants, composition, and what an epsilon means."""
