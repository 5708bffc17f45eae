"""The durable account of every dataset: entries, hash chain, accounts, recovery."""
