"""What an outsider could learn from a table, a release or a model: risk measures, k-anonymity, attacks.

Nothing here gives a guarantee, and nothing here is released: every figure is computed from private rows. What may be
shown is noted in the ledger first (``release/ledger/study_note.py``), by whoever calls this package.
"""
