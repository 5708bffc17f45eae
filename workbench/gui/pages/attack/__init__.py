"""The Attack page: what an attacker gets from a release or a model, beside a guess, strangers, and what ε allows."""

RUN = "attack"
