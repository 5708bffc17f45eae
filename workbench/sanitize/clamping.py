"""The caveat about means of a released column, in the same words in `estimate`, the certificate and the window."""

MEANS_ARE_OF_CLAMPED = "means are of values clamped to the public bounds and rounded to the public grid"
