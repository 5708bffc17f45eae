"""Certificates and cards as documents that a person reads: nothing in them that the verified JSON does not hold."""
