"""RAPPOR's analysis: files in the published formats, candidate maps, decoding and simulation."""
