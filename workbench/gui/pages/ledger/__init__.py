"""The Ledger page: every release, caps and what remains."""
