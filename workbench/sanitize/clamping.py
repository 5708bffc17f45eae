"""What a mean of a released column is a mean of: said alike by `estimate`, the certificate and the window."""

MEANS_ARE_OF_CLAMPED = "means are of values clamped to the public bounds and rounded to the public grid"
