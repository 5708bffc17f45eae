"""Who issued a release: an Ed25519 key made once, signatures beside what they sign, and the keys that are trusted."""
