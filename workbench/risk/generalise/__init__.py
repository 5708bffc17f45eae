"""Tables made k-anonymous by generalisation and suppression: full-domain search, local recoding, cell suppression.

None of this is differential privacy: no ε bounds what a generalised table reveals.
"""
