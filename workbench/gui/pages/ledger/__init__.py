"""The Ledger page: every release, the caps and the remaining budget."""
