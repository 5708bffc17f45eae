"""The door out: ledger, writers, certificate, verification."""
