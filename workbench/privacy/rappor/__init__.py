"""RAPPOR's client and its account: Bloom filters, permanent and instantaneous answers, and what they cost."""
