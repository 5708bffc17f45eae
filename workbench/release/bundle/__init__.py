"""A release with everything that checks it in one folder: data, certificate, plan, ledger entry, scripts, checksums."""
