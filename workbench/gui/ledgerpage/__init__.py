"""The parts of the Ledger page."""
