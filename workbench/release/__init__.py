"""Everything that publishes: ledger, writers, certificates, verification."""
